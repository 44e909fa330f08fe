"""A worker of a Dask cluster is killed at one stage of fit, predict and update after another: the answer is right."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed", reason="needs the extra dask")
from _clusters import await_two_workers, held, rows, two_processes
from _counts import tried
from widegap import CPM3C
from widegap.exceptions import ClusterLostError
from widegap.updating._updatable import UpdatableClusterer

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # which on Windows ends a process at once, too


@pytest.fixture(scope="module")
def client():
    with two_processes() as client:
        yield client


def lose_a_worker(client):
    """Kill one of the two processes, which the cluster has started."""
    os.kill(next(iter(client.run(os.getpid).values())), KILL)
    tried("workers of Dask that were killed", 1)


def model(**settings):
    return CPM3C(4, random_state=0, min_cluster_fraction=0.05, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["_read", "_prepare", "_search", "_remember"])
def test_a_fit(client, stage, monkeypatch):
    X = rows()
    expected = model().fit(X).labels_
    given, usual = held(X, 1500), getattr(CPM3C, stage)

    def first_a_loss(self, *arguments, **options):
        lose_a_worker(client)
        return usual(self, *arguments, **options)

    monkeypatch.setattr(CPM3C, stage, first_a_loss)
    try:
        found = model().fit(given).labels_.compute()
    except ClusterLostError as error:
        pytest.fail(f"the loss ended the fit: {error}")
    assert_array_equal(found, expected)
    await_two_workers(client)


LATER = [pytest.param(moment, marks=pytest.mark.slow) for moment in ("before it is asked for", "when it is there")]


@pytest.mark.parametrize("moment", ["while it is computed", *LATER])
def test_predictions(client, moment):
    X = rows()
    fitted = model().fit(X)
    given = held(X, 500)
    if moment == "before it is asked for":
        lose_a_worker(client)
    lazy = fitted.predict(given)
    if moment == "while it is computed":
        future = client.compute(lazy)
        lose_a_worker(client)
        labels = future.result(timeout=120)
    elif moment == "when it is there":
        kept = lazy.persist()
        kept.compute()
        lose_a_worker(client)
        labels = kept.compute()
    else:
        labels = lazy.compute()
    assert_array_equal(labels, fitted.predict(X))
    await_two_workers(client)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["_new_rows", "_joined", "_complete_update"])
def test_an_update(client, stage, monkeypatch):
    X, new = rows(), rows(seed=0)[::-1][:3000]
    fitted = model().fit(X)
    expected = fitted.update(new)
    given, usual = held(new, 750), getattr(UpdatableClusterer, stage)

    def first_a_loss(self, *arguments, **options):
        lose_a_worker(client)
        return usual(self, *arguments, **options)

    monkeypatch.setattr(UpdatableClusterer, stage, first_a_loss)
    found = fitted.update(given)
    assert_array_equal(np.asarray(found.labels_), expected.labels_)
    await_two_workers(client)
