"""One example of each command, which its help ends with."""

EXAMPLES = {
    "train": "graphscore train my_graphs.g6 --out runs/mine",
    "sample": "graphscore sample runs/mine -n 256 -o samples.g6 --picture samples.png",
    "guide": "graphscore guide runs/mine runs/short --out runs/guided --validation held_out.g6",
    "evaluate": "graphscore evaluate samples.g6 -r held_out.g6 --training my_graphs.g6",
    "split": "graphscore split my_graphs.g6 --test 0.2 --validation 0.1",
    "demo": "graphscore demo --out runs/demo",
    "info": "graphscore info runs/mine",
    "bench": "graphscore bench my_graphs.g6",
    "datasets": "graphscore datasets export planar --split test -o planar.g6",
}


def example_of(command: str) -> str:
    """Return what the help of a command ends with."""
    return f"Example: {EXAMPLES[command]}"
