"""What is fuzzed: one target per reader, with its first inputs, made by our own encoders.

A target reads bytes as a stranger's file and raises `Unsound` if what comes out is not what the
reader promises. A `GraphscoreError` is an answer; any other exception is a defect of the reader.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from safetensors.torch import save as save_tensors
from scipy.io import mmwrite

from graphscore.artifacts.card import CARD, ModelCard, read_card
from graphscore.artifacts.checkpoint import DOCUMENT
from graphscore.artifacts.document import (
    MadeWith,
    ModelDocument,
    TensorFile,
    TrainingGraphs,
    digest,
)
from graphscore.artifacts.registry import list_pretrained, pretrained_folder
from graphscore.artifacts.run_folder import LOG, RunFolder
from graphscore.artifacts.stored import read_document_file, read_tensors
from graphscore.cli.sample import parsed_communities
from graphscore.config import RunSettings, read_config
from graphscore.errors import GraphscoreError
from graphscore.graphs import NOTHING, Repairs, read_graphs
from graphscore.graphs.formats import FORMATS, ManyPerFile, OnePerFile, WholeFolder
from graphscore.graphs.formats.npz import encode_npz
from graphscore.graphs.molecules import BOND, ELEMENT
from graphscore.models import MODELS, resolve_settings
from graphscore.models.registry import check_settings
from graphscore.training.training_state import AVERAGE, OPTIMISER

SEPARATOR = b"\n%%\n"
"""Between the files of a folder, or the members of an archive, in one input."""
WORDS = (
    *(b"0", b"-1", b"1", b"255", b"65536", b"99999999999999999999", b"1e999", b"nan", b"0.5"),
    *(b"null", b"true", b"[", b"{", b"]]", b"}}", b'"', b",", b"\n", b"\0", b"\xff", b" "),
    *(b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1b[2J", b"&#0;", b"..", b"/"),
)
"""What mutations insert besides random bytes."""


class Unsound(Exception):
    """A reader returned something else than it promises."""


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        read: function of an input and of a folder for its files.
        seeds: function that makes the first inputs.
        words: what belongs to the language of such files.
    """

    read: Callable[[bytes, Path], None]
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...] = ()


def attempt(target: Target, data: bytes, folder: Path) -> str:
    """Read one input; return how it ended.

    Raises:
        Exception: whatever is a failure of the reader.
    """
    try:
        target.read(data, folder)
    except GraphscoreError as error:
        return f"{type(error).__name__}: {error}"
    return "read"


def demand(holds: bool, what: str) -> None:
    """Raise unless the promise was kept."""
    if not holds:
        raise Unsound(what)


def check_graphs(graphs: Iterable[Any]) -> None:
    """Raise unless all are simple undirected graphs on nodes 0..n-1."""
    graphs = list(graphs)
    demand(bool(graphs), "no graphs")
    for graph in graphs:
        demand(type(graph) is nx.Graph, f"a {type(graph).__name__}")
        demand(list(graph) == list(range(len(graph))) and len(graph) > 0, "nodes are not 0..n-1")
        demand(nx.number_of_selfloops(graph) == 0, "a self-loop")


def read_as_graphs(path: Path, format: str | None = None) -> None:
    """Read a file or folder without repairs, then with all of them and edge attributes."""
    refused: GraphscoreError | None = None
    asked = ("weight", "bond", "label", "edge_attr_1")
    for repairs, kept in ((Repairs(), ()), (Repairs(True, True, True), asked)):
        try:
            found = read_graphs(path, format=format, repairs=repairs, edge_attributes=kept)
            check_graphs(found)
        except GraphscoreError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def written(folder: Path, name: str, data: bytes) -> Path:
    """Write one file and return its path."""
    path = folder / name
    path.write_bytes(data)
    return path


def some_graphs() -> list[nx.Graph[Any]]:
    """Return small graphs of several kinds; some nodes have features."""
    featured = nx.path_graph(3)
    for node in featured:
        featured.nodes[node]["x"] = [0.5 * node, -1.0]
        featured.nodes[node].update(element="CN"[node % 2], label=node, ring=node > 1)
    first = {"bond": "single", "label": 1, "edge_attr": [0.5, 1.0]}
    nx.set_edge_attributes(featured, {(0, 1): first, (1, 2): {**first, "bond": "double"}})
    return [nx.empty_graph(1), nx.cycle_graph(5), nx.star_graph(4), featured]


