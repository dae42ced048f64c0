"""`graphscore evaluate`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from graphscore.cli.data import ReadingOptions, load
from graphscore.cli.tables import print_evaluations, print_json

_READING = ReadingOptions()


def evaluate(
    samples: str,
    *,
    reference: Annotated[str, Parameter(name=("--reference", "-r"))],
    training: str | None = None,
    kernel: Literal["gaussian-emd", "gaussian-tv"] = "gaussian-emd",
    valid: str | None = None,
    keep_isolated: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    reading: ReadingOptions = _READING,
) -> int:
    """Compare graphs from any model with reference graphs: MMD, uniqueness, novelty.

    Parameters
    ----------
    samples
        File or folder of generated graphs (or a dataset, such as ego-small:train).
    reference
        Graphs held out from training: a file, a folder, or a dataset (its test part).
    training
        Training graphs: adds novelty, and a row for their own distance to the reference, the
        floor that a model can hope for. A file, a folder, or a dataset (its training part).
    kernel
        gaussian-emd as in the tables of Community-small and Ego-small; gaussian-tv, with the
        spectrum and isolated nodes, as in those of Planar, Tree and SBM.
    valid
        Dataset whose rule says which graphs are valid (planar, tree, sbm, grid, lobster): adds the
        share of valid, unique and novel samples, and what is wrong with invalid ones. Wants
        --training.
    keep_isolated
        Keep nodes without edges, which tables with gaussian-emd drop first.
    json
        Print the result as JSON.
    """
    from graphscore import metrics
    from graphscore.errors import SettingsError

    rule = None if valid is None else metrics.validity_of(valid)
    if valid is not None and (rule is None or training is None):
        raise SettingsError(
            f"--valid {valid}: "
            + (
                "there is no rule for valid graphs of that name. Use planar, tree, sbm, grid or "
                "lobster."
                if rule is None
                else "whether a graph is new is told by the training graphs: give --training."
            )
        )
    generated = load(samples, reading, split="test")
    held_out = load(reference, reading, split="test")
    known = None if training is None else load(training, reading, split="train")
    drop = False if keep_isolated else None
    judge = partial(metrics.evaluate, kernel=kernel, drop_isolated=drop)
    results = {"samples": judge(generated, held_out, training=known)}
    if known is not None:
        results["training set"] = judge(known, held_out)
    shares = None
    if rule is not None and known is not None:
        shares = metrics.vun(generated, known, rule)
    if json:
        record = {name: result.to_dict() for name, result in results.items()}
        print_json(record if shares is None else {**record, "vun": shares.to_dict()})
        return 0
    dropped = results["samples"].drop_isolated
    isolated = "isolated nodes dropped" if dropped else "isolated nodes kept"
    count = results["samples"].reference_count
    title = f"MMD against {reference}, {count} graphs ({isolated}); smaller is better"
    print_evaluations(title, results)
    if shares is not None:
        print(f"{valid}: {shares}")
        for fault, number in shares.faults.items():
            print(f"  not valid: {fault} ({number} of {shares.sample_count})")
    return 0
