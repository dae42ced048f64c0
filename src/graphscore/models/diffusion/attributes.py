"""Likelihoods for what nodes and edges carry, and graphs with attributes from clean states."""

from __future__ import annotations

from typing import Any

import networkx as nx

from graphscore.diffusion import (
    BernoulliEdges,
    EdgeDensity,
    GraphLikelihood,
    JoinedNodes,
    NodeFeatures,
    NodeTypes,
    TypedEdges,
    WeightedEdges,
)
from graphscore.diffusion.likelihood import Likelihood
from graphscore.diffusion.types import shares_of
from graphscore.graphs import AttributeSettings, GraphBatch, GraphState, Schema


def likelihood_of(data: GraphBatch, schema: Schema) -> GraphLikelihood:
    """Return the likelihood whose prior fits training graphs."""
    present = BernoulliEdges.of(data)
    edges: Likelihood = present
    if data.edge_entries is not None:
        types = data.edge_entries[..., : schema.edge_types].sum((0, 1, 2)).tolist()
        edges = _edges(present, shares_of(types), schema)
    nodes = None
    if data.node_entries is not None:
        shares = data.node_entries[..., : schema.node_types].sum((0, 1)).tolist()
        nodes = _nodes(shares_of(shares) if shares else (), schema)
    return GraphLikelihood(edges, nodes)


def blank_likelihood(schema: Schema) -> GraphLikelihood:
    """Return a likelihood of the shape of a schema, all types alike."""
    present = BernoulliEdges(EdgeDensity(level=0.0))
    edges: Likelihood = present
    if schema.edge_width:
        edges = _edges(present, (1.0,) * schema.edge_types, schema)
    nodes = _nodes((1.0,) * schema.node_types, schema) if schema.node_width else None
    return GraphLikelihood(edges, nodes)


def _edges(present: BernoulliEdges, shares: tuple[float, ...], schema: Schema) -> Likelihood:
    types = TypedEdges(present, shares)
    return types if schema.edge_weight is None else WeightedEdges(types)


def _nodes(shares: tuple[float, ...], schema: Schema) -> Likelihood:
    types, features = NodeTypes(shares), NodeFeatures(len(schema.node_features))
    if not schema.node_features:
        return types
    return JoinedNodes((types, features)) if shares else features


def edges_of(likelihood: GraphLikelihood) -> BernoulliEdges:
    """Return what a likelihood knows of whether there are edges."""
    edges: Any = likelihood.edges
    edges = edges.types if isinstance(edges, WeightedEdges) else edges
    found: BernoulliEdges = edges.present if isinstance(edges, TypedEdges) else edges
    return found


def graphs_of_state(clean: GraphState, schema: Schema) -> list[nx.Graph[Any]]:
    """Return graphs with attributes."""
    edges, nodes = clean.edges.cpu(), None if clean.nodes is None else clean.nodes.cpu()
    adj = edges if edges.ndim == 3 else edges[..., : schema.edge_types].sum(-1)
    mask = clean.node_mask.cpu()
    graphs = GraphBatch(adj, mask).to_networkx()
    for b, graph in enumerate(graphs):
        schema.attach(
            graph,
            edges[b].numpy() if schema.edge_width else None,
            None if nodes is None else nodes[b, mask[b]].numpy(),
        )
    return graphs


def stored_values(likelihood: GraphLikelihood) -> dict[str, Any]:
    """Return a likelihood as plain values."""
    if likelihood.nodes is None:
        return likelihood.edges.to_dict()
    return {"edges": likelihood.edges.to_dict(), "nodes": likelihood.nodes.to_dict()}


def stored_schema(values: dict[str, Any], names: AttributeSettings) -> Schema:
    """Return the schema of a stored model.

    Raises:
        SettingsError, ValueError: it is none, or one of other attributes than its settings name.
    """
    schema = Schema(**values)
    if schema.names != names:
        raise ValueError("a schema of other attributes than the settings name")
    return schema


def stored_likelihood(values: dict[str, Any], schema: Schema, *, within: bool) -> GraphLikelihood:
    """Return the likelihood of a stored model.

    Args:
        schema: what nodes and edges carry.
        within: whether it knows the density within communities.

    Raises:
        SettingsError, ValueError: it is none, or does not fit the schema.
    """
    nodes = None
    if schema.node_width:
        if values.keys() != {"edges", "nodes"}:
            raise ValueError("a likelihood without nodes, which carry something")
        values, of_nodes = values["edges"], values["nodes"]
        kind: Any = blank_likelihood(schema).nodes
        nodes = type(kind).from_dict(of_nodes)
        if nodes.width != schema.node_width:
            raise ValueError("a likelihood of other nodes than the schema's")
    kinds: dict[bool, Any] = {True: WeightedEdges, False: TypedEdges}
    edges: Any = BernoulliEdges
    if schema.edge_width:
        edges = kinds[schema.edge_weight is not None]
    found = GraphLikelihood(edges.from_dict(values), nodes)
    if schema.edge_width and found.edges.width != schema.edge_width:
        raise ValueError("a likelihood of other edges than the schema's")
    if (edges_of(found).within is not None) != within:
        raise ValueError("a density within communities belongs to models conditioned on them")
    return found
