"""What an update changes: one record for every cluster, with its share and its averages before and after.

Remembered and new rows are compared under the labels of the update, so that a border that is drawn anew is not taken
for a change of the rows. With m remembered and n new rows that count, three tests are made of every cluster:

    share      Fisher's exact test of the rows of the cluster among the m and among the n
    columns    Student's t-test of every column, corrected for their number
    centre     Hotelling's T^2 of all columns, of many columns that of the leading coordinates of the search

For the last two, light rows are left out at random, as in the test of drift, so that those that are compared stand for
as many rows each. Each p-value is divided by the weight of its test and multiplied by the number of clusters
(Bonferroni, weighted), and the smallest is that of the record. A change below ``SIGNIFICANT`` is reported if it is
large enough to matter: by a tenth of the share, or of a standard deviation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import fisher_exact
from scipy.stats import t as t_distribution

from widegap._types import Doubles, Floats, Ints, Labels, Mask, Matrix
from widegap._wording import number, percent
from widegap.rows._matrices import column_moments, dense_rows
from widegap.updating._new_clusters import thinned

SIGNIFICANT = 0.05  # as usual
LEAST_SHARE_CHANGE = 0.1  # of the share before: smaller changes of large tables are certain, and tell nobody anything
LEAST_MOVE = 0.1  # standard deviations of a column
VANISHED = 0.1  # of its share before, at most, is left of a cluster that vanished: classifiers always err a little
FEWEST_OF_EACH = 10  # remembered and new, of a cluster whose centre can be compared
LEADING_AXES = 10  # of the coordinates of the search, in Hotelling's test of wider rows; not tuned
# Weights of the three tests. A centre that moves in no column's direction is hardest to find: of 2,000 drawn clusters
# of six columns, 200 rows before and 200 after, with a centre half a deviation away, one in five, these find 90 %, and
# 91 % if it moves along a column; equal halves for share and centre find 86 and 92 %.
SHARE_WEIGHT, COLUMNS_WEIGHT, CENTRE_WEIGHT = 0.25, 0.15, 0.6
ROUNDING = 1e-12  # relative difference of means that are equal
SHOWN_COLUMNS = 3  # of a record, those that changed most


@dataclass(frozen=True)
class ColumnChange:
    """The average of a column in a cluster, or of all rows, before and after, and how likely that is by chance."""

    column: str
    before: float
    after: float
    p_value: float


@dataclass(frozen=True)
class Change:
    """What became of a cluster.

    Attributes
    ----------
    kind : str
        "kept", "grown", "shrunk", "moved", "new", "split", "merged" or "vanished".
    cluster : int
        Its number.
    share_before, share_after : float
        Its share of the remembered rows, and of the new ones.
    p_value : float
        How likely as large a change is if nothing changed, corrected for the number of clusters.
    text : str
        The record as a sentence.
    related : tuple of int
        The cluster that it was split from, or merged into.
    columns : tuple of ColumnChange
        The columns whose averages in the cluster changed most, in the units of the rows.
    """

    kind: str
    cluster: int
    share_before: float
    share_after: float
    p_value: float
    text: str = ""
    related: tuple[int, ...] = ()
    columns: tuple[ColumnChange, ...] = ()

    # What the sentence calls a cluster and what it is made of.
    unit: ClassVar[str] = "cluster"
    members: ClassVar[str] = "rows"

    def worded(self, name: str = "", columns: Sequence[str] = ()) -> str:
        """The record as a sentence; ``columns`` are texts, "average spend 410 → 365", in place of its own."""
        title = f"{self.unit.capitalize()} {self.cluster}" + (f", {name}" if name else "")
        told = self._column_phrases(columns)
        shares = f"{percent(self.share_before)} → {percent(self.share_after)} of {self.members}"
        other = " and ".join(map(str, self.related))
        if self.kind == "new":
            return f"{title}: new, {percent(self.share_after)} of the new {self.members}."
        if self.kind == "split":
            return f"{title}: split from {self.unit} {other}, {shares}."
        if self.kind == "merged":
            return f"{title}: merged into {self.unit} {other}."
        if self.kind == "vanished":
            left = f"only {percent(self.share_after)}" if self.share_after else "none"
            before = f"{percent(self.share_before)} of {self.members} before"
            return f"{title}: vanished, {before} and {left} of the new ones."
        what = f"{title}: {shares}" if self.kind in ("grown", "shrunk") or told else f"{title}: kept, {shares}"
        return ", ".join([what, *told]) + "."

    def _column_phrases(self, columns: Sequence[str]) -> list[str]:
        """Parts of the sentence about columns."""
        return list(columns) or [column_text(column) for column in self._clear_columns]

    @property
    def _clear_columns(self) -> list[ColumnChange]:
        """Columns whose change is not one by chance."""
        return [column for column in self.columns if column.p_value < SIGNIFICANT]


def column_text(column: ColumnChange) -> str:
    """A column with its averages: "average spend 410 → 365"."""
    return f"average {column.column} {number(column.before)} → {number(column.after)}"


@dataclass(frozen=True)
class Compared:
    """The rows that an update compares.

    Attributes
    ----------
    rows : table
        Joint rows in the units of the user.
    coordinates : ndarray
        The same as the search sees them.
    labels : ndarray
        Their clusters by number, found in the same way for new and remembered rows; -1 for outliers.
    is_new : ndarray
        Which are new.
    weights : ndarray
        What each counts; the sums are numbers of rows, of the remembered and of the new ones.
    columns : sequence of str
        Names of the columns.
    record : type
        Change, or a subclass with words of its own.
    """

    rows: Matrix
    coordinates: Floats
    labels: Labels
    is_new: Mask
    weights: Doubles
    columns: Sequence[str]
    record: type[Change] = Change

    @property
    def n_new(self) -> float:
        """New rows that count."""
        return float(self.weights[self.is_new & (self.labels >= 0)].sum())

    @property
    def n_remembered(self) -> float:
        """Remembered rows that count."""
        return float(self.weights[~self.is_new & (self.labels >= 0)].sum())


@dataclass(frozen=True)
class Lineage:
    """Clusters before and after: numbers before and after, what new ones were split from, and what became of the rest.

    ``parents`` has the cluster before for a number that is new but not made of new rows; ``heirs`` the cluster into
    which each number went that is no longer there.
    """

    before: Sequence[int]
    after: Sequence[int]
    parents: dict[int, int] = field(default_factory=dict)
    heirs: dict[int, int] = field(default_factory=dict)


def find_changes(found: Compared, lineage: Lineage, names: Mapping[int, str] | None = None) -> list[Change]:
    """One record for every cluster before or after, by number; ``names`` are those of clusters, in the sentences."""
    numbers = sorted({*lineage.before, *lineage.after})
    counts = {p: _counts(found, p) for p in numbers}
    totals = found.n_remembered, found.n_new
    k = len(numbers)
    records = []
    for p in numbers:
        before, after = (count / max(total, 1.0) for count, total in zip(counts[p], totals, strict=True))
        p_share = _share_p_value(counts[p], totals) / SHARE_WEIGHT
        p_centre, columns = _compare_centres(found, p)
        change = found.record("kept", p, before, after, min(1.0, k * min(p_share, p_centre)), columns=columns)
        share_changed = k * p_share < SIGNIFICANT and abs(after - before) > LEAST_SHARE_CHANGE * before
        moved = k * p_centre < SIGNIFICANT and bool(columns)
        kept = columns if moved else tuple(replace(column, p_value=1.0) for column in columns)
        change = replace(change, columns=kept)
        records.append(_named(change, lineage, share_changed=share_changed, moved=moved))
    return [replace(record, text=record.worded((names or {}).get(record.cluster, ""))) for record in records]


def _named(change: Change, lineage: Lineage, *, share_changed: bool, moved: bool) -> Change:
    """The record with its kind."""
    p = change.cluster
    if p in lineage.heirs:
        return replace(change, kind="merged", related=(lineage.heirs[p],))
    if p not in lineage.before:
        parent = lineage.parents.get(p)
        return replace(change, kind="new") if parent is None else replace(change, kind="split", related=(parent,))
    if share_changed and change.share_after <= VANISHED * change.share_before:
        return replace(change, kind="vanished")
    if share_changed:
        return replace(change, kind="grown" if change.share_after > change.share_before else "shrunk")
    return replace(change, kind="moved" if moved else "kept")


def _counts(found: Compared, p: int) -> tuple[float, float]:
    """Remembered and new rows of a cluster."""
    inside = found.labels == p
    return float(found.weights[inside & ~found.is_new].sum()), float(found.weights[inside & found.is_new].sum())


def _share_p_value(counts: tuple[float, float], totals: tuple[float, float]) -> float:
    inside, outside = np.round(counts), np.round(np.subtract(totals, counts))
    return float(fisher_exact(np.array([inside, np.maximum(outside, 0)], dtype=np.int64))[1])


def _compare_centres(found: Compared, p: int) -> tuple[float, tuple[ColumnChange, ...]]:
    """The weighted p-value that the centre of a cluster is where it was, and the columns that speak most against it."""
    inside, rng = found.labels == p, np.random.default_rng(0)
    kinds = (np.flatnonzero(inside & kind) for kind in (~found.is_new, found.is_new))
    old, new = (thinned(rows, found.weights, len(rows), rng) for rows in kinds)
    if min(len(old), len(new)) < FEWEST_OF_EACH:
        return 1.0, ()
    (mean_old, deviation_old), (mean_new, deviation_new) = (column_moments(found.rows[rows]) for rows in (old, new))
    var_old, var_new = np.square(deviation_old), np.square(deviation_new)
    p_values = _student(mean_old, var_old, len(old), mean_new, var_new, len(new))
    n_columns = max(1, int(((var_old + var_new) > 0).sum()))
    place = dense_rows(found.rows, slice(None)) if len(found.columns) <= LEADING_AXES else found.coordinates
    p_centre = min(n_columns * float(p_values.min()) / COLUMNS_WEIGHT, _hotelling(place, old, new) / CENTRE_WEIGHT)
    moves = np.abs(mean_new - mean_old) / np.maximum(np.sqrt((var_old + var_new) / 2), np.finfo(np.float64).tiny)
    order = [j for j in np.argsort(p_values, kind="stable")[:SHOWN_COLUMNS] if moves[j] > LEAST_MOVE]
    columns = tuple(
        ColumnChange(found.columns[j], float(mean_old[j]), float(mean_new[j]), min(1.0, n_columns * float(p_values[j])))
        for j in order
    )
    return p_centre, columns


def _student(mean_a: Floats, var_a: Floats, n_a: int, mean_b: Floats, var_b: Floats, n_b: int) -> Doubles:
    """Two-sided p-values of Student's test, column by column; 1 where nothing varies and nothing differs.

    The variance is that of both kinds of rows together: a column that is 0 in nearly all rows may vary in one of them
    alone by accident, and Welch's test would take that for a difference.
    """
    freedom = n_a + n_b - 2
    pooled = (var_a * n_a + var_b * n_b) / freedom
    difference, scale = np.abs(mean_a - mean_b), np.maximum(np.abs(mean_a), np.abs(mean_b))
    error = np.sqrt(np.maximum(pooled * (1 / n_a + 1 / n_b), np.finfo(np.float64).tiny))
    return np.asarray(2 * t_distribution.sf(np.where(difference > ROUNDING * scale, difference / error, 0.0), freedom))


def _hotelling(coordinates: Floats, old: Ints, new: Ints) -> float:
    """The p-value of Hotelling's two-sample test on the leading columns; 1 for too few rows."""
    n_old, n_new = len(old), len(new)
    width = min(LEADING_AXES, coordinates.shape[1], (min(n_old, n_new) - 2) // 3)
    if width < 1:
        return 1.0
    A, B = (coordinates[rows, :width].astype(np.float64) for rows in (old, new))
    difference = A.mean(axis=0) - B.mean(axis=0)
    freedom = n_old + n_new - 2
    pooled = (np.cov(A.T, bias=True) * n_old + np.cov(B.T, bias=True) * n_new).reshape(width, width) / freedom
    deviations = np.sqrt(np.diag(pooled))  # columns may have any units
    scale = np.where(deviations > ROUNDING * np.abs(A).max(axis=0), deviations, np.inf)
    pooled = pooled / np.outer(scale, scale) + 1e-9 * np.eye(width)
    T2 = n_old * n_new / (n_old + n_new) * float(difference / scale @ np.linalg.solve(pooled, difference / scale))
    rest = freedom - width + 1
    return float(f_distribution.sf(T2 * rest / (freedom * width), width, rest))
