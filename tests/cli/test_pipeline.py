"""From a dataset to an evaluation, command by command, in every format."""

from __future__ import annotations

import json
import re

import networkx as nx
import pytest

from graphscore.graphs import read_graphs, write_graphs


def _structure(graphs):
    return [(len(graph), sorted(map(sorted, graph.edges))) for graph in graphs]


def test_export_train_info_sample_evaluate(place, call):
    """Each command works on what the one before wrote, and its JSON can be parsed."""
    exported = call("datasets", "export", "ego-small", "--split", "test", "--out", "ego.g6")
    assert (exported.code, exported.out) == (0, "40 graphs written to ego.g6\n")

    options = ("--config", "tiny.toml", "--steps", 2, "--seed", 5, "--model", "gin")
    trained = call("train", "ego.g6", "--out", "deep/new", *options, "--json")
    assert trained.code == 0
    record = json.loads(trained.out)
    assert (record["step"], record["steps"], record["finished"]) == (2, 2, True)
    assert (record["trained_on"], record["graphs"]) == ("ego.g6", 40)
    assert record["settings"]["seed"] == 5
    assert record["settings"]["network"]["learnable_adjacency"] is False  # by name
    assert record["settings"]["network"]["channels"] == [2]  # the file over the name
    assert "training 2/2" in trained.err  # progress stays out of the JSON
    assert json.loads((place / "deep/new/settings.json").read_text()) == record["settings"]

    shown = json.loads(call("info", "deep/new", "--json").out)
    more = {"history": record.pop("history"), "verdict": record.pop("verdict")}
    assert shown == record
    assert [step["step"] for step in more["history"]] == [1, 2]
    assert more["verdict"] is None  # of 40 graphs none are held out
    assert shown["nodes"] == [4, 17]

    arguments = ("--number", 3, "--out", "made/samples.g6", "--picture", "made/samples.png")
    sampled = json.loads(call("sample", "deep/new", *arguments, "--seed", 5, "--json").out)
    assert (sampled["graphs"], sampled["drawn"], sampled["seed"]) == (3, 3, 5)
    assert sampled["sampling"]["steps_per_level"] == 2
    assert len(read_graphs("made/samples.g6")) == 3
    assert (place / "made/samples.png").read_bytes().startswith(b"\x89PNG")

    evaluated = call(
        *("evaluate", "made/samples.g6", "--reference", "ego-small"),
        *("--training", "ego.g6", "--json"),
    )
    results = json.loads(evaluated.out)
    assert set(results) == {"samples", "training set"}
    samples = results["samples"]
    assert (samples["sample_count"], samples["reference_count"]) == (3, 40)
    assert 0 <= samples["novelty"] <= 1
    assert results["training set"]["average"] == 0  # ego.g6 is the reference itself


def test_results_are_readable_without_json(place, call):
    """Tables name what they show."""
    assert "trained on" in call("train", "graphs.g6", *_TINY, "--out", "new").out
    assert "equation 3" in call("info", "run").out
    written = call("sample", "run", "--number", 2).out
    assert "2 graphs written to run/samples.g6" in written
    table = call("evaluate", "run/samples.g6", "-r", "graphs.g6", "--keep-isolated").out
    assert "isolated nodes kept" in table
    assert "orbit" in table
    assert "community-small" in call("datasets").out
    assert {"ego-small", "protein"} <= {
        d["name"] for d in json.loads(call("datasets", "--json").out)
    }


_TINY = ("--config", "tiny.toml", "--steps", 2)


@pytest.mark.parametrize(
    "name",
    ["x.g6", "x.s6", "x.npz", "x.g6.gz", "x.graphml", "x.gml", "x.gml.gz", "x.edges"],
)
def test_samples_are_the_same_in_every_format(place, call, name):
    """What is written reads back as the graphs that the seed gives."""
    assert call("sample", "run", "-n", 3, "--seed", 7, "--out", name).code == 0
    generated = read_graphs(place / name)
    assert call("sample", "run", "-n", 3, "--seed", 7, "--out", "again.g6").code == 0
    assert _structure(generated) == _structure(read_graphs("again.g6"))
    assert (place / name).is_dir() == ("graphml" in name or "gml" in name or "edges" in name)


