"""Bounds of models: settings, parameters, nodes, and what a stored model may have learned."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import pytest
import torch

from graphscore import GraphGenerator
from graphscore.artifacts.reading import MOST_VALUES
from graphscore.artifacts.stored import MOST_TENSORS
from graphscore.diffusion import BernoulliEdges, EdgeDensity
from graphscore.errors import GraphDataError, SamplingError, SettingsError
from graphscore.graphs import GraphBatch
from graphscore.models import (
    MODELS,
    CommunityDistribution,
    SizeDistribution,
    resolve_settings,
    resources,
)
from graphscore.models.resources import build_network, fits_memory
from graphscore.settings import MOST_BLOCKS, MOST_LAYERS
from graphscore.training.training_state import mismatch

CPU = torch.device("cpu")
EDGES = {"kind": "bernoulli-edges", "density": {"level": 0.0, "slope": 0.0}}


@pytest.mark.parametrize(
    ("model", "section", "name", "value"),
    [
        ("denoiser", "training", "steps", 10**9),
        ("denoiser", "training", "batch_size", 10**6),
        ("denoiser", "training", "log_every", 10**6),
        ("denoiser", "training", "warmup_steps", 10**9),
        ("denoiser", "network", "blocks", 257),
        ("denoiser", "network", "pair_width", 4097),
        ("denoiser", "network", "node_width", 4097),
        ("denoiser", "network", "product_width", 4097),
        ("denoiser", "network", "conditioning_width", 4097),
        ("denoiser", "network", "walk_steps", 65),
        ("denoiser", "network", "node_feat_dim", 4097),
        ("denoiser", "noise", "sigma_max", 1e7),
        ("denoiser", "noise", "sigma_min", 1e-7),
        ("denoiser", "sampling", "steps", 10_001),
        ("denoiser", "sampling", "rho", 1e-300),
        ("denoiser", "sampling", "rho", 1e4),
        ("denoiser", "sampling", "churn", 1e300),
        ("edp-gnn", "network", "channels", [4097]),
        ("edp-gnn", "network", "channels", [1] * 33),
        ("edp-gnn", "network", "message_steps", 33),
        ("edp-gnn", "network", "features", 4097),
        ("edp-gnn", "network", "edge_width", 4097),
        ("edp-gnn", "noise", "sigmas", [2 - i / 1001 for i in range(1001)]),
        ("edp-gnn", "noise", "sigmas", [1e7, 1.0]),
        ("edp-gnn", "sampling", "steps_per_level", 10**6),
    ],
)
def test_every_setting_has_an_upper_bound(model, section, name, value):
    with pytest.raises(SettingsError):
        resolve_settings({"model": model, section: {name: value}}, nodes=9, on_cpu=True)


def test_seeds_are_bounded():
    resolve_settings({"seed": 2**63 - 1}, nodes=9, on_cpu=True)
    with pytest.raises(SettingsError, match="seed"):
        resolve_settings({"seed": 2**63}, nodes=9, on_cpu=True)


def test_large_real_settings_are_allowed():
    given = {"training": {"steps": 10**8, "batch_size": 4096}, "network": {"blocks": 64}}
    resolve_settings(given, nodes=9, on_cpu=True)
    noise = {"sigmas": [2 - i / 1000 for i in range(1000)]}
    resolve_settings(
        {"model": "edp-gnn", "noise": noise, "sampling": {"steps_per_level": 1000}},
        nodes=9,
        on_cpu=True,
    )


def test_a_huge_network_is_refused_before_it_is_built(monkeypatch):
    """In training too; the message says how large it would be."""
    network = {"blocks": 200, "pair_width": 4096, "node_width": 4096}
    with pytest.raises(SettingsError, match=r"has \d{10,} parameters, but at most 100000000"):
        GraphGenerator(network=network, device="cpu", show_progress=False).fit([nx.path_graph(4)])
    monkeypatch.setattr(resources, "MOST_PARAMETERS", 1)
    built = []

    def make():
        built.append(torch.get_default_device().type)
        return torch.nn.Linear(2, 3)

    with pytest.raises(SettingsError, match="has 9 parameters"):
        build_network(make, blank=False)
    assert built == ["meta"]


def test_graphs_too_large_for_matrices_are_refused_before_there_is_one(monkeypatch):
    monkeypatch.setattr(GraphBatch, "from_networkx", lambda *_: pytest.fail("makes a matrix"))
    for name in MODELS:
        with pytest.raises(GraphDataError, match="a graph of 20001 nodes"):
            GraphGenerator(name, device="cpu", show_progress=False).fit([nx.path_graph(20_001)])


@pytest.mark.parametrize("name", ["denoiser", "edp-gnn", "edp-gnn-released", "gin"])
def test_what_weights_take_is_known_without_building(name):
    settings = resolve_settings({"model": name, "seed": 1}, nodes=9, on_cpu=True)
    generator = GraphGenerator(name, device="cpu", show_progress=False)
    generator.fit([nx.path_graph(4), nx.cycle_graph(5)], stop_at=0)
    blank = MODELS[name].model.blank_weights(settings)
    assert mismatch(blank, generator.network.state_dict()) == ""
    assert {tensor.device.type for tensor in blank.values()} <= {"meta"}


@pytest.mark.parametrize(
    ("name", "network"),
    [
        ("denoiser", {"blocks": MOST_BLOCKS, "pair_width": 2, "node_width": 1}),
        ("edp-gnn", {"channels": [1] * MOST_LAYERS, "message_steps": MOST_LAYERS}),
        ("edp-gnn-released", {"channels": [1] * MOST_LAYERS, "message_steps": MOST_LAYERS}),
    ],
)
def test_the_state_of_the_deepest_networks_can_be_read(name, network):
    """Weights, their average, and three tensors of Adam; eight values of the header for each."""
    settings = resolve_settings({"model": name, "network": network}, nodes=9, on_cpu=True)
    tensors = 5 * len(MODELS[name].model.blank_weights(settings))
    assert tensors <= MOST_TENSORS
    assert 8 * tensors <= MOST_VALUES


BLANK = """
import sys
from graphscore import GraphGenerator
from graphscore.artifacts import list_pretrained
from graphscore.models import MODELS, resolve_settings
for name, entry in MODELS.items():
    settings = resolve_settings({"model": name}, nodes=9, on_cpu=True)
    entry.model.blank_weights(settings)
