"""Arguments by name: what scikit-learn's tools need of a generator."""

from __future__ import annotations

import copy

import networkx as nx
import pytest
from tests.tiny_generator import GRAPHS, make, structure

from graphscore import GraphGenerator
from graphscore.errors import SettingsError
from graphscore.training import TrainingSettings

ARGUMENTS = {
    "model": "denoiser",
    "seed": 3,
    "device": "cpu",
    "accelerate": "off",
    "show_progress": False,
    "training": {"steps": 2},
    "sampling": {"steps": 4},
}


def cloned(generator):
    """As `sklearn.base.clone` copies and checks."""
    given = {n: copy.deepcopy(v) for n, v in generator.get_params(deep=False).items()}
    made = type(generator)(**given)
    assert all(made.get_params(deep=False)[name] is value for name, value in given.items())
    return made


def test_params_are_the_arguments():
    found = GraphGenerator(**ARGUMENTS).get_params()
    assert found == {**ARGUMENTS, "training__steps": 2, "sampling__steps": 4}
    assert GraphGenerator(device="cpu").get_params() == {
        "model": None,
        "seed": 0,
        "device": "cpu",
        "accelerate": "auto",
        "show_progress": True,
    }


def test_settings_objects_have_params_too():
    generator = GraphGenerator(training=TrainingSettings(steps=7), device="cpu")
    assert generator.get_params()["training__steps"] == 7
    generator.set_params(training__steps=8)
    assert generator.settings.training.steps == 8


def test_a_clone_is_untrained_and_has_the_same_arguments():
    generator = make().fit(GRAPHS)
    other = cloned(generator)
    assert other.get_params() == generator.get_params()
    assert other.step == 0
    assert structure(other.fit(GRAPHS).sample(3)) == structure(make().fit(GRAPHS).sample(3))


def test_changed_settings_hold_from_the_next_fit_on():
    generator = make().fit(GRAPHS)
    before = structure(generator.sample(2, seed=1))
    assert generator.set_params(training__steps=2, seed=5) is generator
    assert (generator.step, structure(generator.sample(2, seed=1))) == (3, before)
    generator.fit(GRAPHS)
    assert (generator.step, generator.settings.seed) == (2, 5)
    assert generator.settings.training.batch_size == 4  # what was not changed


@pytest.mark.parametrize(
    "wrong", [{"training__step": 1}, {"training__steps": 0}, {"nonsense": 1}, {"device": "nowhere"}]
)
def test_a_refused_change_changes_nothing(wrong):
    generator = make()
    before = generator.get_params()
    with pytest.raises(SettingsError):
        generator.set_params(seed=9, **wrong)
    assert generator.get_params() == before


def test_a_loaded_generator_has_the_settings_of_its_model(tmp_path):
    make().fit(GRAPHS).save(tmp_path / "model")
    options = {"device": "cpu", "accelerate": "off", "show_progress": False}
    loaded = GraphGenerator.load(tmp_path / "model", **options)
    found = loaded.get_params()
    assert {name: found[name] for name in options} == options
    assert found["training__steps"] == 3
    assert cloned(loaded).settings == loaded.settings


def test_scikit_learn_itself():
    """Copies, and scores on held-out graphs."""
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")
    generator = make()
    assert base.clone(generator).get_params() == generator.get_params()

    def score(fitted, graphs, _=None):
        return -fitted.evaluate(graphs).average

    graphs = GRAPHS * 2
    scores = selection.cross_val_score(generator, graphs, scoring=score, cv=2)
    assert len(scores) == 2
    search = selection.GridSearchCV(generator, {"training__steps": [1, 2]}, scoring=score, cv=2)
    assert search.fit(graphs).best_params_["training__steps"] in (1, 2)
    assert isinstance(search.best_estimator_.sample(1)[0], nx.Graph)
