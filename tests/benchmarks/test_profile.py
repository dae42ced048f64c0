"""Where the time goes: shares that sum to one, and names sorted by what they do."""

from __future__ import annotations

import pytest

from benchmarks import profile


def test_shares_of_the_tiny_run_sum_to_one(record):
    for part in record["profile"].values():
        assert sum(part["shares"].values()) == pytest.approx(1)
        assert min(part["shares"].values()) >= 0
        assert part["shares"][profile.MATRIX] > 0
        assert part["matrix_products_share_of_ceiling"] > 0
    assert profile.OPTIMISER in record["profile"]["training"]["shares"]


def test_time_of_an_operator_is_without_what_it_calls():
    events = [
        {"cat": "cpu_op", "name": "outer", "tid": 1, "ts": 0.0, "dur": 10e6},
        {"cat": "cpu_op", "name": "inner", "tid": 1, "ts": 1e6, "dur": 4e6},
        {"cat": "cpu_op", "name": "deep", "tid": 1, "ts": 2e6, "dur": 1e6},
        {"cat": "cpu_op", "name": "inner", "tid": 1, "ts": 6e6, "dur": 2e6},
        {"cat": "cpu_op", "name": "elsewhere", "tid": 2, "ts": 3e6, "dur": 3e6},
        {"cat": "fwdbwd", "name": "arrow", "tid": 1, "ts": 3e6},
    ]
    spent = profile._of_operators(events)
    assert spent == {"outer": 4.0, "inner": 5.0, "deep": 1.0, "elsewhere": 3.0}


def test_kernels_at_the_same_time_are_busy_once():
    events = [
        {"cat": "kernel", "name": "a", "ts": 0.0, "dur": 2e6},
        {"cat": "kernel", "name": "b", "ts": 1e6, "dur": 2e6},
        {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 0.0, "dur": 9e6},
        {"cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 5e6, "dur": 1e6},
    ]
    spent, busy = profile._of_kernels(events)
    assert spent == {"a": 2.0, "b": 2.0, "Memcpy DtoD": 1.0}
    assert busy == 4.0


def test_the_rest_is_waiting_and_overlap_is_scaled_down():
    kinds = profile.kind_of_kernel
    waiting = profile._shares({"langevin_steps": 3.0}, 4.0, profile.WAITING, kinds)
    assert waiting == {profile.FUSED: 0.75, profile.WAITING: 0.25}
    full = profile._shares({"langevin_steps": 3.0, "sgemm": 3.0}, 4.0, profile.WAITING, kinds)
    assert full[profile.MATRIX] == 0.5
    assert sum(full.values()) == 1


KERNELS = {
    "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32": profile.MATRIX,
    "nvjet_sss_128x64_64x7_2x1_v_bz_NNT": profile.MATRIX,
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(Params)": profile.MATRIX,
    "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel(...)>": (
        profile.ELEMENTWISE
    ),
    "void at::native::elementwise_kernel<128, 2, direct_copy_kernel_cuda>": profile.COPIES,
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>": profile.SUMS,
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>": (
        profile.OPTIMISER
    ),
    "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel": (
        profile.RANDOM
    ),
    "Memset (Device)": profile.COPIES,
    "langevin_steps": profile.FUSED,
}
OPERATORS = {
    "aten::baddbmm": profile.MATRIX,
    "aten::silu_backward": profile.ELEMENTWISE,
    "aten::_fused_adam_": profile.OPTIMISER,
    "Optimizer.step#Adam.step": profile.OPTIMISER,
    "aten::normal_": profile.RANDOM,
    "aten::cat": profile.COPIES,
    "aten::sum": profile.SUMS,
    "aten::view": profile.REST,
    "autograd::engine::evaluate_function: SumBackward0": profile.REST,
    "_InPieces": profile.REST,
    "graphscore::fused_step": profile.FUSED,
}


@pytest.mark.parametrize("name", KERNELS)
def test_kind_of_a_kernel(name):
    assert profile.kind_of_kernel(name) == KERNELS[name]


@pytest.mark.parametrize("name", OPERATORS)
def test_kind_of_an_operator(name):
    assert profile.kind_of_operator(name) == OPERATORS[name]
