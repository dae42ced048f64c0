"""Files whose names begin with a dot are no part of a folder of graphs."""

from __future__ import annotations

import networkx as nx
import pytest

from graphscore import read_graphs
from graphscore.errors import GraphDataError


def test_hidden_files_of_a_folder_are_not_read(tmp_path):
    """Editors, file managers and interrupted copies leave them."""
    nx.write_gml(nx.path_graph(3), tmp_path / "1.gml")
    (tmp_path / ".2.gml").write_text("half a file")
    nx.write_gml(nx.path_graph(9), tmp_path / ".3.gml")
    assert [len(graph) for graph in read_graphs(tmp_path)] == [3]


def test_a_folder_of_hidden_files_has_no_graphs(tmp_path):
    nx.write_gml(nx.path_graph(3), tmp_path / ".1.gml")
    with pytest.raises(GraphDataError):
        read_graphs(tmp_path)
