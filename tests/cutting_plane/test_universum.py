"""Ways to a universum: what each gives, on dense and sparse rows, the same for the same seed, and clear refusals."""

import doctest
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_digits, make_blobs
from sklearn.mixture import GaussianMixture

from widegap import CPM3C, universum
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features import _principal

FORMS = [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array]


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.fixture(scope="module")
def groups():
    """Three groups of rows and their numbers."""
    return make_blobs(150, 4, centers=3, random_state=0)


def test_examples_in_the_docstrings_run():
    failures, tried = doctest.testmod(universum)
    assert (failures, tried > 8) == (0, True)


# rest


@pytest.mark.parametrize("form", FORMS)
def test_rest_is_the_rows_of_the_other_classes_in_order(groups, form):
    X, y = groups
    U = universum.rest(form(X), y, keep=[0, 2])
    assert sp.issparse(U) == sp.issparse(form(X))
    np.testing.assert_array_equal(dense(U), X[y == 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rest_keeps_the_dtype_and_takes_frames_and_names(groups, dtype):
    X, y = groups
    names = np.array(["a", "b", "c"])[y]
    U = universum.rest(pd.DataFrame(X.astype(dtype)), pd.Series(names), keep=["b"])
    assert U.dtype == dtype
    np.testing.assert_array_equal(U, X[y != 1].astype(dtype))


@pytest.mark.parametrize(
    ("keep", "match"),
    [
        ([0, 7], r"keep holds \[7\], which are not in y; choose among the classes 0, 1, 2\."),
        ([0, 1, 2], "keep holds all 3 classes of y, so that no row is left for a universum; leave out a class"),
    ],
)
def test_rest_refuses_classes_that_make_no_universum(groups, keep, match):
    with pytest.raises(InvalidDataError, match=match):
        universum.rest(*groups, keep=keep)


def test_rest_names_the_first_ten_of_many_classes():
    with pytest.raises(InvalidDataError, match=r"classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.\."):
        universum.rest(np.zeros((30, 1)), np.arange(30), keep=[99])


def test_rest_needs_a_class_for_every_row(groups):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        universum.rest(groups[0], groups[1][:-1], keep=[0])


# random


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_fills_the_box_of_the_columns(groups, dtype):
    X = groups[0].astype(dtype)
    U = universum.random(X, 4000, random_state=0)
    low, high = X.min(axis=0), X.max(axis=0)
    assert U.dtype == dtype and U.shape == (4000, 4)
    assert (U >= low).all() and (U <= high).all()
    np.testing.assert_allclose((U.mean(axis=0) - low) / (high - low), 0.5, atol=0.03)
    np.testing.assert_allclose((U.var(axis=0)) / (high - low) ** 2, 1 / 12, atol=0.005)


def test_random_refuses_sparse_rows_and_says_what_to_do():
    with pytest.raises(NotSupportedError, match="sparse matrix of 9 columns.*Reduce first, for example with Trunc"):
        universum.random(sp.csr_array(np.eye(9)), 3)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_random_refuses_other_numbers_of_rows(groups, n):
    with pytest.raises(ValueError, match=f"n={n} is out of range; it must be an integer from 1 to"):
        universum.random(groups[0], n)


# means


@pytest.mark.parametrize("form", FORMS)
def test_means_are_the_midpoints_of_all_pairs_of_centres(form):
    centres = np.array([[0.0, 0, 1], [10, 0, 0], [0, 10, 0], [9, 9, 9]])
    X = np.repeat(centres, 5, axis=0)
    U = universum.means(form(X), 4, random_state=0)
    assert isinstance(U, np.ndarray) and U.shape == (6, 3)
    pairs = [(centres[p] + centres[q]) / 2 for p in range(4) for q in range(p)]
    np.testing.assert_allclose(sorted(U.tolist()), sorted(np.array(pairs).tolist()), atol=1e-9)


@pytest.mark.parametrize("n_clusters", [1, 0, 2.0])
def test_means_need_two_clusters(groups, n_clusters):
    with pytest.raises(ValueError, match=f"n_clusters={n_clusters} is out of range; it must be an integer from 2 to"):
        universum.means(groups[0], n_clusters)


def test_means_need_as_many_rows_as_clusters(groups):
    with pytest.raises(InvalidDataError, match="n_samples=3 should be >= n_clusters=4"):
        universum.means(groups[0][:3], 4)


# select


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("form_of_u", FORMS[:2])
def test_select_keeps_the_likeliest_rows_in_their_order(groups, form, form_of_u):
    X, _ = groups
    U = np.random.default_rng(0).normal(size=(95, 4)) * 8
    chosen = universum.select(form_of_u(U), form(X), 3, random_state=0)
    assert sp.issparse(chosen) == sp.issparse(form_of_u(U)) and chosen.shape == (10, 4)
    # The mixture by scikit-learn itself: the same groups, so the same likelihoods.
    likelihoods = GaussianMixture(3, random_state=0, n_init=5).fit(X).score_samples(U)
    np.testing.assert_array_equal(dense(chosen), U[np.sort(np.argsort(-likelihoods)[:10])])


def test_select_of_one_component_is_the_normal_density():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3)) + 1e6
    U = X.mean(axis=0) + rng.normal(size=(50, 3)) * 3
    density = multivariate_normal(X.mean(axis=0), np.cov(X.T, bias=True)).logpdf(U)
    np.testing.assert_array_equal(universum.select(U, X, 1, fraction=0.3), U[np.sort(np.argsort(-density)[:15])])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_select_does_not_depend_on_units(groups, unit, shift):
    X, _ = groups
    U = np.random.default_rng(0).normal(size=(60, 4)) * 8
    expected = universum.select(U, X, 3, 0.25, random_state=0)
    chosen = universum.select((U + shift) * unit, (X + shift) * unit, 3, 0.25, random_state=0)
    np.testing.assert_allclose(chosen, (expected + shift) * unit, rtol=1e-12)


