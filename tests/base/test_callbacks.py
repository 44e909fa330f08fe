"""scikit-learn's callbacks on our estimators: alone, in pipelines and searches, and where scikit-learn has none."""

import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widegap import (
    CPM3C,
    GMMC,
    M2DCU,
    MKC,
    MMC,
    DocumentClustering,
    IterLSSVM,
    IterSVM,
    IterSVR,
    MaxMarginClustering,
    TableEncoder,
    persistence,
)
from widegap._catalogue import ESTIMATORS
from widegap.exceptions import InvalidDataError, NoStructureWarning

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

ROWS = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)[0]
NOISE = np.random.default_rng(0).normal(size=(300, 2))
NOTES = ["the cat and the dog sleep", "a dog chases a cat", "stocks and bonds fell", "bonds rose while stocks fell"] * 4
FITS = {
    "MaxMarginClustering": (MaxMarginClustering, {}, ROWS),
    "by merging": (MaxMarginClustering, {"search": "merge"}, ROWS),
    "by moves": (MaxMarginClustering, {"search": "moves"}, ROWS),
    "CPM3C": (CPM3C, {}, ROWS),
    "M2DCU": (M2DCU, {"C_universum": 0}, ROWS),
    "MKC": (MKC, {"kernels": ["linear", "rbf"]}, ROWS),
    "IterSVR": (IterSVR, {}, ROWS),
    "IterLSSVM": (IterLSSVM, {}, ROWS),
    "IterSVM": (IterSVM, {}, ROWS),
    "MMC": (MMC, {}, ROWS[:12]),
    "GMMC": (GMMC, {}, ROWS[::3]),
    "DocumentClustering": (DocumentClustering, {}, NOTES),
}
every_fit = pytest.mark.parametrize(("cls", "settings", "X"), FITS.values(), ids=FITS)


