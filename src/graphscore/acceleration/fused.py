"""Langevin sampling in one kernel: weights folded for each noise level, many steps per launch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from graphscore.diffusion.likelihood import Prior
from graphscore.diffusion.samplers import LangevinSettings, OnStep, SamplingResult, folded_normal
from graphscore.diffusion.samplers.langevin import check_finite, step_sizes
from graphscore.diffusion.sigmas import SigmaLevels
from graphscore.graphs.state import GraphState, pair_mask
from graphscore.networks import EDPGNN, EDPGNNSettings
from graphscore.networks.conditioning import ConditionalLinear
from graphscore.networks.edp_gnn_layers import EdgeMLP, MessageLinear, MultiChannelGNN

MAX_NODES = 32
"""Larger graphs do not fit the registers of one program."""
MAX_WIDTH = 128
"""Nor do wider networks."""
STEPS_PER_LAUNCH = 50
"""Often enough to show progress, rarely enough that launches cost nothing."""
PAIRS_PER_BLOCK = 32
WARPS = 2
PRECISION = "tf32x3"
"""Three products on the matrix units give float32's accuracy; one would give three digits."""
_SMALLEST_DOT = 16


def unsupported_by_kernel(network: EDPGNN, nodes: int) -> bool:
    """Return whether a network, or the size of its graphs, is beyond what the kernel can do."""
    settings = network.settings
    return (
        settings.node_readout != "concat"
        or settings.append_degrees
        or settings.edge_norm != "none"
        or settings.node_feat_dim > 0
        or nodes > MAX_NODES
        or _Shape.of(settings).widest > MAX_WIDTH
    )


def _padded(size: int, least: int = 1) -> int:
    """The next power of two: Triton's blocks have no other sizes."""
    return max(least, 1 << (size - 1).bit_length())


@dataclass(frozen=True)
class _Shape:
    """Padded sizes of a network inside the kernel."""

    layers: int
    message_steps: int
    channels: int
    features: int
    width: int

    @classmethod
    def of(cls, settings: EDPGNNSettings) -> _Shape:
        return cls(
            layers=len(settings.channels),
            message_steps=settings.message_steps,
            channels=_padded(max(1 + settings.complement_channel, *settings.channels)),
            features=_padded(settings.features, _SMALLEST_DOT),
            width=_padded(settings.edge_width, _SMALLEST_DOT),
        )

    @property
    def concat(self) -> int:
        return _padded(self.message_steps) * self.features

    @property
    def out(self) -> int:
        return max(self.channels, _SMALLEST_DOT)

    @property
    def slots(self) -> int:
        return self.channels * (self.layers + 1)

    @property
    def widest(self) -> int:
        return max(self.concat, 2 * self.width, self.slots)


