"""Compiled loops over one chunk of rows: scores, moments, and the hinge's fused pass, which does all in one read.

A loss names its passes in ``Loops``; blocks know none of them by name.

The hinge. For a row x with scores ``s_p = W_p . (x - mean) + b_p`` and label z, a rival r is *active* when its hinge
``1 - s_z + s_r`` is positive. The max form keeps the worst rival only, the sum form every active one. Each active
pair (row, r) adds its hinge to the loss and ``e_z - e_r`` to the row's gradient, so that

    loss = pairs - <normal, W> - <bias, b>,   normal = sum (e_z - e_r) (x - mean)',   bias = sum (e_z - e_r).

The active rivals of a row are kept as bits, ``codes[i, r // 8]`` bit ``r % 8``: all that is needed to move the plane
to other labels later. Conventions that the speed rests on: arguments are C-contiguous; W, mean and b have X's dtype
(a float64 literal would widen the whole loop); normals gather in X's dtype and are flushed to float64 every
``FLUSH`` rows (float32: error 1e-6, at worst 4e-5). Dense chunks are centred while they are read, which keeps
float32 exact under large offsets; CSR chunks are not: their caller passes ``b - W @ mean`` and corrects the normal
by ``bias``.

Weights of rows multiply all that a row adds. Without them the argument is None, and numba leaves out what is done for
them: the loop is the one that it would be if there were none.
"""

import numpy as np

from widegap._jit import allocating_jit, jit
from widegap._types import Codes, Doubles, Floats, Labels
from widegap.rows.loops._tiles import TILE_ROWS, add_tile, load_tile, move_row, padded_width, tile_scores
from widegap.rows.loops._vectors import add_products, add_products_of_one, add_rows, add_rows_of_one

FLUSH = 4096  # rows between two flushes: float32 sums then keep six digits (above), and flushing costs nothing
SCORED = 64  # CSR rows that are scored before they are judged: their scores stay in the first cache; not tuned


@jit
def _judge(S, r, k, choose, all_rivals, labels, codes, i, active):  # type: ignore[no-untyped-def]
    """Find the label of row i, whose scores are S[r], and write its active rivals as bits and as a list.

    Returns the label, the number of active rivals and their summed hinge. Ties go to the lowest index. Tables are
    passed whole, because slicing out a row costs more than the work on it. Nothing branches on scores before both
    places are known: that would be a guess for every cluster.
    """
    other = 1 if k > 1 else 0
    top = max(S[r, 0], S[r, other])
    next_top = min(S[r, 0], S[r, other])
    for p in range(2, k):
        next_top = max(next_top, min(S[r, p], top))
        top = max(S[r, p], top)
    best = second = 0
    for p in range(k - 1, -1, -1):
        best = p if S[r, p] == top else best
    for p in range(k - 1, -1, -1):
        second = p if S[r, p] == next_top and p != best else second
    if choose and labels[i] < 0:
        labels[i] = best
    z = np.int64(labels[i])
    for a in range(codes.shape[1]):
        codes[i, a] = 0
    count = 0
    loss = 0.0
    first, last = (0, k) if all_rivals else (second, second + 1) if best == z else (best, best + 1)
    for q in range(first if first > 0 else 0, last):
        hinge = 1.0 - S[r, z] + S[r, q]
        if q != z and hinge > 0.0:
            codes[i, q >> 3] |= np.uint8(1 << (q & 7))
            active[count] = q
            count += 1
            loss += hinge
    return z, count, loss


@jit
def _flush(recent, normal):  # type: ignore[no-untyped-def]
    """Add the sums of the last rows, which are padded, to the float64 totals, and set them to 0."""
    for p in range(normal.shape[0]):
        for j in range(normal.shape[1]):
            normal[p, j] += recent[p, j]
            recent[p, j] = 0


def _tables(X: Floats, W: Floats) -> tuple[Floats, Floats, Floats]:
    """Weights with zeros beyond the last column, and memory for a tile and its scores."""
    k, d = W.shape
    padded_W = np.zeros((k, padded_width(X)), X.dtype)
    padded_W[:, :d] = W
    return padded_W, np.zeros((TILE_ROWS, padded_width(X)), X.dtype), np.empty((TILE_ROWS, k), X.dtype)


