"""The clustering hinge: how far the best cluster of a row leads its rivals, in the max or the sum form.

    max form   l_i(z) = max(0, 1 - s_iz + max_{r != z} s_ir)              (Crammer & Singer; CPM3C)
    sum form   l_i(z) = 1/k sum_{r != z} max(0, 1 - s_iz + s_ir)          (M2DCU)

and L(W, b) = 1/n sum_i min_z l_i(z), the minimum being the largest score when cluster sizes are free. For fixed z a
cut c gives the plane

    offset = w/n sum_i |c_i \\ z_i|,    normal = w/n sum_i sum_{r in c_i} (e_{z_i} - e_r) x_i',

w = 1 (max) or 1/k (sum). When row i goes from z to z', the normal gains w/n |c_i| (e_z' - e_z) x_i' and the offset
w/n ([z in c_i] - [z' in c_i]).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widegap.data._blocks import Codes, Floats, Labels, MarginSums, Moves
from widegap.data._centred import CentredRows, MarginPass
from widegap.problems._base import Plane, PlaneShift


class HingeLoss:
    """The hinge over the rows to be clustered; ``loss`` is "max" or "sum"."""

    def __init__(self, rows: CentredRows, n_clusters: int, *, loss: str, cap: float = 1.0):
        self.rows = rows
        self.cap = cap
        self.n_clusters = n_clusters
        self.all_rivals = loss == "sum"
        pair_weight = 1 / n_clusters if self.all_rivals else 1.0
        self._unit = pair_weight / rows.shape[0]

    def plane(self, W: Floats, b: Floats, labels: Labels) -> Plane:
        return self._plane(self.rows.margin(W, b, labels, all_rivals=self.all_rivals))

    def best_labels(self, W: Floats, b: Floats) -> tuple[Labels, Plane]:
        result = self.rows.margin(W, b, None, all_rivals=self.all_rivals)
        return result.labels, self._plane(result)

    def _plane(self, result: MarginPass) -> Plane:
        sums: MarginSums = result.sums
        u = self._unit
        return Plane(u * sums.loss, u * sums.pairs, u * sums.normal, u * sums.bias, result.codes)

    def label_costs(self, W: Floats, b: Floats) -> Floats:
        scores = self.rows.scores(W, b)
        return _sum_costs(scores) if self.all_rivals else _max_costs(scores)

    def class_sums(self, labels: Labels, k: int) -> Floats:
        n = len(labels)
        joining = Moves(np.arange(n), np.full(n, -1, np.int32), labels)
        return self.rows.transfer(lambda rows: np.ones((1, len(rows))), joining, k)[0] / n

    def shift(self, codes: Sequence[Codes], moves: Moves) -> PlaneShift:
        k, m = self.n_clusters, len(codes)
        offset, bias = np.zeros(m), np.zeros((m, k))
        sizes = [_n_rivals(code[moves.rows]) for code in codes]
        for c, code in enumerate(codes):
            moved = code[moves.rows]
            offset[c] = (_has_rival(moved, moves.old) - _has_rival(moved, moves.new)).sum()
            bias[c] = np.bincount(moves.new, sizes[c], k) - np.bincount(moves.old, sizes[c], k)

        def counts(rows: np.ndarray[Any, Any]) -> Floats:
            first = np.searchsorted(moves.rows, rows[0])
            return np.array([size[first : first + len(rows)] for size in sizes]).reshape(m, len(rows))

        normal = self.rows.transfer(counts, moves, k)
        return PlaneShift(self._unit * offset, self._unit * normal, self._unit * bias)


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
    """Number of active rivals of each row."""
    return np.bitwise_count(codes).sum(axis=1, dtype=np.float64)


def _has_rival(codes: Codes, labels: Labels) -> np.ndarray[Any, Any]:
    """Whether the cluster ``labels[i]`` is among the active rivals of row i, as 0 or 1."""
    words = codes[np.arange(len(codes)), labels >> 3]
    return (words >> (labels & 7).astype(np.uint8)).astype(np.int64) & 1