@pytest.mark.parametrize(
    "command", [("sample", "run", "-n", 3), ("datasets", "export", "ego-small")]
)
def test_tu_folders_can_be_written(place, call, command):
    """The suffix cannot say TU, so --format does, as messages about formats promise."""
    outcome = call(*command, "--out", "tu", "--format", "tu")
    assert outcome.code == 0, outcome.err
    assert (place / "tu/tu_A.txt").is_file()
    assert len(read_graphs(place / "tu")) >= 3


def test_one_graph_needs_no_folder(place, call):
    assert call("sample", "run", "-n", 1, "--out", "one.gml", "--nodes", 5).code == 0
    assert nx.read_gml(place / "one.gml").number_of_nodes() == 5


def test_sampling_again_draws_new_graphs_and_shows_the_seed_that_repeats_them(place, call):
    outputs, contents = [], []
    for seed in ((), ()):
        outputs.append(call("sample", "run", "-n", 8, *seed).out)
        contents.append((place / "run/samples.g6").read_bytes())
    assert contents[0] != contents[1]
    (seed,) = re.findall(r"\(seed ([0-9]+)\)", outputs[0])
    again = json.loads(call("sample", "run", "-n", 8, "--seed", seed, "--json").out)
    assert again["seed"] == int(seed)
    assert (place / "run/samples.g6").read_bytes() == contents[0]


def test_numbers_of_nodes_to_draw_from(place, call):
    outcome = call("sample", "run", "-n", 40, "--nodes", "4-5,8", "--seed", 1)
    assert {len(graph) for graph in read_graphs(place / "run/samples.g6")} == {4, 5, 8}
    assert "graphs are to have 8 nodes, but the training graphs had 4 to 6 nodes" in outcome.err
    assert call("sample", "run", "-n", 3, "--nodes", "6,4,5").code == 0
    assert [len(graph) for graph in read_graphs(place / "run/samples.g6")] == [6, 4, 5]


def test_only_connected_graphs(place, call):
    outcome = call("sample", "run", "-n", 20, "--connected", "--seed", 1)
    assert all(map(nx.is_connected, read_graphs(place / "run/samples.g6")))
    (drawn,) = re.findall(r"^20 connected graphs, of ([0-9]+) drawn, written to", outcome.out)
    assert int(drawn) > 20
    record = json.loads(call("sample", "run", "-n", 20, "--connected", "--seed", 1, "--json").out)
    assert record["drawn"] == int(drawn)


def test_that_a_folder_will_be_made_is_said(place, call):
    outcome = call("sample", "run", "-n", 2, "-o", "x.graphml")
    assert "x.graphml: will be a folder of 2 files" in outcome.err
    assert (place / "x.graphml").is_dir()
    for one_file in (["-n", 1, "-o", "y.graphml"], ["-n", 2, "-o", "y.json"]):
        assert "will be a folder" not in call("sample", "run", *one_file).err


def test_sampling_options_reach_the_sampler(place, call):
    options = ("--step-size", 1e-5, "--noise-scale", 0.5, "--steps-per-level", 1)
    outcome = call("sample", "run", "-n", 2, *options, "--threshold", 0.9, "--json")
    assert json.loads(outcome.out)["sampling"] == {
        "kind": "langevin",
        "sigmas": None,
        "step_size": 1e-5,
        "noise_scale": 0.5,
        "steps_per_level": 1,
        "threshold": 0.9,
    }