class Tasks:
    """A callback that lists what it is told, as (event, estimator, task)."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.events, self.fitted, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", type(estimator).__name__, context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", type(estimator).__name__, context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", type(estimator).__name__, context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(("end", type(estimator).__name__, context.task_name))
        self.fitted.append(fitted_estimator)
        return self.stop_after is not None and self.steps() >= self.stop_after

    def steps(self):
        return sum(event == "end" and task != "fit" for event, _, task in self.events)


def test_every_estimator_is_tried():
    assert {cls.__name__ for cls, _, _ in FITS.values()} == set(ESTIMATORS)


@every_fit
def test_a_fit_is_a_task_and_its_records_are_steps(cls, settings, X):
    tasks, records = Tasks(), []
    model = cls(2, **settings)
    has_records = "callback" in model.get_params()
    if has_records:
        model.set_params(callback=records.append)
    model.set_callbacks(tasks).fit(X)
    name = cls.__name__
    assert tasks.events[:2] == [("setup", name, "fit"), ("begin", name, "fit")]
    assert tasks.events[-2:] == [("end", name, "fit"), ("teardown", name, "fit")]
    assert tasks.steps() == len(records) > 0 or not has_records
    events = [event for event, _, _ in tasks.events[2:-2]]
    assert events == ["begin", "end"] * (len(events) // 2)


@every_fit
def test_callbacks_change_nothing(cls, settings, X):
    watched = cls(2, random_state=0, **settings).set_callbacks(Tasks()).fit(X)
    alone = cls(2, random_state=0, **settings).fit(X)
    np.testing.assert_array_equal(watched.labels_, alone.labels_)
    assert not vars(watched).keys() - vars(alone).keys() - {"_skl_callbacks"}


@pytest.mark.parametrize("n_rows", [20, 60, 400, 1200])
@pytest.mark.parametrize("search", ["agree", "merge", "moves"])
def test_the_number_of_steps_is_known_in_advance(search, n_rows):
    most = []

    class Counted(Tasks):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            if context.task_name == "fit":
                most.append(context.max_subtasks)

    X = make_blobs(n_rows, centers=[[0, 0], [9, 9]], random_state=0)[0]
    tasks = Counted()
    MaxMarginClustering(2, search=search, random_state=0).set_callbacks(tasks).fit(X)
    assert 0 < tasks.steps() <= most[0]


@pytest.mark.parametrize("name", ["MaxMarginClustering", "by moves", "CPM3C", "DocumentClustering"])
def test_a_callback_can_end_a_fit(name):
    cls, settings, X = FITS[name]
    records = []
    tasks = Tasks(stop_after=1)
    model = cls(2, random_state=0, callback=records.append, **settings).set_callbacks(tasks).fit(X)
    assert tasks.steps() == len(records)
    assert len(records) < len(cls(2, random_state=0, **settings).fit(X).history_)
    assert set(model.labels_) == {0, 1}


def test_the_short_form_ends_a_fit_that_others_watch():
    tasks = Tasks()
    model = CPM3C(2, random_state=0, callback=lambda record: True).set_callbacks(tasks).fit(ROWS)
    assert tasks.steps() == len(model.history_) == 1


def test_a_fitted_copy_is_there_at_the_end():
    tasks = Tasks()
    model = MaxMarginClustering(2, random_state=0).set_callbacks(tasks).fit(ROWS)
    *steps, last = tasks.fitted
    assert set(steps) == {None}
    np.testing.assert_array_equal(last.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize("X", [np.full((9, 2), np.nan), ROWS[:1]], ids=["NaN", "one row"])
def test_an_error_ends_the_callbacks(X):
    tasks = Tasks()
    with pytest.raises(ValueError):
        MaxMarginClustering(2).set_callbacks(tasks).fit(X)
    events = [event for event, *_ in tasks.events]
    assert events.count("setup") == events.count("teardown")


def test_an_error_within_the_search_ends_the_callbacks():
    def fail(record):
        raise InvalidDataError("enough")

    tasks = Tasks()
    model = CPM3C(2, callback=fail, C=np.float32(1))  # which is fitted by a copy of the estimator
    with pytest.raises(InvalidDataError, match="enough"):
        model.set_callbacks(tasks).fit(ROWS)
    assert tasks.events[-1] == ("teardown", "CPM3C", "fit")
    assert not vars(model).keys() & {"_callback_fit_ctx", "_skl_callbacks_to_teardown"}


def test_parameters_of_single_precision_are_watched_once():
    tasks = Tasks()
    CPM3C(2, C=np.float32(1)).set_callbacks(tasks).fit(ROWS)
    assert [event for event, _, task in tasks.events if task == "fit"] == ["setup", "begin", "end", "teardown"]


def test_steps_in_a_pipeline_and_a_search():
    tasks = Tasks()
    steps = make_pipeline(StandardScaler(), MaxMarginClustering(2, random_state=0))
    grid = {"maxmarginclustering__n_clusters": [2, 3]}
    GridSearchCV(steps, grid, cv=2).set_callbacks(tasks).fit(ROWS)
    ours = [(event, task) for event, name, task in tasks.events if name == "MaxMarginClustering"]
    assert ours.count(("begin", "fit")) == ours.count(("end", "fit")) == 2 * 2 + 1
    assert ours.count(("end", "start")) > 5
    assert ("setup", "fit") not in ours  # the search's alone


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_bar_of_a_search(n_jobs, capsys, wide_screen):
    steps = make_pipeline(TableEncoder(), MaxMarginClustering(2, random_state=0))
    search = GridSearchCV(steps, {"maxmarginclustering__search": ["merge", "moves"]}, cv=2, n_jobs=n_jobs)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(ROWS)
    shown = capsys.readouterr().out
    assert "GridSearchCV - fit" in shown
    assert "TableEncoder - fit" in shown
    assert "MaxMarginClustering - fit" in shown
    assert "100%" in shown


def test_the_bar_of_a_fit(capsys, wide_screen):
    CPM3C(2, random_state=0).set_callbacks(callback.ProgressBar()).fit(ROWS)
    assert "CPM3C - fit" in capsys.readouterr().out


def test_encoders_are_tasks_without_steps():
    tasks = Tasks()
    encoder = TableEncoder().set_callbacks(tasks).fit(ROWS)
    assert [event for event, *_ in tasks.events] == ["setup", "begin", "end", "teardown"]
    assert tasks.fitted[0].transform(ROWS).shape == (60, 2) == encoder.transform(ROWS).shape


def test_clones_and_pickles_keep_callbacks_and_model_files_do_not(tmp_path):
    tasks = Tasks()
    model = CPM3C(2, random_state=0).set_callbacks(tasks).fit(ROWS)
    clone(model).fit(ROWS)
    assert [event for event, *_ in tasks.events].count("setup") == 2
    assert pickle.loads(pickle.dumps(model))._skl_callbacks[0].events == tasks.events
    persistence.save(model, tmp_path / "model.zip")
    assert not hasattr(persistence.load(tmp_path / "model.zip")[0], "_skl_callbacks")


def test_none_are_left():
    tasks = Tasks()
    CPM3C(2).set_callbacks(tasks).set_callbacks().fit(ROWS)
    assert not tasks.events


def test_warnings_still_name_the_line_of_the_user():
    with pytest.warns(NoStructureWarning) as caught:
        MaxMarginClustering(5, random_state=0).set_callbacks(Tasks()).fit(NOISE)
    assert caught[0].filename == __file__


def test_logging_stays_as_it_is(caplog):
    with caplog.at_level(logging.INFO, logger="widegap"):
        CPM3C(2, random_state=0).set_callbacks(Tasks()).fit(ROWS)
    assert not caplog.messages


WITHOUT = """
import sys, numpy as np, sklearn.pipeline, sklearn.linear_model, sklearn.preprocessing, sklearn.model_selection
sys.modules["sklearn.callback"] = None
from widegap import CPM3C, MaxMarginClustering, TableEncoder
X = np.vstack([np.eye(4), np.eye(4) + 9])
for model in CPM3C(2), MaxMarginClustering(2):
    assert not hasattr(model, "set_callbacks")
    assert set(model.fit(TableEncoder().fit_transform(X)).labels_) == {0, 1}
"""


def test_older_versions_of_scikit_learn_have_none():
    subprocess.run([sys.executable, "-W", "ignore", "-c", WITHOUT], check=True)
