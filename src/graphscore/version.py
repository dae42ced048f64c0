"""The version of the package, in one place."""

from importlib.metadata import version

__version__ = version("graphscore")
