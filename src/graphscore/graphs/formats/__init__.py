"""One file per format: bytes to graphs still to be checked, and clean graphs to bytes.

Nothing here touches the disk or checks for simple graphs; `graphscore.graphs.files` does the first
and `graphscore.graphs.validation` the second.
"""
