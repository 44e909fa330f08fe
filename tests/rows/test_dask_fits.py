"""Fits of Dask collections on a real cluster of two processes: the same answer, little travels, what can go wrong."""

import os
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster, wait
from numpy.testing import assert_allclose, assert_array_equal

from _clusters import (
    FORMS,
    D,
    N,
    as_frame,
    await_two_workers,
    bytes_between_workers,
    forget_client,
    held,
    rows,
    spy_on,
    two_processes,
)
from widegap import CPM3C, M2DCU, MKC, IterSVR, MaxMarginClustering
from widegap.constraints._size_prices import SHORTFALL, assign_by_prices
from widegap.constraints._transport import assign
from widegap.cutting_plane._hinge import HingeLoss
from widegap.exceptions import ClusterLostError, InvalidDataError, NotSupportedError
from widegap.rows._centred import CentredRows
from widegap.rows._collections import collection_rows
from widegap.rows._fingerprints import digest_of_rows
from widegap.rows._sources import row_blocks

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # which on Windows ends a process at once, too


@pytest.fixture(scope="module")
def client():
    with two_processes() as client:
        yield client


def long_search(callback):
    """A fit that makes several passes over all rows after the search on a sample."""
    return CPM3C(4, random_state=0, n_init=2, min_cluster_fraction=0.05, callback=callback)


def model(k=4, n_init=1, **settings):
    return CPM3C(k, random_state=0, n_init=n_init, **settings)


@pytest.mark.parametrize("form", FORMS)
def test_the_labels_are_those_of_the_same_rows_in_memory(client, form):
    X = rows()
    if form == "float32":
        X = X.astype(np.float32)
    expected = model().fit(sp.csr_array(X) if form == "csr" else X)
    found = model().fit(FORMS[form](X))
    assert isinstance(found.labels_, da.Array) and found.labels_.dtype == np.int32
    assert found.labels_.shape == (N,)
    assert_array_equal(found.labels_.compute(), expected.labels_)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-3 if form == "float32" else 1e-8, atol=1e-8)
    assert len(found.history_) == len(expected.history_)
    lazy = found.predict(FORMS[form](X))
    assert isinstance(lazy, da.Array)
    assert_array_equal(lazy.compute(), expected.predict(X))
    assert_allclose(found.decision_function(FORMS[form](X)).compute(), expected.decision_function(X), atol=1e-4)


def test_labels_have_the_chunks_of_the_rows(client):
    X = FORMS["empty"](rows())
    assert model().fit(X).labels_.chunks == (X.chunks[0],)


def test_integers_and_names_of_columns(client):
    X = as_frame((10 * rows()).astype(int))
    found, expected = (model(2).fit(form) for form in (dd.from_pandas(X, npartitions=3).persist(), X))
    assert_array_equal(found.labels_.compute(), expected.labels_)
    assert list(found.feature_names_in_) == list("abcdef")


@pytest.mark.parametrize(
    "k, settings", [(5, {}), (2, {"kernel": "rbf", "n_components": 40}), (3, {"init": np.arange(900) % 3})]
)
def test_few_rows_and_a_kernel(client, k, settings):
    X = rows(900)
    found, expected = (model(k, **settings).fit(form) for form in (held(X, 250), X))
    assert (found.labels_.compute() != expected.labels_).mean() < 0.005


def test_a_kernel_on_many_rows(client):
    X = rows()
    found, expected = (model(3, kernel="rbf", n_components=30).fit(form) for form in (held(X, 2000), X))
    assert (found.labels_.compute() != expected.labels_).mean() < 0.002


def test_a_universum(client):
    X, U = rows(), rows(700, seed=5) * 0.3
    expected = M2DCU(3, random_state=0).fit(X, universum=U)
    for universum in (U, held(U, 300)):
        found = M2DCU(3, random_state=0).fit(held(X, 2000), universum=universum)
        assert_array_equal(found.labels_.compute(), expected.labels_)
        assert found.universum_report_.n_inside_after == expected.universum_report_.n_inside_after


def test_without_a_cluster_chunks_are_read_in_this_process(monkeypatch):
    forget_client(monkeypatch)
    X = rows()
    expected = model().fit(X)
    found = model().fit(da.from_array(X, chunks=(2000, D)))
    assert isinstance(found.labels_, da.Array) and found.labels_.chunks[0][0] == 2000
    assert_array_equal(found.labels_.compute(), expected.labels_)


def kernels(k=3):
    return MKC(k, kernels=["linear", "rbf", ("few", "poly", [0, 2, 5])], n_components=20, random_state=0, n_init=2)


