"""Weights of rows: weight 2 is the row twice, weight 0 is its absence, equal weights are none."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from _representations import every_representation, rounding, table
from widegap import CPM3C, M2DCU, MKC
from widegap.constraints._side_information import read_sample_weight
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._score_loss import ScoreLoss
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.features._spectrum import leading_variances, leading_vectors
from widegap.rows import shards
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

# Bounds on sizes count rows, so that they differ where rows are repeated.
FREE = {"min_cluster_fraction": 0, "random_state": 0, "tol": 1e-3}
MODELS = [
    CPM3C(2, **FREE),
    CPM3C(3, **FREE),
    CPM3C(4, loss="sum", order="one_step", init="random", **FREE),
    CPM3C(3, kernel="rbf", gamma=0.1, n_components=60, **FREE),
    M2DCU(3, C_universum=0, **FREE),
    MKC(3, kernels=["linear", "cosine"], n_init=5, **FREE),
]
names = ["two", "three", "sum", "rbf", "M2DCU", "MKC"]


def groups_and_weights(n=60):
    rng = np.random.default_rng(0)
    groups = np.arange(n) % 3
    return 3 * np.eye(3)[groups] + rng.normal(size=(n, 3)), rng.integers(0, 4, n)


@pytest.mark.parametrize("model", MODELS, ids=names)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weight_two_is_the_row_twice(model, form):
    X, weights = groups_and_weights()
    weighted = clone(model).fit(form(X), sample_weight=weights)
    repeated = clone(model).fit(form(np.repeat(X, weights, axis=0)))
    # Rounding tells on which side of a kink a row lies, so that paths may part; not by more than the tolerance.
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2 * FREE["tol"])
    numbers = np.zeros(weighted.n_clusters, int)  # other numbers of the same clusters
    numbers[np.repeat(weighted.labels_, weights)] = repeated.labels_
    assert (numbers[np.repeat(weighted.labels_, weights)] == repeated.labels_).mean() > 0.97
    assert (numbers[weighted.predict(form(X))] == repeated.predict(form(X))).mean() > 0.95


@pytest.mark.parametrize("model", [*MODELS[:2], *MODELS[4:]], ids=[*names[:2], *names[4:]])
def test_weight_zero_is_absence(model):
    X, weights = groups_and_weights()
    weighted = clone(model).fit(X, sample_weight=weights)
    without = clone(model).fit(X[weights > 0], sample_weight=weights[weights > 0])
    assert_array_equal(weighted.coef_, without.coef_)
    assert_array_equal(weighted.labels_[weights > 0], without.labels_)
    assert_array_equal(weighted.labels_[weights == 0], without.predict(X[weights == 0]))
    assert weighted.labels_.dtype == np.int32


def test_equal_weights_are_none():
    X = groups_and_weights()[0]
    plain = CPM3C(3, random_state=0).fit(X)
    for weights in (np.full(60, 7.5), 2, np.where(np.arange(60) < 30, 3.0, 3.0)):
        assert_array_equal(CPM3C(3, random_state=0).fit(X, sample_weight=weights).coef_, plain.coef_)


@pytest.mark.parametrize(
    "model",
    [
        CPM3C(init="random", min_cluster_fraction=0),
        CPM3C(3, init="random", min_cluster_fraction=0),
        CPM3C(3, init="random", min_cluster_fraction=0, loss="sum", order="linearize_first", balance=0.3),
    ],
)
@pytest.mark.parametrize(
    "check", [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data]
)
def test_scikit_learn_equivalence(model, check):
    # Random linear scores are the starts that do not depend on how many rows there are.
    check(type(model).__name__, clone(model))


class PlainHinge(ScoreLoss):
    """The squared distance to the best score: any loss will do."""

    def costs(self, scores):
        return scores.max(axis=1, keepdims=True) - scores

    def codes(self, scores, labels):
        return scores.argmax(axis=1)

    def planes(self, codes, labels):
        rows = np.arange(len(labels))
        weights = np.zeros((len(labels), self.n_clusters))
        weights[rows, labels] += 1
        weights[rows, codes] -= 1
        return np.zeros(len(labels)), weights


@every_representation
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("loss", ["max", "sum", "plain"])
def test_the_pass_of_weighted_rows_is_that_of_repeated_ones(make_blocks, tmp_path, loss, k):
    X = table(40, 5)
    rng = np.random.default_rng(k)
    weights = rng.integers(1, 5, 40)
    blocks = make_blocks(X, tmp_path)
    weighted = CentredRows(blocks, weights.astype(float))
    repeated = CentredRows(row_blocks(np.repeat(X, weights, axis=0)))
    tolerance = {"rtol": 10 * rounding(blocks), "atol": 10 * rounding(blocks)}
    assert_allclose(weighted.mean, repeated.mean, **tolerance)
    assert_allclose(weighted.scale, repeated.scale, **tolerance)
    W, b = rng.normal(size=(k, 5)), rng.normal(size=k)
    old, new = rng.integers(0, k, (2, 40)).astype(np.int32)
    found, expected = [], []
    for rows, sums, r in ((weighted, found, np.ones(40, int)), (repeated, expected, weights)):
        term = PlainHinge(rows, k) if loss == "plain" else HingeLoss(rows, k, loss=loss)
        labels, best = term.best_labels(W, b)
        plane = term.plane(W, b, np.repeat(old, r))
        shift = term.shift([plane.codes], np.repeat(old, r), np.repeat(new, r))
        for part in (best, plane):
            sums += [part.loss, part.offset, part.normal, part.bias]
        sums += [shift.offset, shift.normal, shift.bias, rows.class_sums(labels, k), rows.label_weights(labels, k)]
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, **tolerance)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(20, 4), (6, 30), (450, 401)]), st.booleans())
def test_the_spectrum_of_weighted_rows_is_that_of_repeated_ones(seed, shape, is_sparse):
    rng = np.random.default_rng(seed)
    form = sp.csr_array if is_sparse else np.asarray
    X = table(*shape, seed=seed)
    weights = rng.integers(1, 4, shape[0])
    both = np.repeat(X, weights, axis=0)
    mean = both.mean(axis=0)
    found = leading_variances(form(X), mean, 3, weights.astype(float))
    assert_allclose(found, leading_variances(form(both), mean, 3), rtol=1e-2 if min(shape) > 400 else 1e-8)
    if shape == (20, 4):
        one, other = leading_vectors(form(X), 2, 0, weights.astype(float)), leading_vectors(form(both), 2, 0)
        assert_allclose(np.abs(np.sum(one * other, axis=1)), 1, atol=1e-3)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]))
def test_weights_as_duplicates_where_the_problem_is_convex(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3)) + 2 * rng.integers(0, k, (30, 1))
    weights, known = rng.integers(1, 4, 30), rng.integers(0, k, 30)
    known[:k] = np.arange(k)
    model = CPM3C(k, min_cluster_fraction=0, tol=1e-4, C=1.0, max_iter=1000, init=known)
    weighted = clone(model).fit(X, sample_weight=weights, known=known)
    model.set_params(init=np.repeat(known, weights))
    repeated = model.fit(np.repeat(X, weights, axis=0), known=np.repeat(known, weights))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=3e-4)
    assert_array_equal(weighted.labels_, known)


def test_rows_without_weight_keep_what_is_known_of_them():
    X, weights = groups_and_weights()
    gone = np.flatnonzero(weights == 0)
    known = np.full(60, -1)
    known[np.flatnonzero(weights)[:9]] = np.flatnonzero(weights)[:9] % 3
    known[gone[0]] = (gone[0] + 1) % 3  # a wrong one, too
    apart = [[gone[1], gone[2]], [gone[3], 30]]
    model = CPM3C(3, random_state=0).fit(
        X, sample_weight=weights, known=known, must_link=[[gone[4], 52]], cannot_link=apart
    )
    z = model.labels_
    assert_array_equal(z[known >= 0], known[known >= 0])
    assert z[gone[4]] == z[52] and all(z[a] != z[b] for a, b in apart)


def test_rows_in_files(tmp_path):
    X, weights = groups_and_weights()
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", X[20 * i : 20 * i + 20])
    files = shards(sorted(tmp_path.glob("*.npy")))
    expected = CPM3C(3, random_state=0).fit(X, sample_weight=weights + 1)
    assert_array_equal(CPM3C(3, random_state=0).fit(files, sample_weight=weights + 1).labels_, expected.labels_)
    with pytest.raises(NotSupportedError, match="zero for some rows, which can be left out of a table in memory only"):
        CPM3C(3).fit(files, sample_weight=weights)


def test_zero_weights_with_a_kernel_matrix_are_refused():
    X, weights = groups_and_weights()
    with pytest.raises(NotSupportedError, match="leave them out of the kernel matrix yourself"):
        MKC(3, kernels=["precomputed"]).fit(X @ X.T, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.ones(59), r"sample_weight has shape \(59,\) and dtype float64, X has 60 rows; pass one number a row"),
        (np.full(60, "a"), r"sample_weight has shape \(60,\) and dtype <U1"),
        (np.arange(60) - 1.0, r"sample_weight\[0\] = -1.0; weights must be finite and not negative"),
        (np.where(np.arange(60) == 3, np.nan, 1), r"sample_weight\[3\] = nan"),
        (
            np.where(np.arange(60) == 3, 1e-30, 1),
            r"sample_weight\[3\] = 1e-30 is below 1e-18 of the largest, .* weight 0",
        ),
        (np.zeros(60), "sample_weight is zero for every row"),
    ],
)
def test_weights_that_are_none_are_refused(weights, match):
    with pytest.raises(InvalidDataError, match=match):
        CPM3C(3).fit(groups_and_weights()[0], sample_weight=weights)


def test_a_weight_that_dwarfs_all_others_is_told():
    X = groups_and_weights()[0]
    with pytest.warns(UserWarning, match=r"sample_weight\[7\] is 1\.0e\+12, 1\.7e\+10 times all other rows together"):
        CPM3C(3, random_state=0).fit(X, sample_weight=np.where(np.arange(60) == 7, 1e12, 1.0))
    with pytest.warns(UserWarning, match=r"sample_weight\[1\] is 1\.0e\+17, 5\.0e\+16 times all other rows together"):
        read_sample_weight([1, 1e17, 1], 3)  # a sum of all weights has lost the others
    CPM3C(3, random_state=0).fit(X, sample_weight=np.where(np.arange(60) == 7, 1e4, 1.0))
