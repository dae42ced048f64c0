"""How many times the training set's own distance a model's distance to the test graphs is."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from graphscore.errors import SettingsError
from graphscore.metrics.evaluation import EvaluationResult

_ZERO = 5e-5  # 0.0000 in a table of four digits; dividing by it would be dividing by noise


@dataclass(frozen=True)
class FloorRatio:
    """Distances of samples divided by those of the training set; 1 is as near as fresh graphs are.

    A ratio is None where the training set's distance is zero to four digits (trees have no
    clustering) or the description was not measured.

    Attributes:
        degree: ratio of the degree MMDs.
        clustering: ratio of the clustering MMDs.
        orbit: ratio of the orbit MMDs.
        spectrum: ratio of the spectrum MMDs.
    """

    degree: float | None
    clustering: float | None
    orbit: float | None
    spectrum: float | None

    @property
    def average(self) -> float | None:
        """Mean of the ratios that there are; None if there is none.

        >>> FloorRatio(degree=1.0, clustering=None, orbit=4.0, spectrum=None).average
        2.5
        """
        ratios = [ratio for ratio in asdict(self).values() if ratio is not None]
        return sum(ratios) / len(ratios) if ratios else None

    def to_dict(self) -> dict[str, float | None]:
        """Return all ratios and their average as plain values that JSON can hold.

        >>> FloorRatio(degree=1.0, clustering=None, orbit=4.0, spectrum=None).to_dict()["average"]
        2.5
        """
        return {**asdict(self), "average": self.average}


def ratio_to_floor(result: EvaluationResult, floor: EvaluationResult) -> FloorRatio:
    """Divide each distance of samples by the training set's own distance to the same graphs.

    The mean of these is the "Ratio" of published tables, which have one more description (wavelets
    of the spectrum) in it. The training set usually has more graphs than were sampled, and the
    estimate falls with their number, so fresh graphs of the true distribution may come out above 1.

    Args:
        result: `evaluate(samples, test, ...)`.
        floor: `evaluate(training, test, ...)` with the same settings.

    Raises:
        SettingsError: the two were measured in different ways or against different graphs.

    Example:
        >>> import networkx as nx
        >>> from graphscore.metrics import evaluate
        >>> test = [nx.path_graph(4)]
        >>> floor = evaluate([nx.path_graph(5)], test)
        >>> result = evaluate([nx.star_graph(3)], test)
        >>> round(ratio_to_floor(result, floor).degree, 1), ratio_to_floor(floor, floor).average
        (23.6, 1.0)
    """
    for field in ("kernel", "estimator", "drop_isolated", "reference_count"):
        one, other = getattr(result, field), getattr(floor, field)
        if one != other:
            raise SettingsError(
                f"the result and its floor differ in {field} ({one!r} and {other!r}), so their "
                "ratio says nothing. Evaluate both with the same settings against the same graphs."
            )
    distances, least = result.distances, floor.distances
    return FloorRatio(
        **{
            name: distances[name] / least[name] if least.get(name, 0.0) > _ZERO else None
            for name in ("degree", "clustering", "orbit", "spectrum")
        }
    )
