"""Which rows are drawn where not all are looked at."""

from typing import Any

import numpy as np

from widegap._types import Indices

Weights = np.ndarray[Any, np.dtype[np.floating[Any]]] | None


def drawn(n: int, size: int, rng: np.random.Generator, weights: Weights = None) -> Indices:
    """Indices of up to ``size`` of n rows at random, in their order; heavier rows more often."""
    return np.sort(rng.choice(n, min(n, size), replace=False, p=None if weights is None else weights / weights.sum()))


def drawn_as_repeated(n: int, size: int, rng: np.random.Generator, weights: Weights) -> Indices:
    """The same, but a row is drawn as often as if it stood there as many times as its weight says."""
    if weights is None:
        return drawn(n, size, rng)
    return np.sort(rng.choice(n, size, p=weights / weights.sum()))


def all_or_drawn(n: int, size: int, rng: np.random.Generator) -> Indices:
    """The same, but where no row is left out the generator is not asked: a fit on few rows does not depend on it."""
    return np.arange(n) if n <= size else drawn(n, size, rng)
