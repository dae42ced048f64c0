"""docs/performance.md: every section from a record, with the targets beside the numbers."""

from __future__ import annotations

import copy
import json

import pytest

from benchmarks import page


@pytest.fixture
def gpu(record):
    """The tiny record with the provenance, paths and times of a GPU."""
    made = copy.deepcopy(record)
    made["provenance"] |= {"device_type": "cuda", "device": "NVIDIA H200"}
    made["training"]["accelerated"] |= {"path": "cuda-graph", "step_seconds": 4.5e-3}
    made["sampling"]["schedule"]["accelerated"] = {
        "path": "fused",
        "seconds": 2.44,
        "extrapolated": False,
        "runs_seconds": [2.44, 2.45, 2.43],
    }
    made["growth"]["skipped"] = [{"nodes": 500, "reason": "out of memory"}]
    return made


def rendered(folder, **files):
    results, docs = folder / "results", folder / "docs"
    results.mkdir()
    for name, content in files.items():
        (results / f"{name}.json").write_text(json.dumps(content))
    page.render(results, docs)
    assert (docs / page.PICTURE).read_bytes().startswith(b"\x89PNG")
    return (docs / "performance.md").read_text()


def row(text, start):
    """The one line of a table that starts so."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return line


def test_both_devices_and_the_targets(tmp_path, record, gpu):
    network = json.loads((page.ROOT / "results" / "benchmark_network.json").read_text())
    network["rows"]["forward"]["ratio"] = 3.25
    network["rows"]["training step"]["ratio"] = 2.25
    network["provenance"] |= {"processor": "Another", "threads": 7, "note": "with a note"}
    files = {"performance_cpu": record, "performance_cuda": gpu, "benchmark_network": network}
    text = rendered(tmp_path, **files)
    assert row(text, "1024 Community-small").endswith(
        "| 2.44 s | at most 10 s | 976 s | 400x | reached |"
    )
    assert "| 4.5 ms | at most 4 ms | 38 ms | 8.44x | not reached |" in text
    assert row(text, "forward, 32 graphs").endswith("| 3.25x | reached |")
    assert row(text, "training step, 32 graphs").endswith("| 2.25x | not reached |")
    assert "Another, 7 threads, with a note" in text
    assert "### GPU: NVIDIA H200" in text
    assert "### CPU: " in text
    assert "| fused | 2.44 s | median of 3 runs |" in text
    assert "| CUDA graph | 4.5 ms |" in text
    assert "cuda-graph" not in text
    assert text.count("| exponent, 6 to 12 |") == 2
    assert "Skipped at 500 nodes: out of memory." in text
    assert f"]({page.PICTURE})" in text


def test_one_device_alone_has_no_targets(tmp_path, record):
    text = rendered(tmp_path, performance_cpu=record)
    assert "GPU:" not in text
    assert "extrapolated from" in text
    assert "### Targets" not in text
    assert "## Denoiser" not in text


def test_the_denoiser_comes_first(tmp_path, record):
    made = record["provenance"] | {"device_type": "cuda", "device": "A GPU", "commit": "abc1234"}
    times = {
        "plain": {"seconds": 0.02, "warm_up": 1},
        "CUDA graph": {"seconds": 0.005, "warm_up": 2},
    }
    denoiser = {"nodes": 64, "batch": 32, "provenance": made, "training": times}
    denoiser["sampling"] = {"plain": {"graphs": 256, "seconds": 0.1, "warm_up": 0.3}}
    text = rendered(tmp_path, performance_cpu=record, benchmark_denoiser_cuda=denoiser)
    assert text.index("## Denoiser") < text.index("## EDP-GNN")
    assert "at commit abc1234" in text
    assert "| training step, 32 graphs | CUDA graph | 5 ms | 4.0x | 2 s |" in text
    assert "| network call, 256 graphs | plain | 100 ms | 1.0x | 0.3 s |" in text


def test_the_page_in_the_docs_is_what_the_records_give(tmp_path):
    """Generated, not edited."""
    page.render(page.ROOT / "results", tmp_path)
    committed = (page.ROOT / "docs" / "performance.md").read_text()
    assert (tmp_path / "performance.md").read_text() == committed


def test_nothing_to_render_says_what_to_run(tmp_path):
    with pytest.raises(SystemExit, match="python -m benchmarks edp-gnn"):
        page.render(tmp_path, tmp_path)
