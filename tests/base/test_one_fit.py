"""Two fits of one object at once: the second is refused before it changes anything, the first ends as if alone."""

import gc
import os
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

from widegap import CPM3C, M2DCU, MKC, DocumentClustering, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering
from widegap.base import _one_fit
from widegap.exceptions import ConcurrentFitError

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::widegap.exceptions.StarvedClusterWarning"),
]
X = np.random.default_rng(0).normal(size=(40, 3)) + 9 * (np.arange(40) % 2)[:, None]
TEXTS = [f"bread flour yeast oven {i}" if i % 2 else f"goal match keeper ball {i}" for i in range(24)]
ESTIMATORS = [
    CPM3C(2, random_state=0), MKC(2, random_state=0), M2DCU(2, C_universum=0.0, random_state=0),
    IterSVM(2, random_state=0), IterSVR(2, random_state=0), IterLSSVM(2, random_state=0),
    MaxMarginClustering(2, random_state=0), DocumentClustering(2, random_state=0),
]  # fmt: skip


def rows_of(model):
    return TEXTS if isinstance(model, DocumentClustering) else X


class Held:
    """A callback that stays in a fit until it is released."""

    def __init__(self):
        self.entered, self.released = threading.Event(), threading.Event()

    def __deepcopy__(self, memo):
        return self  # clones of a model share it

    def __call__(self, record):
        self.entered.set()
        assert self.released.wait(60)


class InThread(threading.Thread):
    """A call in a thread of its own, and what it raised."""

    def __init__(self, call):
        super().__init__()
        self.call, self.error = call, None
        self.start()

    def run(self):
        try:
            self.call()
        except BaseException as error:
            self.error = error

    def ended(self):
        self.join(60)
        assert not self.is_alive()
        return self.error


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_the_second_fit_is_refused_and_the_first_ends_as_if_alone(model):
    rows, held = rows_of(model), Held()
    expected = clone(model).fit(rows)
    model = clone(model).set_params(callback=held)
    first = InThread(lambda: model.fit(rows))
    assert held.entered.wait(60)
    before = {name: id(value) for name, value in vars(model).items()}
    for _ in range(3):
        with pytest.raises(ConcurrentFitError, match=r"is being fitted already, .* Fit sklearn\.base\.clone\(model\)"):
            model.fit(rows[:20])
    assert {name: id(value) for name, value in vars(model).items()} == before
    other = clone(model).set_params(callback=None).fit(rows)  # another object does not wait
    held.released.set()
    assert first.ended() is None
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(other.labels_, expected.labels_)
    assert model.objective_ == expected.objective_
    model.fit(rows)  # and later there may be another fit


@pytest.mark.parametrize("model", [CPM3C(2), MaxMarginClustering(2), DocumentClustering(2, random_state=0)])
def test_updates_and_refits_in_place_count_as_fits(model):
    rows, model = rows_of(model), clone(model)
    changes = [lambda: model.partial_fit(rows), lambda: model.fit(rows)]
    model.partial_fit(rows)
    if isinstance(model, DocumentClustering):
        model.fit(rows)
        changes.insert(0, lambda: model.refit(known=[0, *[-1] * 23]))
    for change in changes:
        held = Held()
        model.set_params(callback=held)
        first = InThread(change)
        assert held.entered.wait(60)
        for second in changes:
            if hasattr(model, "labels_"):  # a fit that has begun may have forgotten the one before
                with pytest.raises(ConcurrentFitError):
                    second()
        held.released.set()
        assert first.ended() is None


def test_a_callback_may_not_fit_the_model_that_calls_it():
    model, errors = CPM3C(2), []

    def again(record):
        try:
            model.fit(X)
        except ConcurrentFitError as error:
            errors.append(error)

    model.set_params(callback=again).fit(X)
    assert errors and model.labels_.shape == (40,)


def test_a_fit_that_failed_leaves_the_model_free():
    model = CPM3C(2)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan))

    def stop(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(callback=stop).fit(X)
    model.fit(X)
    assert _one_fit._being_fitted == {}


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_process_may_fit_what_a_thread_was_fitting():
    held = Held()
    model = CPM3C(2, callback=held)
    first = InThread(lambda: model.fit(X))
    assert held.entered.wait(60)
    child = os.fork()
    if not child:
        os._exit(len(_one_fit._being_fitted))  # what a fit would look at
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    held.released.set()
    assert first.ended() is None


def test_nothing_is_kept_of_models_that_are_gone():
    for _ in range(3):
        CPM3C(2).fit(X)
    gc.collect()
    assert _one_fit._being_fitted == {}
