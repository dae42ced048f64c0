"""MMDs of samples divided by those of the training set."""

from __future__ import annotations

from graphscore.errors import SettingsError
from graphscore.metrics.evaluation import DESCRIPTORS, EvaluationResult


def ratio_to_floor(result: EvaluationResult, floor: EvaluationResult) -> dict[str, float | None]:
    """Divide each MMD of samples by the training set's own MMD to the same reference graphs.

    A ratio is None where the floor is zero to four digits (trees have no clustering) or the
    descriptor was not measured. The average is the "Ratio" of published tables, which include one
    more descriptor (wavelets of the spectrum). The estimator is biased upwards by a term that falls
    with the number of graphs, and the training set is usually larger than the set of samples, so
    even graphs of the true distribution may have a ratio above 1.

    Args:
        result: `evaluate(samples, test, ...)`.
        floor: `evaluate(training, test, ...)` with the same settings.

    Returns:
        The ratio by descriptor, and the mean of those that are not None as "average".

    Raises:
        SettingsError: the two have different settings or reference graphs.

    Example:
        >>> import networkx as nx
        >>> from graphscore.metrics import evaluate
        >>> test = [nx.path_graph(4)]
        >>> floor = evaluate([nx.path_graph(5)], test)
        >>> result = evaluate([nx.star_graph(3)], test)
        >>> round(ratio_to_floor(result, floor)["degree"], 1)
        23.6
        >>> ratio_to_floor(floor, floor)["average"]
        1.0
    """
    for field in ("kernel", "estimator", "drop_isolated", "reference_count"):
        one, other = getattr(result, field), getattr(floor, field)
        if one != other:
            raise SettingsError(
                f"the result and its floor differ in {field} ({one!r} and {other!r}), so their "
                "ratio is meaningless. Evaluate both with the same settings and reference graphs."
            )
    # A floor that is 0.0000 in a table of four digits is noise, and so is a ratio to it.
    ratios = {
        name: result.distances[name] / floor.distances[name]
        if round(floor.distances.get(name, 0.0), 4) > 0
        else None
        for name in DESCRIPTORS
    }
    known = [ratio for ratio in ratios.values() if ratio is not None]
    return {**ratios, "average": sum(known) / len(known) if known else None}