def test_options_win_over_the_file(place, call):
    """And the file wins over defaults."""
    (place / "more.toml").write_text(
        (place / "tiny.toml").read_text() + "\n[noise]\nsigmas=[1, 0.1]"
    )
    outcome = call(
        *("train", "graphs.g6", "--out", "new", "--config", "more.toml", "--steps", 2),
        *("--batch-size", 3, "--learning-rate", 0.01, "--json"),
    )
    settings = json.loads(outcome.out)["settings"]
    assert settings["training"]["batch_size"] == 3
    assert settings["training"]["learning_rate"] == 0.01
    assert settings["noise"]["sigmas"] == [1, 0.1]


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_datasets_have_parts_on_the_command_line(place, call, part):
    """NAME:PART means that part, for every command that reads graphs."""
    outcome = call("evaluate", f"ego-small:{part}", "-r", "graphs.g6", "--json")
    expected = {"train": 160, "val": 32, "test": 40}[part]
    assert json.loads(outcome.out)["samples"]["sample_count"] == expected


def test_another_draw_of_a_seeded_dataset(place, call):
    for seed in (0, 1):
        call("datasets", "export", "lobster", "--out", f"{seed}.g6", "--seed", seed)
    assert (place / "0.g6").read_bytes() != (place / "1.g6").read_bytes()


def test_tensorboard_scalars_are_written_beside_the_run(place, call):
    pytest.importorskip("tensorboard")
    outcome = call("train", "graphs.g6", "--out", "new", *_TINY, "--tensorboard")
    assert outcome.code == 0, outcome.err
    assert list((place / "new/tensorboard").glob("events.out.tfevents*"))


@pytest.mark.parametrize(
    ("flag", "repair"),
    [
        ("--undirected", "made undirected in 1 of 1 graphs"),
        ("--drop-self-loops", "self-loops dropped in 1 of 1 graphs"),
        ("--largest-component", "reduced to largest component in 1 of 1 graphs"),
    ],
)
def test_repairs_are_made_on_request_and_counted(place, call, flag, repair):
    kinds = {
        "--undirected": nx.DiGraph([(0, 1), (1, 2)]),
        "--drop-self-loops": nx.Graph([(0, 1), (1, 1)]),
        "--largest-component": nx.Graph([(0, 1), (1, 2), (3, 4)]),
    }
    nx.write_gml(kinds[flag], place / "odd.gml")
    outcome = call("train", "odd.gml", "--out", "new", *_TINY, flag, "--json")
    assert outcome.code == 0, outcome.err
    assert f"odd.gml: {repair}" in outcome.err
    assert json.loads(outcome.out)["graphs"] == 1


