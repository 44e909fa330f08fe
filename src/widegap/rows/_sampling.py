"""Random samples of row numbers, where a method does not look at all rows."""

import numpy as np

from widegap._types import Floats, Indices


def drawn(n: int, size: int, rng: np.random.Generator, weights: Floats | None = None) -> Indices:
    """Indices of up to ``size`` of n rows at random, ascending: heavier rows more often, rows of weight 0 never."""
    if weights is None:
        return np.sort(rng.choice(n, min(n, size), replace=False))
    return np.sort(rng.choice(n, min(int(np.count_nonzero(weights)), size), replace=False, p=weights / weights.sum()))


def drawn_as_repeated(n: int, size: int, rng: np.random.Generator, weights: Floats | None) -> Indices:
    """The same, but with replacement: a row of weight 3 is drawn as often as three copies of it."""
    if weights is None:
        return drawn(n, size, rng)
    return np.sort(rng.choice(n, size, p=weights / weights.sum()))


def all_or_drawn(n: int, size: int, rng: np.random.Generator) -> Indices:
    """The same, but if all rows fit, the generator is not used: a fit on few rows does not depend on it."""
    return np.arange(n) if n <= size else drawn(n, size, rng)
