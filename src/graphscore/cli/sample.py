"""`graphscore sample`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from graphscore.cli.tables import print_json
from graphscore.cli.whole_numbers import WholeNumber


def sample(
    run: str,
    *,
    number: Annotated[WholeNumber, Parameter(name=("--number", "-n"))] = 64,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    format: str | None = None,
    nodes: WholeNumber | None = None,
    communities: str | None = None,
    picture: Path | None = None,
    seed: WholeNumber | None = None,
    device: str = "auto",
    accelerate: Literal["auto", "off"] = "auto",
    sampler: Literal["langevin", "heun", "ancestral"] | None = None,
    steps: WholeNumber | None = None,
    churn: float | None = None,
    sigma_max: float | None = None,
    step_size: float | None = None,
    noise_scale: float | None = None,
    steps_per_level: WholeNumber | None = None,
    threshold: float | None = None,
    guidance: float | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Generate graphs with the model in the folder RUN, or with one that comes with the package.

    Parameters
    ----------
    run
        Folder that `graphscore train` or `GraphGenerator.save` wrote, or the name of a model that
        comes with the package (`graphscore info` lists them). A path that exists is a path.
    number
        How many graphs.
    out
        File or folder to write; the suffix says the format (.g6, .s6, .graphml, .gml, .npz, ...).
        RUN/samples.g6 if not given; for a model of the package NAME-samples.g6, in this folder.
    format
        Format where the name does not tell: graph6, sparse6, graphml, gml, edgelist, tu, npz.
    nodes
        Number of nodes of every graph; drawn from the training graphs' sizes if not given.
    communities
        Numbers of nodes of the communities of every graph, such as 20,25,31, for models that are
        conditioned on communities; those of training graphs if not given.
    picture
        Also draw the first 16 graphs into this .png, .pdf or .svg file.
    seed
        Same seed, same graphs; the run's seed if not given.
    device
        auto, cpu, cuda or mps.
    accelerate
        auto takes the fastest path that works on the device, off the plain one.
    sampler
        Other than the model's. heun and ancestral need a model that was trained to denoise.
    steps
        Steps of heun (two network calls each) or ancestral (one each) other than the model's.
    churn
        Fresh noise in heun other than the model's; 0 for none.
    sigma_max
        Noise level that heun or ancestral starts from, other than the model's.
    step_size
        Langevin step size (epsilon) other than the model's.
    noise_scale
        Factor of the Langevin noise (epsilon_s) other than the model's.
    steps_per_level
        Langevin steps at each noise level other than the model's.
    threshold
        Edge probabilities above it become edges.
    guidance
        Weight of the model's guide model other than the model's; 0 for none.
    json
        Print the result as JSON.
    """
    from graphscore.artifacts import find_model
    from graphscore.errors import SettingsError
    from graphscore.generator import GraphGenerator
    from graphscore.graphs import write_graphs
    from graphscore.graphs.files import check_target
    from graphscore.plots import check_picture, draw_comparison

    if number < 1:
        raise SettingsError(f"--number {number}: ask for at least 1 graph.")
    if nodes is not None and nodes < 1:
        raise SettingsError(f"--nodes {nodes}: give at least 1.")
    if communities is not None and nodes is not None:
        raise SettingsError("--communities say how many nodes there are; leave out --nodes.")
    partition = None if communities is None else _sizes_of(communities)
    place = find_model(run)
    beside = place.folder / "samples.g6"
    target = out or (Path(f"{place.pretrained}-samples.g6") if place.pretrained else beside)
    check_target(target, number, format=format)
    if picture is not None:
        check_picture(picture)
        if picture.absolute() == target.absolute():
            raise SettingsError(f"{target}: graphs and picture cannot go to the same file.")
    generator = GraphGenerator.load(place.folder, device=device, accelerate=accelerate)
    options = {
        "kind": sampler,
        "steps": steps,
        "churn": churn,
        "sigma_max": sigma_max,
        "step_size": step_size,
        "noise_scale": noise_scale,
        "steps_per_level": steps_per_level,
        "threshold": threshold,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    if changes:
        _check_options(options, sampler or generator.sampler_settings())
    sampling = generator.sampler_settings(changes or None)
    chosen = generator.settings.seed if seed is None else seed
    started = time.perf_counter()
    graphs = generator.sample(
        number,
        sizes=None if nodes is None else [nodes] * number,
        communities=None if partition is None else [partition] * number,
        seed=chosen,
        sampling=changes or None,
        guidance=guidance,
    )
    seconds = time.perf_counter() - started
    write_graphs(target, graphs, format=format)
    if picture is not None:
        draw_comparison({"samples": graphs[:16]}, picture)
    guide = getattr(generator.settings, "guide", None)
    record = {
        "model": place.pretrained or run,
        "samples": str(target),
        "graphs": number,
        "seed": chosen,
        "seconds": seconds,
        "device": str(generator.device),
        "sampling": None if sampling is None else sampling.model_dump(),
        "guidance": guide.weight if guide and guidance is None else guidance,
        "communities": partition,
    }
    if json:
        print_json(record)
    else:
        print(f"{number} graphs written to {target} in {seconds:.1f} s (seed {chosen})")
    return 0


def _sizes_of(communities: str) -> list[int]:
    """Read whole numbers with commas between them."""
    from graphscore.errors import SettingsError

    sizes = communities.split(",")
    # More digits than any number of nodes has are not even read.
    if not all(s.strip().isdecimal() and len(s) < 20 and int(s) for s in sizes):
        raise SettingsError(
            f"--communities {communities!r}: give numbers of nodes of at least 1 with commas "
            "between them, such as 20,25,31."
        )
    return [int(size) for size in sizes]


def _check_options(options: Mapping[str, Any], sampler: Any) -> None:
    """Refuse options of other samplers, and say which ones this sampler has."""
    from graphscore.diffusion.samplers import SAMPLERS
    from graphscore.errors import SettingsError

    if sampler is None:
        return  # the model has no sampler, and says so itself
    kind = sampler if isinstance(sampler, str) else sampler.kind
    known = {
        name: [o for o in options if o != "kind" and o in entry.settings.model_fields]
        for name, entry in SAMPLERS.items()
    }
    for name, value in options.items():
        if value is not None and name not in ("kind", *known[kind]):
            others = " and ".join(other for other, names in known.items() if name in names)
            raise SettingsError(
                f"{_option(name)} is for {others}, but the sampler is {kind}, which has "
                f"{', '.join(map(_option, known[kind]))}. Use these, or another --sampler."
            )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