@pytest.mark.parametrize(("fraction", "n"), [(1e-9, 1), (0.1, 6), (0.5, 30), (1, 60), (1 / 60, 1), (0.101, 7)])
def test_select_rounds_up(groups, fraction, n):
    U = np.random.default_rng(0).normal(size=(60, 4))
    assert universum.select(U, groups[0], 2, fraction).shape == (n, 4)


def test_select_prefers_digits_to_noise_beyond_the_limit_of_full_covariances(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, U = X[y < 3], np.vstack([X[y > 6][:100], np.random.default_rng(0).uniform(0, 16, (100, 64))])
    sizes = []
    axes = _principal.PrincipalAxes.__init__
    monkeypatch.setattr(
        _principal.PrincipalAxes,
        "__init__",
        lambda self, X, size, seed: sizes.append(size) or axes(self, X, size, seed),
    )
    chosen = universum.select(U, X, 3, 0.25, random_state=0)
    assert sizes == [len(X) // 15] and sizes[0] < 50
    assert {tuple(row) for row in chosen} <= {tuple(row) for row in U[:100]}


def test_select_does_not_densify_wide_sparse_rows():
    rng = np.random.default_rng(0)
    X = sp.random(600, 20_000, density=5e-4, format="csr", rng=rng)
    tracemalloc.start()
    try:
        chosen = universum.select(X[:100], X, 12, 0.1, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert chosen.shape == (10, 20_000) and sp.issparse(chosen)
    assert peak < 600 * 20_000 * 8 / 4


@pytest.mark.parametrize("form", FORMS[:2])
def test_select_refuses_equal_rows(form):
    with pytest.raises(InvalidDataError, match="All 20 rows are equal, so none is nearer than another; check the data"):
        universum.select(np.eye(3), form(np.full((20, 3), 0.1)), 2)


def test_select_refuses_other_columns(groups):
    with pytest.raises(InvalidDataError, match="U has 3 columns, X has 4; both need the same ones: pass both through"):
        universum.select(np.eye(3), groups[0], 2)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.1, np.nan])
def test_select_refuses_other_fractions(groups, fraction):
    with pytest.raises(ValueError, match=f"fraction={fraction} of the universum cannot be kept; it must be above 0"):
        universum.select(np.eye(4), groups[0], 2, fraction)


@pytest.mark.parametrize(
    ("n_clusters", "error"), [(0, "an integer from 1 to"), (151, "n_samples=150 should be >= n_clusters")]
)
def test_select_refuses_other_numbers_of_clusters(groups, n_clusters, error):
    with pytest.raises(ValueError, match=error):
        universum.select(np.eye(4), groups[0], n_clusters)


# All


MAKERS = {
    "random": lambda X, seed: universum.random(X, 20, random_state=seed),
    "means": lambda X, seed: universum.means(X, 6, n_init=1, random_state=seed),
    "select": lambda X, seed: universum.select(X[::2], X, 6, 0.5, random_state=seed),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_the_same_seed_gives_the_same_rows_and_another_one_others(make):
    X = np.random.default_rng(0).normal(size=(300, 4))
    np.testing.assert_array_equal(make(X, 3), make(X, 3))
    assert any(not np.array_equal(make(X, 3), make(X, seed)) for seed in range(4, 8))


@pytest.mark.parametrize(
    "make", [*MAKERS.values(), lambda X, seed: universum.rest(X, np.arange(len(X)) % 2, [0])], ids=[*MAKERS, "rest"]
)
def test_nan_is_refused(make):
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="Input [XU] contains NaN"):
        make(X, 0)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_boundary_keeps_the_rows_with_the_smallest_lead(k, form):
    X, _ = make_blobs(90, 3, centers=k, random_state=0)
    model = CPM3C(k, random_state=0).fit(X)
    U = np.random.default_rng(1).normal(scale=8, size=(40, 3))
    kept = universum.boundary(form(U), model, fraction=0.25)
    scores = model._scores(U)
    leads = np.sort(scores, axis=1)[:, -1] - np.sort(scores, axis=1)[:, -2]
    expected = U[np.sort(np.argsort(leads)[:10])]
    np.testing.assert_array_equal(kept.toarray() if sp.issparse(kept) else kept, expected)


@pytest.mark.parametrize("fraction", [0, 1.5, -0.1])
def test_boundary_refuses_a_fraction_out_of_range(fraction):
    X, _ = make_blobs(30, 3, centers=2, random_state=0)
    with pytest.raises(ValueError, match="must be above 0 and at most 1"):
        universum.boundary(X, CPM3C(2, random_state=0).fit(X), fraction)


@pytest.mark.parametrize("keep", [0, "cats"])
def test_rest_refuses_a_single_class_that_is_no_list(keep):
    with pytest.raises(InvalidDataError, match="is not a list of classes; pass one, such as"):
        universum.rest(np.eye(3), [0, 1, 2], keep)
