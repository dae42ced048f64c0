"""`graphscore sample`."""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from graphscore.cli.data import FormatName
from graphscore.cli.option_types import Flag, Number, WholeNumber
from graphscore.cli.picture import draw_samples
from graphscore.cli.sampler_options import SamplerOptions
from graphscore.cli.sizes import parsed_sizes
from graphscore.cli.standard_streams import apart_from
from graphscore.cli.tables import print_json, print_text
from graphscore.streams import say

if TYPE_CHECKING:
    import networkx as nx

    from graphscore.artifacts import ModelPlace
    from graphscore.generator import GraphGenerator
    from graphscore.graphs import Schema

_UNCHANGED = SamplerOptions()


def sample(
    run: str,
    *,
    number: Number = 64,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    format: FormatName = None,
    nodes: str | None = None,
    connected: Flag = False,
    communities: str | None = None,
    picture: Path | None = None,
    seed: WholeNumber | None = None,
    device: str = "auto",
    accelerate: Literal["auto", "off"] = "auto",
    guidance: float | None = None,
    json: Flag = False,
    sampler: SamplerOptions = _UNCHANGED,
) -> int:
    """Generate graphs with the model in the folder RUN, or with a pretrained one.

    Parameters
    ----------
    run
        Folder that `graphscore train` or `GraphGenerator.save` wrote, or the name of a pretrained
        model (`graphscore info` lists them). An existing path takes precedence.
    number
        How many graphs.
    out
        File or folder to write; the suffix says the format (.g6, .json, .graphml, .npz, .smi, ...).
        If not given, RUN/samples.g6, or for a pretrained model NAME-samples.g6 in this folder. An
        older file is replaced; a pipe or device is written to. Where nodes or edges carry
        something, samples.graphml, samples2.graphml and so on, whichever is free; molecules go to
        samples.smi if RDKit is installed.
    nodes
        Numbers of nodes: 24 for all graphs; 20-30 or 20,25,30 to draw from, each with the same
        probability (as many numbers as graphs are taken one by one). Drawn from the training
        graphs' sizes if not given.
    connected
        Keep only connected graphs: others are drawn again, with as many nodes as they had.
    communities
        Numbers of nodes of the communities of every graph, such as 20,25,31, for models that are
        conditioned on communities; those of training graphs if not given.
    picture
        Also draw the first 16 graphs, with what nodes and edges carry, into this .png, .pdf or .svg
        file; beside training graphs, if they are few and still where they were.
    seed
        Same seed, same graphs. A new one is drawn and shown if not given.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto: the fastest path that works on the device; off: plain PyTorch.
    guidance
        Weight of the guide model, instead of the model's; 0 for none.
    json
        Print the result as JSON.
    """
    from graphscore.artifacts import find_model
    from graphscore.generator import GraphGenerator
    from graphscore.graphs import write_graphs

    sizes, partition = _asked(number, nodes, communities)
    place = find_model(run)
    generator = GraphGenerator.load(place.folder, device=device, accelerate=accelerate)
    target = _target(place, generator, out, format)
    _check_targets(target, number, format, picture)
    changes = sampler.changes(generator.sampler_settings())
    sampling = generator.sampler_settings(changes)
    chosen = secrets.randbelow(2**31) if seed is None else seed
    started = time.perf_counter()
    graphs = generator.sample(
        number,
        sizes=sizes,
        communities=None if partition is None else [partition] * number,
        connected=connected,
        seed=chosen,
        sampling=changes,
        guidance=guidance,
    )
    seconds = time.perf_counter() - started
    write_graphs(target, _as_kept(graphs, target, format), format=format)
    _say_invalid(graphs, target, format)
    if picture is not None:
        draw_samples(graphs, picture, place, generator.schema)
    guide = getattr(generator.settings, "guide", None)
    record = {
        "model": place.pretrained or run,
        "samples": str(target),
        "graphs": number,
        "drawn": graphs.drawn,
        "seed": chosen,
        "seconds": seconds,
        "device": str(generator.device),
        "sampling": None if sampling is None else sampling.model_dump(),
        "guidance": guide.weight if guide and guidance is None else guidance,
        "communities": partition,
    }
    with apart_from(target):
        print_json(record) if json else print_text(_summary(record, connected))
    return 0


def _summary(record: dict[str, Any], connected: bool) -> str:
    """Return what was written, in a line."""
    kind = f"connected graphs, of {record['drawn']} drawn," if connected else "graphs"
    return (
        f"{record['graphs']} {kind} written to {record['samples']} in {record['seconds']:.1f} s "
        f"(seed {record['seed']})"
    )


def _say_invalid(graphs: list[nx.Graph[Any]], target: Path, format: str | None) -> None:
    """Say how many graphs that were written as molecules are not valid."""
    from graphscore.graphs import NOTHING
    from graphscore.graphs.files import always_carried
    from graphscore.graphs.molecules import number_of_invalid

    if always_carried(target, format=format) != NOTHING and (number := number_of_invalid(graphs)):
        say(
            f"{target}: {number} of {len(graphs)} are not valid molecules; they are written as "
            "they are, each in its place"
        )


