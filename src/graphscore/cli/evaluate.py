"""`graphscore evaluate`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from graphscore.cli.attributes import NO_ATTRIBUTES, AttributeOptions, in_words
from graphscore.cli.data import READING, ReadingOptions, carried_by, load_to_compare
from graphscore.cli.option_types import Flag
from graphscore.cli.tables import print_evaluations, print_json, print_molecules, print_text
from graphscore.streams import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx

    from graphscore.graphs import AttributeSettings
    from graphscore.metrics import EvaluationResult, ValidityCheck

    Graphs = Sequence[nx.Graph[Any]]


def evaluate(
    samples: str,
    *,
    reference: Annotated[str, Parameter(name=("--reference", "-r"))],
    training: str | None = None,
    kernel: Literal["gaussian-emd", "gaussian-tv"] = "gaussian-emd",
    valid: str | None = None,
    molecules: Flag = False,
    keep_isolated: Flag = False,
    json: Flag = False,
    reading: ReadingOptions = READING,
    attributes: AttributeOptions = NO_ATTRIBUTES,
) -> int:
    """Compare graphs from any model with reference graphs: MMD, uniqueness, novelty.

    Which edges there are is compared, and what nodes and edges carry where its name is given: in
    MMDs of their own, and types of nodes and edges also in uniqueness and novelty. Of molecules
    (SMILES and SDF) elements and bonds are compared without being named.

    Parameters
    ----------
    samples
        File or folder of generated graphs (or a dataset, such as ego-small:train).
    reference
        Graphs held out from training: a file, a folder, or a dataset (its test split).
    training
        Training graphs: adds novelty, and a row for their own MMD to the reference (the floor, the
        MMD of two samples of one distribution). A file, a folder or a dataset (its training split).
    kernel
        gaussian-emd as in published tables of Community-small and Ego-small; gaussian-tv, which
        adds the spectrum and keeps isolated nodes, as in those of Planar, Tree and SBM.
    valid
        Dataset whose validity check is applied (planar, tree, sbm, grid, lobster): adds the share
        of valid, unique and novel samples, and the reasons why samples are invalid. Needs
        --training.
    molecules
        Graphs are molecules, with node attribute element and edge attribute bond: adds the shares
        of valid, connected, unique and novel ones, FCD and NSPDK, and compares elements and bonds
        as --node-type element --edge-type bond do. Needs the extra molecules; 10,000 molecules
        take a minute.
    keep_isolated
        Keep nodes without edges, which gaussian-emd drops by default.
    json
        Print the result as JSON.
    """
    from graphscore import metrics
    from graphscore.graphs.unnamed import unnamed_attributes

    names = _names([samples, reference, training], reading, attributes, molecules)
    check = _check_named(valid, training)
    read = partial(load_to_compare, options=reading, names=names)
    generated, held_out = read(samples, split="test"), read(reference, split="test")
    known = None if training is None else read(training, split="train")
    if others := unnamed_attributes([generated, held_out, known or []], names, "compared"):
        say(others)
    chemical = None
    if molecules:
        chemical = metrics.evaluate_molecules(generated, held_out, training=known)
    drop = False if keep_isolated else None
    named = names.model_dump()

    def compare(graphs: Graphs, training: Graphs | None = None) -> EvaluationResult:
        return metrics.evaluate(
            graphs, held_out, training=training, kernel=kernel, drop_isolated=drop, **named
        )

    results = {"samples": compare(generated, known)}
    if known is not None:
        results["training set"] = compare(known)
    shares = None
    if check is not None and known is not None:
        types = names.model_dump(include={"node_type", "edge_type"})
        shares = metrics.vun(generated, known, check, **types)
    if json:
        further = {"vun": shares, "molecules": chemical}
        every = {**results, **{name: found for name, found in further.items() if found is not None}}
        print_json({name: result.to_dict() for name, result in every.items()})
        return 0
    dropped = results["samples"].drop_isolated
    isolated = "isolated nodes dropped" if dropped else "isolated nodes kept"
    count = results["samples"].reference_count
    title = f"MMD ({kernel}) against {reference}, {count} graphs ({isolated}); smaller is better"
    print_evaluations(title, results)
    if chemical is not None:
        print_molecules(f"Molecules against {reference}", chemical)
    if shares is not None:
        print_text(f"{valid}: {shares}")
        for reason, number in shares.invalid_reasons.items():
            print_text(f"  not valid: {reason} ({number} of {shares.sample_count})")
    return 0


def _check_named(valid: str | None, training: str | None) -> ValidityCheck | None:
    """Return the validity check of a dataset."""
    from graphscore import metrics
    from graphscore.errors import SettingsError

    if valid is None:
        return None
    check = metrics.validity_of(valid)
    if check is None:
        known_checks = ", ".join(metrics.VALIDITY_CHECKS)
        raise SettingsError(
            f"--valid {valid}: there is no validity check of that name. Use one of: {known_checks}."
        )
    if training is None:
        raise SettingsError(
            f"--valid {valid}: novelty is measured against the training graphs. Give --training."
        )
    return check


def _names(
    lists: Sequence[str | None],
    reading: ReadingOptions,
    attributes: AttributeOptions,
    molecules: bool,
) -> AttributeSettings:
    """Return the attributes to compare: those named, or those that all lists are known to have."""
    from graphscore.errors import SettingsError
    from graphscore.graphs import AttributeSettings
    from graphscore.graphs.molecules import MOLECULES, is_molecular

    given = attributes.given()
    if not molecules:
        return AttributeSettings(**(given or _carried_by_all(lists, reading)))
    names = AttributeSettings(**{**MOLECULES.model_dump(exclude_defaults=True), **given})
    if not is_molecular(names):
        raise SettingsError(
            "--molecules compares the node attribute 'element' and the edge attribute 'bond'. "
            "Leave out --node-type and --edge-type."
        )
    return names


def _carried_by_all(lists: Sequence[str | None], options: ReadingOptions) -> dict[str, str]:
    """Return the attributes that all lists of graphs are known to have, and say which."""
    found = [carried_by(data, options) for data in lists if data is not None]
    if not found[0] or any(names != found[0] for names in found):
        return {}
    say(f"compared too: {in_words(found[0])}")
    return found[0]
