"""An estimator is one file: what it declares on its class gives it model files, reports and the command line."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import widegap
from widegap import persistence, report
from widegap._catalogue import ESTIMATORS, command_names, estimator_class, public_class
from widegap.base._clusterer import Clusterer, stored_attributes
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.selection._trials import gain_over_null

TOY = '''
from dataclasses import dataclass

import numpy as np

from widegap.base._validation import check_rows
from widegap.base._clusterer import Clusterer, Objective


@dataclass(frozen=True)
class Width:
    """Shape of the bands."""

    value: float


@dataclass(frozen=True)
class BandRecord:
    iteration: int
    objective: float


class Toy(Clusterer):
    """Bands of equal width along the first column."""

    _objective = Objective("width of a band", "lower", "how wide every band is")
    _record = BandRecord
    _stored = {"low_": float, "width_": Width}
    _command = "toy"
    _parameter_constraints: dict = {}

    def __init__(self, n_clusters=2, *, random_state=None, callback=None):
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.callback = callback

    def fit(self, X, y=None):
        column = self._column(X, reset=True)
        self.low_ = float(column.min())
        self.width_ = Width(float(np.ptp(column)) / self.n_clusters)
        self.n_clusters_, self.objective_, self.n_iter_ = self.n_clusters, self.width_.value, 1
        self.history_ = [BandRecord(0, self.objective_)]
        self.converged_, self.starved_ = True, False
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        bands = (self._column(X, reset=False) - self.low_) // self.width_.value
        return bands.clip(0, self.n_clusters_ - 1).astype(np.int32)

    def _column(self, X, *, reset):
        return check_rows(self, X, reset=reset, n_threads=1).map(lambda block: block.take(slice(None))[:, 0])
'''
X = np.column_stack([np.arange(12.0), np.ones(12)])


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The class of a module that did not exist before."""
    (tmp_path / "toy_of_a_user.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_of_a_user", raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("toy_of_a_user").Toy


def test_a_new_estimator_has_model_files(toy, tmp_path):
    model = toy(3).fit(X)
    persistence.save(model, tmp_path / "m")
    found, _ = persistence.load(tmp_path / "m")
    assert type(found) is toy
    assert found.history_ == model.history_
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_a_model_file_imports_no_module_of_a_user(toy, tmp_path, monkeypatch):
    persistence.save(toy(3).fit(X), tmp_path / "m")
    monkeypatch.setattr("widegap._catalogue._loaded", lambda: iter(()))  # as in a program that did not import it
    monkeypatch.delitem(sys.modules, "toy_of_a_user")
    with pytest.raises(InvalidDataError, match=r"it asks for the class 'toy_of_a_user\.Toy'"):
        persistence.load(tmp_path / "m")
    assert "toy_of_a_user" not in sys.modules


def test_a_new_estimator_has_reports(toy):
    summary = report.summarize(toy(3).fit(X), X)
    assert summary["objective"] == {
        "name": "width of a band",
        "value": pytest.approx(11 / 3),
        "most": None,
        "share": None,
        "better": "lower",
        "meaning": "how wide every band is",
    }
    assert summary["search"]["curve"] == [{"start": 0, "iteration": 0, "objective": pytest.approx(11 / 3)}]
    assert "width of a band" in report.render(summary)


def test_a_new_estimator_is_compared_by_its_own_direction(toy):
    model = toy(2).fit(X)
    assert gain_over_null(model, 2 * model.objective_) == pytest.approx(0.5)  # lower is better


def test_a_new_estimator_is_on_the_command_line(toy, tmp_path, capsys):
    table, model = tmp_path / "t.csv", tmp_path / "m"
    np.savetxt(table, X, delimiter=",", header="a,b", comments="")
    assert main(["cluster", str(table), "-k", "3", "--method", "toy", "--numeric", "a", "--model", str(model)]) == 0
    assert "3 clusters by Toy" in capsys.readouterr().out
    assert main(["cluster", str(table), "-k", "3", "--method", "toys"]) == 2
    assert "'toys' is not one of auto" in capsys.readouterr().err


def test_attributes_that_are_not_declared_are_refused(toy, tmp_path, monkeypatch):
    model = toy(3).fit(X)
    monkeypatch.setattr(toy, "_stored", {"low_": float})
    with pytest.raises(NotSupportedError, match=r"Toy\.width_ is not declared for model files; add it"):
        persistence.save(model, tmp_path / "m")
    monkeypatch.undo()
    persistence.save(model, tmp_path / "m")
    monkeypatch.setattr(toy, "_stored", {"low_": str})
    with pytest.raises(InvalidDataError, match=r"is damaged \(Toy\.low_ is float\)"):
        persistence.load(tmp_path / "m")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_public_estimators_declare_themselves(name):
    cls = public_class(name)
    assert issubclass(cls, Clusterer)
    assert cls is getattr(widegap, name) is estimator_class(name)
    assert cls._command == ESTIMATORS[name][1]
    assert cls._command is None or cls._command in command_names()
    assert {"labels_", "n_clusters_", "n_features_in_"} <= set(stored_attributes(cls))


def test_no_other_file_lists_the_estimators():
    """Three names of estimators in quotes are a list that a new one would have to be entered in.

    A file may name the estimators that it defines.
    """
    package = Path(widegap.__file__).parent
    for path in package.rglob("*.py"):
        if path.name not in ("_catalogue.py", "__init__.py"):
            text = path.read_text(encoding="utf-8")
            listed = [name for name in ESTIMATORS if f'"{name}"' in text and f"class {name}(" not in text]
            assert len(listed) < 3, path
