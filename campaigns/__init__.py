"""Campaigns: attacks on graphscore that are repeated by a command, and what they found.

`python -m campaigns NAME` runs one; `docs/reliability.md` is made from the records.
"""
