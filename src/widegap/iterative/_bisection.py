"""What recursive bisection works on and what it leaves: principal axes, and a tree of hyperplanes."""

from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.features._principal import PrincipalMap
from widegap.iterative._alternation import TAIL_TOL, Axes, needed_axes
from widegap.iterative._threshold import TIE_TOL, Bounds


def principal_axes(Phi: Floats, C: float = 1.0, tail_tol: float = TAIL_TOL) -> Axes:
    """Centre and rotate features; no axis is left if all rows are equal."""
    found: Any = PrincipalMap.fit(Phi)  # all in double precision, which the types of data/ leave open
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