def some_molecules() -> list[nx.Graph[Any]]:
    """Return an ion, a ring and a molecule that is not valid."""
    ion, ring, crowded = nx.empty_graph(2), nx.cycle_graph(6), nx.star_graph(5)
    nx.set_node_attributes(ion, {0: "Na+", 1: "Cl-"}, ELEMENT)
    for graph in (ring, crowded):
        nx.set_node_attributes(graph, dict.fromkeys(graph, "C"), ELEMENT)
        nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, "single"), BOND)
    for tail in (0, 2, 4):
        ring.edges[tail, tail + 1][BOND] = "double"
    return [ion, ring, crowded]


def many_per_file(form: ManyPerFile) -> Target:
    suffix = form.suffixes[0] if form.suffixes else ".txt"

    def read(data: bytes, folder: Path) -> None:
        read_as_graphs(written(folder, f"g{suffix}", data))

    words = (
        JSON_GRAPH
        if ".json" in suffix or suffix == ".cyjs"
        else TABLE
        if suffix in (".csv", ".tsv")
        else LINES
    )
    encode = form.encode
    if encode is None:
        return Target(read, READ_ONLY[suffix], words)
    plain = some_graphs()[:3]
    groups = [plain, [plain[1]], *([some_graphs()[3:]] if form.keeps_attributes else [])]
    if form.always != NOTHING:
        groups = [some_molecules(), [some_molecules()[1]]]
    return Target(read, lambda: [encode(graphs) for graphs in groups], words)


def one_per_file(form: OnePerFile, words: tuple[bytes, ...]) -> Target:
    def read(data: bytes, folder: Path) -> None:
        read_as_graphs(written(folder, f"g{form.suffixes[0]}", data))

    encode = form.encode
    if encode is None:
        return Target(read, READ_ONLY[form.suffixes[0]], words)
    return Target(read, lambda: [encode(graph) for graph in some_graphs()], words)


def npy_seeds() -> list[bytes]:
    return [_saved(np.save, np.eye(3)[::-1]), _saved(np.save, np.zeros((2, 3, 3), np.uint8))]


def market_seeds() -> list[bytes]:
    matrix = nx.to_scipy_sparse_array(nx.cycle_graph(5), dtype=np.dtype(float))
    return [_saved(mmwrite, matrix), _saved(mmwrite, matrix.toarray())]


def _saved(save: Callable[..., None], *arrays: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arrays)
    return file.getvalue()


def gexf_seeds() -> list[bytes]:
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): {"bond": "a", "weight": 1.0}})
    return ["\n".join(nx.generate_gexf(g)).encode() for g in (nx.star_graph(3), graph)]


def pajek_seeds() -> list[bytes]:
    arcs = b'*Vertices 2\n1 "a b"\n*Arcs\n1 2 1\n2 1 1\n*Partition p\n*Vertices 2\n1\n2\n'
    lists = b"*Vertices 3\n*Edgeslist\n1 2 3\n*Matrix\n0 0 0\n0 0 1\n0 1 0\n"
    return ["\n".join(nx.generate_pajek(nx.path_graph(3))).encode(), arcs, lists]


def samples_seeds() -> list[bytes]:
    one = b"N=1\nX: \n0 \nE: \n0 \n\n"
    return [one, one + b"N=2\nX: \n0 1 \nE: \n0 2 \n2 0 \n\n"]


READ_ONLY: dict[str, Callable[[], list[bytes]]] = {
    ".cyjs": lambda: [json.dumps(nx.cytoscape_data(g)).encode() for g in some_graphs()],
    ".npy": npy_seeds,
    ".mtx": market_seeds,
    ".adjlist": lambda: ["\n".join(nx.generate_adjlist(g)).encode() for g in some_graphs()],
    ".gexf": gexf_seeds,
    ".net": pajek_seeds,
    ".txt": samples_seeds,
}
"""First inputs of formats that are not written, by their first suffix; .txt are DiGress samples."""


