"""Rows without any structure, to compare with: one Gaussian and one box with the covariance of given rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.features._principal import PrincipalAxes

MOST_AXES = 200  # of wider tables the leading principal axes


def chance_tables(X: Any, rng: np.random.Generator) -> Iterator[Floats]:
    """Tables of as many rows as X, in coordinates along its principal axes: distances are those of X's own columns."""
    found = PrincipalAxes(X, MOST_AXES, int(rng.integers(2**31))).coordinates(X)
    deviations = found.std(axis=0)
    yield rng.standard_normal(found.shape) * deviations
    yield rng.uniform(-np.sqrt(3), np.sqrt(3), found.shape) * deviations
