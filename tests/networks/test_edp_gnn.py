"""EDP-GNN against the paper's formulas written out, and the settings of its variants."""

from __future__ import annotations

import copy
from functools import partial

import pytest
import torch

from graphscore.errors import GraphDataError, SettingsError
from graphscore.graphs import Condition, GraphState, node_mask_of_sizes, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.networks.conditioning import LevelTable
from graphscore.networks.edp_gnn_layers import MessageLinear, PairLinear

SIGMAS = (1.0, 0.5, 0.1)
ACTIVATION = {"silu": torch.nn.functional.silu, "elu": torch.nn.functional.elu}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def randomise(module, source):
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=source))
    return module


def normal(*shape, source):
    return torch.randn(*shape, generator=source, dtype=torch.float64)


def layer_and_conditioning(make, level, *, conditional, source):
    """A random layer, and the conditioning of graphs at some of the noise levels."""
    table = LevelTable(len(SIGMAS))
    layer = make(table if conditional else None, generator=source)
    randomise(torch.nn.ModuleList([layer, table]), source)
    return layer, table(torch.eye(len(SIGMAS), dtype=torch.float64)[level])


def conditional(layer, x, level):
    """f_i(x) = (W x + b) gain_i + shift_i of section 3.4.4, before its activation."""
    own = layer.columns
    if own is None:
        return x @ layer.weight + layer.bias
    return (x @ layer.weight + own.bias) * own.gain[level] + own.shift[level]


