"""Two clusters of some rows: the principal axes they are seen along, their starting labels, and the tree of splits.

Starting labels are -1.0 and 1.0 on the principal axes P. The turns of regression and relabelling end near where they
begin, so a poor start stays poor. "auto" therefore tries several: k-means from the two rows that are farthest apart
(the paper's start) and from random rows, and halves along the leading axes. A least-squares search that begins stiff
and is relaxed step by step (``_alternation.relaxed_search``) follows each to where it leads, in a small part of the
time of one support vector machine, and the lowest objective goes first. IterSVR then errs by 1.4 % in the mean of the
45 pairs of ten digits and by 17 % at worst; from the paper's start by 4.5 % and 47 %.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from widegap._types import Doubles, Floats, Labels, Mask
from widegap.base._starts import START_SAMPLE, kmeans_labels, rounded, spectral_labels
from widegap.features._kernels import far_pair
from widegap.features._principal import PrincipalMap
from widegap.iterative._alternation import TAIL_TOL, Axes, needed_axes, relaxed_search, solve_least_squares
from widegap.iterative._threshold import TIE_TOL, Bounds, best_split, square_losses
from widegap.rows._sampling import drawn
from widegap.rows._threads import one_blas_thread


def principal_axes(Phi: Floats, C: float = 1.0, tail_tol: float = TAIL_TOL) -> Axes:
    """Centre and rotate features; no axis is left if all rows are equal."""
    found: Any = PrincipalMap.fit(Phi)  # all in double precision, which its types leave open
    rounding = np.square(8 * np.finfo(Phi.dtype).eps * np.abs(Phi).max(initial=0.0)) * Phi.size
    keep = needed_axes(found.lam, len(Phi), C, tail_tol) & (found.lam > rounding)
    rotation = np.ascontiguousarray(found.rotation[:, keep])
    return Axes((Phi - found.mean) @ rotation, found.lam[keep], rotation, found.mean)


def divides_equal_rows(Phi: Floats, bounds: Bounds) -> bool:
    """Whether every cut within the bounds divides rows that are equal: neither side has room for all of them."""
    mixed = np.sqrt(np.arange(1.0, Phi.shape[1] + 1))  # a direction in which only equal rows are likely to be equal
    values = np.sort(Phi @ mixed)
    ends = np.flatnonzero(np.diff(values) > TIE_TOL * (values[-1] - values[0])) + 1
    most = int(np.diff(ends, prepend=0, append=len(values)).max())
    return all(low > len(values) - most and high < most for low, high in bounds)


class Tree:
    """Hyperplanes ``coef @ phi + intercept``, one a bisection, all over the same features.

    Bisection j splits the cluster ``bisected[j]``; the rows on the positive side become cluster j + 1.
    """

    def __init__(self, n_features: int, mean: Floats):
        self.mean = mean
        self.coef = np.zeros((0, n_features))
        self.mean_scores = np.zeros(0)  # values at ``mean``
        self.bisected: list[int] = []

    @property
    def n_leaves(self) -> int:
        return len(self.bisected) + 1

    @property
    def intercept(self) -> Floats:
        return self.mean_scores - self.coef @ self.mean

    def add(self, cluster: int, coef: Floats, bias: float, mean: Floats) -> None:
        """Split ``cluster`` by ``coef @ (phi - mean) + bias``."""
        self.coef = np.vstack([self.coef, coef])
        self.mean_scores = np.append(self.mean_scores, bias + coef @ (self.mean - mean))
        self.bisected.append(cluster)


# Candidates of "auto". Not tuned singly: with these the 45 pairs of digits err by 1.4 %, and all of them cost less than
# one support vector machine.
N_KMEANS = 4
N_AXES = 8


def bisection_starts(
    init: str, axes: Axes, bounds: Callable[[int], Bounds], n_starts: int, rng: np.random.Generator
) -> list[Doubles]:
    """Up to ``n_starts`` labelings, the most promising first.

    Above 5000 rows all but "random" see a sample, whose least-squares machine labels the rest. ``bounds`` maps a
    number of rows to the numbers of positives that are allowed among them.
    """
    n = len(axes.P)
    if init == "random":
        return [_halves(axes.P @ rng.standard_normal(axes.P.shape[1])) for _ in range(n_starts)]
    sample = axes
    if n > START_SAMPLE:
        sampled = principal_axes(axes.P[drawn(n, START_SAMPLE, rng)], tail_tol=0.0)
        if sampled.P.shape[1]:  # else the few rows that differ were not drawn
            sample = sampled
    found = _starts_on(init, sample, bounds(len(sample.P)), n_starts, rng)
    return found if sample is axes else [_extended(y, sample, axes, bounds(n)) for y in found]


def _starts_on(init: str, axes: Axes, bounds: Bounds, n_starts: int, rng: np.random.Generator) -> list[Doubles]:
    P = axes.P
    if init == "auto":
        return _best_of_candidates(axes, bounds, n_starts, rng)
    if init == "spectral":
        labelings = [spectral_labels(P, 2, rng) for _ in range(n_starts)]
    else:
        labelings = [far_kmeans(P, first, rng) for first in [True] + [False] * (n_starts - 1)]
    return [_signs(labels) if labels.any() else _halves(P[:, 0]) for labels in labelings]


def _best_of_candidates(axes: Axes, bounds: Bounds, n_starts: int, rng: np.random.Generator) -> list[Doubles]:
    """Where the candidates lead, by objective; labelings that are equal up to names count once."""
    P = axes.P
    by_means = [far_kmeans(P, True, rng), *(kmeans_labels(P, 2, rng) for _ in range(max(N_KMEANS, n_starts)))]
    candidates = [_signs(labels) for labels in by_means if labels.any()] + [_halves(f) for f in P.T[:N_AXES]]
    two_sided = [y for y in candidates if y.min() < y.max()]  # halves are not where most values are the largest one
    distinct = {_named_by_first(y).tobytes(): y for y in two_sided or candidates}
    found = [relaxed_search(axes, y, bounds) for y in distinct.values()]
    ends = {_named_by_first(end.step.split.y).tobytes(): end for end in found}
    ranked = sorted(ends.values(), key=lambda end: rounded(end.step.machine.objective))
    return [end.step.split.y for end in ranked[:n_starts]]


def _signs(labels: Labels | Mask) -> Doubles:
    return np.where(labels > 0, 1.0, -1.0)


def _halves(f: Floats) -> Doubles:
    return _signs(f > np.median(f))


def _named_by_first(y: Doubles) -> Doubles:
    return y * y[0]


def _extended(y: Doubles, sample: Axes, axes: Axes, bounds: Bounds) -> Doubles:
    """Labels of all rows from those of a sample."""
    machine = solve_least_squares(sample, y, 1 / float(sample.lam.mean()))
    f = (axes.P - sample.mean) @ sample.coef(machine.w)
    return best_split(f, square_losses, bounds).y


def merged_labels(start: Labels, P: Doubles, rng: np.random.Generator) -> Doubles | None:
    """The groups of a start merged into -1.0 and 1.0 by 2-means of their means; None if there are not two."""
    groups, codes = np.unique(start, return_inverse=True)
    if len(groups) < 2:
        return None
    sides: Labels = np.arange(2, dtype=np.int32)
    if len(groups) > 2:
        sides = far_kmeans(np.stack([P[codes == group].mean(axis=0) for group in range(len(groups))]), True, rng)
    return _signs(sides[codes]) if sides.any() else None


def far_kmeans(X: Floats, thorough: bool, rng: np.random.Generator) -> Labels:
    """2-means from two rows that are far apart; a thorough search finds the two that are farthest."""
    first, second = far_pair(X, thorough, rng)
    side = second < first
    if not side.any():
        return np.zeros(X.shape[0], np.int32)
    means = np.stack([X[~side].mean(axis=0), X[side].mean(axis=0)])
    with one_blas_thread():
        return KMeans(2, init=means, n_init=1).fit(X).labels_
