"""`graphscore evaluate`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from graphscore.cli.data import ReadingOptions, load
from graphscore.cli.tables import print_evaluations, print_json

_READING = ReadingOptions()


def evaluate(
    samples: str,
    *,
    reference: Annotated[str, Parameter(name=("--reference", "-r"))],
    training: str | None = None,
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
    keep_isolated
        Keep nodes without edges; published tables drop them first.
    json
        Print the result as JSON.
    """
    from graphscore import metrics

    generated = load(samples, reading, split="test")
    held_out = load(reference, reading, split="test")
    known = None if training is None else load(training, reading, split="train")
    drop = not keep_isolated
    results = {"samples": metrics.evaluate(generated, held_out, training=known, drop_isolated=drop)}
    if known is not None:
        results["training set"] = metrics.evaluate(known, held_out, drop_isolated=drop)
    if json:
        print_json({name: result.to_dict() for name, result in results.items()})
        return 0
    isolated = "isolated nodes dropped" if drop else "isolated nodes kept"
    count = results["samples"].reference_count
    title = f"MMD against {reference}, {count} graphs ({isolated}); smaller is better"
    print_evaluations(title, results)
    return 0