for name in list_pretrained():
    GraphGenerator.from_pretrained(name, device="cpu")
print([name for name in sys.modules if name.startswith(("torch._dynamo", "torch._inductor"))])
"""


def test_networks_without_memory_do_not_load_the_compiler():
    """That would take longer than all else that loading a model does."""
    command = [sys.executable, "-c", BLANK]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "[]\n"


def test_graphs_that_do_not_fit_in_memory_are_refused_before_anything_is_allocated():
    with (
        pytest.raises(
            SamplingError, match=r"out of memory: graphs of up to 20000 nodes take 4e\+05 GB"
        ),
        fits_memory(20_000, 1e6, 0.0, CPU),
    ):
        pytest.fail("went on")
    with (
        pytest.raises(SamplingError, match="out of memory on cpu"),
        fits_memory(2, 1.0, 0.0, CPU),
    ):
        torch.empty(10**15)
    with pytest.raises(RuntimeError, match="else"), fits_memory(2, 1.0, 0.0, CPU):
        raise RuntimeError("something else")


def test_edges_are_in_the_memory_of_the_host(monkeypatch):
    """Matrices are where graphs are sampled; on the CPU, both are together."""
    gpu = torch.device("cuda")
    monkeypatch.setattr(resources, "available_memory", lambda device: 1000 * 300)

    def refuses(pairs, edges, device, words):
        with (
            pytest.raises(SamplingError, match=words),
            fits_memory(10, pairs / 100, edges, device),
        ):
            pytest.fail("went on")

    for device in (CPU, gpu):
        with fits_memory(10, 0.0, 1000.0, device), fits_memory(10, 3000.0, 0.0, device):
            pass
        refuses(
            0.0, 1001.0, device, r"0.0003 GB at least, but 0.0003 GB are available on cpu\. Ask"
        )
        refuses(300_001.0, 0.0, device, f"are available on {device}")
    refuses(3000.0, 999.0, CPU, "on cpu")
    with fits_memory(10, 30.0, 999.0, gpu):
        pass


@pytest.mark.parametrize("model", ["denoiser", "erdos-renyi", "edp-gnn"])
def test_the_edges_of_all_graphs_are_expected(monkeypatch, model):
    """Where their number is known before."""
    asked = []

    def no_room(nodes, bytes_per_pair, edges, device):
        asked.append((nodes, edges))
        raise SamplingError("no room")

    graphs = [nx.complete_graph(4), nx.path_graph(8)]
    generator = GraphGenerator(model, device="cpu", show_progress=False)
    generator.fit(graphs, stop_at=0)
    entry = {"erdos-renyi": "erdos_renyi"}.get(model, "diffusion.model")
    monkeypatch.setattr(f"graphscore.models.{entry}.fits_memory", no_room)
    with pytest.raises(SamplingError, match="no room"):
        generator.sample(2, sizes=[4, 8])
    density = EdgeDensity.of(GraphBatch.from_networkx(graphs))
    expected = 6 * density.at(4) + 28 * density.at(8)
    assert asked == [(8, 0.0 if model == "edp-gnn" else pytest.approx(expected))]


def test_edges_within_communities_are_expected_too():
    """Those of {0, 1, 2} and {3, 4} are 4 of 10 pairs."""
    within, between = EdgeDensity.constant(0.5), EdgeDensity.constant(0.25)
    assert BernoulliEdges(between, within).expected_edges(5, (3, 2)) == pytest.approx(3.5)
    assert BernoulliEdges(between).expected_edges(5, (3, 2)) == pytest.approx(2.5)
    likelihood = BernoulliEdges(EdgeDensity(1.0, -2.0), EdgeDensity(0.0, 1.0))
    expected = likelihood.density.at(5) * 6 + likelihood.within.at(5) * 4
    assert likelihood.expected_edges(5, [3, 2]) == pytest.approx(expected)


def test_graphs_with_too_many_pairs_are_not_trained_on():
    SizeDistribution.of([20_000])
    with pytest.raises(GraphDataError, match="a graph of 20001 nodes"):
        SizeDistribution.of([3, 20_001])


# ------------------------------------------------------------------ what was learned

COMMUNITIES = {"network": {"blocks": 1, "pair_width": 8, "communities": True}}
GUIDED = {"guide": {"network": {"kind": "denoiser", "blocks": 1}}}
WITHIN = {**EDGES, "within": {"level": 1.0, "slope": 0.0}}


@pytest.mark.parametrize(
    ("given", "learned"),
    [
        ({}, {"likelihood": EDGES, "more": 1}),
        ({}, {"likelihood": EDGES, "communities": {"5": 1}}),
        ({}, {"likelihood": WITHIN}),
        ({}, {"likelihood": {**EDGES, "colour": 1}}),
        ({}, {"likelihood": {**EDGES, "density": {"level": 1e5, "slope": 0.0}}}),
        ({}, {"likelihood": {**EDGES, "density": {"level": float("nan"), "slope": 0.0}}}),
        ({}, {"likelihood": {**EDGES, "density": {"level": 0.0, "slope": 0.0, "x": 0}}}),
        (COMMUNITIES, {"likelihood": EDGES, "communities": {"3+2": 1}}),
        (COMMUNITIES, {"likelihood": WITHIN, "communities": {"3+3": 1}}),
        (COMMUNITIES, {"likelihood": WITHIN, "communities": {"3+2": 2}}),
        (COMMUNITIES, {"likelihood": WITHIN, "communities": {"3+2": True}}),
        (COMMUNITIES, {"likelihood": WITHIN, "communities": {"3+2+0": 1}}),
        (COMMUNITIES, {"likelihood": WITHIN, "communities": {"٣+2": 1}}),
        (GUIDED, {"likelihood": EDGES}),
        (GUIDED, {"likelihood": EDGES, "guide_likelihood": WITHIN}),
        ({"network": {"node_feat_dim": 3}}, {"likelihood": EDGES}),
        ({"model": "edp-gnn"}, {"likelihood": EDGES}),
        ({"model": "erdos-renyi"}, {"density": EDGES["density"], "x": 1}),
    ],
)
def test_what_was_learned_is_what_the_model_learns(given, learned):
    settings = resolve_settings(given, nodes=9, on_cpu=True)
    with pytest.raises((SettingsError, ValueError, KeyError)):
        MODELS[settings.model].model.from_learned(settings, learned, SizeDistribution({5: 1}))


def test_what_the_models_learn_is_accepted():
    for given, learned in (
        ({}, {"likelihood": EDGES}),
        (COMMUNITIES, {"likelihood": WITHIN, "communities": {"3+2": 1}}),
        (GUIDED, {"likelihood": EDGES, "guide_likelihood": EDGES}),
    ):
        settings = resolve_settings(given, nodes=9, on_cpu=True)
        model = MODELS["denoiser"].model.from_learned(settings, learned, SizeDistribution({5: 1}))
        assert model.learned() == learned


def test_a_guide_knows_communities_if_its_model_does():
    with pytest.raises(SettingsError, match="both conditioned"):
        resolve_settings({**COMMUNITIES, **GUIDED}, nodes=9, on_cpu=True)


def test_communities_of_more_blocks_than_are_looked_for_are_refused():
    assert CommunityDistribution.from_dict({"1+1+1+1+1+1+1+1": 1}).counts
    with pytest.raises(ValueError, match="are not communities"):
        CommunityDistribution.from_dict({"1+1+1+1+1+1+1+1+1": 1})


@pytest.mark.parametrize("level", [-10_000.0, 10_000.0])
def test_densities_near_nothing_and_all_are_numbers(level):
    assert EdgeDensity(level).at(7) == float(level > 0)
    assert BernoulliEdges(EdgeDensity(level)).to_dict()["density"]["level"] == level
