"""Columns of few levels among continuous ones, spread so that their levels create no gaps.

A column with few distinct values (yes or no, a grade from 1 to 5) cuts the rows into slabs with nothing between them.
Beside continuous columns such gaps would count as clusters, though a flag that goes with nothing else divides nothing.
So each value becomes a random place within its level's share of the ranks: with c_l rows at level l, those below it
C_l = c_1 + ... + c_(l-1),

    u = (C_l + U c_l) / n,   U uniform on [0, 1),       x = mean + deviation (u - mean(u)) / deviation(u),

which has the mean and deviation of the column, keeps the order of the levels, and has no gaps. Clusters that differ in
the shares of the levels still do.

Where every column has few levels there is nothing to compare the gaps with, and spreading would blur clusters that
are combinations of levels: such tables stay as they are. So do sparse rows, whose zeros are mostly words that a
document does not have, and not a level.
"""

import numpy as np

from widegap._types import Doubles, Floats, Matrix
from widegap.features._coded_columns import FEW_LEVELS
from widegap.rows._matrices import dense_rows, storage

FIRST_ROWS = 100  # a column with more levels than these among its first rows need not be sorted


def spread_few_levels(X: Matrix, rng: np.random.Generator) -> Matrix:
    """X with its columns of 2 to ``FEW_LEVELS`` values spread; X itself if there are none, or none but such."""
    if storage(X) == "sparse":
        return X
    table = dense_rows(X, slice(None))
    levels = np.array([_n_levels(column) for column in table.T])
    few = (levels > 1) & (levels <= FEW_LEVELS)
    if not few.any() or not (levels > FEW_LEVELS).any():
        return X
    found = table.copy()
    for column in np.flatnonzero(few):
        found[:, column] = spread_levels(table[:, column], rng)
    return found


def spread_levels(values: Floats, rng: np.random.Generator) -> Doubles:
    """Random places within the levels' shares of the ranks, with the mean and deviation of the values."""
    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    u = below[level] + rng.random(len(values)) * counts[level]
    exact = values.astype(np.float64)
    return exact.mean() + exact.std() * (u - u.mean()) / u.std()


def _n_levels(column: Floats) -> int:
    """Distinct values, or those of the first rows if there are too many for a column of few levels."""
    first = len(np.unique(column[:FIRST_ROWS]))
    return first if first > FEW_LEVELS else len(np.unique(column))
