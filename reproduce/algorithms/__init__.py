"""Learning graph algorithms edge by edge: shortest paths and maximum spanning trees (Table 1)."""

from graphscore.algorithms.comparison import NETWORKS, PUBLISHED, network_settings, run
from graphscore.algorithms.evaluation import edge_logits, evaluate
from graphscore.algorithms.learning import (
    EdgeLearner,
    LearningRecord,
    LearningSettings,
    Recorder,
    edge_loss,
)
from graphscore.algorithms.tasks import (
    TASKS,
    MaximumSpanningTree,
    PathProblems,
    Problems,
    ShortestPath,
    Task,
    find_task,
)

__all__ = [
    "NETWORKS",
    "PUBLISHED",
    "TASKS",
    "EdgeLearner",
    "LearningRecord",
    "LearningSettings",
    "MaximumSpanningTree",
    "PathProblems",
    "Problems",
    "Recorder",
    "ShortestPath",
    "Task",
    "edge_logits",
    "edge_loss",
    "evaluate",
    "find_task",
    "network_settings",
    "run",
]
