"""The fused pass against a plain NumPy referee, on every representation of the rows."""

from dataclasses import dataclass

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import _plain_loops
from _representations import every_representation, rounding, table
from widegap import _jit, _loop_cache
from widegap.cutting_plane._hinge import hinge_pass
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks
from widegap.rows.loops import _passes, _tiles, _vectors
from widegap.rows.loops._entry_tables import grouped

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="needs compiled code")
both_losses = pytest.mark.parametrize("all_rivals", [False, True], ids=["max", "sum"])


@dataclass
class Referee:
    """The pass by its definition, on a dense table in float64. ``active[i, r]``: rival r of row i is active."""

    loss: float
    active: np.ndarray
    normal: np.ndarray
    bias: np.ndarray
    labels: np.ndarray


def centred(X):
    X = X.astype(np.float64)
    X = X - X.mean(axis=0)
    return X / np.sqrt((X**2).sum() / len(X))


def referee(X, W, b, labels, all_rivals):
    X = centred(X)
    scores = X @ W.T + b
    labels = scores.argmax(axis=1) if labels is None else labels
    rows = np.arange(len(X))
    hinge = 1 - scores[rows, labels][:, None] + scores
    hinge[rows, labels] = -np.inf
    active = hinge > 0
    if not all_rivals:
        active &= np.eye(len(W), dtype=bool)[hinge.argmax(axis=1)]
    # One pair (row, rival) adds e_label - e_rival.
    pull = -active.astype(np.float64)
    pull[rows, labels] += active.sum(axis=1)
    return Referee(hinge[active].sum(), active, pull.T @ X, pull.sum(axis=0), labels)


def unpack(codes, k):
    """Bits of the codes as a boolean table (n, k)."""
    return np.unpackbits(codes, axis=1, bitorder="little")[:, :k].astype(bool)


def random_weights(k, d, seed=1, size=1.5):
    rng = np.random.default_rng(seed)
    return size * rng.normal(size=(k, d)), rng.normal(size=k) / 2


def check_pass(rows, X, W, b, labels, all_rivals, tol):
    expected = referee(X, W, b, labels, all_rivals)
    found = hinge_pass(rows, W, b, labels, all_rivals=all_rivals)
    k = len(W)
    assert_array_equal(found.labels, expected.labels)
    assert_array_equal(unpack(found.codes, k), expected.active)
    assert not np.unpackbits(found.codes, axis=1, bitorder="little")[:, k:].any()
    assert found.codes.shape == (len(X), -(-k // 8))
    assert found.pairs == expected.active.sum()
    assert_array_equal(found.bias, expected.bias)
    size = 1 + np.abs(expected.normal).max()
    assert_allclose(found.normal, expected.normal, rtol=tol, atol=tol * size)
    assert found.loss == pytest.approx(expected.loss, rel=tol, abs=tol)
    identity = found.pairs - np.vdot(found.normal, W) - found.bias @ b
    assert found.loss == pytest.approx(identity, rel=tol, abs=tol * size * (1 + np.abs(W).sum()))
    return found


@every_representation
@both_losses
@pytest.mark.parametrize("choose", [False, True], ids=["given", "chosen"])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 9, 10, 11, 17])
def test_pass_equals_the_referee(make_blocks, all_rivals, choose, k, tmp_path):
    X = table(203, 7)
    blocks = make_blocks(X, tmp_path)
    labels = None if choose else np.random.default_rng(2).integers(0, k, len(X)).astype(np.int32)
    given = None if choose else labels.copy()
    found = check_pass(CentredRows(blocks), X, *random_weights(k, 7), labels, all_rivals, rounding(blocks))
    assert found.labels.dtype == np.int32
    if not choose:
        assert_array_equal(labels, given)
    assert k == 1 or 0 < found.pairs < len(X) * (k - 1 if all_rivals else 1)  # some rows active, some not


@every_representation
@both_losses
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (4, 3), (5, 1), (8, 40), (9, 16)])
def test_pass_on_few_rows_and_columns(make_blocks, shape, k, all_rivals, tmp_path):
    X = table(*shape, density=1.0)
    X[0] += 3
    blocks = make_blocks(X, tmp_path)
    check_pass(CentredRows(blocks), X, *random_weights(k, shape[1]), None, all_rivals, rounding(blocks))


