"""The clustering hinge: how far the best cluster of a row leads its rivals, in the max or the sum form.

    max form   l_i(z) = max(0, 1 - s_iz + max_{r != z} s_ir)              (Crammer & Singer; CPM3C)
    sum form   l_i(z) = 1/k sum_{r != z} max(0, 1 - s_iz + s_ir)          (M2DCU)

and L(W, b) = 1/n sum_i min_z l_i(z), the minimum being the largest score when cluster sizes are free. Rows with weights
have the weighted mean in place of 1/n sum_i, here and below. For fixed z a cut c gives the plane

    offset = w/n sum_i |c_i \\ z_i|,    normal = w/n sum_i sum_{r in c_i} (e_{z_i} - e_r) x_i',

w = 1 (max) or 1/k (sum). When row i goes from z to z', the normal gains w/n |c_i| (e_z' - e_z) x_i' and the offset
w/n ([z in c_i] - [z' in c_i]).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Codes, Floats, Ints, Labels
from widegap.cutting_plane._problem import Plane, PlaneShift
from widegap.rows._blocks import Loops, Part
from widegap.rows._centred import CentredRows, optional_state, times_weights
from widegap.rows._protocols import Parts, State


@dataclass(frozen=True)
class HingePass:
    """Loss, active pairs, normal (k, d) and bias (k,) of all rows, with the labels and active rivals (bits) of each.

    All sums are weighted if the rows are.
    """

    loss: float
    pairs: float
    normal: Floats
    bias: Floats
    labels: State
    codes: State


def _dense_loop(
    X: Floats, mean: Floats, W: Floats, b: Floats, choose: bool, all_rivals: bool, *outputs: Any
) -> tuple[float, float]:
    from widegap.rows.loops import _passes

    if len(W) == 2:
        return _passes.margin_dense_two(X, mean, W[1:] - W[:1], b[1] - b[0], choose, *outputs)
    return _passes.margin_dense(X, mean, W, b, choose, all_rivals, *outputs)


def _csr_loop(
    data: Floats, indices: Any, indptr: Any, table: Floats, b: Floats, choose: bool, all_rivals: bool, *outputs: Any
) -> tuple[float, float]:
    from widegap.rows.loops import _passes

    if len(b) == 2:
        w = table[1::2] - table[::2]
        return _passes.margin_csr_two(data, indices, indptr, w, b[1] - b[0], choose, *outputs)
    return _passes.margin_csr(data, indices, indptr, table, b, choose, all_rivals, *outputs)


LOOPS = Loops(dense=_dense_loop, csr=_csr_loop)  # plain functions: they travel by name, compiled ones by content


def hinge_pass(
    rows: CentredRows, W: Floats, b: Floats, labels: State | None, *, all_rivals: bool, held: State | None = None
) -> HingePass:
    """Fused pass at weights (W, b): given labels are kept, None lets every row take its largest score.

    With None, labels ``held`` are kept where they are not -1.
    """
    n_bytes, is_held, is_weighted = (len(W) + 7) // 8, held is not None, rows.weights is not None

    def choosing(n: int, *parts: Any) -> tuple[tuple[Any, ...], Parts]:
        new = parts[0].copy() if is_held else np.full(n, -1, np.int32), np.empty((n, n_bytes), np.uint8)
        return (True, all_rivals, *new, parts[-1] if is_weighted else None), new

    def fixed(n: int, labels: Labels, weights: Floats | None = None) -> tuple[tuple[Any, ...], Parts]:
        codes = np.empty((n, n_bytes), np.uint8)
        return (False, all_rivals, labels, codes, weights), (codes,)

    if labels is None:
        (labels, codes), sums = rows.run(LOOPS, W, b, choosing, *optional_state(held), *optional_state(rows.weights))
    else:
        (codes,), sums = rows.run(LOOPS, W, b, fixed, labels, *optional_state(rows.weights))
    loss, pairs = sums.values
    return HingePass(float(loss), float(pairs), sums.normal, sums.bias, labels, codes)


class HingeLoss:
    """The hinge over the rows to be clustered; ``loss`` is "max" or "sum"."""

    def __init__(self, rows: CentredRows, n_clusters: int, *, loss: str, cap: float = 1.0):
        self.rows = rows
        self.cap = cap
        self.n_clusters = n_clusters
        self.all_rivals = loss == "sum"
        pair_weight = 1 / n_clusters if self.all_rivals else 1.0
        self._unit = pair_weight / rows.total

    def plane(self, W: Floats, b: Floats, labels: State) -> Plane:
        return self._plane(hinge_pass(self.rows, W, b, labels, all_rivals=self.all_rivals))

    def best_labels(self, W: Floats, b: Floats, held: State | None = None) -> tuple[State, Plane]:
        found = hinge_pass(self.rows, W, b, None, all_rivals=self.all_rivals, held=held)
        return found.labels, self._plane(found)

    def _plane(self, found: HingePass) -> Plane:
        u = self._unit
        normal = np.multiply(u, found.normal, out=found.normal)  # of the pass alone, and as large as all text at times
        return Plane(u * found.loss, u * found.pairs, normal, u * found.bias, found.codes)

    def label_costs(self, W: Floats, b: Floats) -> State:
        return self.rows.map_scores(W, b, _sum_costs if self.all_rivals else _max_costs)

    def shift(self, codes: Sequence[State], old: State, new: State) -> PlaneShift | None:
        k, m, unit = self.n_clusters, len(codes), self._unit

        def part(rows: Part, old: Labels, new: Labels, *parts: Any) -> PlaneShift:
            moved, weights = np.stack(parts[:m]), parts[m:]
            change = times_weights(_has_rival(moved, old) - _has_rival(moved, new), *weights)
            offset = unit * change.sum(axis=1, dtype=np.float64)
            counts = unit * times_weights(_n_rivals(moved), *weights)
            bias = counts @ (np.eye(k)[new] - np.eye(k)[old])
            return PlaneShift(offset, rows.moved(counts, old, new, k), bias)

        return self.rows.sum_moved(part, old, new, *codes, *optional_state(self.rows.weights))


def _max_costs(scores: Floats) -> Floats:
    """Max-form loss of every label: the best rival is the top score, or the second where the label itself is top."""
    rows = np.arange(len(scores))
    top = scores.argmax(axis=1)
    best = scores[rows, top].copy()
    scores[rows, top] = -np.inf
    second = scores.max(axis=1)
    scores[rows, top] = best
    costs = np.maximum(0, 1 + best[:, None] - scores)
    costs[rows, top] = np.maximum(0, 1 + second - best)
    return costs


def _sum_costs(scores: Floats) -> Floats:
    """Sum-form loss of every label; the label's own hinge is 1 and taken out."""
    k = scores.shape[1]
    hinges = [np.maximum(0, 1 + scores - scores[:, p : p + 1]).sum(axis=1) - 1 for p in range(k)]
    return np.stack(hinges, axis=1) / k


def _n_rivals(codes: Codes) -> Floats:
    """Number of active rivals in codes (m, rows, bytes), shape (m, rows)."""
    return np.bitwise_count(codes).sum(axis=2, dtype=np.float64)


def _has_rival(codes: Codes, labels: Labels) -> Ints:
    """Whether the cluster ``labels[i]`` is among the active rivals of row i in codes (m, rows, bytes), as 0 or 1."""
    words = codes[:, np.arange(len(labels)), labels >> 3]
    return (words >> (labels & 7).astype(np.uint8)).astype(np.int64) & 1
