"""MaxMarginClustering of Dask collections: a sample comes to the client, and what follows from it goes to the rows."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from _clusters import (
    FORMS,
    D,
    N,
    await_two_workers,
    bytes_between_workers,
    forget_client,
    held,
    rows,
    spy_on,
    two_processes,
)
from _corpora import K, corpus
from widegap import MaxMarginClustering
from widegap.constraints._size_prices import SHORTFALL
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.forest._row_labels import RowLabels

SEARCHED = 700


@pytest.fixture(scope="module")
def client():
    with two_processes() as client:
        yield client


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr("widegap.forest._search_space.SEARCH_ROWS", SEARCHED)


def model(k=4, **settings):
    return MaxMarginClustering(k, random_state=0, **{"search": "merge", **settings})


def agree_but_for_ties(found, expected):
    """Scores are summed in blocks of other sizes, so rows between two clusters may fall to either."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert (np.asarray(found) != np.asarray(expected)).sum() <= 1e-3 * len(expected)


@pytest.mark.parametrize("form", ["uneven", "empty", "unknown", "frame", "csr", "float32"])
def test_the_labels_are_those_of_the_same_rows_in_memory(client, form):
    X = rows()
    if form == "float32":
        X = X.astype(np.float32)
    expected = model().fit(sp.csr_array(X) if form == "csr" else X)
    given = FORMS[form](X)
    found = model().fit(given)
    for lazy in (found.labels_, found.agreement_, found.cut(3), found.predict(given)):
        assert isinstance(lazy, da.Array)
    assert found.labels_.chunks == found.agreement_.chunks == found.cut(3).chunks
    agree_but_for_ties(found.labels_, expected.labels_)
    agree_but_for_ties(found.cut(3), expected.cut(3))
    agree_but_for_ties(found.agreement_, expected.agreement_)
    agree_but_for_ties(found.predict(given).compute(), expected.predict(X))
    assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-8)
    assert (found.objective_, found.starved_) == (pytest.approx(expected.objective_), expected.starved_)


def test_documents_are_scored_by_their_words(client):
    X = corpus(1000)[0].astype(np.float32)
    given = held(X.toarray(), 400).map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, X.shape[1]))).persist()
    found, expected = (model(K).fit(form) for form in (given, X))
    assert found.kernel_map_.kernel == "linear" and found.coef_.shape == (K, K)
    agree_but_for_ties(found.labels_, expected.labels_)
    agree_but_for_ties(found.predict(given).compute(), expected.predict(X))


def test_members_that_agree_and_other_numbers_of_clusters(client):
    X = rows(spread=3.0)
    found, expected = (model(search="agree").fit(form) for form in (held(X, (1, 2999, 3000)), X))
    agree_but_for_ties(found.labels_, expected.labels_)
    agree_but_for_ties(found.agreement_.round(6), expected.agreement_.round(6))
    assert (expected.agreement_ < 1).any()
    for k in (1, 3, 6):
        other, known = found.with_clusters(k), expected.with_clusters(k)
        assert isinstance(other.labels_, da.Array) and isinstance(other.agreement_, da.Array)
        agree_but_for_ties(other.labels_, known.labels_)
        agree_but_for_ties(other.agreement_.round(6), known.agreement_.round(6))
        assert_allclose(other.coef_, known.coef_, atol=1e-8)
    assert found.n_clusters_ == 4


def test_communities_of_the_searched_rows(client, monkeypatch):
    monkeypatch.setattr("widegap.forest._forest_search.COMMUNITY_ROWS", 300)
    X = rows(spread=3.0)
    found, expected = (model(search="agree").fit(form) for form in (held(X, (1, 2999, 3000)), X))
    for at_hand, lazy in zip(expected.candidates_, found.candidates_, strict=True):
        assert (lazy.pool, lazy.chosen) == (at_hand.pool, at_hand.chosen)
        assert (lazy.cut_per_bit, lazy.explained) == pytest.approx((at_hand.cut_per_bit, at_hand.explained))
    assert "communities" in [candidate.pool for candidate in found.candidates_]
    assert [record.kind for record in found.history_] == [record.kind for record in expected.history_]
    agree_but_for_ties(found.labels_, expected.labels_)
    for k in (2, 5):
        agree_but_for_ties(found.cut(k), expected.cut(k))


