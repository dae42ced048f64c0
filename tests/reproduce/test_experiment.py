"""Experiments by name; parts computed apart give the same record as one run."""

from __future__ import annotations

import json

import pytest

from graphscore.errors import OutputError, SettingsError, StoppedError
from reproduce.experiment import Experiment, find_experiment
from reproduce.pages import FOLDER as TEMPLATES
from reproduce.plans import FOLDER as PLANS
from reproduce.records import common_provenance, read_record, work_folder, write_record
from reproduce.titles import TITLES


def small(computed):
    """An experiment of three parts that lists what it computes."""

    def compute(context, key):
        computed.append(key)
        return {"value": int(key[-1]) * 2}

    return Experiment(
        "table2",
        keys=lambda context: ["part-1", "part-2", "other-3"],
        settings=lambda context: {"factor": 2},
        compute=compute,
        assemble=lambda context, parts: {key: part["value"] for key, part in parts.items()},
        tables=lambda record: [],
    )


def timeless(record):
    """A record without what differs from run to run."""
    return {key: value for key, value in record.items() if key != "seconds"}


def test_every_name_leads_to_an_experiment():
    for name in TITLES:
        experiment = find_experiment(name)
        assert experiment.name == name
        assert experiment.title == TITLES[name]
        assert (PLANS / f"{name}.toml").exists()
        assert (TEMPLATES / f"{name}.md").exists()


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(SettingsError, match=r"'tabel2'.*Did you mean 'table2'"):
        find_experiment("tabel2")
    with pytest.raises(SettingsError, match=r"Known: table1, table2"):
        find_experiment("xyz")


def test_a_record_says_how_it_came_about(context):
    record = small([]).run(context(seeds=2))
    assert record["results"] == {"part-1": 2, "part-2": 4, "other-3": 6}
    assert record["seeds"] == [0, 1]
    assert record["scale"] == "tiny"
    assert record["settings"] == {"factor": 2}
    assert record["provenance"]["device"] == "CPU"
    assert record["seconds"] >= 0


def test_an_interrupted_run_computes_only_what_is_missing(context):
    computed: list[str] = []
    stop = context(should_stop=lambda: len(computed) == 2)
    with pytest.raises(StoppedError):
        small(computed).run(stop)
    assert computed == ["part-1", "part-2"]
    record = small(computed).run(context())
    assert computed == ["part-1", "part-2", "other-3"]
    assert timeless(record) == timeless(small([]).run(context("whole")))
    small(computed).run(context())
    assert len(computed) == 3


def test_parts_apart_give_the_record_of_one_run(context):
    computed: list[str] = []
    experiment = small(computed)
    experiment.run_parts(context(), experiment.matching(context(), ["other*"]))
    experiment.run_parts(context(), experiment.matching(context(), ["part-2", "part-?"]))
    assert computed == ["other-3", "part-1", "part-2"]
    record = experiment.run(context())
    assert len(computed) == 3
    assert timeless(record) == timeless(small([]).run(context("whole")))


def by_set(factors):
    """An experiment with a row for each of two sets, of two parts each."""

    def row(name, parts):
        values = [parts[key]["value"] for key in parts if key.startswith(name)]
        return {"dataset": name, "values": values}

    return Experiment(
        "denoiser-benchmark",
        keys=lambda context: ["a-b_1", "a-b_2", "c_1", "c_2"],
        settings=lambda context: {"seed": 0, "factors": factors},
        compute=lambda context, key: {"value": int(key[-1]) * factors[key[:-2]]},
        assemble=lambda context, parts: [
            row(name, parts) for name in factors if f"{name}_1" in parts
        ],
        tables=lambda record: [],
        needs_all=False,
    )


def test_sets_that_nothing_is_finished_of_keep_their_rows(context):
    """A new row comes with its settings; the others stay as they were, and say with which."""
    first = by_set({"a-b": 2, "c": 3})
    earlier = first.run(context("first"))
    assert "missing" not in earlier
    changed = by_set({"a-b": 20, "c": 30})
    here = context("second")
    changed.run_parts(here, ["c_1", "a-b_2"])
    record = changed.run(here, finished=True, earlier=earlier)
    assert record["results"] == [
        {"dataset": "a-b", "values": [2, 4]},
        {"dataset": "c", "values": [30]},
    ]
    assert record["settings"] == {"seed": 0, "factors": {"a-b": 2, "c": 30}}
    assert record["missing"] == ["c_2"]
    assert "seconds" not in record
    # Again, from what was written.
    assert changed.run(here, finished=True, earlier=record) == record
    changed.run_parts(here, ["a-b_1", "c_2"])
    assert changed.run(here, finished=True, earlier=record) == changed.run(here)
    # The missing parts of a row that is kept are still missing.
    third = context("third")
    first.run_parts(third, ["a-b_1"])
    assert first.run(third, finished=True, earlier=record)["missing"] == ["a-b_2", "c_2"]


def test_a_record_is_read_back_or_refused(tmp_path):
    made = {"experiment": "table2", "scale": "quick", "results": []}
    assert read_record(tmp_path, "table2", "quick") is None
    file = write_record(made, tmp_path)
    assert read_record(tmp_path, "table2", "quick") == made
    for content in ("{", "[]", '{"experiment": "denoiser-benchmark", "scale": "quick"}'):
        file.write_text(content)
        with pytest.raises(OutputError, match=r"table2_quick\.json: is not a record of tab"):
            read_record(tmp_path, "table2", "quick")


def test_an_unknown_part_is_named(context):
    with pytest.raises(SettingsError, match=r"no part 'part-9'.*part-1, part-2, other-3"):
        small([]).matching(context(), ["part-1", "part-9"])


def test_provenance_of_several_machines():
    both = [{"device": "CPU", "torch": "2"}, {"device": "H200", "torch": "2"}]
    assert common_provenance(both) == {"device": ["CPU", "H200"], "torch": "2"}
    assert common_provenance([common_provenance(both), {"device": "H100", "torch": "2"}]) == {
        "device": ["CPU", "H200", "H100"],
        "torch": "2",
    }


def test_only_the_full_scale_has_the_plain_name(tmp_path):
    full = write_record({"experiment": "table2", "scale": "full"}, tmp_path)
    quick = write_record({"experiment": "table2", "scale": "quick"}, tmp_path)
    assert full.name == "table2.json"
    assert quick.name == "table2_quick.json"
    assert json.loads(full.read_text())["scale"] == "full"
    assert work_folder(tmp_path, "table2", "quick") == tmp_path / "work" / "table2_quick"