def _as_kept(graphs: list[nx.Graph[Any]], target: Path, format: str | None) -> list[nx.Graph[Any]]:
    """Leave out what the format of a target cannot hold."""
    from graphscore.graphs.files import keeps_attributes
    from graphscore.graphs.schema import structure_of

    return graphs if keeps_attributes(target, format) else list(map(structure_of, graphs))


def _target(
    place: ModelPlace, generator: GraphGenerator, out: Path | None, format: str | None
) -> Path:
    """Return where graphs go; say, before they are sampled, what is not written there."""
    from graphscore.errors import OutputError
    from graphscore.graphs.files import keeps_attributes, lost_attributes

    target = out or _default_target(place, generator.schema)
    _check_molecules(target, format, generator.schema)
    lost = lost_attributes(target, generator.schema, format=format)
    if lost and keeps_attributes(target, format):
        raise OutputError(
            f"{target}: its format has no place for the values of an attribute named {lost[0]!r}. "
            "Write JSON (-o FILE.json)."
        )
    if lost:
        say(
            f"{target}: its format has no attributes of nodes and edges, so they are not written. "
            "To keep them, write JSON (-o FILE.json) or GraphML (-o FOLDER --format graphml)."
        )
    return target


def _check_molecules(target: Path, format: str | None, schema: Schema) -> None:
    """Refuse to write molecules that are none, before anything is sampled."""
    from graphscore.errors import GraphDataError, OutputError
    from graphscore.graphs import NOTHING
    from graphscore.graphs.files import always_carried
    from graphscore.graphs.molecules import check_types, is_molecular

    if always_carried(target, format=format) == NOTHING:
        return
    elements, bonds = schema.node_type, schema.edge_type
    if elements is None or bonds is None or not is_molecular(schema.names):
        raise OutputError(
            f"{target}: only molecules can be written there, and this model did not learn their "
            "node type 'element' and edge type 'bond'. Write another format, such as .g6."
        )
    try:
        check_types(elements.values, bonds.values)
    except GraphDataError as error:
        raise OutputError(f"{target}: only molecules can be written there; {error}") from None


def _default_target(place: ModelPlace, schema: Schema) -> Path:
    """Return where samples of a model go that nobody named a file for."""
    from graphscore.atomic import check_ordinary
    from graphscore.errors import MissingExtraError
    from graphscore.graphs import NOTHING
    from graphscore.graphs.files import lost_attributes
    from graphscore.graphs.molecules import MOLECULES, rdkit

    names = schema.names
    name = Path(f"{place.pretrained}-samples") if place.pretrained else place.folder / "samples"
    suffix = ".g6" if names == NOTHING else ".graphml"
    if lost_attributes("a.graphml", schema):  # such as vectors
        suffix = ".json"
    try:
        if names == MOLECULES and rdkit("Writing SMILES, as which molecules are kept by default,"):
            suffix = ".smi"
    except MissingExtraError as error:
        say(f"molecules are written as GraphML. {error}")
    if suffix == ".graphml":  # a folder, if there are several graphs, and no folder is replaced
        places = (f"{name}{number}{suffix}" for number in ("", *range(2, 100_000)))
        return Path(next(path for path in places if not os.path.lexists(path)))
    target = Path(f"{name}{suffix}")
    check_ordinary(target)
    return target


def _check_targets(target: Path, number: int, format: str | None, picture: Path | None) -> None:
    """Refuse files that cannot be written, and say what will be a folder, before the sampling."""
    from graphscore.errors import SettingsError
    from graphscore.graphs.files import check_target
    from graphscore.plots import check_picture

    if check_target(target, number, format=format) and target.suffix:
        say(
            f"{target}: will be a folder of {number} files, because a file of this format holds "
            "one graph. For one file, write another format, such as JSON (-o FILE.json)."
        )
    if picture is not None:
        check_picture(picture)
        if picture.absolute() == target.absolute():
            raise SettingsError(f"{target}: graphs and picture cannot go to the same file.")


def _asked(
    number: int, nodes: str | None, communities: str | None
) -> tuple[list[int] | None, list[int] | None]:
    """Return the sizes of graphs and of communities, and refuse what makes no sense."""
    from graphscore.errors import SettingsError
    from graphscore.models.request import check_number

    check_number(number, "--number")
    if nodes is not None and communities is not None:
        raise SettingsError("--communities say how many nodes there are; leave out --nodes.")
    sizes = None if nodes is None else parsed_sizes("--nodes", nodes)
    return sizes, None if communities is None else parsed_communities(communities)


def parsed_communities(communities: str) -> list[int]:
    """Return the sizes of communities in a text such as 20,25,31."""
    from graphscore.errors import SettingsError

    sizes = communities.split(",")
    if not all(re.fullmatch(r" *[0-9]{1,9} *", s) and int(s) for s in sizes):
        raise SettingsError(
            f"--communities {communities!r}: give numbers of nodes of at least 1 with commas "
            "between them, such as 20,25,31."
        )
    return [int(size) for size in sizes]
