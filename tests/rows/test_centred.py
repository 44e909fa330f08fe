"""Moments of the rows, and the planes of the margin term: below the risk, and right after any relabelling."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from _representations import every_representation, rounding, table
from widegap.cutting_plane._hinge import HingeLoss
from widegap.exceptions import InvalidDataError
from widegap.rows import shards
from widegap.rows._blocks import PassSums
from widegap.rows._centred import CentredRows, Moments
from widegap.rows._sources import row_blocks

both_losses = pytest.mark.parametrize("loss", ["max", "sum"])
both_forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@pytest.fixture(params=[None, 600], ids=["one_block", "many_blocks"])
def block_bytes(request, monkeypatch):
    """Runs the test with the table in one piece and in many."""
    if request.param:
        monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", request.param)


def total_deviation(X):
    """Root of the total variance, from a mean that is exact to the last bit or two."""
    X = X.astype(np.longdouble)
    return float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum() / len(X)))


# Every sum over rows, with weights and without, and what counts as a read


@both_forms
@pytest.mark.parametrize("weighted", [False, True])
def test_every_sum_is_that_of_plain_numpy(form, weighted, block_bytes):
    rng = np.random.default_rng(0)
    X, k, n = table(57, 4) + 5, 3, 57
    weights = rng.integers(1, 5, n).astype(float) if weighted else None
    each = np.ones(n) if weights is None else weights
    rows = CentredRows(row_blocks(form(X)), weights)
    mean = each @ X / each.sum()
    scale = np.sqrt(each @ np.square(X - mean).sum(axis=1) / each.sum())
    Z, labels, old = (X - mean) / scale, rng.integers(0, k, n).astype(np.int32), rng.integers(0, k, n).astype(np.int32)
    assert_allclose(rows.mean, mean, rtol=1e-13)
    assert rows.scale == pytest.approx(scale, rel=1e-12) and rows.total == each.sum()
    assert (rows.array_weights() is None) if weights is None else (rows.array_weights() == weights).all()
    Y = np.eye(k)[labels]
    assert_allclose(rows.class_sums(labels, k), (Y * each[:, None]).T @ Z, atol=1e-10)
    counts = np.bincount(labels, minlength=k + 1)
    assert_array_equal(rows.label_counts(labels, k + 1), counts)
    assert_array_equal(rows.label_weights(labels, k + 1), np.bincount(labels, each, k + 1))
    flips = int((labels != old).sum())
    assert rows.count_flips(old, labels) == flips > 0
    assert_array_equal(rows.label_counts_and_flips(labels, old, k + 1)[0], counts)
    assert rows.label_counts_and_flips(labels, old, k + 1)[1] == flips
    assert rows.label_counts_and_flips(labels, None, k)[1] is None
    assert rows.n_passes == 1
    W, b = rng.normal(size=(k, 4)), rng.normal(size=k)
    scores = Z @ W.T + b
    pull = rng.normal(size=(n, k)) * (rng.random((n, 1)) < 0.7)

    def judged(found, part):
        return (float(found.sum()), len(found)), part, (found[:, 0] > 0,)

    (signs,), sums = rows.judge(W, b, judged, pull)
    assert rows.n_passes == 2
    assert_array_equal(signs, scores[:, 0] > 0)
    assert_allclose(sums.values, [scores.sum(), n], rtol=1e-9)
    assert_allclose(sums.normal, pull.T @ Z, atol=1e-9)
    assert_allclose(sums.bias, pull.sum(axis=0))
    assert_array_equal(sums.uncentred, np.zeros(k))
    total = rows.sum_scores(W, b, lambda found, part: (found * part).sum(axis=0), pull)
    assert rows.n_passes == 3
    assert_allclose(total, (scores * pull).sum(axis=0), atol=1e-9)
    assert_allclose(rows.map_scores(W, b, lambda found: found.max(axis=1)), scores.max(axis=1), atol=1e-9)
    assert rows.n_passes == 4
    further = CentredRows.in_frame_of(rows, row_blocks(form(X[:5] + 1)))
    assert (further.n_passes, further.total, further.weights, further.shape) == (0, 5, None, (5, 4))
    assert_allclose(further.scores(W, b), (X[:5] + 1 - mean) / scale @ W.T + b, atol=1e-9)
    assert further.n_passes == 1


def test_columns_vary_by_more_than_twice_the_rounding_of_their_entries():
    eps = np.finfo(np.float64).eps
    edge = 4 * 2 * (eps * 8) ** 2  # two rows about 8
    moments = Moments(2, np.full(3, -8.0), np.array([edge, np.nextafter(edge, 1), np.nextafter(edge, 0)]))
    assert_array_equal(moments.varies, [False, True, False])
    assert moments.variance == pytest.approx(3 * edge / 2)


def test_moments_add_up():
    X = np.random.default_rng(0).normal(size=(9, 2)) + [0, 100]
    parts = [Moments(len(x), x.mean(axis=0), np.square(x - x.mean(axis=0)).sum(axis=0)) for x in (X[:2], X[2:], X)]
    whole = parts[0] + parts[1]
    assert whole.n_rows == 9
    assert_allclose(whole.mean, parts[2].mean, rtol=1e-14)
    assert_allclose(whole.scatter, parts[2].scatter, rtol=1e-12)


def test_sums_of_uncentred_rows_are_centred_where_only_some_clusters_have_rows():
    sums = PassSums(np.array([1.0, 2.0]), np.arange(6.0).reshape(2, 3), np.array([0.0, 3.0]), np.array([0.0, 2.0]))
    mean = np.array([1.0, 10.0, 100.0])
    found = sums.centred(mean, 0.5)
    assert_array_equal(found.normal, 0.5 * (sums.normal - np.outer([0, 2], mean)))
    assert not found.uncentred.any() and found.values is sums.values and found.bias is sums.bias
    again = found.centred(mean, 2.0)
    assert_array_equal(again.normal, 2 * found.normal)
    both = sums + found
    assert_array_equal(both.bias, [0, 6])
    sums += found
    for name in ("values", "normal", "bias", "uncentred"):
        assert_array_equal(getattr(sums, name), getattr(both, name))


@both_forms
def test_rows_that_are_equal_have_no_scale_under_weights(form):
    weights = np.random.default_rng(0).uniform(0.1, 7, 20_000)
    assert CentredRows(row_blocks(form(np.full((20_000, 2), 1e6 + 0.1))), weights).scale == 0


# Moments of every representation


@every_representation
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_mean_and_scale(make_blocks, size, block_bytes, tmp_path):
    X = (table(211, 5) * size).astype(np.float32).astype(np.float64)
    rows = CentredRows(make_blocks(X, tmp_path))
    assert rows.mean.dtype == np.float64
    assert_allclose(rows.mean, X.mean(axis=0), rtol=1e-13, atol=1e-14 * size)
    assert rows.scale == pytest.approx(total_deviation(X), rel=1e-13)


@every_representation
def test_offset_costs_no_digits(make_blocks, block_bytes, tmp_path):
    X = (table(211, 5) + 1e6).astype(np.float32).astype(np.float64)
    rows = CentredRows(make_blocks(X, tmp_path))
    assert_allclose(rows.mean, X.mean(axis=0), rtol=1e-15 * 10)
    assert rows.scale == pytest.approx(total_deviation(X), rel=1e-8)


@both_forms
def test_moments_of_many_rows(form):
    X = np.random.default_rng(0).normal(size=(200_000, 2)) + [1e6, 0]
    rows = CentredRows(row_blocks(form(X)))
    assert rows.scale == pytest.approx(total_deviation(X), rel=1e-10)
    assert_allclose(rows.mean, X.astype(np.longdouble).mean(axis=0).astype(float), rtol=1e-15, atol=1e-13)


@every_representation
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
@pytest.mark.parametrize("n_rows", [1, 7])
def test_equal_rows_have_no_scale(make_blocks, value, n_rows, block_bytes, tmp_path):
    X = np.full((n_rows, 3), value) * [1, -1, 0.7]
    assert CentredRows(make_blocks(X, tmp_path)).scale == 0


@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        (np.asarray, np.float32),
        (np.asarray, np.float64),
        (sp.csr_array, np.float32),
        (sp.csr_array, np.float64),
    ],
)
@pytest.mark.parametrize("n_rows", [1000, 300_000])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1, -1e-8])
def test_many_equal_rows_have_no_scale(form, dtype, n_rows, value):
    assert CentredRows(row_blocks(form(np.full((n_rows, 2), value, dtype)))).scale == 0


@every_representation
def test_one_differing_row_has_a_scale(make_blocks, block_bytes, tmp_path):
    X = np.full((1000, 3), 100.0)
    X[500, 1] += 2.0**-14
    rows = CentredRows(make_blocks(X, tmp_path))
    assert rows.scale == pytest.approx(total_deviation(X), rel=1e-6)


@every_representation
@pytest.mark.parametrize(("bad", "where"), [(np.nan, 0), (np.inf, 100), (-np.inf, 210)])
def test_what_is_not_finite_is_refused(make_blocks, bad, where, block_bytes, tmp_path):
    X = table(211, 5)
    X[where, 3] = bad
    blocks = make_blocks(X, tmp_path)
    with pytest.raises(InvalidDataError, match="contain NaN, infinity, or values too large to square; impute"):
        CentredRows(blocks)


@both_forms
def test_infinities_in_two_blocks_are_refused(form, monkeypatch):
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 600)
    X = table(211, 5)
    X[[3, 200]] = np.inf
    with pytest.raises(InvalidDataError, match="NaN, infinity"):
        CentredRows(row_blocks(form(X), n_threads=2))


@both_forms
def test_values_too_large_to_square_are_refused(form, block_bytes):
    X = table(211, 5)
    X[3] = 1e200
    with pytest.raises(InvalidDataError, match="too large to square"):
        CentredRows(row_blocks(form(X)))


def test_a_bad_shard_is_refused(tmp_path):
    X = table(60, 3)
    np.save(tmp_path / "good.npy", X)
    X[7, 2] = np.nan
    np.savez(tmp_path / "bad.npz", X=X)
    with pytest.raises(InvalidDataError, match="NaN"):
        CentredRows(shards([tmp_path / "good.npy", tmp_path / "bad.npz"]))


# Planes


def centred(X):
    X = X - X.mean(axis=0)
    return X / np.sqrt((X**2).sum() / len(X))


def mean_loss(X, W, b, labels, loss):
    """The hinge of the fixed labels by its definition."""
    scores = centred(X) @ W.T + b
    total = 0.0
    for s, z in zip(scores, labels, strict=True):
        hinges = np.maximum(0, 1 - s[z] + np.delete(s, z))
        total += hinges.max() if loss == "max" else hinges.sum() / len(s)
    return total / len(X)


def plane_from_codes(X, codes, labels, k, loss):
    """Offset, normal and bias of a cut at any labels: w/n sum over pairs (i, r in c_i), as the module defines it."""
    X = centred(X)
    cut = np.unpackbits(codes, axis=1, bitorder="little")[:, :k].astype(float)
    unit = (1 if loss == "max" else 1 / k) / len(X)
    own = np.eye(k)[labels]
    pull = own * cut.sum(axis=1, keepdims=True) - cut
    return unit * (cut * (1 - own)).sum(), unit * pull.T @ X, unit * pull.sum(axis=0)


def value(plane, W, b):
    offset, normal, bias = plane
    return offset - np.vdot(normal, W) - bias @ b


class Draw:
    """A random small problem."""

    def __init__(self, n, d, k, seed, loss, form=np.asarray):
        self.rng = np.random.default_rng(seed)
        self.n, self.d, self.k, self.loss = n, d, k, loss
        self.X = table(n, d, seed=seed)
        self.X[0] += 1
        self.X[-1] -= 1
        self.term = HingeLoss(CentredRows(row_blocks(form(self.X))), k, loss=loss)

    def weights(self):
        size = 10 ** self.rng.uniform(-1, 1)
        return size * self.rng.normal(size=(self.k, self.d)), size * self.rng.normal(size=self.k)

    def labels(self):
        return self.rng.integers(0, self.k, self.n).astype(np.int32)


problems = given(
    n=st.integers(2, 30),
    d=st.integers(1, 5),
    k=st.integers(2, 11),
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["max", "sum"]),
    form=st.sampled_from([np.asarray, sp.csr_array]),
)


@settings(deadline=None, max_examples=80)
@problems
def test_a_cut_lies_below_the_risk_and_touches_it(n, d, k, seed, loss, form):
    draw = Draw(n, d, k, seed, loss, form)
    W0, b0 = draw.weights()
    labels = draw.labels()
    plane = draw.term.plane(W0, b0, labels)
    cut = plane.offset, plane.normal, plane.bias
    here = mean_loss(draw.X, W0, b0, labels, loss)
    assert plane.loss == pytest.approx(here, rel=1e-10, abs=1e-10)
    assert value(cut, W0, b0) == pytest.approx(here, rel=1e-9, abs=1e-9)
    for _ in range(5):
        W1, b1 = draw.weights()
        there = mean_loss(draw.X, W1, b1, labels, loss)
        assert value(cut, W1, b1) <= there + 1e-10 * (1 + there)


@settings(deadline=None, max_examples=80)
@problems
def test_a_cut_lies_below_the_risk_of_any_other_labels(n, d, k, seed, loss, form):
    draw = Draw(n, d, k, seed, loss, form)
    labels, other = draw.labels(), draw.labels()
    other[0] = (labels[0] + 1) % k
    plane = draw.term.plane(*draw.weights(), labels)
    shift = draw.term.shift([plane.codes], labels, other)
    cut = plane.offset + shift.offset[0], plane.normal + shift.normal[0], plane.bias + shift.bias[0]
    for _ in range(5):
        W1, b1 = draw.weights()
        there = mean_loss(draw.X, W1, b1, other, loss)
        assert value(cut, W1, b1) <= there + 1e-10 * (1 + there)


@settings(deadline=None, max_examples=60)
@problems
def test_best_labels_have_the_least_loss(n, d, k, seed, loss, form):
    draw = Draw(n, d, k, seed, loss, form)
    W, b = draw.weights()
    labels, plane = draw.term.best_labels(W, b)
    costs = draw.term.label_costs(W, b)
    by_row = np.array([[mean_loss(draw.X, W, b, np.full(n, z), loss)] for z in range(k)])
    assert_allclose(costs.mean(axis=0), by_row.ravel(), rtol=1e-9, atol=1e-9)
    assert_allclose(costs[np.arange(n), labels], costs.min(axis=1), rtol=1e-9, atol=1e-9)
    assert plane.loss == pytest.approx(costs.min(axis=1).mean(), rel=1e-9, abs=1e-9)


@every_representation
@both_losses
@pytest.mark.parametrize("k", [2, 17])
def test_planes_follow_fifty_relabelings(make_blocks, loss, k, block_bytes, tmp_path):
    X = table(157, 5)
    rng = np.random.default_rng(k)
    blocks = make_blocks(X, tmp_path)
    term = HingeLoss(CentredRows(blocks), k, loss=loss)
    labels = rng.integers(0, k, 157).astype(np.int32)
    planes = [term.plane(2 * rng.normal(size=(k, 5)), rng.normal(size=k), labels) for _ in range(3)]
    codes = [plane.codes for plane in planes]
    offset = np.array([plane.offset for plane in planes])
    bias = np.array([plane.bias for plane in planes])
    # The first plane of float32 rows has float32 rounding; what is tested is that the moves add none.
    start = [plane_from_codes(X, code, labels, k, loss) for code in codes]
    for plane, expected in zip(planes, start, strict=True):
        assert_allclose(plane.normal, expected[1], rtol=0, atol=rounding(blocks))
    normal = np.array([expected[1] for expected in start])

    for i in range(50):
        new = labels.copy()
        changed = rng.choice(157, [1, 5, 157][i % 3], replace=False)
        new[changed] = (new[changed] + rng.integers(1, k, len(changed))) % k
        shift = term.shift(codes, labels, new)
        offset += shift.offset
        normal += shift.normal
        bias += shift.bias
        labels = new

    for c, code in enumerate(codes):
        expected = plane_from_codes(X, code, labels, k, loss)
        assert offset[c] == pytest.approx(expected[0], abs=1e-12)
        assert_allclose(normal[c], expected[1], rtol=0, atol=1e-12)
        assert_allclose(bias[c], expected[2], rtol=0, atol=1e-12)


@every_representation
def test_class_sums(make_blocks, block_bytes, tmp_path):
    X = table(157, 5)
    labels = np.random.default_rng(0).integers(0, 3, 157).astype(np.int32)
    rows = CentredRows(make_blocks(X, tmp_path))
    assert_allclose(rows.class_sums(labels, 4), np.eye(4)[labels].T @ centred(X), rtol=1e-12, atol=1e-11)
    assert_array_equal(rows.class_sums(labels, 4)[3], 0)


def test_four_points_by_hand():
    # Rows -1, -1, 1, 1: mean 0, scale 1. With W = (-.25, .25) the lead of the right cluster is .5, the loss .5 a row.
    term = HingeLoss(CentredRows(row_blocks(np.array([[-1.0], [-1.0], [1.0], [1.0]]))), 2, loss="max")
    W, b = np.array([[-0.25], [0.25]]), np.zeros(2)
    labels, plane = term.best_labels(W, b)
    assert_array_equal(labels, [0, 0, 1, 1])
    assert_array_equal(plane.codes, [[2], [2], [1], [1]])
    assert (plane.loss, plane.offset) == (0.5, 1.0)
    assert_array_equal(plane.normal, [[-1], [1]])
    assert_array_equal(plane.bias, [0, 0])
    # Row 0 goes to cluster 1, its own active rival: the pair counts no more, and its pull on both clusters ends.
    shift = term.shift([plane.codes], labels, np.array([1, 0, 1, 1], np.int32))
    assert_array_equal(shift.offset, [-0.25])
    assert_array_equal(shift.normal, [[[0.25], [-0.25]]])
    assert_array_equal(shift.bias, [[-0.25, 0.25]])
