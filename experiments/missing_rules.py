r"""Four rules for missing cells, each before the same k-means, and two of them before our own search.

A column is a block of coordinates of the rows: a number, or the flags of a category. Two geometries scale the blocks:

- encoded: numbers as ``TableEncoder`` scales them, flags 0 and 1; k-means gets all axes;
- FAMD: numbers over their standard deviation, flags over the square root of their share (``widegap.features._famd``);
  k-means gets the principal axes with eigenvalues above 1, but at least two.

The rules:

- "filled": a missing number is the median, a missing yes/no the more frequent answer, and another missing category has
  no flag: what ``TableEncoder`` does;
- "at the mean": a missing number is the mean, a missing category has of each flag the share of rows that have it;
- "own level": missing is a further level of a category; a number is the median, and a flag says that it was missing;
- "present columns": rows are compared over the columns that both have, and k-means gets the principal coordinates of

  .. math::  d^2(i, j) = \frac{p}{|S_{ij}|} \sum_{c \in S_{ij}} \|x_{ic} - x_{jc}\|^2 ,

  S_ij the columns that both rows have, of p. They are no Euclidean distances; axes with negative eigenvalues are left
  out. Without gaps the coordinates are those of the filled table.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from experiments.cells import Task, method
from experiments.mixed_data import ONE_FLAG, MixedColumn, columns_of, missing_in, with_missing_level
from experiments.mixed_methods import table_max_margin
from widegap import TableEncoder
from widegap._types import Doubles, Mask
from widegap.features._column_groups import ColumnGroup
from widegap.features._famd import FEWEST_AXES, scaled_groups

FILLED, MEAN, LEVEL, PRESENT = "filled", "at the mean", "own level", "present columns"
RULES = (FILLED, MEAN, LEVEL, PRESENT)
NOT_GIVEN = "not given"  # none of the words that TableEncoder reads as a gap
ZERO = 1e-9  # eigenvalues below this share of the largest are rounding


@method("TableEncoder + MaxMarginClustering, own level")
def table_max_margin_with_levels(task: Task, seed: int) -> Any:
    """What the rule makes of the frame is given to the same pipeline as the frame itself."""
    return table_max_margin(replace(task, frame=frame_with_levels(task.frame)), seed)


def frame_with_levels(frame: Any) -> Any:
    """Missing is a level of each category, and a column beside each number says whether there is one."""
    found = frame.copy()
    for column in TableEncoder().fit(frame).columns_ or ():
        missing = missing_in(frame, column.name) if column.used else np.zeros(len(frame), dtype=bool)
        if missing.any() and column.is_flag:
            found[column.name] = np.where(missing, NOT_GIVEN, frame[column.name].astype(str))
        elif missing.any():
            found[f"{column.name} is {NOT_GIVEN}"] = np.where(missing, "yes", "no")
    return found


@method("KMeans(10) of table axes")
def kmeans_of_table_axes(task: Task, seed: int, rule: str = FILLED, famd: bool = True, axes: int | None = None) -> Any:
    """``axes`` is the number of leading axes of FAMD, in place of the rule."""
    coordinates = axes_of(columns_of(task.frame), rule, famd=famd, axes=axes)
    return KMeans(task.n_clusters, n_init=10, random_state=seed).fit_predict(coordinates)


def axes_of(columns: list[MixedColumn], rule: str, *, famd: bool, axes: int | None = None) -> Doubles:
    """The coordinates of the rows that k-means gets."""
    ruled = [part for column in columns for part in _with_level(column)] if rule == LEVEL else columns
    parts = [_coordinates(column, rule, famd=famd) for column in ruled]
    found, eigenvalues = _by_distances(parts, ruled) if rule == PRESENT else _by_rows(np.concatenate(parts, axis=1))
    by_rule = max(FEWEST_AXES, int((eigenvalues > 1).sum())) if famd else len(eigenvalues)
    return found[:, : axes or by_rule]


def _with_level(column: MixedColumn) -> list[MixedColumn]:
    """The column with its missing cells as a level; a number is followed by a flag of its own."""
    if not column.missing.any():
        return [column]
    whole = np.zeros_like(column.missing)
    if column.is_category:
        return [MixedColumn(with_missing_level(column), True, whole)]
    flag = column.missing.astype(float)
    return [column, MixedColumn(np.column_stack([flag, 1 - flag]), True, whole, ONE_FLAG)]


def _coordinates(column: MixedColumn, rule: str, *, famd: bool) -> Doubles:
    """The column as the geometry scales it, centred; both by all rows, or by those that have a value.

    In the second case the others are at the mean.
    """
    rows = ~column.missing if rule in (MEAN, PRESENT) else np.ones_like(column.missing)
    values = column.values[rows]
    group = ColumnGroup(0, values.shape[1], column.is_category)
    centred = scaled_groups(values, [group])[0] if famd else (values - values.mean(axis=0)) * column.factor
    found = np.zeros((len(rows), centred.shape[1]))
    found[rows] = centred
    return found


def _by_rows(rows: Doubles) -> tuple[Doubles, Doubles]:
    """Principal coordinates and their variances, the largest first."""
    U, s, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    kept = s**2 > ZERO * s[0] ** 2
    return (U * s)[:, kept], s[kept] ** 2 / len(rows)


def _by_distances(parts: list[Doubles], columns: list[MixedColumn]) -> tuple[Doubles, Doubles]:
    """The same of rows that are compared over the columns that both have."""
    squared = shared_distances(parts, [column.missing for column in columns])
    centred = squared - squared.mean(axis=0)
    centred = -(centred - centred.mean(axis=1)[:, None]) / 2
    values, vectors = (found[..., ::-1] for found in eigh(centred))
    kept = values > ZERO * values[0]
    return vectors[:, kept] * np.sqrt(values[kept]), values[kept] / len(squared)


def shared_distances(parts: list[Doubles], missing: list[Mask]) -> Doubles:
    """Squared distances over the columns that two rows have, brought to all columns; the mean for two without any."""
    n = len(missing[0])
    total, shared = np.zeros((n, n)), np.zeros((n, n))
    for part, lacks in zip(parts, missing, strict=True):
        both = np.outer(~lacks, ~lacks)
        total += np.where(both, euclidean_distances(part, squared=True), 0.0)
        shared += both
    squared = len(parts) * total / np.maximum(shared, 1)
    squared[shared == 0] = squared[shared > 0].mean()
    np.fill_diagonal(squared, 0.0)
    return squared