def margin_dense(
    X: Floats,
    mean: Floats,
    W: Floats,
    b: Floats,
    choose: bool,
    all_rivals: bool,
    labels: Labels,
    codes: Codes,
    weights: Floats | None,
    normal: Doubles,
    bias: Doubles,
) -> tuple[float, float]:
    """One fused pass; with ``choose`` labels of -1 are written (argmax), else all are read. Returns loss, pairs."""
    memory = *_tables(X, W), np.zeros((len(W), padded_width(X)), X.dtype), np.empty(len(W), np.int64)
    found: tuple[float, float] = _margin_tiles(
        X, mean, b, choose, all_rivals, labels, codes, weights, normal, bias, *memory
    )
    return found


@jit
def _margin_tiles(X, mean, b, choose, all_rivals, labels, codes, weights, normal, bias, W, R, S, recent, active):  # type: ignore[no-untyped-def]
    """The same, with padded weights and memory for a tile, its scores, recent sums and the active rivals of a row."""
    n, d = X.shape
    k = W.shape[0]
    loss = 0.0
    pairs = 0.0
    for first in range(0, n, TILE_ROWS):
        rows = load_tile(X, mean, first, R)
        tile_scores(R, W, S, X, first + TILE_ROWS)
        for r in range(rows):
            i = first + r
            for p in range(k):
                S[r, p] += b[p]
            z, count, row_loss = _judge(S, r, k, choose, all_rivals, labels, codes, i, active)
            weight = 1.0
            if weights is not None:
                weight = weights[i]
                for j in range(d):
                    R[r, j] *= weight
            loss += weight * row_loss
            pairs += weight * count
            for a in range(count):
                bias[z] += weight
                bias[active[a]] -= weight
                move_row(R, r, recent, z, active[a])
        if (first // TILE_ROWS + 1) % (FLUSH // TILE_ROWS) == 0:
            _flush(recent, normal)
    _flush(recent, normal)
    return loss, pairs


def margin_dense_two(
    X: Floats,
    mean: Floats,
    w: Floats,
    b: float,
    choose: bool,
    labels: Labels,
    codes: Codes,
    weights: Floats | None,
    normal: Doubles,
    bias: Doubles,
) -> tuple[float, float]:
    """The same for two clusters: w = W_1 - W_0, of shape (1, d), needs one product; the two normals are opposite."""
    total, pulls = np.zeros((1, X.shape[1])), np.zeros(TILE_ROWS, X.dtype)
    memory = *_tables(X, w), np.zeros((1, padded_width(X)), X.dtype), pulls
    loss, pairs, ahead = _margin_tiles_of_two(X, mean, b, choose, labels, codes, weights, total, *memory)
    normal[1] += total[0]
    normal[0] -= total[0]
    bias[1] += ahead
    bias[0] -= ahead
    return loss, pairs


@jit
def _margin_tiles_of_two(X, mean, b, choose, labels, codes, weights, total, W, R, S, recent, pulls):  # type: ignore[no-untyped-def]
    """The normal of the second cluster, in ``total``; loss, pairs and its bias. ``pulls`` is memory for a tile."""
    n = X.shape[0]
    loss = 0.0
    pairs = 0.0
    ahead = 0.0
    for first in range(0, n, TILE_ROWS):
        rows = load_tile(X, mean, first, R)
        tile_scores(R, W, S, X, first + TILE_ROWS)
        for r in range(TILE_ROWS):
            pulls[r] = 0
        for r in range(rows):
            i = first + r
            s = S[r, 0] + b
            if choose and labels[i] < 0:
                labels[i] = 1 if s > 0 else 0
            sign = 2 * labels[i] - 1
            hinge = 1.0 - sign * s
            codes[i, 0] = 0
            if hinge > 0.0:
                weight = 1.0
                if weights is not None:
                    weight = weights[i]
                codes[i, 0] = 2 - labels[i]  # the bit of the other cluster
                loss += weight * hinge
                pairs += weight
                ahead += weight * sign
                pulls[r] = weight * sign
        add_tile(R, pulls, recent)
        if (first // TILE_ROWS + 1) % (FLUSH // TILE_ROWS) == 0:
            _flush(recent, total)
    _flush(recent, total)
    return loss, pairs, ahead


@allocating_jit
def margin_csr(data, indices, indptr, W, b, choose, all_rivals, labels, codes, weights, normal_t, bias):  # type: ignore[no-untyped-def]
    """The pass over CSR rows, uncentred. ``W`` is in groups of clusters, ``normal_t`` (features, clusters).

    All rows are scored before any is added up: the two tables together exceed the second cache, and reading the rows
    again, one after the other, costs less than fetching numbers from all over them. Several rows are scored before
    they are judged, so that the processor does not wait for scores.
    """
    n, k = labels.shape[0], b.shape[0]
    S = np.empty((SCORED, k), data.dtype)
    active = np.empty(k, np.int64)
    loss = 0.0
    pairs = 0.0
    for first in range(0, n, SCORED):
        rows = min(SCORED, n - first)
        _score_rows(data, indices, indptr, W, normal_t.shape[0], b, first, rows, S)
        for r in range(rows):
            i = first + r
            _, count, row_loss = _judge(S, r, k, choose, all_rivals, labels, codes, i, active)
            weight = 1.0
            if weights is not None:
                weight = weights[i]
            loss += weight * row_loss
            pairs += weight * count
    _add_active_rows(data, indices, indptr, labels, codes, weights, normal_t, bias)
    return loss, pairs


@jit
def _score_rows(data, indices, indptr, W, d, b, first, rows, S):  # type: ignore[no-untyped-def]
    """S[r] = scores of CSR row ``first + r``, of d columns."""
    for r in range(rows):
        for p in range(b.shape[0]):
            S[r, p] = b[p]
        i = first + r
        add_products(data, indices, np.int64(indptr[i]), np.int64(indptr[i + 1]), W, d, S, r)


@allocating_jit
def _add_active_rows(data, indices, indptr, labels, codes, weights, normal_t, bias):  # type: ignore[no-untyped-def]
    """What CSR rows with these labels and active rivals add to the normal and the bias."""
    k = normal_t.shape[1]
    pull = np.zeros(k, np.float64)
    for i in range(labels.shape[0]):
        weight = 1.0
        if weights is not None:
            weight = weights[i]
        count = 0
        for q in range(k):
            bit = (codes[i, q >> 3] >> np.uint8(q & 7)) & 1
            pull[q] = -weight * bit
            count += bit
        if count > 0:
            pull[labels[i]] = weight * count
            add_rows(data, indices, np.int64(indptr[i]), np.int64(indptr[i + 1]), normal_t, pull)
            for p in range(k):
                bias[p] += pull[p]


@allocating_jit
def margin_csr_two(data, indices, indptr, w, b, choose, labels, codes, weights, normal_t, bias):  # type: ignore[no-untyped-def]
    """The same for two clusters: w = W_1 - W_0, of shape (features,), needs one product."""
    S = np.empty((1, 1), data.dtype)
    pull = np.empty(1, np.float64)
    total = np.zeros((w.shape[0], 1), np.float64)
    loss = 0.0
    pairs = 0.0
    ahead = 0.0
    for i in range(labels.shape[0]):
        first = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        S[0, 0] = b
        add_products_of_one(data, indices, first, last, w, S)
        if choose and labels[i] < 0:
            labels[i] = 1 if S[0, 0] > 0 else 0
        sign = 2 * labels[i] - 1
        hinge = 1.0 - sign * S[0, 0]
        codes[i, 0] = 0
        if hinge > 0.0:
            weight = 1.0
            if weights is not None:
                weight = weights[i]
            loss += weight * hinge
            pairs += weight
            codes[i, 0] = 2 - labels[i]  # the bit of the other cluster
            ahead += weight * sign
            pull[0] = weight * sign
            add_rows_of_one(data, indices, first, last, total, pull)
    for j in range(len(total)):
        normal_t[j, 1] += total[j, 0]
        normal_t[j, 0] -= total[j, 0]
    bias[1] += ahead
    bias[0] -= ahead
    return loss, pairs


def scores_dense(X: Floats, mean: Floats, W: Floats, b: Floats, out: Floats) -> None:
    """out[i, p] = W_p . (X_i - mean) + b_p, by the same arithmetic as the pass."""
    _score_tiles(X, mean, b, out, *_tables(X, W))


@jit
def _score_tiles(X, mean, b, out, W, R, S):  # type: ignore[no-untyped-def]
    """The same, with padded weights and memory for a tile and its scores."""
    n, k = X.shape[0], W.shape[0]
    for first in range(0, n, TILE_ROWS):
        rows = load_tile(X, mean, first, R)
        tile_scores(R, W, S, X, first + TILE_ROWS)
        for r in range(rows):
            for p in range(k):
                out[first + r, p] = S[r, p] + b[p]


@jit
def scores_csr(data, indices, indptr, W, d, b, out):  # type: ignore[no-untyped-def]
    """out[i, p] = W_p . X_i + b_p for CSR rows of d columns; ``W`` is in groups of clusters."""
    _score_rows(data, indices, indptr, W, d, b, 0, out.shape[0], out)


@jit
def centre_normal(normal_t, uncentred, mean, factor, normal):  # type: ignore[no-untyped-def]
    """normal[p, j] = factor (normal_t[j, p] - uncentred[p] mean[j]): sums of CSR rows as those of centred ones."""
    for j in range(normal_t.shape[0]):
        for p in range(normal_t.shape[1]):
            normal[p, j] = factor * (normal_t[j, p] - uncentred[p] * mean[j])


@allocating_jit
def weighted_csr(data, indices, indptr, rows, weights, mean, scale):  # type: ignore[no-untyped-def]
    """Sums of some CSR rows, centred and rescaled, weighted by each row of ``weights``: one after the other.

    A sum of d numbers stays in the cache, which all of them together would not.
    """
    out = np.zeros((weights.shape[0], mean.shape[0]), np.float64)
    for m in range(weights.shape[0]):
        total = 0.0
        for i in range(rows.shape[0]):
            weight = weights[m, i]
            if weight != 0:
                total += weight
                for e in range(indptr[rows[i]], indptr[rows[i] + 1]):
                    out[m, indices[e]] += weight * data[e]
        for j in range(mean.shape[0]):
            out[m, j] = (out[m, j] - total * mean[j]) / scale
    return out


@allocating_jit
def moved_csr(data, indices, indptr, counts, old, new, k, mean, scale):  # type: ignore[no-untyped-def]
    """Sums of CSR rows, centred and rescaled, that enter each of k clusters minus those that leave it: (m, k, d).

    ``counts`` (m, rows) is how often a row counts in each of m sums.
    """
    out = np.zeros((counts.shape[0], k, mean.shape[0]), np.float64)
    for m in range(counts.shape[0]):
        total = np.zeros(k, np.float64)
        for i in range(counts.shape[1]):
            count = counts[m, i]
            if count != 0:
                total[new[i]] += count
                total[old[i]] -= count
                for e in range(indptr[i], indptr[i + 1]):
                    out[m, new[i], indices[e]] += count * data[e]
                    out[m, old[i], indices[e]] -= count * data[e]
        for p in range(k):
            for j in range(mean.shape[0]):
                out[m, p, j] = (out[m, p, j] - total[p] * mean[j]) / scale
    return out


def moments_dense(X: Floats) -> tuple[Doubles, Doubles]:
    """Column means and the summed squared distances of the rows to them, in float64, while the chunk is in cache."""
    mean, error, scatter = np.zeros((3, X.shape[1]))
    _add_moments(X, mean, error, scatter)
    return mean, scatter


@jit
def _add_moments(X, mean, error, scatter):  # type: ignore[no-untyped-def]
    """The same, added to zeros.

    A second sweep removes what long sums lost in the mean, so that equal rows have no scatter.
    """
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            mean[j] += X[i, j]
    for j in range(d):
        mean[j] /= n
    for i in range(n):
        for j in range(d):
            step = X[i, j] - mean[j]
            error[j] += step
            scatter[j] += step * step
    for j in range(d):
        scatter[j] -= error[j] * error[j] / n
        mean[j] += error[j] / n
