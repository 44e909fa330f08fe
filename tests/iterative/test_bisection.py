"""Starts, trees and axes of bisections, by hand."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from widegap.exceptions import InvalidDataError
from widegap.iterative import _alternation
from widegap.iterative import _bisection as _bisect
from widegap.iterative._alternation import Axes, needed_axes, relaxed_search, solve_least_squares
from widegap.iterative._bisection import (
    Tree,
    _halves,
    _signs,
    bisection_starts,
    divides_equal_rows,
    far_kmeans,
    merged_labels,
    principal_axes,
)
from widegap.iterative._iterative import IterSVR
from widegap.iterative._iterative_clusterer import IterativeClusterer
from widegap.iterative._regions import clean


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(d, 0, -1)


@pytest.mark.parametrize(
    ("repeats", "bounds", "divides"),
    [
        (6, [(4, 6)], True),  # of ten rows: a side of at most six has no room besides
        (6, [(3, 7)], True),
        (6, [(4, 5)], True),
        (5, [(5, 5)], False),
        (6, [(6, 6)], False),
        (6, [(4, 4)], False),
        (6, [(5, 5)], True),
        (6, [(5, 5), (6, 6)], False),
        (1, [(5, 5)], False),
    ],
)
def test_whether_equal_rows_have_to_be_divided(repeats, bounds, divides):
    X = rows(10, 3)
    X[:repeats] = X[0]
    low, high = bounds[0]
    expected = all(a > 10 - repeats and b < repeats for a, b in bounds)
    assert divides_equal_rows(X, bounds) is expected
    if low == high:
        assert expected is divides


def test_a_tree_has_a_plane_for_every_bisection():
    tree = Tree(2, np.array([1.0, 2.0]))
    assert tree.n_leaves == 1 and tree.intercept.size == 0
    tree.add(0, np.array([3.0, 0.0]), 0.5, np.array([1.0, 2.0]))
    tree.add(1, np.array([0.0, 2.0]), 1.0, np.array([5.0, -1.0]))
    assert tree.n_leaves == 3 and tree.bisected == [0, 1]
    assert tree.mean_scores.tolist() == [0.5, 7.0] and tree.intercept.tolist() == [-2.5, 3.0]


def test_signs_and_halves():
    assert _signs(np.array([0, 1, 2, -1])).tolist() == [-1, 1, 1, -1]
    assert _halves(np.array([1.0, 2.0, 3.0])).tolist() == [-1, -1, 1]
    assert _halves(np.array([1.0, 1.0, 1.0, 0.0])).tolist() == [-1] * 4


def test_given_groups_are_merged_by_their_means():
    P = np.array([[0.0], [0.1], [5.0], [5.1], [0.3], [9.0]])
    rng = np.random.default_rng(0)
    assert merged_labels(np.full(6, 3), P, rng) is None
    assert merged_labels(np.array([7, 7, 2, 7, 2, 2]), P, rng).tolist() == [1, 1, -1, 1, -1, -1]
    found = merged_labels(np.array([0, 0, 1, 1, 2, 1]), P, rng)
    assert (found * found[0]).tolist() == [1, 1, -1, -1, 1, -1]
    assert merged_labels(np.array([0, 1, 2]), np.ones((3, 1)), rng) is None


def test_two_means_begin_at_the_rows_farthest_apart():
    X = np.array([[0.0, 0], [1, 0], [10, 0], [11, 0], [5.4, 0]])
    found = far_kmeans(X, True, np.random.default_rng(0))
    assert (found == found[0]).tolist() == [True, True, False, False, True]
    assert far_kmeans(np.ones((4, 2)), True, np.random.default_rng(0)).tolist() == [0] * 4


@pytest.mark.parametrize("init", ["auto", "k-means", "spectral", "random"])
@pytest.mark.parametrize("n_starts", [1, 3])
def test_as_many_starts_as_asked_for(init, n_starts):
    axes = principal_axes(rows(), 1.0)
    found = bisection_starts(init, axes, lambda n: [(n // 4, n - n // 4)], n_starts, np.random.default_rng(0))
    assert len(found) == n_starts
    assert all(set(y) == {-1.0, 1.0} and len(y) == 60 for y in found)


def test_candidates_are_five_k_means_and_eight_axes(monkeypatch):
    searched = []

    def search(axes, y, bounds):
        searched.append(y)
        return relaxed_search(axes, y, bounds)

    monkeypatch.setattr(_bisect, "relaxed_search", search)
    means = []
    monkeypatch.setattr(_bisect, "kmeans_labels", lambda P, k, rng: means.append(k) or rng.integers(0, 2, len(P)))
    axes = principal_axes(rows(80, 10), 1.0)
    for n_starts, n_means in ((1, 4), (4, 4), (6, 6)):
        searched.clear(), means.clear()
        found = bisection_starts("auto", axes, lambda n: [(20, 60)], n_starts, np.random.default_rng(0))
        assert means == [2] * n_means
        assert len(searched) == 1 + n_means + 8
        ends = [relaxed_search(axes, y, [(20, 60)]).step for y in searched]
        least = min(end.machine.objective for end in ends)
        first = next(end for end in ends if (end.split.y * end.split.y[0] == found[0] * found[0][0]).all())
        assert first.machine.objective == pytest.approx(least, rel=1e-6)


def test_axes_that_hardly_matter_are_left_out():
    lam = np.array([8.0, 4.0, 2.0, 1.0])
    assert needed_axes(lam, 100, 1.0, tail_tol=0.2).tolist() == [
        True,
        True,
        False,
        False,
    ]  # tails 15, 7, 3 and 1; 0.2 15 = 3
    assert needed_axes(lam, 100, 1.0, tail_tol=0.19).tolist() == [True, True, True, False]
    assert needed_axes(lam, 10, 1.0, tail_tol=0.2).tolist() == [True, True, True, False]  # 0.2 10 = 2
    assert needed_axes(lam, 10, 0.5, tail_tol=0.2).tolist() == [True, True, False, False]  # 0.2 7.5 = 1.5, as 0.5 3
    assert needed_axes(lam, 10, 9.0, tail_tol=0.0).all()


def test_least_squares_by_their_normal_equations():
    X = rows(30, 3)
    axes = principal_axes(X, 1.0, 0.0)
    y = np.where(np.arange(30) % 3, 1.0, -1.0)
    for C in (0.3, 5.0):
        found = solve_least_squares(axes, y, C)
        w = np.linalg.solve(axes.P.T @ axes.P + np.eye(3) / C, axes.P.T @ y)
        np.testing.assert_allclose(found.w, w)
        assert found.b == y.mean() and found.gap == 0 and found.n_iter == 1
        value = w @ w / 2 + C / 2 * np.square(axes.P @ w + y.mean() - y).sum()
        assert found.objective == pytest.approx(value)
        np.testing.assert_allclose(found.f, axes.P @ w)


def test_a_relaxed_search_frees_machines_step_by_step(monkeypatch):
    seen = []

    def turns(axes, y, C, bounds):
        seen.append((axes.lam / (axes.lam + 1 / C)).sum())
        return _alternation.alternate(
            lambda y, warm: solve_least_squares(axes, y, C),
            lambda f: _alternation.best_split(f, _alternation.square_losses, bounds),
            y,
            max_iter=50,
            record=lambda step: False,
        )

    monkeypatch.setattr(_alternation, "_least_squares_turns", turns)

    def freedoms(n, d, scale=1.0):
        seen.clear()
        X = np.random.default_rng(0).normal(size=(n, d)) * np.geomspace(1, scale, d)
        axes = principal_axes(X, tail_tol=0.0)
        relaxed_search(axes, np.where(np.arange(n) % 2, 1.0, -1.0), [(1, n - 1)])
        most = min(n / 6, (axes.lam / (axes.lam + 2.5e-4 * axes.lam.sum())).sum())
        return list(seen), most

    for n, d, expected in ((600, 80, [10, 18, 28, 40, 63]), (180, 80, [10, 18, 28]), (54, 40, [])):
        found, most = freedoms(n, d)
        np.testing.assert_allclose(found, sorted({*expected, min(63, most)}), rtol=1e-6)


def test_leaves_that_a_cluster_will_make():
    model = IterSVR(6)
    assert [model._leaves(share, 2) for share in (0.2, 0.41, 0.42, 0.6, 0.95)] == [2, 2, 3, 4, 5]
    assert [model._leaves(0.9, n) for n in (1, 2, 4, 5)] == [5, 5, 3, 2]


def test_regions_of_equal_size_join_the_first():
    assert clean(np.array([[0, 1]]), smooth=0, min_region=2).tolist() == [[0, 0]]
    assert clean(np.array([[2, 1, 0]]), smooth=0, min_region=2).tolist() == [[0, 0, 0]]
    assert clean(np.array([[1, 1, 0]]), smooth=0, min_region=2).tolist() == [[1, 1, 1]]
    assert clean(np.array([[1, 1, 0]]), smooth=0, min_region=1).tolist() == [[1, 1, 0]]
    assert clean(np.array([[1, 1, 0, 0, 0]]), smooth=0, min_region=2).tolist() == [[1, 1, 0, 0, 0]]
    assert clean(np.array([[3, 3]]), smooth=0, min_region=9).tolist() == [[3, 3]]


def test_axes_map_weights_back():
    axes = Axes(np.zeros((2, 1)), np.ones(1), np.array([[2.0], [3.0]]), np.zeros(2))
    assert axes.coef(np.array([5.0])).tolist() == [10, 15]


@pytest.mark.parametrize(
    ("bisected", "fits"),
    [
        ([0, 0], True),
        ([0, 1], True),
        ([0, 2], False),
        ([1, 0], False),
        ([0, -1], False),
        ([0], False),
        ([0.0, 1.0], False),
    ],
)
def test_the_tree_of_a_model_file(bisected, fits, monkeypatch):
    model = IterSVR(3)
    monkeypatch.setattr("widegap.base._clusterer.WeightVectorClusterer._check_stored", lambda self: None)
    model.n_clusters_, model.bisected_ = 3, np.array(bisected)
    if fits:
        model._check_stored()
        return
    with pytest.raises(ValueError, match="bisected_ does not make 3 clusters"):
        model._check_stored()


@pytest.mark.parametrize(
    ("n", "n_components", "rank"), [(2000, "auto", 2000), (2001, "auto", 300), (10**6, "auto", 300), (50, 7, 7)]
)
def test_landmarks_of_the_kernel(n, n_components, rank):
    assert IterSVR(n_components=n_components)._rank(n) == rank


def test_starting_labels_of_one_kind_are_refused():
    IterSVR(init=[0, 1, 0])._check_start_labels(3)
    IterSVR(1, init=[0, 0, 0])._check_start_labels(3)
    with pytest.raises(InvalidDataError, match="init gives all 3 rows the label 1"):
        IterSVR(init=[1, 1, 1])._check_start_labels(3)


@pytest.mark.parametrize(
    ("ends", "stopped", "converged", "cycled", "warns"),
    [
        ([(True, False), (False, True)], False, True, True, False),
        ([(True, False), (True, False)], False, True, False, False),
        ([(True, False), (False, False)], False, False, False, True),
        ([(True, False), (False, False)], True, False, False, False),
    ],
)
def test_what_a_fit_of_several_bisections_stores(ends, stopped, converged, cycled, warns):
    model, tree = IterSVR(3, max_iter=7), Tree(1, np.zeros(1))
    assert isinstance(model, IterativeClusterer)
    tree.add(0, np.ones(1), 0.5, np.zeros(1))
    tree.add(1, np.ones(1), 0.5, np.zeros(1))
    splits = [
        SimpleNamespace(
            n_iter=4,
            converged=one,
            cycled=other,
            step=SimpleNamespace(machine=SimpleNamespace(objective=2.5), split=SimpleNamespace(bound_active=one)),
        )
        for one, other in ends
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model._store(tree, np.arange(3), splits, SimpleNamespace(records=["record"], stopped=stopped))
    assert [str(entry.message)[:35] for entry in caught] == ["IterSVR stopped after max_iter=7 tu"] * warns
    assert (model.n_iter_, model.objective_, model.n_clusters_) == (8, 5.0, 3)
    assert (model.converged_, model.cycled_, model.starved_) == (converged, cycled, True)
    assert model.bisected_.tolist() == [0, 1] and model.history_ == ["record"]