@pytest.mark.parametrize("form", ["empty", "frame", "csr", "float32"])
def test_several_kernels(client, form):
    X = rows().astype(np.float32) if form == "float32" else rows()
    expected = kernels().fit(sp.csr_array(X) if form == "csr" else X)
    found = kernels().fit(FORMS[form](X))
    assert isinstance(found.labels_, da.Array) and found.labels_.shape == (N,)
    assert (found.labels_.compute() != expected.labels_).mean() < 0.002
    for name in ("kernel_weights_", "kernel_margins_", "kernel_ranks_"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-2 if form == "float32" else 1e-5)
    assert_array_equal(found.predict(FORMS[form](X)).compute(), found.labels_.compute())


def test_several_kernels_send_samples_and_sums_whatever_the_number_of_rows(client, monkeypatch):
    largest = []
    for n in (8000, 32_000):
        X = held(rows(n), n // 8)
        with monkeypatch.context() as patch:
            sent, received = spy_on(patch)
            kernels().fit(X)
        largest.append((max(sent), max(received)))
    assert_allclose(largest[1], largest[0], rtol=0.05)  # the largest answer is the features of a sample


def test_several_kernels_and_a_worker_that_is_lost(client):
    X, killed = rows(), []
    expected = kernels().fit(X).labels_

    def kill(record):
        if not killed and record.passes > 2:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], KILL)

    found = kernels().set_params(callback=kill).fit(held(X, 1500))
    assert killed
    assert (found.labels_.compute() != expected).mean() < 0.002
    await_two_workers(client)


def test_several_kernels_on_chunks_without_a_cluster(monkeypatch):
    forget_client(monkeypatch)
    X = rows()
    expected = kernels().fit(X)
    for table_bytes in (64 << 20, 0):  # features held, and made in every pass
        monkeypatch.setattr("widegap.rows._sources.TABLE_BYTES", table_bytes)
        found = kernels().fit(da.from_array(X, chunks=(2500, D)))
        assert found.labels_.chunks == ((2500, 2500, 1000),)
        assert_array_equal(found.labels_.compute(), expected.labels_)
        assert_allclose(found.kernel_weights_, expected.kernel_weights_, rtol=1e-6)


def test_chunks_along_the_columns_are_refused(client):
    X = da.from_array(rows(), chunks=(2000, 3))
    for call in (model().fit, model().fit(rows()).predict):
        with pytest.raises(InvalidDataError, match=r"2 chunks along its columns.*X\.rechunk\({1: 6}\)"):
            call(X)
    model().fit(X.rechunk({1: 6}).persist())


def test_other_refusals(client):
    with pytest.raises(InvalidDataError, match="X has 1 dimensions"):
        model().fit(da.zeros(10))
    with pytest.raises(InvalidDataError, match="'b' of X has dtype"):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
        model().fit(dd.from_pandas(frame, npartitions=1))
    with pytest.raises(InvalidDataError, match="contain NaN"):
        model().fit(held(np.where(np.arange(N)[:, None] == 5500, np.nan, rows()), 2000))
    with pytest.raises(ValueError, match="X has 5 features, but CPM3C is expecting 6"):
        model().fit(rows()).predict(held(rows()[:, :5], 2000)).compute()
    with pytest.raises(InvalidDataError, match="n_samples=3 should be >= n_clusters=4"):
        model().fit(held(rows()[:3], 2))


