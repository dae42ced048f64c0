"""docs/performance.md: every section from a record, with the bars beside the numbers."""

from __future__ import annotations

import copy
import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "render_performance.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("render_performance", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gpu(record):
    """The tiny record dressed as a GPU's, with times on both sides of the bars."""
    made = copy.deepcopy(record)
    made["provenance"] |= {"device_type": "cuda", "device": "NVIDIA H200"}
    made["training"]["accelerated"] |= {"path": "captured", "step_seconds": 3.1e-3}
    made["sampling"]["schedule"]["accelerated"] = {
        "path": "fused",
        "seconds": 2.44,
        "extrapolated": False,
        "runs_seconds": [2.44, 2.45, 2.43],
    }
    made["growth"]["skipped"] = [{"nodes": 500, "reason": "out of memory"}]
    return made


def rendered(script, folder, **files):
    results, docs = folder / "results", folder / "docs"
    results.mkdir()
    for name, content in files.items():
        (results / f"{name}.json").write_text(json.dumps(content))
    script.render(results, docs)
    assert (docs / "images" / "performance.png").read_bytes().startswith(b"\x89PNG")
    return (docs / "performance.md").read_text()


OTHER = {"processor": "Another", "threads": 7, "note": "in a museum"}


def test_both_devices_and_the_bars(script, tmp_path, record, gpu):
    network = json.loads((SCRIPT.parents[1] / "results" / "benchmark_network.json").read_text())
    network["rows"]["forward"]["ratio"] = 3.25
    network["rows"]["training step"]["ratio"] = 2.25
    files = {"performance_cpu": record, "performance_cuda": gpu, "benchmark_network": network}
    files["benchmark_network_other"] = network | {"provenance": network["provenance"] | OTHER}
    page = rendered(script, tmp_path, **files)
    lines = {line.split(" | ")[0]: line for line in page.splitlines() if line.startswith("| ")}
    whole = next(line for key, line in lines.items() if "1024 Community-small graphs" in key)
    assert whole.endswith("| 2.44 s | at most 10 s, stretch 3 s | 976 s | 400x | stretch reached |")
    training = next(line for key, line in lines.items() if "training step, 2 graphs" in key)
    assert "| 3.1 ms | at most 4 ms, stretch 2 ms | 38 ms | 12.3x | reached |" in training
    forward = [line for key, line in lines.items() if key.startswith("| forward, 32 graphs")]
    assert [line.endswith("| 3.25x | reached |") for line in forward] == [True, True]
    step = [line for key, line in lines.items() if key.startswith("| training step, 32 graphs")]
    assert [line.endswith("| 2.25x | not reached |") for line in step] == [True, True]
    assert sum("Another, 7 threads, in a museum" in line for line in forward + step) == 2
    assert "## GPU: NVIDIA H200" in page
    assert "## CPU: " in page
    assert "median of 3 whole runs" in page
    assert page.count("**Where the remaining time goes**") == 2
    assert page.count("| exponent, 6 to 12 |") == 2
    assert "Left out at 500 nodes: out of memory." in page
    assert "images/performance.png" in page


def test_one_device_alone(script, tmp_path, record):
    page = rendered(script, tmp_path, performance_cpu=record)
    assert "GPU" not in page
    assert "extrapolated from" in page
    assert "--quick" in page
    assert "## Targets" not in page


def test_nothing_to_render_says_what_to_run(script, tmp_path):
    with pytest.raises(SystemExit, match="graphscore bench"):
        script.render(tmp_path, tmp_path)


def test_the_denoiser_has_a_section_where_it_was_measured(script):
    assert script.denoiser_section([]) == ""
    made = {"device_type": "cuda", "device": "A GPU", "commit": "abc1234"}
    times = {"plain": {"seconds": 0.02, "warm_up": 1}, "captured": {"seconds": 0.005, "warm_up": 2}}
    record = {"nodes": 64, "batch": 32, "provenance": made, "training": times}
    record["sampling"] = {"plain": {"graphs": 256, "seconds": 0.1, "warm_up": 0.3}}
    text = script.denoiser_section([record])
    assert "A GPU: commit abc1234." in text
    assert "| training step, 32 graphs, A GPU | captured | 5 ms | 4.0x | 2 s |" in text
    assert "| network call, 256 graphs, A GPU | plain | 100 ms | 1.0x | 0.3 s |" in text