@pytest.mark.parametrize("is_conditional", [True, False])
def test_pair_linear_is_the_linear_layer_of_the_concatenation(is_conditional):
    """Computing the parts once per node changes nothing."""
    source = generator()
    level = torch.tensor([2, 0, 1, 1])
    layer, conditioning = layer_and_conditioning(
        partial(PairLinear, 2, 3, 5), level, conditional=is_conditional, source=source
    )
    edge, z = normal(4, 6, 6, 2, source=source), normal(4, 6, 3, source=source)
    first, second, of_pair = layer(z, conditioning)
    result = first.unsqueeze(2) + second.unsqueeze(1) + edge @ of_pair.unsqueeze(1)
    for graph in range(4):
        for i in range(6):
            for j in range(6):
                joined = torch.cat([edge[graph, i, j], z[graph, i], z[graph, j]])
                expected = conditional(layer, joined, level[graph])
                torch.testing.assert_close(result[graph, i, j], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_conditional", [True, False])
def test_message_linear_sums_then_concatenates(is_conditional):
    """Mapping before summing equals CONCAT(A_c Z | c) of section 3.4.1."""
    source = generator(1)
    level = torch.tensor([2, 0])
    layer, conditioning = layer_and_conditioning(
        partial(MessageLinear, 3, 4, 5), level, conditional=is_conditional, source=source
    )
    edge, z = normal(2, 6, 6, 3, source=source), normal(2, 6, 4, source=source)
    result = layer(edge.flatten(2), z, conditioning)
    for graph in range(2):
        summed = [edge[graph, :, :, c] @ z[graph] for c in range(3)]
        joined = torch.stack(summed, dim=-1).flatten(1)
        expected = conditional(layer, joined, level[graph])
        torch.testing.assert_close(result[graph], expected, rtol=1e-12, atol=1e-12)


def paper_mlp(mlp, x, level, activation):
    x = conditional(mlp.first, x, level)
    for layer in (*mlp.between, mlp.last):
        x = conditional(layer, activation(x), level)
    return x


def paper_score(network, adj, size, level, feat=None):
    """Section 3.4 for one graph and one noise level, formula by formula, nothing saved."""
    settings = network.settings
    act = ACTIVATION[settings.activation]
    off = 1 - torch.eye(size, dtype=adj.dtype)
    adj = adj[:size, :size]
    channels = [adj, (1 - adj) * off] if settings.complement_channel else [adj]
    current = torch.stack(channels)  # (C,N,N)
    z = adj.sum(1, keepdim=True)
    if feat is not None:
        z = torch.cat([feat[:size], z], dim=1)
    collected = [current]
    for gnn, edge_mlp in zip(network.gnns, network.edge_mlps):
        if settings.append_degrees:
            z = torch.cat([z, current.sum(2).mT], dim=1)
        steps = []
        for epsilon, first, second in zip(gnn.epsilon, gnn.first, gnn.second):
            # The weight's rows are in the order of features, then channels.
            summed = [a @ z + (1 + epsilon) * z for a in current]
            joined = torch.stack(summed, dim=2).flatten(1)
            z = torch.tanh(conditional(second, act(conditional(first, joined, level)), level))
            steps.append(z)
        if settings.node_readout == "concat":
            z = torch.cat(steps, dim=1)
        else:
            z = sum(paper_mlp(mlp, step, level, act) for mlp, step in zip(gnn.readouts, steps))
        rows = z.unsqueeze(1).expand(-1, size, -1), z.unsqueeze(0).expand(size, -1, -1)
        x = torch.cat([current.permute(1, 2, 0), *rows], dim=-1)
        x = conditional(edge_mlp.first, x, level)
        for layer in (edge_mlp.second, edge_mlp.out):
            x = conditional(layer, act(x), level)
        new = (x + x.transpose(0, 1)).permute(2, 0, 1) * off
        collected.append(new)
        if settings.learnable_adjacency:
            current = new
    x = torch.cat(collected).permute(1, 2, 0)
    return paper_mlp(network.final, x, level, act).squeeze(-1) * off


@pytest.mark.parametrize(
    "settings",
    [
        EDPGNNSettings(),
        EDPGNNSettings(node_feat_dim=2),
        EDPGNNSettings.released(edge_norm="none"),
        EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False),
        EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=True),
        EDPGNNSettings.ablation(learnable_adjacency=True, multi_channel=False),
    ],
    ids=["paper", "features", "released", "gin", "fixed-adjacency", "one-channel"],
)
def test_the_network_is_the_papers(settings):
    """The fast, batched, masked network computes what the formulas say for each graph."""
    source = generator(2)
    network = randomise(EDPGNN(settings, SIGMAS, generator=source), source)
    sizes = [5, 3, 4]
    mask = node_mask_of_sizes(torch.tensor(sizes))
    raw = normal(3, 5, 5, source=source).triu(1)
    adj = (raw + raw.mT) * pair_mask(mask)
    width = settings.node_feat_dim
    feat = normal(3, 5, width, source=source) * mask.unsqueeze(-1) if width else None
    sigma = torch.tensor([0.5, 0.1, 1.0], dtype=torch.float64)
    result = network(GraphState(adj, mask), sigma, Condition(feat)).edges
    for graph, (size, level) in enumerate(zip(sizes, [1, 0, 2])):
        own = None if feat is None else feat[graph]
        expected = paper_score(network, adj[graph], size, level, own)
        torch.testing.assert_close(result[graph, :size, :size], expected, rtol=1e-10, atol=1e-10)


def test_edge_channels_are_symmetric_and_masked():
    """Every layer's adjacency is one: symmetric, zero diagonal, zero on padding."""
    source = generator(3)
    network = randomise(EDPGNN(EDPGNNSettings(), SIGMAS, generator=source), source)
    mask = node_mask_of_sizes(torch.tensor([5, 3]))
    raw = normal(2, 5, 5, source=source).triu(1)
    adj = (raw + raw.mT) * pair_mask(mask)
    channels = network.edge_channels(
        GraphState(adj, mask), torch.tensor([0.5, 0.1], dtype=torch.float64)
    )
    assert [c.shape[-1] for c in channels] == [2, 4, 4, 4, 4, 4]
    for layer in channels:
        torch.testing.assert_close(layer, layer.transpose(1, 2), rtol=1e-10, atol=1e-10)
        assert not layer[~pair_mask(mask)].any()


