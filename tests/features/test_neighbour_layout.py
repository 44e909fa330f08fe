"""The layout of the map: places follow from the table alone, neighbours stay together, other packages come first."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.manifold import trustworthiness

from widegap.features import _neighbour_layout
from widegap.features._neighbour_layout import neighbour_layout


@pytest.fixture(autouse=True)
def no_other_package(monkeypatch):
    for name in ("umap", "openTSNE"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed


def test_the_place_of_a_row_does_not_depend_on_the_rows_asked_for(monkeypatch):
    monkeypatch.setattr(_neighbour_layout, "GRAPH_ROWS", 300)
    X, _ = make_blobs(900, 5, centers=4, random_state=0)
    some = np.random.default_rng(0).permutation(900)[:200]
    whole = neighbour_layout(X)
    assert whole.made_by == "widegap"
    np.testing.assert_array_equal(neighbour_layout(X, some).places, whole.places[some])
    np.testing.assert_array_equal(neighbour_layout(X).places, whole.places)


def test_neighbours_stay_together():
    X = load_digits().data[::3]
    assert trustworthiness(X, neighbour_layout(X).places, n_neighbors=10) > 0.94  # 0.964 measured


def test_rows_outside_of_the_sample_go_to_their_own_cluster(monkeypatch):
    monkeypatch.setattr(_neighbour_layout, "GRAPH_ROWS", 120)
    X, y = make_blobs(600, 5, centers=8 * np.eye(5)[:4], cluster_std=0.3, random_state=0)
    places = neighbour_layout(X).places
    means = np.array([places[y == label].mean(axis=0) for label in range(4)])
    np.testing.assert_array_equal(np.square(places[:, None] - means).sum(axis=2).argmin(axis=1), y)


def test_units_of_columns_do_not_decide():
    X, y = load_wine(return_X_y=True)  # proline is in hundreds, the others are below
    places = neighbour_layout(X).places
    nearest = np.square(places[:, None] - places).sum(axis=2) + np.diag(np.full(len(X), np.inf))
    assert np.mean(y[nearest.argmin(axis=1)] == y) > 0.85  # 0.93 measured, 0.67 without scaling


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((1, 2)),
        np.eye(2),
        np.eye(3),
        np.ones((50, 3)),
        np.arange(50.0)[:, None],
        sp.csr_array((20, 5)),
        sp.random(200, 500, 0.02, format="csr", random_state=0),
        1e9 + np.random.default_rng(0).normal(size=(60, 2)),
    ],
    ids=["one row", "two", "three", "equal", "one column", "empty", "sparse", "far"],
)
def test_any_table_has_places(X):
    places = neighbour_layout(X).places
    assert places.shape == (X.shape[0], 2) and np.isfinite(places).all()


def spy(calls, name):
    """A package that records what it is asked, and answers with the first two columns."""

    class Method:
        def __init__(self, **settings):
            calls.append((name, settings))

        def fit(self, X):
            return X[:, :2]

        fit_transform = fit

    return Method


def test_an_installed_package_lays_out_with_a_seed(monkeypatch):
    calls, X = [], make_blobs(90, 4, random_state=0)[0]
    monkeypatch.setitem(sys.modules, "openTSNE", SimpleNamespace(TSNE=spy(calls, "openTSNE")))
    assert neighbour_layout(X).made_by == "openTSNE"
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=spy(calls, "umap")))
    assert neighbour_layout(X).made_by == "umap-learn"
    assert [name for name, _ in calls] == ["openTSNE", "umap"]
    for _, settings in calls:
        assert settings["random_state"] == 0 and settings["n_jobs"] == 1
    assert neighbour_layout(X[:20]).made_by == "widegap"  # too few for them
    assert neighbour_layout(np.ones((90, 2))).made_by == "widegap"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["umap", "openTSNE"])
def test_a_real_package_gives_the_same_places_twice(name, monkeypatch):
    monkeypatch.delitem(sys.modules, name)
    pytest.importorskip(name, reason=f"needs {name}")
    X = load_wine().data
    first = neighbour_layout(X)
    assert first.made_by != "widegap"
    np.testing.assert_array_equal(first.places, neighbour_layout(X).places)


def test_one_row_and_two_lie_side_by_side():
    np.testing.assert_array_equal(neighbour_layout(np.ones((1, 3))).places, [[0, 0]])
    np.testing.assert_array_equal(neighbour_layout(np.eye(2)).places, [[0, 0], [1, 0]])


@pytest.mark.parametrize(("n", "perplexity"), [(45, 44 / 3), (91, 30), (120, 30)])
def test_other_packages_get_their_settings_and_first_places(n, perplexity, monkeypatch):
    calls, X = [], np.random.default_rng(0).normal(size=(n, 4))
    monkeypatch.setitem(sys.modules, "openTSNE", SimpleNamespace(TSNE=spy(calls, "openTSNE")))
    assert neighbour_layout(X[:44]).made_by == "widegap" and neighbour_layout(X).made_by == "openTSNE"
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=spy(calls, "umap")))
    places = neighbour_layout(X).places
    (_, tsne), (_, umap) = calls
    assert tsne["perplexity"] == pytest.approx(perplexity)
    assert (tsne["early_exaggeration_iter"], tsne["n_iter"]) == (100, 250)
    assert tsne["initialization"][:, 0].std() == pytest.approx(1e-4)
    assert umap["n_neighbors"] == 15 and umap["init"].shape == (n, 2)
    assert (np.abs(umap["init"].mean(axis=0)) < 0.01 * np.sqrt(n) / 8).all()
    np.testing.assert_allclose(np.abs(umap["init"]).max() / np.sqrt(n), 1 / 8, rtol=0.05)
    np.testing.assert_allclose(places.mean(axis=0), 0, atol=1e-12)


def test_rounds_of_attraction_and_repulsion_by_hand(monkeypatch):
    monkeypatch.setattr(_neighbour_layout, "LAYOUT_ROUNDS", 4)
    nearest = np.array([[1, 2], [0, 2], [3, 1], [2, 4], [3, 2]])
    start = np.random.default_rng(1).normal(size=(5, 2)) * 3
    found = _neighbour_layout.spread_out(nearest, start, np.random.default_rng(2))
    rng, places = np.random.default_rng(2), start.copy()
    for size in (1.0, 0.75, 0.5, 0.25):
        move = np.zeros((5, 2))
        for i in range(5):
            for j in nearest[i]:
                pull = (places[j] - places[i]) / (1 + np.square(places[j] - places[i]).sum())
                move[i] += pull
                move[j] -= pull
        for _ in range(3):
            others = rng.integers(5, size=5)
            for i in range(5):
                push = places[i] - places[others[i]]
                square = (push**2).sum()
                move[i] += 2 * np.clip(push / ((0.01 + square) * (1 + square)), -4, 4) / 3
        places = places + size * np.clip(move / 2, -4, 4)
    np.testing.assert_allclose(found, places, rtol=1e-9)


def test_rows_beyond_the_sample_lie_in_the_middle_of_their_three_nearest(monkeypatch):
    monkeypatch.setattr(_neighbour_layout, "GRAPH_ROWS", 40)
    X = np.random.default_rng(3).normal(size=(60, 3))
    chosen = np.sort(np.random.default_rng(0).choice(60, 40, replace=False))
    places = neighbour_layout(X).places
    other = np.setdiff1d(np.arange(60), chosen)
    distances = np.square(X[other, None] - X[chosen]).sum(axis=2)  # all axes, so that distances are those of the rows
    expected = places[chosen][np.argsort(distances, axis=1)[:, :3]].mean(axis=1)
    np.testing.assert_allclose(places[other], expected, atol=1e-9)