def test_resume_goes_on_to_more_steps(place, call):
    """Settings are taken from the run; the log holds every step once."""
    outcome = call("train", "graphs.g6", "--out", "run", "--resume", "--steps", 6, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["step"] == 6
    log = [json.loads(line) for line in (place / "run/log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in log] == [1, 2, 3, 4, 5, 6]
    assert json.loads((place / "run/settings.json").read_text())["training"]["steps"] == 6


def test_names_with_brackets_are_shown_as_they_are(place, call):
    """Square brackets mean markup to the table printer, but not to the user."""
    assert call("datasets", "export", "ego-small", "-o", "a[bold].g6").code == 0
    outcome = call("evaluate", "a[bold].g6", "-r", "a[bold].g6")
    assert outcome.code == 0, outcome.err
    assert "a[bold].g6" in outcome.out
    trained = call("train", "a[bold].g6", "--out", "named", "--max-seconds", 0)
    assert "a[bold].g6" in trained.out


def test_validation_graphs_choose_the_sampler_of_a_finished_run(place, call):
    trained = call("train", "graphs.g6", "--out", "new", *_TINY, "--validation", "graphs.g6")
    assert trained.code == 0
    usual = json.loads(call("info", "run", "--json").out)["settings"]["sampling"]
    chosen = json.loads(call("info", "new", "--json").out)["settings"]["sampling"]
    assert chosen["steps_per_level"] == usual["steps_per_level"]
    assert chosen["step_size"] in (5e-3, 2e-3, 1e-3, 5e-4, 2e-4)
    assert chosen["noise_scale"] in (1.0, 0.9, 0.7)
    assert "sampling" in trained.err
    again = call("train", "graphs.g6", "--out", "new", "--resume", "--validation", "graphs.g6")
    assert again.code == 0


def test_wrong_validation_graphs_cost_no_training(place, call):
    outcome = call("train", "graphs.g6", "--out", "new", *_TINY, "--validation", "none.g6")
    assert outcome.code == 2
    assert "none.g6" in outcome.err
    assert not (place / "new").exists()


DENOISER = """
[network]
kind = "denoiser"
blocks = 1
pair_width = 4
node_width = 4
product_width = 2

[sampling]
kind = "heun"
steps = 2
"""


@pytest.fixture
def two_models(place, call):
    """`better` and `weaker`, trained on the same graphs."""
    (place / "denoiser.toml").write_text(DENOISER)
    for name, steps in (("better", 3), ("weaker", 1)):
        options = ("--config", "denoiser.toml", "--steps", steps)
        assert call("train", "graphs.g6", "--out", name, *options).code == 0


def test_communities_are_found_and_asked_for(place, call):
    blocks = [nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(n)) for n in (7, 9)]
    write_graphs(place / "blocks.g6", blocks)
    options = ("--communities", "--steps", 2, "--device", "cpu")
    trained = json.loads(call("train", "blocks.g6", "--out", "run2", *options, "--json").out)
    assert trained["communities"] == {"8+7": 1, "9+8": 1}
    assert trained["settings"]["network"]["communities"] is True
    assert "2 of 7 to 9 nodes" in call("info", "run2").out
    few = ("--steps", 4, "-n", 2)
    assert call("sample", "run2", *few).code == 0
    assert {len(graph) for graph in read_graphs(place / "run2/samples.g6")} <= {15, 17}
    sampled = call("sample", "run2", *few, "--communities", "6,7,5", "--json")
    assert json.loads(sampled.out)["communities"] == [6, 7, 5]
    assert {len(graph) for graph in read_graphs(place / "run2/samples.g6")} == {18}
    as_graphml = ("-o", "made.graphml", "--steps", 4, "-n", 1, "--communities", "3,2")
    assert call("sample", "run2", *as_graphml).code == 0
    (graph,) = read_graphs(place / "made.graphml")
    assert list(dict(graph.nodes("community")).values()) == [0, 0, 0, 1, 1]
    huge = call("sample", "run2", "--nodes", 10**30)
    assert (huge.code, "too many pairs" in huge.err) == (2, True)
    # With --resume the stored settings apply.
    assert call("train", "blocks.g6", "--out", "run2", "--resume", "--steps", 3).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("sample", "run", "--communities", "8,8"),
            ["not conditioned on communities", "--communities"],
        ),
        *(
            (("sample", "run", f"--communities={wrong}"), [repr(wrong)[:1000], "20,25,31"])
            for wrong in ("8,x", "8,,8", "", "8,0", "-5,10", "1.5", "1e9", "8 8", "9" * 5000)
        ),
        (("sample", "run", "--communities", "8,8", "--nodes", 16), ["--nodes", "leave"]),
        (("train", "graphs.g6", "-o", "new", "--model", "gin", "--communities"), ["denoiser"]),
    ],
)
def test_wrong_use_of_communities(place, call, arguments, said):
    refused = call(*arguments)
    assert refused.code == 2
    assert all(word in refused.err for word in said), refused.err
    assert not (place / "new").exists()
    assert not (place / "run/samples.g6").exists()


@pytest.mark.usefixtures("two_models")
def test_two_models_become_a_guided_one(place, call):
    guided = call("guide", "better", "weaker", "--out", "guided", "--weight", 2, "--json")
    record = json.loads(guided.out)
    assert guided.code == 0
    assert record["settings"]["guide"]["weight"] == 2
    assert record["finished"]
    assert "weight 2" in call("info", "guided").out
    sampled = call("sample", "guided", "-n", 2, "--json")
    assert json.loads(sampled.out)["guidance"] == 2
    assert call("sample", "guided", "-n", 3, "--guidance", 0, "--seed", 4).code == 0
    assert call("sample", "better", "-n", 3, "--seed", 4).code == 0
    alone, plain = (read_graphs(place / name / "samples.g6") for name in ("guided", "better"))
    assert _structure(alone) == _structure(plain)