def whole_folder(name: str, form: WholeFolder) -> Target:
    endings = form.required + form.optional + tuple(form.of_edges)

    def read(data: bytes, folder: Path) -> None:
        parts = data.split(SEPARATOR, len(endings) - 1)
        for ending in endings:
            (folder / f"G{ending}").unlink(missing_ok=True)
        for ending, part in zip(endings, parts):
            if part or ending in form.required:
                written(folder, f"G{ending}", part)
        read_as_graphs(folder, format=name)

    def seeds() -> list[bytes]:
        groups = (some_graphs(), some_graphs()[3:])
        files = [form.encode("G", graphs) for graphs in groups]
        return [SEPARATOR.join(f.get(f"G{ending}", b"") for ending in endings) for f in files]

    return Target(read, seeds, (SEPARATOR, b", "))


def read_gzip(data: bytes, folder: Path) -> None:
    read_as_graphs(written(folder, "g.g6.gz", data))


def gzip_seeds() -> list[bytes]:
    return [gzip.compress(text, mtime=0) for text in (b"Bw\nA_\n", b"")]


MEMBERS = (
    *("adj", "node_mask", "sizes", "node_feat", "node:element", "node:ring", "node?ring"),
    *("edge:bond", "edge?bond", "edge:edge_attr", "edge:weight"),
)


