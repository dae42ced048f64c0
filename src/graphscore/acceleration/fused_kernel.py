"""The Triton kernel: many Langevin steps of one graph per program, without leaving the chip.

A program owns one graph. Nodes are padded to a power of two (`NODES`), channels of a layer to
`CHANNELS`; pairs are not padded: with i < j, pair number j (j - 1) / 2 + i enumerates the pairs of
the first n nodes first, whatever n is. What must be read across threads lies in scratch memory that
stays in the caches: all channels of all layers (slot 0 is the state itself, so that the state never
moves), the node features of a layer's message steps side by side, and the two node parts of the
edge MLP's first layer.

Noise comes from Philox, keyed by (seed, graph, step, pair): it depends neither on how the work is
cut into launches nor on the padding.

`fused.py` lays out the weights in the order in which they are read here.
"""

# No postponed annotations: Triton reads `tl.constexpr` as an object.

import triton
import triton.language as tl


@triton.jit
def _activate(x, ELU: tl.constexpr):
    if ELU:
        return tl.where(x > 0, x, tl.exp(x) - 1)
    return x * tl.sigmoid(x)


@triton.jit
def _matrix(at, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    return tl.load(at + row[:, None] * COLUMNS + column[None, :])


@triton.jit
def _linear(x, at, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRECISION: tl.constexpr):
    """x @ W + b; W (ROWS, COLUMNS) lies at `at`, b right after it."""
    product = tl.dot(x, _matrix(at, ROWS, COLUMNS), input_precision=PRECISION)
    return product + tl.load(at + ROWS * COLUMNS + tl.arange(0, COLUMNS))[None, :]


@triton.jit
def _normal(seed, graph, step, pair):
    """One standard normal per pair by Box and Muller from two of Philox's four words."""
    first, second, _, _ = tl.philox(seed, pair, pair * 0 + step, pair * 0 + graph, pair * 0)
    # The upper 24 bits, centred in their cell: never 0, of which there is no logarithm.
    u = ((first >> 8).to(tl.float32) + 0.5) * (1.0 / 16777216.0)
    angle = (second >> 8).to(tl.float32) * (6.283185307179586 / 16777216.0)
    return tl.sqrt(-2.0 * tl.log(u)) * tl.cos(angle)


@triton.jit
def _message_step(
    channels,  # of this graph, from the layer's input slot on
    z,
    at,
    N,
    IN: tl.constexpr,
    CHANNELS: tl.constexpr,
    NODES: tl.constexpr,
    FEATURES: tl.constexpr,
    BOUNDED: tl.constexpr,
    ELU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One step of MultiChannelGNN: z (NODES, IN) to (NODES, FEATURES)."""
    node = tl.arange(0, NODES)[:, None]
    sender = tl.arange(0, NODES)[None, :]
    inside = (node < N) & (sender < N)
    own = tl.zeros((NODES, FEATURES), tl.float32)
    x = tl.zeros((NODES, FEATURES), tl.float32)
    for _ in range(CHANNELS):
        # What a channel sends is mapped before it is summed, as in MessageLinear.
        sent = tl.dot(z, _matrix(at, IN, FEATURES), input_precision=PRECISION)
        messages = tl.load(channels + node * N + sender, mask=inside, other=0.0)
        x = tl.dot(messages, sent, x, input_precision=PRECISION)
        own += sent
        channels += N * N
        at += IN * FEATURES
    bias = tl.load(at + 1 + tl.arange(0, FEATURES))[None, :]
    x = _activate(x + own * tl.load(at) + bias, ELU)
    z_out = _linear(x, at + 1 + FEATURES, FEATURES, FEATURES, PRECISION)
    if BOUNDED:
        z_out = 2.0 * tl.sigmoid(2.0 * z_out) - 1.0
    return z_out


@triton.jit
def _pass_messages(
    channels,  # of this graph, from the layer's input slot on
    features,
    at,
    N,
    MESSAGE_STEPS: tl.constexpr,
    CHANNELS: tl.constexpr,
    NODES: tl.constexpr,
    FEATURES: tl.constexpr,
    CONCAT: tl.constexpr,
    BOUNDED: tl.constexpr,
    ELU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """MultiChannelGNN: read the features of the layer before, leave this layer's in their place."""
    node = tl.arange(0, NODES)[:, None]
    inside = node < N
    before = features + node * CONCAT + tl.arange(0, CONCAT)[None, :]
    here = features + node * CONCAT + tl.arange(0, FEATURES)[None, :]
    OTHERS: tl.constexpr = 1 + FEATURES + FEATURES * FEATURES + FEATURES
    z_all = tl.load(before, mask=inside, other=0.0)
    tl.debug_barrier()
    z = _message_step(
        channels, z_all, at, N, CONCAT, CHANNELS, NODES, FEATURES, BOUNDED, ELU, PRECISION
    )
    tl.store(here, z, mask=inside)
    at += CHANNELS * CONCAT * FEATURES + OTHERS
    for _ in range(1, MESSAGE_STEPS):
        z = _message_step(
            channels, z, at, N, FEATURES, CHANNELS, NODES, FEATURES, BOUNDED, ELU, PRECISION
        )
        here += FEATURES
        tl.store(here, z, mask=inside)
        at += CHANNELS * FEATURES * FEATURES + OTHERS
    tl.debug_barrier()


@triton.jit
def _update_channels(
    channels,  # of this graph
    slot_in,
    slot_out,
    ends,
    at,
    pair_first,
    pair_second,
    pairs,
    N,
    CHANNELS: tl.constexpr,
    WIDTH: tl.constexpr,
    OUT: tl.constexpr,
    PAIRS: tl.constexpr,
    ELU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """EdgeMLP: new channels of every pair, the same in both orders."""
    area = N * N
    hidden = tl.arange(0, WIDTH)[None, :]
    out = tl.arange(0, OUT)[None, :]
    second_layer = at + CHANNELS * WIDTH
    last_layer = second_layer + WIDTH * WIDTH + WIDTH
    for start in range(0, pairs, PAIRS):
        pair = start + tl.arange(0, PAIRS)
        real = pair < pairs
        i = tl.load(pair_first + pair, mask=real, other=0)
        j = tl.load(pair_second + pair, mask=real, other=0)
        of_i = ends + i[:, None] * (2 * WIDTH) + hidden
        of_j = ends + j[:, None] * (2 * WIDTH) + hidden
        forth = tl.load(of_i) + tl.load(of_j + WIDTH)
        back = tl.load(of_j) + tl.load(of_i + WIDTH)
        for channel in tl.static_range(CHANNELS):
            here = channels + (slot_in + channel) * area + i * N + j
            entry = tl.load(here, mask=real, other=0.0)[:, None]
            part = entry * tl.load(at + channel * WIDTH + hidden)
            forth += part
            back += part
        forth = _linear(_activate(forth, ELU), second_layer, WIDTH, WIDTH, PRECISION)
        back = _linear(_activate(back, ELU), second_layer, WIDTH, WIDTH, PRECISION)
        # The last layer is linear, so both orders are added before it.
        both = _activate(forth, ELU) + _activate(back, ELU)
        updated = _linear(both, last_layer, WIDTH, OUT, PRECISION)
        target = channels + (slot_out + out) * area
        kept = real[:, None] & (out < CHANNELS)
        tl.store(target + (i * N + j)[:, None], updated, mask=kept)
        tl.store(target + (j * N + i)[:, None], updated, mask=kept)
    tl.debug_barrier()


@triton.jit
def _move(
    channels,  # of this graph
    at,
    pair_first,
    pair_second,
    pairs,
    N,
    seed,
    graph,
    step,
    half_alpha,
    noise_size,
    WIDTH: tl.constexpr,
    SLOTS: tl.constexpr,
    SLOTS_PADDED: tl.constexpr,
    COMPLEMENT: tl.constexpr,
    PAIRS: tl.constexpr,
    ELU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The output MLP sees each pair once, and the pair is moved on the spot."""
    area = N * N
    hidden = tl.arange(0, WIDTH)
    slot = tl.arange(0, SLOTS_PADDED)[None, :]
    second_layer = at + SLOTS_PADDED * WIDTH + WIDTH
    last_layer = second_layer + WIDTH * WIDTH + WIDTH
    for start in range(0, pairs, PAIRS):
        pair = start + tl.arange(0, PAIRS)
        real = pair < pairs
        i = tl.load(pair_first + pair, mask=real, other=0)
        j = tl.load(pair_second + pair, mask=real, other=0)
        above = channels + i * N + j
        below = channels + j * N + i
        x = tl.load(above[:, None] + slot * area, mask=real[:, None] & (slot < SLOTS), other=0.0)
        x = _activate(_linear(x, at, SLOTS_PADDED, WIDTH, PRECISION), ELU)
        x = _activate(_linear(x, second_layer, WIDTH, WIDTH, PRECISION), ELU)
        score = tl.sum(x * tl.load(last_layer + hidden)[None, :], 1) + tl.load(last_layer + WIDTH)
        moved = tl.load(above, mask=real, other=0.0) + half_alpha * score
        moved += noise_size * _normal(seed, graph, step, pair)
        tl.store(above, moved, mask=real)
        tl.store(below, moved, mask=real)
        if COMPLEMENT:
            tl.store(above + area, 1.0 - moved, mask=real)
            tl.store(below + area, 1.0 - moved, mask=real)
    tl.debug_barrier()


# One compilation serves all launches: by default Triton compiles anew for special integers.
@triton.jit(do_not_specialize=["seed", "first_step", "steps", "N"])
def langevin_steps(
    channels,  # (B, SLOTS, N, N) scratch, zero on the diagonal and on padding
    features,  # (B, N, CONCAT) scratch
    ends,  # (B, N, 2 * WIDTH) scratch
    order,  # (programs,) the graph of each program
    sizes,  # (B,) nodes of each graph
    layer_weights,  # (LAYERS, LAYER_BLOCK)
    output_weights,
    pair_first,  # (N (N - 1) / 2,) the smaller node of each pair
    pair_second,
    seed,
    first_step,
    steps,
    half_alpha,
    noise_size,
    N,
    LAYERS: tl.constexpr,
    MESSAGE_STEPS: tl.constexpr,
    CHANNELS: tl.constexpr,
    NODES: tl.constexpr,
    FEATURES: tl.constexpr,
    CONCAT: tl.constexpr,
    WIDTH: tl.constexpr,
    OUT: tl.constexpr,
    SLOTS: tl.constexpr,
    SLOTS_PADDED: tl.constexpr,
    MESSAGE_BLOCK: tl.constexpr,
    LAYER_BLOCK: tl.constexpr,
    PAIRS: tl.constexpr,
    LEARNABLE: tl.constexpr,
    COMPLEMENT: tl.constexpr,
    BOUNDED: tl.constexpr,
    ELU: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Take `steps` Langevin steps of one noise level, whose gains are folded into the weights."""
    graph = tl.load(order + tl.program_id(0))
    n = tl.load(sizes + graph)
    pairs = n * (n - 1) // 2
    channels += graph.to(tl.int64) * SLOTS * N * N
    features += graph.to(tl.int64) * N * CONCAT
    ends += graph.to(tl.int64) * N * 2 * WIDTH
    node = tl.arange(0, NODES)[:, None]
    inside = node < N
    other = tl.arange(0, NODES)[None, :]
    feature = tl.arange(0, CONCAT)[None, :]
    concat = features + node * CONCAT + feature

    for step in range(first_step, first_step + steps):
        # Node features start from the weighted degrees, in the first of their columns.
        state = tl.load(channels + node * N + other, mask=inside & (other < N), other=0.0)
        degrees = tl.where(feature == 0, tl.sum(state, 1)[:, None], 0.0)
        tl.store(concat, degrees, mask=inside)
        tl.debug_barrier()
        for layer in range(LAYERS):
            at = layer_weights + layer * LAYER_BLOCK
            slot_in = layer * CHANNELS if LEARNABLE else 0
            _pass_messages(
                channels + slot_in * N * N,
                features,
                at,
                N,
                MESSAGE_STEPS,
                CHANNELS,
                NODES,
                FEATURES,
                CONCAT,
                BOUNDED,
                ELU,
                PRECISION,
            )
            at += MESSAGE_BLOCK
            z = tl.load(concat, mask=inside, other=0.0)
            of_ends = _linear(z, at, CONCAT, 2 * WIDTH, PRECISION)
            end = tl.arange(0, 2 * WIDTH)[None, :]
            tl.store(ends + node * (2 * WIDTH) + end, of_ends, mask=inside)
            tl.debug_barrier()
            _update_channels(
                channels,
                slot_in,
                (layer + 1) * CHANNELS,
                ends,
                at + CONCAT * 2 * WIDTH + 2 * WIDTH,
                pair_first,
                pair_second,
                pairs,
                N,
                CHANNELS,
                WIDTH,
                OUT,
                PAIRS,
                ELU,
                PRECISION,
            )
        _move(
            channels,
            output_weights,
            pair_first,
            pair_second,
            pairs,
            N,
            seed,
            graph,
            step,
            half_alpha,
            noise_size,
            WIDTH,
            SLOTS,
            SLOTS_PADDED,
            COMPLEMENT,
            PAIRS,
            ELU,
            PRECISION,
        )
