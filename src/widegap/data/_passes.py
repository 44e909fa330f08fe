"""Compiled loops over one chunk of rows: scores, moments, and the hinge's fused pass, which does all in one read.

They share a file because numba's cache does not notice a changed function of another file. Who runs a pass says so by
``Loops``; blocks know none of them by name.

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

from widegap._jit import jit
from widegap.data._vectors import add_products, add_rows

FLUSH = 4096
_TILE = 4  # rows whose scores are computed together, so that W is loaded once for four rows


@jit
def _tile_scores(R, W, S):  # type: ignore[no-untyped-def]
    """S[r, p] = R[r] . W[p] for the four rows of R, two clusters at a time (eight running sums)."""
    k, d = W.shape
    zero = R.dtype.type(0)
    for p in range(0, k, 2):
        q = min(p + 1, k - 1)
        a0 = a1 = a2 = a3 = zero
        c0 = c1 = c2 = c3 = zero
        for j in range(d):
            w = W[p, j]
            v = W[q, j]
            x0 = R[0, j]
            x1 = R[1, j]
            x2 = R[2, j]
            x3 = R[3, j]
            a0 += w * x0
            a1 += w * x1
            a2 += w * x2
            a3 += w * x3
            c0 += v * x0
            c1 += v * x1
            c2 += v * x2
            c3 += v * x3
        S[0, p] = a0
        S[1, p] = a1
        S[2, p] = a2
        S[3, p] = a3
        S[0, q] = c0
        S[1, q] = c1
        S[2, q] = c2
        S[3, q] = c3


@jit
def _load_tile(X, mean, first, R):  # type: ignore[no-untyped-def]
    """Copy up to four centred rows into R; return how many."""
    n, d = X.shape
    rows = min(_TILE, n - first)
    for r in range(rows):
        for j in range(d):
            R[r, j] = X[first + r, j] - mean[j]
    return rows


@jit
def _largest(s):  # type: ignore[no-untyped-def]
    """Index of the largest score; ties go to the lowest index."""
    best = 0
    for p in range(1, s.shape[0]):
        if s[p] > s[best]:
            best = p
    return best


@jit
def _activate_rivals(s, z, all_rivals, code, active):  # type: ignore[no-untyped-def]
    """Write the active rivals of a row with label z as bits and as a list; return their number and summed hinge."""
    count = 0
    loss = 0.0
    worst = -1
    for r in range(s.shape[0]):
        if r == z:
            continue
        if all_rivals:
            hinge = 1.0 - s[z] + s[r]
            if hinge > 0.0:
                active[count] = r
                count += 1
                loss += hinge
        elif worst < 0 or s[r] > s[worst]:
            worst = r
    if worst >= 0:
        hinge = 1.0 - s[z] + s[worst]
        if hinge > 0.0:
            active[0] = worst
            count = 1
            loss = hinge
    code[:] = 0
    for a in range(count):
        code[active[a] >> 3] |= np.uint8(1 << (active[a] & 7))
    return count, loss


@jit
def _flush(recent, normal):  # type: ignore[no-untyped-def]
    """Add the sums of the last rows to the float64 totals and start anew."""
    for p in range(recent.shape[0]):
        for j in range(recent.shape[1]):
            normal[p, j] += recent[p, j]
            recent[p, j] = 0


@jit
def margin_dense(X, mean, W, b, choose, all_rivals, labels, codes, weights, normal, bias):  # type: ignore[no-untyped-def]
    """One fused pass; with ``choose`` labels of -1 are written (argmax), else all are read. Returns loss, pairs."""
    n, d = X.shape
    k = W.shape[0]
    R = np.zeros((_TILE, d), X.dtype)
    S = np.empty((_TILE, k), X.dtype)
    recent = np.zeros((k, d), X.dtype)
    active = np.empty(k, np.int64)
    loss = 0.0
    pairs = 0.0
    for first in range(0, n, _TILE):
        rows = _load_tile(X, mean, first, R)
        _tile_scores(R, W, S)
        for r in range(rows):
            s = S[r]
            for p in range(k):
                s[p] += b[p]
            i = first + r
            if choose and labels[i] < 0:
                labels[i] = _largest(s)
            z = labels[i]
            count, row_loss = _activate_rivals(s, z, all_rivals, codes[i], active)
            weight = 1.0
            if weights is not None:
                weight = weights[i]
                for j in range(d):
                    R[r, j] *= weight
            loss += weight * row_loss
            pairs += weight * count
            for a in range(count):
                q = active[a]
                bias[z] += weight
                bias[q] -= weight
                for j in range(d):
                    recent[z, j] += R[r, j]
                    recent[q, j] -= R[r, j]
        if (first // _TILE + 1) % (FLUSH // _TILE) == 0:
            _flush(recent, normal)
    _flush(recent, normal)
    return loss, pairs


@jit
def margin_dense_two(X, mean, w, b, choose, labels, codes, weights, normal, bias):  # type: ignore[no-untyped-def]
    """The same for two clusters: w = W_1 - W_0 needs one product, and the two normals are opposite."""
    n, d = X.shape
    recent = np.zeros(d, X.dtype)
    total = np.zeros(d, np.float64)
    loss = 0.0
    pairs = 0.0
    ahead = 0.0
    for i in range(n):
        s = b
        for j in range(d):
            s += w[j] * (X[i, j] - mean[j])
        if choose and labels[i] < 0:
            labels[i] = 1 if s > 0 else 0
        z = labels[i]
        hinge = 1.0 - s if z == 1 else 1.0 + s
        codes[i, 0] = 0
        if hinge > 0.0:
            codes[i, 0] = 2 - z  # the bit of the other cluster
            weight = 1.0
            if weights is not None:
                weight = weights[i]
            loss += weight * hinge
            pairs += weight
            ahead += weight if z == 1 else -weight
            if weights is not None:
                pull = X.dtype.type(weight if z == 1 else -weight)
                for j in range(d):
                    recent[j] += pull * (X[i, j] - mean[j])
            elif z == 1:
                for j in range(d):
                    recent[j] += X[i, j] - mean[j]
            else:
                for j in range(d):
                    recent[j] -= X[i, j] - mean[j]
        if (i + 1) % FLUSH == 0 or i + 1 == n:
            for j in range(d):
                total[j] += recent[j]
                recent[j] = 0
    for j in range(d):
        normal[1, j] += total[j]
        normal[0, j] -= total[j]
    bias[1] += ahead
    bias[0] -= ahead
    return loss, pairs


@jit
def margin_csr(data, indices, indptr, Wt, b, choose, all_rivals, labels, codes, weights, normal_t, bias):  # type: ignore[no-untyped-def]
    """The pass over CSR rows, uncentred. ``Wt`` and ``normal_t`` are (features, clusters): one cache line an entry."""
    k = Wt.shape[1]
    s = np.empty(k, data.dtype)
    pull = np.zeros(k, np.float64)
    active = np.empty(k, np.int64)
    loss = 0.0
    pairs = 0.0
    for i in range(labels.shape[0]):
        first = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        for p in range(k):
            s[p] = b[p]
        add_products(data, indices, first, last, Wt, s)
        if choose and labels[i] < 0:
            labels[i] = _largest(s)
        z = labels[i]
        count, row_loss = _activate_rivals(s, z, all_rivals, codes[i], active)
        if count == 0:
            continue
        weight = 1.0
        if weights is not None:
            weight = weights[i]
        loss += weight * row_loss
        pairs += weight * count
        for a in range(count):
            pull[active[a]] = -weight
        pull[z] = weight * count
        add_rows(data, indices, first, last, normal_t, pull)
        for p in range(k):
            bias[p] += pull[p]
            pull[p] = 0.0
    return loss, pairs


@jit
def margin_csr_two(data, indices, indptr, w, b, choose, labels, codes, weights, normal_t, bias):  # type: ignore[no-untyped-def]
    """The same for two clusters: w = W_1 - W_0, of shape (features, 1), needs one product."""
    s = np.empty(1, data.dtype)
    pull = np.empty(1, np.float64)
    total = np.zeros(w.shape, np.float64)
    loss = 0.0
    pairs = 0.0
    ahead = 0.0
    for i in range(labels.shape[0]):
        first = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        s[0] = b
        add_products(data, indices, first, last, w, s)
        if choose and labels[i] < 0:
            labels[i] = 1 if s[0] > 0 else 0
        sign = 2 * labels[i] - 1
        hinge = 1.0 - sign * s[0]
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
            add_rows(data, indices, first, last, total, pull)
    for j in range(len(total)):
        normal_t[j, 1] += total[j, 0]
        normal_t[j, 0] -= total[j, 0]
    bias[1] += ahead
    bias[0] -= ahead
    return loss, pairs


@jit
def scores_dense(X, mean, W, b, out):  # type: ignore[no-untyped-def]
    """out[i, p] = W_p . (X_i - mean) + b_p, by the same arithmetic as the pass."""
    n, d = X.shape
    k = W.shape[0]
    R = np.zeros((_TILE, d), X.dtype)
    S = np.empty((_TILE, k), X.dtype)
    for first in range(0, n, _TILE):
        rows = _load_tile(X, mean, first, R)
        _tile_scores(R, W, S)
        for r in range(rows):
            for p in range(k):
                out[first + r, p] = S[r, p] + b[p]


@jit
def scores_csr(data, indices, indptr, Wt, b, out):  # type: ignore[no-untyped-def]
    """out[i, p] = W_p . X_i + b_p for CSR rows."""
    k = Wt.shape[1]
    for i in range(out.shape[0]):
        for p in range(k):
            out[i, p] = b[p]
        add_products(data, indices, np.int64(indptr[i]), np.int64(indptr[i + 1]), Wt, out[i])


@jit
def weighted_csr(data, indices, indptr, rows, weights, mean, scale):  # type: ignore[no-untyped-def]
    """Sums of the given CSR rows, centred and rescaled, weighted by each row of ``weights``: one after the other.

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


@jit
def moments_dense(X):  # type: ignore[no-untyped-def]
    """Column means and the summed squared distances of the rows to them, in float64, while the chunk is in cache.

    A second sweep removes what long sums lost in the mean, so that equal rows have no scatter.
    """
    n, d = X.shape
    mean = np.zeros(d, np.float64)
    for i in range(n):
        for j in range(d):
            mean[j] += X[i, j]
    mean /= n
    error = np.zeros(d, np.float64)
    scatter = np.zeros(d, np.float64)
    for i in range(n):
        for j in range(d):
            step = X[i, j] - mean[j]
            error[j] += step
            scatter[j] += step * step
    for j in range(d):
        scatter[j] -= error[j] * error[j] / n
        mean[j] += error[j] / n
    return mean, scatter