def read_arrays(data: bytes, folder: Path) -> None:
    """Read arrays from an archive whose checksums are right: damage is inside the members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in zip(MEMBERS, data.split(SEPARATOR, len(MEMBERS) - 1)):
            if part:
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part)
    read_as_graphs(written(folder, "g.npz", packed.getvalue()))


def arrays_seeds() -> list[bytes]:
    found = []
    for graphs in (some_graphs()[:3], some_graphs()[3:]):
        with zipfile.ZipFile(io.BytesIO(encode_npz(graphs))) as archive:
            members = [f"{name}.npy" for name in MEMBERS]
            there = set(archive.namelist())
            parts = [archive.read(name) if name in there else b"" for name in members]
        found.append(SEPARATOR.join(parts))
    return found


def read_settings(data: bytes, folder: Path) -> None:
    settings = check_settings(read_config(written(folder, "run.toml", data)), on_cpu=True)
    demand(isinstance(settings, RunSettings), f"a {type(settings).__name__}")


def settings_seeds() -> list[bytes]:
    return [
        b'seed = 3\nmodel = "denoiser"\n[training]\nsteps = 10\nbatch_size = 4\n',
        b"[network]\nblocks = 2\n[noise]\nsigma_min = 0.1\n[sampling]\nkind = 'heun'\nsteps = 5\n",
        b'model = "edp-gnn"\n[noise]\nsigmas = [1.0, 0.5]\n[network]\nchannels = [2, 2]\n',
        b"seed = " + b"[" * 2000,
    ]


def read_document(data: bytes, folder: Path) -> None:
    """Read a document; if it is an object, its digest is made right."""
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(data)
        if isinstance(body, dict):
            body.pop("digest", None)
            data = json.dumps({**body, "digest": digest(body)}).encode()
    document = read_document_file(written(folder, DOCUMENT, data))
    demand(isinstance(document, ModelDocument), f"a {type(document).__name__}")


@functools.cache
def tiny_settings() -> RunSettings:
    """Return the settings of a network with few weights."""
    network = {"channels": [2], "message_steps": 1, "features": 4, "edge_width": 4}
    return resolve_settings({"model": "edp-gnn", "network": network}, nodes=5, on_cpu=True)


def tiny_document(tensors: TensorFile) -> ModelDocument:
    """Return the document of that network, whose tensors are in some file."""
    return ModelDocument(
        settings=tiny_settings().model_dump(mode="json"),
        sizes={5: 1},
        learned={},
        training_graphs=TrainingGraphs(source="graphs", graphs=1, sha256="0" * 64),
        step=1,
        seconds=0.0,
        made_with=MadeWith.here("cpu"),
        tensors=tensors,
    )


def document_seeds() -> list[bytes]:
    deep = b'{"format": "graphscore model", "version": 2, "settings": ' + b"[" * 2000
    return [(pretrained_folder(n) / DOCUMENT).read_bytes() for n in list_pretrained()[:3]] + [deep]


def read_weights(data: bytes, folder: Path) -> None:
    """Read tensors whose length and sha256 the document states rightly."""
    sha256 = hashlib.sha256(data).hexdigest()
    name = f"checkpoint-00000001-{sha256[:8]}.safetensors"
    path = written(folder, name, data)
    try:
        file = TensorFile(file=name, bytes=len(data), sha256=sha256)
        tensors = read_tensors(folder, tiny_document(file))
    finally:
        path.unlink()
    for key, tensor in tensors.items():
        demand(isinstance(key, str) and isinstance(tensor, torch.Tensor), "not a tensor")


def weights_seeds() -> list[bytes]:
    blank = MODELS["edp-gnn"].model.blank_weights(tiny_settings())
    right = {f"{AVERAGE}{name}": torch.ones(tensor.shape) for name, tensor in blank.items()}
    more = {f"{OPTIMISER}0.step": torch.tensor(3), f"{OPTIMISER}0.sum": torch.zeros(2, 3)}
    few = {"average.w": torch.ones(2, 3), "n": torch.tensor(3), "h": torch.zeros(1).half()}
    return [save_tensors(each) for each in (right, right | more, few, {})]


def read_log(data: bytes, folder: Path) -> None:
    written(folder, LOG, data)
    for record in RunFolder(folder).log.records():
        demand(isinstance(record, dict), f"a record that is a {type(record).__name__}")


def log_seeds() -> list[bytes]:
    return [b'{"step": 1, "seconds": 0.5, "metrics": {"loss": 0.7}}\n{"step": 2, "seconds": 1}\n']


def read_model_card(data: bytes, folder: Path) -> None:
    written(folder, CARD, data)
    card = read_card(folder)
    demand(isinstance(card, ModelCard), "no card")


def card_seeds() -> list[bytes]:
    return [(pretrained_folder(name) / CARD).read_bytes() for name in list_pretrained()[:2]]


def read_communities(data: bytes, folder: Path) -> None:
    sizes = parsed_communities(data.decode("utf-8", "surrogateescape"))
    demand(bool(sizes) and all(size >= 1 for size in sizes), "no sizes")


LINES = (b":", b">>", b"~", b"[C@H]", b"%(99)", b"c1", b"V3000", b"M  V30 ", b"M  CHG  1", b"$$$$")
TABLE = (b"graph", b"source", b"target", b"weight", b",", b"\t", b";", b'"', b'""')
JSON_GRAPH = (
    b'"elements":{',
    b'"data":{',
    b'"nodes":[',
    b'"edges":[',
    b'"links":[',
    b'"id":',
    b'{"source":0,"target":',
    b"{},",
)
TEXT = (
    b"# nodes: ",
    b"*Vertices ",
    b"*Edges",
    b"%%MatrixMarket ",
    b"node",
    b"edge",
    b"source",
    b"target",
    b"id ",
    b"label ",
    b"directed 1",
)
MARKUP = (*TEXT, b"<key ", b"<data ", b"<!DOCTYPE ", b"<!ENTITY ", b"CDATA", b"&amp;")
JSON = (b'"version"', b'"settings"', b'"sizes"', b'"learned"', b'"tensors"', b'"step"')


def targets() -> dict[str, Target]:
    """Return all targets by name: every graph format, then the files of a run and a model."""
    found: dict[str, Target] = {}
    for name, form in FORMATS.items():
        if isinstance(form, ManyPerFile):
            found[name] = many_per_file(form)
        elif isinstance(form, OnePerFile):
            found[name] = one_per_file(form, MARKUP if name in ("graphml", "gexf") else TEXT)
        else:
            found[name] = whole_folder(name, form)
    return found | {
        "gzip": Target(read_gzip, gzip_seeds),
        "npz-arrays": Target(read_arrays, arrays_seeds, (SEPARATOR, b"'shape': (", b"'<f8'")),
        "settings": Target(read_settings, settings_seeds, (b"[sampling]", b"kind = ", b" = ")),
        "document": Target(read_document, document_seeds, JSON),
        "tensors": Target(read_weights, weights_seeds, (b'"dtype"', b'"F32"', b'"data_offsets"')),
        "log": Target(read_log, log_seeds, (b'"step": ', b'"metrics": ', b'"loss": NaN')),
        "card": Target(read_model_card, card_seeds, (b'"data": ', b'"metrics": ')),
        "communities": Target(read_communities, lambda: [b"20,25,31"], (b",",)),
    }