def test_what_is_said_of_rows_is_kept_or_refused(client):
    X, known, weights = held(rows(), 2000), np.full(N, -1), 1.0 + np.arange(N) % 3
    known[::500] = np.arange(N // 500) % 4
    found = model().fit(X, known=known, sample_weight=weights)
    labels = found.labels_.compute()
    assert_array_equal(labels[::500], known[::500])
    assert (labels == model().fit(rows(), known=known, sample_weight=weights).labels_).mean() > 0.999
    with pytest.raises(NotSupportedError, match="must_link and cannot_link need the rows in this process"):
        model().fit(X, must_link=[(0, 1)])
    with pytest.raises(NotSupportedError, match="size_max=2000 needs the rows in this process"):
        model(size_max=2000).fit(X)


def test_rows_that_are_not_persisted_are_read_again_and_it_is_said_once(client):
    X = da.from_array(rows(), chunks=(2000, D)) * 1.0
    with pytest.warns(UserWarning, match=r"not persisted.*X = X\.persist\(\)") as caught:
        found = model().fit(X)
    assert len(caught) == 1
    assert_array_equal(found.labels_.compute(), model().fit(rows()).labels_)


def test_what_travels_in_a_pass_does_not_depend_on_the_number_of_rows(client, monkeypatch):
    k, most = 4, []
    for n in (8000, 32_000):
        X, _, _ = collection_rows(held(rows(n), n // 8), 1)
        loss = HingeLoss(CentredRows(X), k, loss="max")
        W, b = np.random.default_rng(0).normal(size=(k, D)), np.zeros(k)
        before = bytes_between_workers(client)
        with monkeypatch.context() as patch:
            sent, received = spy_on(patch)
            labels, plane = loss.best_labels(W, b)
            other = loss.best_labels(-W, b)[0]
            loss.plane(W, b, other)
            loss.shift([plane.codes], labels, other)
            loss.rows.class_sums(labels, k)
            loss.rows.label_counts(labels, k)
        most.append((max(sent), max(received)))
        assert bytes_between_workers(client) - before < 6 * 4 * 40 * k * D * 8  # passes, shards, and small sums
    assert most[0] == most[1]
    assert max(most[0]) < 3000 + 3 * k * D * 8  # a function and (k, d) numbers


def test_graphs_do_not_grow_with_the_number_of_passes(client):
    def tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    X, sizes = held(rows(), 1500), []
    model(n_init=2, callback=lambda record: sizes.append(client.run_on_scheduler(tasks)) and False).fit(X)
    assert len(sizes) > 20
    assert max(sizes) < 400  # 24 cuts and a few states of 4 shards, each with the task that hands on its sum


@pytest.mark.parametrize("form", FORMS)
def test_rows_have_the_digest_of_the_same_rows_in_memory(client, form):
    X = rows()
    if form == "float32":
        X = X.astype(np.float32)
    on_cluster, _, _ = collection_rows(FORMS[form](X), 1)
    assert_array_equal(on_cluster.collect(on_cluster.numbers()), np.arange(N))
    assert digest_of_rows(on_cluster) == digest_of_rows(row_blocks(X))
    X[N - 2, 0] += 1
    assert digest_of_rows(on_cluster) != digest_of_rows(row_blocks(X))


def test_a_worker_that_is_lost_changes_nothing(client):
    X, passes = rows(spread=2.5), []
    expected = long_search(lambda record: passes.append(record.passes)).fit(X).labels_
    assert max(passes) > 6
    killed, given = [], np.arange(N) % 4
    on_cluster, _, _ = collection_rows(held(X, 1500), 1)
    placed = on_cluster.place(given)  # as starting labels are
    wait(placed.results)

    def kill(record):
        if not killed and record.passes > 3:
            holder = next(iter(client.who_has(placed.results[:1]).values()))[0]
            killed.append(client.run(os.getpid)[holder])
            os.kill(killed[0], KILL)

    found = long_search(kill).fit(held(X, 1500))
    assert killed
    assert_array_equal(found.labels_.compute(), expected)
    assert_array_equal(on_cluster.collect(placed), given)
    await_two_workers(client)


def test_a_client_that_closes_is_said_in_words():
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        with Client(cluster) as client, client.as_current():
            X = held(rows(spread=2.5), 3000)
            with pytest.raises(ClusterLostError, match="client is clos.*keep the client open until fit returns"):
                long_search(lambda record: client.close() if record.passes > 3 else None).fit(X)


def test_other_estimators_say_that_they_do_not_take_collections(client):
    with pytest.raises(NotSupportedError, match=r"does not fit collections of Dask; .*CPM3C.*X\.compute\(\)"):
        IterSVR(2).fit(held(rows(), 3000))
    fitted = MaxMarginClustering(2, random_state=0).fit(rows(800))
    assert_array_equal(fitted.predict(held(rows(), 3000)).compute(), fitted.predict(rows()))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [2, 5])
def test_the_label_step_by_prices_against_the_exact_one(client, k, ties):
    rng = np.random.default_rng(k)
    costs = rng.gamma(2, size=(N, k)) + np.linspace(0, 3, k)
    if ties:
        costs = np.round(costs)
    least = np.full(k, int(0.95 * N / k))
    X, _, _ = collection_rows(held(rows(), 2500), 1)
    exact = assign(costs, least)
    found = assign_by_prices(X, X.place(costs), least)
    labels = X.publish(found.labels).compute()
    assert (np.bincount(labels, minlength=k) >= least - np.floor(SHORTFALL * least)).all()
    per_row = costs[np.arange(N), labels].mean() - costs[np.arange(N), exact.labels].mean()
    assert abs(per_row) < SHORTFALL * np.ptp(costs)
    assert_allclose(found.prices, exact.prices, atol=1.0 if ties else 0.02)


def test_the_bound_on_sizes_is_kept(client):
    X = rows()
    found, expected = (model(3, min_cluster_fraction=0.95).fit(form) for form in (held(X, 2000), X))
    least = int(0.95 * N / 3)
    assert np.bincount(found.labels_.compute()).min() >= (1 - SHORTFALL) * least - 1
    assert (found.labels_.compute() != expected.labels_).mean() < 0.01


def test_dask_is_not_imported_for_arrays():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np; from widegap import CPM3C; CPM3C(2).fit_predict(np.random.rand(50, 2));"
        "sys.exit('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
