"""The tree of hyperplanes that recursive bisection leaves."""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, Any]


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