@every_representation
@pytest.mark.parametrize("k", [2, 3])
def test_pass_on_one_row(make_blocks, k, tmp_path):
    rows = CentredRows(make_blocks(table(1, 5, density=1.0) + 3, tmp_path))
    assert rows.scale == 0
    rows.scale = 1.0  # a single row has no scale of its own; centred it is zero and its scores are b
    b = np.array([0.25, 0.75, -1.0])[:k]
    found = hinge_pass(rows, random_weights(k, 5)[0], b, None, all_rivals=False)
    assert_array_equal(found.labels, [1])
    assert_array_equal(found.codes, [[1]])
    assert found.loss == pytest.approx(0.5, abs=1e-5)
    assert_allclose(found.normal, 0, atol=1e-5)


@both_losses
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 7, 8, 9, 15, 16, 17, 33])
def test_tiles_and_vectors_that_are_not_full(d, dtype, all_rivals):
    """Numbers of rows about one tile and two, of columns about one vector and two, of clusters about a pair."""
    for n in (4, 5, 6, 7, 12, 13):
        X = np.random.default_rng(n).normal(size=(n, d)).astype(dtype)
        for k in (2, 3, 4, 5):
            check_pass(CentredRows(row_blocks(X)), X, *random_weights(k, d), None, all_rivals, rounding(X))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("n", [_passes.FLUSH - 1, _passes.FLUSH, _passes.FLUSH + 1, 2 * _passes.FLUSH + 3])
@pytest.mark.parametrize("k", [2, 3])
def test_pass_across_the_flush(make, n, k):
    X = table(n, 3)
    check_pass(CentredRows(row_blocks(make(X))), X, *random_weights(k, 3), None, False, 1e-11)


@compiled_only  # plain Python adds up float32 numbers as such
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("k", [2, 3])
def test_float32_sums_stay_accurate_over_many_rows(make, k, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 1 << 30)  # one block: only the flush shortens the sums
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400_000, 2)) + 0.3).astype(np.float32)
    W, b = 1e-3 * rng.normal(size=(k, 2)), np.zeros(k)  # every row active: the longest sums
    labels = (X[:, 0] > 0.3).astype(np.int32)
    rows = CentredRows(row_blocks(make(X)))
    found = hinge_pass(rows, W, b, labels, all_rivals=True)
    expected = referee(X, W, b, labels, True)
    assert_allclose(found.normal, expected.normal, rtol=0, atol=1e-6 * np.abs(expected.normal).max())
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_float32_keeps_its_digits_under_an_offset(k):
    X = (table(400, 5, density=1.0) + 1e4 + 1 / 3).astype(np.float32)  # the mean is no float32 number
    rows = CentredRows(row_blocks(X))
    W, b = random_weights(k, 5)
    expected = referee(X, W, b, None, True)
    found = hinge_pass(rows, W, b, None, all_rivals=True)
    assert_array_equal(unpack(found.codes, k), expected.active)
    assert_allclose(found.normal, expected.normal, rtol=1e-5, atol=1e-5 * np.abs(expected.normal).max())
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)
    assert_allclose(rows.scores(W, b), centred(X) @ W.T + b, atol=1e-5)