def test_finer_scores_on_workers(client, monkeypatch):
    """Rows beyond the search are labelled on the workers by the features that predict has."""
    monkeypatch.setattr("widegap.forest._search_space.SEARCH_ROWS", 2100)
    rng, y = np.random.default_rng(0), np.arange(N) % 2
    t = (0.1 + 0.9 * np.sqrt(rng.random(N))) * 3 * np.pi  # two spirals in each other
    X = np.column_stack([t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)]) + 0.4 * rng.normal(size=(N, 2))
    found, expected = (model(2, search="agree").fit(form) for form in (held(X, (1, 2999, 3000)), X))
    for fitted in (found, expected):
        assert fitted.kernel_map_ is not fitted._kept.scoring.kernel_map
    assert_allclose(found.kernel_map_.landmarks, expected.kernel_map_.landmarks)
    agree_but_for_ties(found.labels_, expected.labels_)
    agree_but_for_ties(found.predict(held(X, 2000)).compute(), expected.predict(X))


def test_the_number_of_clusters_is_found(client):
    X = rows()
    found, expected = (model("auto").fit(form) for form in (held(X, 1500), X))
    assert found.n_clusters_ == expected.n_clusters_ == 4
    agree_but_for_ties(found.labels_, expected.labels_)


def test_few_rows_are_all_searched(client):
    X = rows(500)
    found, expected = (model().fit(form) for form in (held(X, (200, 0, 300)), X))
    assert found.labels_.chunks == found.cut(2).chunks == found.agreement_.chunks == ((200, 0, 300),)
    for k in (2, 4):
        assert_array_equal(found.cut(k), expected.cut(k))
    assert_array_equal(found.agreement_, expected.agreement_)


@pytest.mark.parametrize("k", [1, "auto"])
def test_one_cluster(client, k):
    found = model(k).fit(held(np.ones((N, 2)), 2500))
    assert found.n_clusters_ == 1
    assert isinstance(found.labels_, da.Array) and isinstance(found.agreement_, da.Array)
    assert_array_equal(found.labels_, np.zeros(N, np.int32))
    assert_array_equal(found.agreement_, np.ones(N))


def test_the_bound_on_sizes_is_kept(client):
    X = rows()
    found, expected = (model(3, min_cluster_fraction=0.98).fit(form) for form in (held(X, 2000), X))
    least = int(0.98 * N / 3)
    assert np.bincount(expected.labels_).min() == least
    assert np.bincount(found.labels_).min() >= (1 - SHORTFALL) * least - 1
    assert (found.labels_.compute() != expected.labels_).mean() < 0.01


def test_cuts_keep_sizes_and_known_labels(client):
    X, known = rows(spread=3.0), np.full(N, -1)
    known[::500] = np.arange(12) % 3
    found = model(4, size_min=900).fit(held(X, (1, 2999, 0, 3000)), known=known)
    plain = model(4).fit(X)
    assert np.bincount(plain.cut(6)).min() < 900  # the bound decides
    for labels in (found.cut(6), found.with_clusters(3).labels_):
        assert isinstance(labels, da.Array) and labels.chunks == found.labels_.chunks
        assert np.bincount(labels).min() >= (1 - SHORTFALL) * 900 - 1
        assert_array_equal(labels.compute()[::500], known[::500])


def test_without_a_cluster_cuts_keep_links_and_sizes(monkeypatch):
    forget_client(monkeypatch)
    X = rows(1500)
    found = model(4, size_min=200, size_max=500).fit(da.from_array(X, chunks=(500, D)), cannot_link=[(0, 1), (2, 3)])
    for k in (3, 5):
        labels = found.cut(k)
        assert isinstance(labels, da.Array) and labels.chunks == found.labels_.chunks
        labels = labels.compute(scheduler="threads")
        sizes = np.bincount(labels, minlength=k)
        assert 200 <= sizes.min() and sizes.max() <= 500 and labels[0] != labels[1] and labels[2] != labels[3]


