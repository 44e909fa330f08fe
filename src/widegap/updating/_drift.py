"""Whether new rows come from the source of the old ones: a permutation test of remembered against new rows.

Remembered rows are thinned until each stands for as many rows as any other; if both kinds come from one source, which
rows are called new is then a matter of chance, and any statistic can be compared with its values after the names "new"
and "remembered" were shuffled. Three kinds of differences are looked at:

    shares     sum over clusters of the squared difference of their shares, each in standard deviations
    centres    the same of the leading coordinates inside every cluster
    columns    the largest squared difference of the means of a column, in standard deviations

The p-value is that of the most unusual of the three, compared with the most unusual of the three of each permutation,
so that it needs no correction.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from widegap._types import Doubles, Floats, Indices, Matrix
from widegap.rows._matrices import column_moments
from widegap.updating._changes import ColumnChange, Compared
from widegap.updating._new_clusters import thinned

DEALS = 399  # p-values are multiples of 1 / 400
MOST_DEALT = 5_000  # of either kind in the test: more would only find smaller changes
CENTRE_AXES = 5  # leading coordinates whose means are compared inside clusters; not tuned
FEWEST_COMPARED = 10  # of either kind, below which nothing can be said
SHOWN_DRIFTING = 5  # columns, the first screen of the report


@dataclass(frozen=True)
class Drift:
    """Whether the new rows come from the same source as the old ones.

    Attributes
    ----------
    p_value : float
        How likely rows as different as the new ones are if they do; small values are evidence against it.
    columns : tuple of ColumnChange
        The columns that speak most against it, with averages of the remembered and the new rows, and p-values that are
        corrected for the number of columns.
    """

    p_value: float
    columns: tuple[ColumnChange, ...] = ()


def find_drift(found: Compared, rng: np.random.Generator) -> Drift:
    """The test; p = 1 for fewer than ``FEWEST_COMPARED`` rows of either kind."""
    kinds = (np.flatnonzero(kind & (found.labels >= 0)) for kind in (~found.is_new, found.is_new))
    old, new = (thinned(rows, found.weights, MOST_DEALT, rng) for rows in kinds)
    if min(len(old), len(new)) < FEWEST_COMPARED:
        return Drift(1.0)
    rows = np.concatenate([old, new])
    difference = _differences(len(old), len(new), rng)
    X: Matrix = found.rows[rows]
    columns = np.square(difference(X) / _deviations(X))
    inside = _inside(found, rows)
    statistics = np.column_stack(
        [
            np.square(difference(inside[0])).sum(axis=1),
            np.square(difference(inside[1])).sum(axis=1),
            columns.max(axis=1),
        ]
    )
    unusual = np.column_stack([rankdata(-column, "max") for column in statistics.T]).min(axis=1)
    p_value = float(np.mean(unusual <= unusual[0]))
    return Drift(p_value, _shown_columns(found, old, new, columns))


def _differences(n_old: int, n_new: int, rng: np.random.Generator) -> Callable[[Matrix], Doubles]:
    """A function: means of the new rows minus those of the old, first as they are, then of every permutation."""
    n = n_old + n_new
    is_new = np.zeros((DEALS + 1, n), np.float32)
    is_new[0, n_old:] = 1
    for row in is_new[1:]:
        row[rng.choice(n, n_new, replace=False)] = 1

    def difference(X: Matrix) -> Doubles:
        sums = np.asarray((X.T @ is_new.T).T, dtype=np.float64)
        total = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        return np.asarray(sums * (1 / n_new + 1 / n_old) - total / n_old)

    return difference


def _deviations(X: Matrix) -> Doubles:
    deviations = column_moments(X)[1]
    return np.where(deviations > 0, deviations, np.inf)


def _inside(found: Compared, rows: Indices) -> tuple[Floats, Floats]:
    """Indicators of the clusters, and leading coordinates inside each about its mean; columns have variance 1."""
    k_labels, positions = np.unique(found.labels[rows], return_inverse=True)
    indicators = np.eye(len(k_labels))[positions]
    coordinates = found.coordinates[rows, :CENTRE_AXES].astype(np.float64)
    sizes = indicators.sum(axis=0)
    coordinates -= (indicators.T @ coordinates / sizes[:, None])[positions]
    centres = (indicators[:, :, None] * coordinates[:, None, :]).reshape(len(rows), -1)
    return indicators / _deviations(indicators), centres / _deviations(centres)


def _shown_columns(found: Compared, old: Indices, new: Indices, columns: Doubles) -> tuple[ColumnChange, ...]:
    """The columns that differ most."""
    largest = columns.max(axis=1)
    means_old, means_new = column_moments(found.rows[old])[0], column_moments(found.rows[new])[0]
    order = np.argsort(-columns[0], kind="stable")[:SHOWN_DRIFTING]
    return tuple(
        ColumnChange(
            found.columns[j], float(means_old[j]), float(means_new[j]), float(np.mean(largest >= columns[0, j]))
        )
        for j in order
    )