# Eight rows with mean 0 and scale 2, so that the pass works on zeros and (+-1, +-1) without any rounding.
EXACT = 2.0 * np.array([[1, 1], [0, 0], [1, -1], [0, 0], [-1, 1], [0, 0], [-1, -1], [0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("k", [2, 3, 10])
class TestTies:
    def run(self, make, dtype, W, b, labels=None, all_rivals=False):
        rows = CentredRows(row_blocks(make(EXACT.astype(dtype))))
        assert rows.scale == 2 and not rows.mean.any()
        return rows, hinge_pass(rows, np.asarray(W, float), np.asarray(b, float), labels, all_rivals=all_rivals)

    def test_equal_scores_go_to_the_lowest_cluster_and_its_next_rival(self, make, dtype, k):
        rows, found = self.run(make, dtype, np.zeros((k, 2)), np.zeros(k))
        assert_array_equal(found.labels, 0)
        assert_array_equal(unpack(found.codes, k), np.arange(k) == [[1]] * 8)
        assert (found.loss, found.pairs) == (8, 8)
        assert_array_equal(found.bias, [8, -8] + [0] * (k - 2))
        assert_array_equal(rows.largest_scores(np.zeros((k, 2)), np.zeros(k)), 0)

    def test_all_rivals_of_a_tie_are_active_in_the_sum_form(self, make, dtype, k):
        _, found = self.run(make, dtype, np.zeros((k, 2)), np.zeros(k), all_rivals=True)
        assert_array_equal(unpack(found.codes, k), np.tile(np.arange(k) > 0, (8, 1)))
        assert found.loss == found.pairs == 8 * (k - 1)

    def test_a_hinge_of_exactly_zero_is_not_active(self, make, dtype, k):
        W = np.zeros((k, 2))
        W[0, 0], W[1, 0] = 0.5, -0.5  # scores of rows with x = +-1 lead by exactly one
        b = np.full(k, -9.0)
        b[:2] = 0
        _, found = self.run(make, dtype, W, b, all_rivals=True)
        zero_rows = ~EXACT.any(axis=1)
        assert_array_equal(found.labels[~zero_rows], [0, 0, 1, 1])
        assert_array_equal(unpack(found.codes, k)[~zero_rows], False)
        assert_array_equal(unpack(found.codes, k)[zero_rows, 1], True)
        assert (found.loss, found.pairs) == (4, 4)

    def test_hand_computed_plane(self, make, dtype, k):
        W = np.zeros((k, 2))
        W[1, 0] = 0.5
        labels = np.ones(8, np.int32)
        _, found = self.run(make, dtype, W, np.zeros(k), labels)
        # Hinges: .5 where x = 1, 1 at the zero rows, 1.5 where x = -1; the rival is cluster 0 everywhere.
        assert (found.loss, found.pairs) == (2 * 0.5 + 4 * 1 + 2 * 1.5, 8)
        assert_array_equal(found.bias, [-8, 8] + [0] * (k - 2))
        assert_array_equal(found.normal, 0)
        labels[[4, 6]] = 0  # the rows with x = -1 now lie on their own side
        _, found = self.run(make, dtype, W, np.zeros(k), labels)
        # They drop to hinge max(0, 1 + s_r - 0): rivals at 0 for k > 2, at -.5 for k = 2.
        left = 0.5 if k == 2 else 1.0
        assert found.loss == 2 * 0.5 + 4 * 1 + 2 * left
        # Right rows pull cluster 1 by x = +1 each and left rows the cluster 0 by x = -1, their rivals the other way.
        rival = 1 if k == 2 else 2
        expected = np.zeros((k, 2))
        expected[1, 0] += 2
        expected[0, 0] -= 2
        expected[0, 0] -= 2
        expected[rival, 0] += 2
        assert_array_equal(found.normal, expected)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(2, 40),
    d=st.integers(1, 9),
    k=st.integers(2, 12),
    density=st.floats(0.05, 1),
    all_rivals=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_dense_and_sparse_passes_agree(n, d, k, density, all_rivals, seed):
    X = table(n, d, seed=seed, density=density)
    X[0] += 1
    X[-1] -= 1
    W, b = random_weights(k, d, seed=seed)
    for form in (np.asarray, sp.csr_array):
        rows = CentredRows(row_blocks(form(X)))
        check_pass(rows, X, W, b, None, all_rivals, 1e-10)


@every_representation
@pytest.mark.parametrize("k", [1, 2, 5])
def test_scores_equal_the_referee(make_blocks, k, tmp_path):
    X = table(101, 6)
    blocks = make_blocks(X, tmp_path)
    rows = CentredRows(blocks)
    W, b = random_weights(k, 6)
    expected = centred(X) @ W.T + b
    scores = rows.scores(W, b)
    assert scores.dtype == blocks.dtype
    assert_allclose(scores, expected, rtol=rounding(blocks), atol=10 * rounding(blocks))
    largest = rows.largest_scores(W, b)
    assert largest.dtype == np.int32
    assert_array_equal(largest, expected.argmax(axis=1))
    coef, intercept = rows.to_input_space(W, b)
    assert_allclose(X @ coef.T + intercept, expected, rtol=1e-10, atol=1e-10)


def refuse_cache(function):
    """What numba does where no cache directory can be written."""
    raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")


@compiled_only
def test_jit_goes_without_a_cache_that_cannot_be_written(monkeypatch):
    monkeypatch.setattr(_loop_cache, "LoopCache", refuse_cache)
    double = _jit.jit(lambda x: 2 * x)
    assert double(21) == 42
    assert double.compiled.targetoptions["nogil"] and double.compiled.targetoptions["fastmath"]
    assert not isinstance(double.compiled._cache, numba.core.caching.FunctionCache)


@compiled_only
def test_jit_caches_where_it_can():
    assert isinstance(_passes.scores_csr.compiled._cache, _loop_cache.LoopCache)


def test_fast_math_still_sees_nan():
    assert not {"nnan", "ninf", "fast"} & set(_jit._FAST_MATH)
    X = np.ones((5, 3))
    X[2, 1] = np.nan
    assert np.isnan(_passes.moments_dense(X)[1]).any()


class _Called:
    """What is a part of other loops only, called from one."""

    @staticmethod
    @_jit.jit
    def move_row(R, r, N, z, q):
        _tiles.move_row(R, r, N, z, q)

    @staticmethod
    @_jit.jit
    def add_tile(R, c, t):
        _tiles.add_tile(R, c, t)


@compiled_only
class TestLoopsOfVectors:
    """Each loop made of LLVM vectors against plain NumPy, at all lengths about one vector and two."""

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 16, 17, 33])
    def test_loops_of_tiles(self, dtype, d):
        rng, tol = np.random.default_rng(d), 1e-4 if dtype == np.float32 else 1e-13
        X, mean, n = rng.normal(size=(10, d)).astype(dtype), rng.normal(size=d).astype(dtype), _tiles.TILE_ROWS
        R = np.zeros((n, _tiles.padded_width(X)), dtype)
        for first in (0, 1, 4, 6, 9):
            rows = _tiles.load_tile(X, mean, first, R)
            assert rows == min(n, 10 - first) and not R[:, d:].any()
            assert_array_equal(R[:rows, :d], X[first : first + rows] - mean)
        for k in (1, 2, 3, 4, 5, 8):
            W, S = rng.normal(size=(k, R.shape[1])).astype(dtype), np.zeros((n, k), dtype)
            _tiles.tile_scores(R, W, S, X, 6)
            assert_allclose(S, R @ W.T, rtol=tol, atol=tol)
            N, c, total = W.copy(), rng.normal(size=n).astype(dtype), W[:1].copy()
            _Called.move_row(R, k % n, N, 0, k - 1)
            assert_allclose(N[0] + N[k - 1], W[0] + W[k - 1], rtol=tol, atol=tol)
            assert_allclose(N[0], W[0] + R[k % n] * (k > 1), rtol=tol, atol=tol)
            assert_array_equal(N[1 : k - 1], W[1 : k - 1])
            _Called.add_tile(R, c, total)
            assert_allclose(total, W[:1] + c @ R, rtol=tol, atol=tol)

    @pytest.mark.parametrize("index", [np.int32, np.int64])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 23])
    def test_loops_of_entries(self, dtype, k, index):
        X = sp.csr_array(table(9, 40).astype(dtype))
        data, indices, indptr, dense = X.data, X.indices.astype(index), X.indptr.tolist(), X.toarray()
        rng, tol = np.random.default_rng(k), 1e-5 if dtype == np.float32 else 1e-13
        W, S, N = rng.normal(size=(k, 40)).astype(dtype), np.ones((9, k), dtype), np.ones((40, k))
        groups, pulls = grouped(W, S.dtype), rng.normal(size=(9, k)) * (np.arange(k) % 9 != np.arange(9)[:, None])
        for r in range(9):
            pulls[r, : r * k // 9] = 0  # so that whole vectors are passed over
            _vectors.add_products(data, indices, indptr[r], indptr[r + 1], groups, 40, S, r)
            _vectors.add_rows(data, indices, indptr[r], indptr[r + 1], N, pulls[r])
        assert_allclose(S, 1 + dense @ W.T, rtol=tol, atol=10 * tol)
        assert_allclose(N, 1 + dense.T.astype(np.float64) @ pulls, rtol=1e-13, atol=1e-13)


def test_plain_loops_refuse_what_is_beyond_an_array():
    R, W = np.zeros((6, 16)), np.zeros((3, 16))
    with pytest.raises(IndexError, match="index 3 is out of bounds of 3"):
        _plain_loops.move_row(R, 0, W, 3, 0)
    with pytest.raises(IndexError, match=r"of shape \(6, 9\) and strides"):
        _plain_loops.move_row(R[:, :9], 0, W, 1, 0)
    with pytest.raises(IndexError, match="index 3 is out of bounds of 3"):
        _plain_loops._products(R, W, np.zeros((6, 3)), 2, R, 0, 2, 0)
    one, columns = np.ones(1), np.array([7])
    with pytest.raises(IndexError, match="index 7 is out of bounds of 7"):
        _plain_loops._add_rows(one, columns, 0, 1, np.zeros((7, 1)), one, 0, 1)
    with pytest.raises(IndexError, match="index 1 is out of bounds of 1"):
        _plain_loops._add_rows(one, columns, 0, 2, np.zeros((8, 1)), one, 0, 1)


class TestWeightsOfRows:
    """A row of weight 3 adds what three rows without weights add."""

    X, times = table(30, 5), np.arange(30) % 4
    weights = times.astype(np.float64)

    def added(self, k, form, X, weights):
        rng, n = np.random.default_rng(0), len(X)
        W, b, labels = rng.normal(size=(k, 5)), rng.normal(size=k), (np.abs(X[:, 0]) * 64).astype(np.int32) % k
        codes, bias, normal = np.zeros((n, 1), np.uint8), np.zeros(k), np.zeros((k, 5) if form == "dense" else (5, k))
        last, mean, S = (labels, codes, weights, normal, bias), np.zeros(5), sp.csr_array(X)
        entries = S.data, S.indices, S.indptr
        if k > 2 and form == "dense":
            sums = _passes.margin_dense(X, mean, W, b, False, True, *last)
        elif k > 2:
            sums = _passes.margin_csr(*entries, grouped(W, np.dtype(float)), b, False, True, *last)
        elif form == "dense":
            sums = _passes.margin_dense_two(X, mean, W[1:] - W[:1], b[1] - b[0], False, *last)
        else:
            sums = _passes.margin_csr_two(*entries, W[1] - W[0], b[1] - b[0], False, *last)
        return [*sums, normal, bias]

    @pytest.mark.parametrize("form", ["dense", "csr"])
    @pytest.mark.parametrize("k", [2, 3])
    def test_passes(self, k, form):
        repeated = self.added(k, form, np.repeat(self.X, self.times, axis=0), None)
        assert repeated[1] > 0
        for found, expected in zip(self.added(k, form, self.X, self.weights), repeated, strict=True):
            assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    def test_sums_of_sparse_rows(self):
        S, mean, rows = sp.csr_array(self.X), self.X.mean(axis=0), np.arange(2, 20)
        weights = np.random.default_rng(0).normal(size=(3, 18)) * (rows % 3 > 0)
        found = _passes.weighted_csr(S.data, S.indices, S.indptr, rows, weights, mean, 2.0)
        assert_allclose(found, weights @ (self.X[rows] - mean) / 2, rtol=1e-12, atol=1e-12)
        counts, old, new = np.stack([self.times, 3 - self.times]), np.arange(30) % 3, np.arange(30) % 2
        found = _passes.moved_csr(S.data, S.indices, S.indptr, counts, old, new, 3, mean, 2.0)
        moved = np.eye(3)[new] - np.eye(3)[old]
        expected = np.einsum("mi,ip,ij->mpj", counts, moved, self.X - mean) / 2
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
