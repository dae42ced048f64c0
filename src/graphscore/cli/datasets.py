"""`graphscore datasets`."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from graphscore.cli.data import FormatName
from graphscore.cli.option_types import Flag, Out, WholeNumber
from graphscore.cli.standard_streams import apart_from
from graphscore.cli.tables import print_json, print_table, print_text
from graphscore.streams import say

app = App(name="datasets", help="List the benchmark datasets, or export one.")


@app.default
def show(*, json: Flag = False) -> int:
    """List the datasets with sizes, sources and licences.

    Parameters
    ----------
    json
        Print the list as JSON.
    """
    from dataclasses import asdict

    from graphscore.datasets import list_datasets

    infos = list_datasets()
    if json:
        print_json([asdict(info) for info in infos])
        return 0
    rows = []
    for info in infos:
        sizes = " to ".join(str(size) for size in sorted({info.min_nodes, info.max_nodes}))
        count = f"{info.num_graphs} graphs of {sizes} nodes."
        about = [f"{count} {info.description}", f"source: {info.source}"]
        if info.attributes:
            carried = info.attributes.items()
            names = ", ".join(f"{kind.replace('_', ' ')} {name!r}" for kind, name in carried)
            about.append(f"carries: {names}, which `graphscore train` learns too")
        if info.needs_download:
            about.append("downloaded on first use, or read from --data-dir / GRAPHSCORE_DATA")
        rows.append([info.name, "\n".join([*about, f"licence: {info.licence}", ""])])
    print_table("Datasets", ["name", "description"], rows, text=2)
    return 0


@app.command
def export(
    name: str,
    *,
    split: str = "train",
    out: Out,
    format: FormatName = None,
    seed: WholeNumber | None = None,
    data_dir: Path | None = None,
) -> int:
    """Write one split of a dataset to a file or folder.

    Parameters
    ----------
    name
        Name of the dataset.
    split
        train, val or test.
    out
        File or folder; the suffix gives the format.
    seed
        Seed of a generated dataset, instead of its standard seed.
    data_dir
        Folder of the source files of datasets that need a download (or set GRAPHSCORE_DATA).
    """
    from graphscore.datasets import load_dataset
    from graphscore.errors import SettingsError
    from graphscore.graphs import write_graphs
    from graphscore.graphs.files import keeps_attributes
    from graphscore.graphs.schema import structure_of

    data = load_dataset(name, seed=seed, data_dir=data_dir)
    if seed is not None and not data.info.seeded:
        raise SettingsError(f"{name} is a fixed set, so --seed has no effect; leave it out.")
    graphs = data.split(split)
    if data.info.attributes and not keeps_attributes(out, format):
        say(
            f"{out}: its format has no attributes of nodes and edges, so they are not written. To "
            "keep them, write JSON (-o FILE.json)."
        )
        graphs = list(map(structure_of, graphs))
    write_graphs(out, graphs, format=format)
    with apart_from(out):
        print_text(f"{len(graphs)} graphs written to {out}")
    return 0