def test_initial_scores_have_the_size_of_scores():
    """At the start the output's gain at each level is 1/sigma, in the order of the level table."""
    network = EDPGNN(EDPGNNSettings(), SIGMAS, generator=generator())
    for layer in (network.final.first, network.final.last):
        gain = layer.columns.gain
        expected = torch.tensor([10.0, 2.0, 1.0]).unsqueeze(-1).expand_as(gain)
        torch.testing.assert_close(gain.detach(), expected)


def test_all_other_gains_start_at_one():
    network = EDPGNN(EDPGNNSettings(), SIGMAS, generator=generator())
    one = EDPGNN(EDPGNNSettings(initial_gains="one"), SIGMAS, generator=generator())
    assert torch.equal(one.table.gain, torch.ones_like(one.table.gain))
    changed = (network.table.gain != 1).any(0).sum()
    assert changed == EDPGNNSettings().edge_width + 1


@pytest.mark.parametrize("settings", [EDPGNNSettings(), EDPGNNSettings.released()])
def test_gains_and_shifts_are_in_one_table(settings):
    """And in no layer, where each of them would be a tensor more for optimiser and device."""
    network = EDPGNN(settings, SIGMAS, generator=generator())
    names = [name for name, _ in network.named_parameters()]
    assert [name for name in names if "gain" in name] == ["table.gain"]
    assert [name for name in names if "shift" in name] == ["table.shift"]


def test_a_copy_shares_nothing_with_the_network():
    """Sampling from averaged weights copies a network; its layers must find the copy's table."""
    network = EDPGNN(EDPGNNSettings(), SIGMAS, generator=generator())
    copied = copy.deepcopy(network)
    columns = copied.gnns[0].first[0].columns
    assert columns.table is copied.table is not network.table
    noisy = GraphState(torch.zeros(2, 4, 4), torch.ones(2, 4, dtype=torch.bool))
    sigma = torch.tensor([0.5, 0.1])
    before = network(noisy, sigma).edges
    with torch.no_grad():
        columns.bias.add_(1)
    assert torch.equal(network(noisy, sigma).edges, before)
    assert not torch.equal(copied(noisy, sigma).edges, before)


def test_ablation_cells():
    """Table 3: two switches; both off is vanilla GIN on one channel."""
    gin = EDPGNNSettings.ablation(learnable_adjacency=False, multi_channel=False)
    assert gin.channels == (1,) * 5
    assert not gin.complement_channel
    assert not gin.learnable_adjacency
    full = EDPGNNSettings.ablation(learnable_adjacency=True, multi_channel=True)
    assert full == EDPGNNSettings()
    changed = EDPGNNSettings.ablation(learnable_adjacency=True, multi_channel=False, features=8)
    assert changed.features == 8


def test_released_settings_can_be_changed():
    """Changes win over the variant's own values, and are validated."""
    assert EDPGNNSettings.released().edge_norm == "batch"
    assert EDPGNNSettings.released(edge_norm="none").edge_norm == "none"
    with pytest.raises(SettingsError, match="did you mean 'edge_norm'"):
        EDPGNNSettings.released(edge_nrm="none")


@pytest.mark.parametrize("channels", [(), (0,), (4, 0, 4)])
def test_a_network_without_layers_is_refused(channels):
    with pytest.raises(SettingsError, match=r"setting 'channels"):
        EDPGNNSettings(channels=channels)


@pytest.mark.parametrize(("expected", "given"), [(2, None), (2, 3), (0, 3)])
def test_wrong_node_features_are_named(expected, given):
    """Features that are missing, too many or not asked for give an error with both widths."""
    network = EDPGNN(EDPGNNSettings(node_feat_dim=expected), SIGMAS, generator=generator())
    noisy = GraphState(torch.zeros(1, 4, 4), torch.ones(1, 4, dtype=torch.bool))
    condition = Condition(None if given is None else torch.zeros(1, 4, given))
    with pytest.raises(GraphDataError, match=rf"got {given or 0} node features.*for {expected}"):
        network(noisy, torch.ones(1), condition)