@pytest.mark.usefixtures("two_models")
def test_weights_of_a_guide_that_make_no_sense(place, call):
    assert call("guide", "better", "weaker", "--out", "guided").code == 0
    for wrong in ("-1", "nan"):
        refused = call("sample", "guided", f"--guidance={wrong}", "--out", "refused.g6")
        assert refused.code == 2
        assert f"guidance: setting 'weight' = {wrong}" in refused.err
    assert not (place / "refused.g6").exists()


@pytest.mark.usefixtures("two_models")
def test_validation_graphs_choose_the_weight_of_a_guide(call):
    options = ("--validation", "graphs.g6", "--sigma-max", 2)
    outcome = call("guide", "better", "weaker", "--out", "guided", *options, "--json")
    record = json.loads(outcome.out)
    assert outcome.code == 0
    assert [trial["weight"] for trial in record["trials"]] == [0, 0.5, 1, 2, 3]
    nearest = min(record["trials"], key=lambda trial: trial["average"])
    assert record["settings"]["guide"]["weight"] == nearest["weight"]
    shown = call("guide", "better", "weaker", "--out", "again", *options)
    assert shown.code == 0
    assert "average MMD to validation graphs" in shown.out
    assert f"{nearest['average']:.4f}" in shown.out


@pytest.mark.usefixtures("two_models")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("guide", "better", "weaker", "-o", "new", "--validation", "graphs.g6", "--weight", 1),
            ["--validation chooses the weight"],
        ),
        (("guide", "better", "weaker", "-o", "new", "--validation", "none.g6"), ["none.g6"]),
        (("guide", "better", "run", "--out", "new"), ["to denoise at every noise level"]),
        (("guide", "better", "nowhere", "--out", "new"), ["nowhere", "no checkpoint"]),
        (("guide", "better", "weaker", "--out", "run"), ["run: the folder exists", "not empty"]),
        (("guide", "better", "weaker", "--out", "graphs.g6/x"), ["graphs.g6", "not a folder"]),
        (("guide", "better", "weaker", "--out", "new", "--weight", -1), ["weight", "-1"]),
        (("guide", "better", "weaker", "-o", "new", "--sigma-min", 9), ["9", "0.15 to 4"]),
        (("sample", "better", "--guidance", 1), ["no guide", "graphscore guide"]),
    ],
)
def test_guides_that_make_no_sense(place, call, arguments, words):
    outcome = call(*arguments)
    assert outcome.code == 2
    assert all(word in outcome.err for word in words)
    assert not (place / "new").exists()


def test_evaluation_says_why_samples_are_invalid(place, call):
    graphs = [nx.cycle_graph(4), nx.cycle_graph(5), nx.path_graph(6), nx.empty_graph(3)]
    (place / "mixed.g6").write_bytes(
        b"".join(nx.to_graph6_bytes(graph, header=False) for graph in graphs)
    )
    options = ("mixed.g6", "-r", "graphs.g6", "--training", "graphs.g6", "--valid", "tree")
    shown = call("evaluate", *options)
    assert shown.code == 0, shown.err
    assert "valid 25.0%" in shown.out
    assert "not valid: with a cycle (2 of 4)" in shown.out
    assert "not valid: not connected (1 of 4)" in shown.out
    record = json.loads(call("evaluate", *options, "--json").out)
    assert record["vun"]["invalid_reasons"] == {"with a cycle": 2, "not connected": 1}
    wrong = call("evaluate", *options[:-1], "forest")
    assert wrong.code == 2
    assert "no validity check of that name" in wrong.err
