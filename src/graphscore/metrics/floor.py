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
        The ratio by descriptor, and the mean of those that are not None as "average". Where
        attributes were compared, also their ratios, and the mean of all as "average_of_all".

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
    for field in ("kernel", "estimator", "drop_isolated", "reference_count", "attributes"):
        one, other = getattr(result, field), getattr(floor, field)
        if one != other:
            raise SettingsError(
                f"the result and its floor differ in {field} ({one!r} and {other!r}), so their "
                "ratio is meaningless. Evaluate both with the same settings and reference graphs."
            )
    ratios = {
        name: _ratio(result.distances.get(name), floor.distances.get(name)) for name in DESCRIPTORS
    }
    found = {**ratios, "average": _mean(ratios)}
    if not result.attribute_distances:
        return found
    more = {
        name: _ratio(value, floor.attribute_distances[name])
        for name, value in result.attribute_distances.items()
    }
    return {**found, **more, "average_of_all": _mean({**ratios, **more})}


def _ratio(distance: float | None, floor: float | None) -> float | None:
    # A floor that is 0.0000 in a table of four digits is noise, and so is a ratio to it.
    if distance is None or floor is None or round(floor, 4) <= 0:
        return None
    return distance / floor


def _mean(ratios: dict[str, float | None]) -> float | None:
    known = [ratio for ratio in ratios.values() if ratio is not None]
    return sum(known) / len(known) if known else None