def test_without_a_cluster_chunks_are_read_in_this_process(monkeypatch):
    forget_client(monkeypatch)
    X = rows()
    expected, found = model().fit(X), model().fit(da.from_array(X, chunks=(2000, D)))
    for k in (3, 4):
        assert isinstance(found.cut(k), da.Array)
        agree_but_for_ties(found.cut(k).compute(scheduler="threads"), expected.cut(k))


def test_rows_that_are_not_persisted_are_read_again_and_it_is_said_once(client):
    with pytest.warns(UserWarning, match=r"not persisted.*X = X\.persist\(\)") as caught:
        found = model().fit(da.from_array(rows(), chunks=(2000, D)) * 1.0)
    assert len(caught) == 1
    agree_but_for_ties(found.labels_, model().fit(rows()).labels_)


def test_what_travels_is_a_sample_whatever_the_number_of_rows(client, monkeypatch):
    totals, sample = [], SEARCHED * D * 8
    for n in (8000, 64_000):
        X, before = held(rows(n), n // 8), bytes_between_workers(client)
        with monkeypatch.context() as patch:
            sent, received = spy_on(patch)
            model(n_components=50, memory=0).fit(X).with_clusters(3)
        totals.append((sum(sent), sum(received)))
        # The sample and small sums; the labels of only one chunk of 8000 rows would be 32 000 bytes more.
        assert bytes_between_workers(client) - before < 2 * sample
    assert sample < totals[0][1] < sample + 20_000  # the rows once, and small sums
    assert_allclose(totals[1], totals[0], rtol=0.02)  # pickled numbers of rows take a byte more or less


def test_a_worker_that_is_lost_changes_nothing(client, monkeypatch):
    X = rows(spread=2.5)
    expected = model().fit(X)
    go_on, killed = RowLabels.constrain, []

    def kill_and_go_on(self, rows, constraints, labels):
        """At this point labels of all rows are with the workers."""
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)
        return go_on(self, rows, constraints, labels)

    monkeypatch.setattr(RowLabels, "constrain", kill_and_go_on)
    found = model().fit(held(X, 1500))
    assert len(killed) == 1
    agree_but_for_ties(found.labels_, expected.labels_)
    agree_but_for_ties(found.cut(3), expected.cut(3))
    agree_but_for_ties(found.agreement_, expected.agreement_)
    await_two_workers(client)


def test_refusals(client):
    X = held(rows(), 3000)
    for settings in ({"search": "moves"}, {"init": np.arange(N) % 4}):
        with pytest.raises(NotSupportedError, match=r"on rows of Dask.*search='agree' or 'merge'.*X\.compute\(\)"):
            model(**settings).fit(X)
    with pytest.raises(NotSupportedError, match=r"kernel='precomputed' on rows of Dask.*pass the rows and a kernel"):
        model(kernel="precomputed").fit(X)
    with pytest.raises(InvalidDataError, match="All 6000 rows are equal"):
        model().fit(held(np.ones((N, 2)), 3000))
    with pytest.raises(InvalidDataError, match="contain NaN"):
        model().fit(held(np.where(np.arange(N)[:, None] == 5500, np.nan, rows()), 2000))


def test_what_is_said_of_rows_is_kept_or_refused(client):
    X, known = held(rows(), 3000), np.full(N, -1)
    known[::500] = np.arange(12) % 4
    found = model(4).fit(X, known=known)
    assert_array_equal(found.labels_.compute()[::500], known[::500])
    for said in ({"must_link": [(0, 1)]}, {"cannot_link": [(0, 1)]}):
        with pytest.raises(NotSupportedError, match="must_link and cannot_link need the rows in this process"):
            model(4).fit(X, **said)
    with pytest.raises(NotSupportedError, match="size_max=2000 needs the rows in this process"):
        model(4, size_max=2000).fit(X)
    with pytest.raises(NotSupportedError, match="sample_weight is zero for some rows"):
        model(4).fit(X, sample_weight=np.arange(N) % 2)
    with pytest.raises(NotSupportedError, match="outliers='auto' on rows of Dask"):
        model(4, outliers="auto").fit(X)
