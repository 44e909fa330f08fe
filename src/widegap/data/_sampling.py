"""Which rows are drawn where not all are looked at."""

from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.intp]]


def drawn(n: int, size: int, rng: np.random.Generator) -> Numbers:
    """Numbers of up to ``size`` of n rows at random, in their order."""
    return np.sort(rng.choice(n, min(n, size), replace=False))


def all_or_drawn(n: int, size: int, rng: np.random.Generator) -> Numbers:
    """The same, but where no row is left out the generator is not asked: a fit on few rows does not depend on it."""
    return np.arange(n) if n <= size else drawn(n, size, rng)