def _folded(linear: ConditionalLinear, level_weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weight (in,out) and bias (out,) of a conditional layer at one noise level."""
    columns = linear.columns
    if columns is None:
        return linear.weight, cast(Tensor, linear.bias)
    gain, shift = level_weights @ columns.gain, level_weights @ columns.shift
    return linear.weight * gain, columns.bias * gain + shift


def _placed(values: Tensor, *shape: int) -> Tensor:
    """`values` in the first corner of zeros of a larger shape."""
    padded = values.new_zeros(shape)
    padded[tuple(slice(size) for size in values.shape)] = values
    return padded


def _by_step(values: Tensor, gnn: MultiChannelGNN, shape: _Shape) -> Tensor:
    """Rows of a layer's concatenated features, moved to where the padded steps have them."""
    steps = shape.message_steps
    if len(values) != gnn.width_out:
        return values  # the input's degrees
    apart = values.reshape(steps, -1, *values.shape[1:])
    return _placed(apart, steps, shape.features, *values.shape[1:]).flatten(0, 1)


def _pack_layer(
    gnn: MultiChannelGNN, edge_mlp: EdgeMLP, shape: _Shape, level_weights: Tensor
) -> list[Tensor]:
    """One layer's block: the message steps one after the other, then the edge MLP."""
    channels, features, width, concat = shape.channels, shape.features, shape.width, shape.concat
    blocks: list[Tensor] = []
    for index, (first, second) in enumerate(zip(gnn.first, gnn.second)):
        first = cast(MessageLinear, first)
        weight, bias = _folded(first, level_weights)
        by_feature = weight.view(-1, first.channels, weight.shape[-1])
        if index == 0:
            by_step = _by_step(by_feature, gnn, shape).transpose(0, 1)
            blocks.append(_placed(by_step, channels, concat, features))
        else:
            blocks.append(_placed(by_feature.transpose(0, 1), channels, features, features))
        blocks += [1 + gnn.epsilon[index], _placed(bias, features)]
        weight, bias = _folded(cast(ConditionalLinear, second), level_weights)
        blocks += [_placed(weight, features, features), _placed(bias, features)]
    pair, bias = _folded(edge_mlp.first, level_weights)
    of_pair, *of_ends = torch.split(pair, edge_mlp.first.parts)
    parts = [_placed(_by_step(part, gnn, shape), concat, width) for part in of_ends]
    blocks.append(torch.cat(parts, dim=1))
    blocks.append(_placed(bias, 2 * width))
    blocks.append(_placed(of_pair, channels, width))
    weight, bias = _folded(edge_mlp.second, level_weights)
    blocks += [_placed(weight, width, width), _placed(bias, width)]
    weight, bias = _folded(edge_mlp.out, level_weights)
    # The kernel adds both orders of a pair before the last layer.
    blocks += [_placed(weight, width, shape.out), _placed(2 * bias, shape.out)]
    return blocks


def _pack_output(network: EDPGNN, shape: _Shape, level_weights: Tensor) -> list[Tensor]:
    """The output MLP, its inputs in the kernel's slots."""
    width = shape.width
    first, second, last = (
        _folded(cast(ConditionalLinear, layer), level_weights)
        for layer in (network.final.first, network.final.between[0], network.final.last)
    )
    settings = network.settings
    inputs = torch.split(first[0], [1 + settings.complement_channel, *settings.channels])
    slots = torch.cat([_placed(part, shape.channels, width) for part in inputs])
    return [
        _placed(slots, _padded(shape.slots, _SMALLEST_DOT), width),
        _placed(first[1], width),
        _placed(second[0], width, width),
        _placed(second[1], width),
        _placed(last[0].squeeze(1), width),
        last[1],
    ]


def _flat(blocks: list[Tensor]) -> Tensor:
    return torch.cat([block.reshape(-1) for block in blocks]).float().contiguous()


@dataclass(frozen=True)
class _Scratch:
    """What the kernel reads and writes between launches; see its arguments."""

    channels: Tensor
    features: Tensor
    ends: Tensor
    sizes: Tensor
    pair_first: Tensor
    pair_second: Tensor

    @classmethod
    def of(cls, adj: Tensor, node_mask: Tensor, settings: EDPGNNSettings) -> _Scratch:
        shape, (batch, nodes) = _Shape.of(settings), node_mask.shape
        channels = adj.new_zeros(batch, shape.slots, nodes, nodes)
        channels[:, 0] = adj * pair_mask(node_mask)
        if settings.complement_channel:
            channels[:, 1] = pair_mask(node_mask).to(adj.dtype) - channels[:, 0]
        second, first = torch.tril_indices(nodes, nodes, -1, device=adj.device, dtype=torch.int32)
        return cls(
            channels,
            features=adj.new_zeros(batch, nodes, shape.concat),
            ends=adj.new_zeros(batch, nodes, 2 * shape.width),
            sizes=node_mask.sum(1, dtype=torch.int32),
            pair_first=first,
            pair_second=second,
        )


def _orders(sizes: Tensor) -> dict[int, Tensor]:
    """Graphs by the nodes they are padded to, the largest graphs first: they take longest."""
    order = sizes.argsort(descending=True).to(torch.int32)
    padded = [_padded(size, _SMALLEST_DOT) for size in sizes[order].tolist()]
    places = torch.tensor(padded, device=sizes.device)
    return {nodes: order[places == nodes] for nodes in sorted(set(padded), reverse=True)}


@torch.no_grad()
def fused_langevin(
    network: EDPGNN,
    prior: Prior,
    levels: SigmaLevels,
    settings: LangevinSettings,
    *,
    generator: torch.Generator,
    initial: GraphState | None = None,
    on_step: OnStep | None = None,
) -> SamplingResult:
    """Run `annealed_langevin` inside one kernel, in float32.

    The noise is the kernel's own: it depends on a key drawn from `generator`, on the graph's place
    in the batch, on the step and on the pair. `on_step` is called after each launch.

    Raises:
        SamplingError: the state is not finite, as happens when the step size is too large.
        ValueError: a graph's nodes are not the first ones of its mask.
    """
    from graphscore.acceleration.fused_kernel import langevin_steps

    node_mask = prior.mean.node_mask
    if bool((node_mask[:, 1:] & ~node_mask[:, :-1]).any()):
        raise ValueError("the kernel takes masks without gaps")

    device, shape = node_mask.device, _Shape.of(network.settings)
    key = int(torch.randint(2**62, (), generator=generator, device=device))
    first = folded_normal(prior.mean, generator=generator) if initial is None else initial
    scratch = _Scratch.of(first.edges.float(), node_mask, network.settings)
    state = GraphState(scratch.channels[:, 0], node_mask)
    orders = _orders(scratch.sizes)
    done = 0
    for level in step_sizes(levels, settings):
        layers, output = _packed(network, shape, level.sigma, device)
        last = done + settings.steps_per_level
        while done < last:
            steps = min(STEPS_PER_LAUNCH, last - done)
            with _side_by_side(device, len(orders)) as streams:
                for stream, (nodes, order) in zip(streams, orders.items()):
                    with stream:
                        langevin_steps[(len(order),)](
                            scratch.channels,
                            scratch.features,
                            scratch.ends,
                            order,
                            scratch.sizes,
                            layers,
                            output,
                            scratch.pair_first,
                            scratch.pair_second,
                            key,
                            done,
                            steps,
                            level.alpha / 2,
                            level.noise_size,
                            node_mask.shape[1],
                            NODES=nodes,
                            LAYER_BLOCK=layers.shape[1],
                            **_constants(network.settings, shape),
                        )
            done += steps
            if on_step is not None:
                on_step(done, state.map(torch.clone))
        check_finite(state, level.sigma, settings)
    return SamplingResult(state.map(torch.clone), done)


def _packed(
    network: EDPGNN, shape: _Shape, sigma: float, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Weights of all layers (layers, block) and of the output MLP at one noise level."""
    level_weights = network.level_weights(torch.tensor([sigma], device=device), torch.float32)[0]
    layers = [
        _flat(_pack_layer(cast(Any, gnn), cast(Any, edge_mlp), shape, level_weights))
        for gnn, edge_mlp in zip(network.gnns, network.edge_mlps)
    ]
    return torch.stack(layers), _flat(_pack_output(network, shape, level_weights))


@contextmanager
def _side_by_side(device: torch.device, count: int) -> Iterator[list[Any]]:
    """Contexts in which launches do not wait for each other, only for what was before."""
    if count == 1 or device.type != "cuda":
        yield [nullcontext()] * count
        return
    current = torch.cuda.current_stream(device)
    streams = [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]
    for stream in streams:
        stream.wait_stream(current)
    try:
        yield [torch.cuda.stream(stream) for stream in streams]
    finally:
        for stream in streams:
            current.wait_stream(stream)


def _constants(settings: EDPGNNSettings, shape: _Shape) -> dict[str, Any]:
    features = shape.features
    inputs = shape.concat + (shape.message_steps - 1) * features
    others = 1 + features + (features + 1) * features
    message_block = shape.channels * inputs * features + shape.message_steps * others
    return {
        "LAYERS": shape.layers,
        "MESSAGE_STEPS": shape.message_steps,
        "CHANNELS": shape.channels,
        "FEATURES": shape.features,
        "CONCAT": shape.concat,
        "WIDTH": shape.width,
        "OUT": shape.out,
        "SLOTS": shape.slots,
        "SLOTS_PADDED": _padded(shape.slots, _SMALLEST_DOT),
        "MESSAGE_BLOCK": message_block,
        "PAIRS": PAIRS_PER_BLOCK,
        "LEARNABLE": settings.learnable_adjacency,
        "COMPLEMENT": settings.complement_channel,
        "BOUNDED": settings.node_output == "tanh",
        "ELU": settings.activation == "elu",
        "PRECISION": PRECISION,
        "num_warps": WARPS,
        # Loads must not be moved ahead of the barriers that they wait for.
        "num_stages": 1,
    }
