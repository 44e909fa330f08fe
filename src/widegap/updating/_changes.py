"""What an update changes: one record for every cluster, with its share and its averages before and after.

Remembered and new rows are compared under the labels of the update, so that a border that is drawn anew is not taken
for a change of the rows. With m remembered and n new rows that count, two tests are made of every cluster:

    share    Fisher's exact test of the rows of the cluster among the m and among the n
    centre   Welch's t-test of every column, corrected for their number, and Hotelling's T^2 of the leading coordinates
             of the search; the smaller p-value, doubled

The p-value of a record is the smaller of both, times twice the number of clusters (Bonferroni). A change below
``SIGNIFICANT`` is told if it is large enough to matter: by a tenth of the share, or of a standard deviation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import fisher_exact
from scipy.stats import t as t_distribution

from widegap._types import Doubles, Floats, Ints, Labels, Mask, Matrix
from widegap._wording import number, percent
from widegap.rows._matrices import column_moments

SIGNIFICANT = 0.05
LEAST_SHARE_CHANGE = 0.1  # of the share before: smaller changes of large tables are certain, and tell nobody anything
LEAST_MOVE = 0.1  # standard deviations of a column
VANISHED = 0.1  # of its share before, at most, is left of a cluster that vanished: classifiers always err a little
FEWEST_ROWS = 10  # remembered and new, of a cluster whose centre can be compared
LEADING_AXES = 10  # of the coordinates of the search, in Hotelling's test; not tuned
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
    others : tuple of int
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
    others: tuple[int, ...] = ()
    columns: tuple[ColumnChange, ...] = ()

    def worded(self, name: str = "", columns: Sequence[str] = ()) -> str:
        """The record as a sentence; ``columns`` are texts, "average spend 410 → 365", in place of its own."""
        title = f"Cluster {self.cluster}" + (f", {name}" if name else "")
        told = list(columns) or [column_text(column) for column in self.columns if column.p_value < SIGNIFICANT]
        shares = f"{percent(self.share_before)} → {percent(self.share_after)} of rows"
        other = " and ".join(map(str, self.others))
        if self.kind == "new":
            return f"{title}: new, {percent(self.share_after)} of the new rows."
        if self.kind == "split":
            return f"{title}: split from cluster {other}, {shares}."
        if self.kind == "merged":
            return f"{title}: merged into cluster {other}."
        if self.kind == "vanished":
            left = f"only {percent(self.share_after)}" if self.share_after else "none"
            return f"{title}: vanished, {percent(self.share_before)} of rows before and {left} of the new ones."
        what = f"{title}: {shares}" if self.kind in ("grown", "shrunk") or told else f"{title}: kept, {shares}"
        return ", ".join([what, *told]) + "."


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
    """

    rows: Matrix
    coordinates: Floats
    labels: Labels
    is_new: Mask
    weights: Doubles
    columns: Sequence[str]

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


def find_changes(found: Compared, lineage: Lineage) -> list[Change]:
    """One record for every cluster before or after, by number."""
    numbers = sorted({*lineage.before, *lineage.after})
    counts = {p: _counts(found, p) for p in numbers}
    totals = found.n_remembered, found.n_new
    n_tests = 2 * len(numbers)
    records = []
    for p in numbers:
        before, after = (count / max(total, 1.0) for count, total in zip(counts[p], totals, strict=True))
        p_share = _share_p_value(counts[p], totals)
        p_centre, columns = _compare_centres(found, p)
        change = Change("kept", p, before, after, min(1.0, n_tests * min(p_share, p_centre)), columns=columns)
        share_changed = n_tests * p_share < SIGNIFICANT and abs(after - before) > LEAST_SHARE_CHANGE * before
        moved = n_tests * p_centre < SIGNIFICANT and bool(columns)
        kept = columns if moved else tuple(replace(column, p_value=1.0) for column in columns)
        change = replace(change, columns=kept)
        records.append(_named(change, lineage, share_changed=share_changed, moved=moved))
    return [replace(record, text=record.worded()) for record in records]


def _named(change: Change, lineage: Lineage, *, share_changed: bool, moved: bool) -> Change:
    """The record with its kind."""
    p = change.cluster
    if p in lineage.heirs:
        return replace(change, kind="merged", others=(lineage.heirs[p],))
    if p not in lineage.before:
        parent = lineage.parents.get(p)
        return replace(change, kind="new") if parent is None else replace(change, kind="split", others=(parent,))
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
    """The p-value that the centre of a cluster is where it was, and the columns that speak most against it."""
    inside = (found.labels == p) & (found.weights > 0)
    old, new = np.flatnonzero(inside & ~found.is_new), np.flatnonzero(inside & found.is_new)
    if min(len(old), len(new)) < FEWEST_ROWS:
        return 1.0, ()
    (mean_old, deviation_old), (mean_new, deviation_new) = (column_moments(found.rows[rows]) for rows in (old, new))
    var_old, var_new = np.square(deviation_old), np.square(deviation_new)
    p_values = _welch(mean_old, var_old, len(old), mean_new, var_new, len(new))
    n_columns = max(1, int(((var_old + var_new) > 0).sum()))
    p_centre = min(1.0, 2 * min(n_columns * float(p_values.min()), _hotelling(found.coordinates, old, new)))
    moves = np.abs(mean_new - mean_old) / np.maximum(np.sqrt((var_old + var_new) / 2), np.finfo(np.float64).tiny)
    order = [j for j in np.argsort(p_values, kind="stable")[:SHOWN_COLUMNS] if moves[j] > LEAST_MOVE]
    columns = tuple(
        ColumnChange(found.columns[j], float(mean_old[j]), float(mean_new[j]), min(1.0, n_columns * float(p_values[j])))
        for j in order
    )
    return p_centre, columns


def _welch(mean_a: Floats, var_a: Floats, n_a: int, mean_b: Floats, var_b: Floats, n_b: int) -> Doubles:
    """Two-sided p-values of Welch's test, column by column; 1 where nothing varies and nothing differs."""
    tiny = np.finfo(np.float64).tiny
    part_a, part_b = var_a / (n_a - 1), var_b / (n_b - 1)
    freedom = (part_a + part_b) ** 2 / np.maximum(part_a**2 / (n_a - 1) + part_b**2 / (n_b - 1), tiny)
    difference = np.abs(mean_a - mean_b)
    scale = np.maximum(np.abs(mean_a), np.abs(mean_b))
    t = np.where(difference > 1e-12 * scale, difference / np.sqrt(np.maximum(part_a + part_b, tiny)), 0.0)
    return np.asarray(2 * t_distribution.sf(t, np.maximum(freedom, 1.0)))


def _hotelling(coordinates: Floats, old: Ints, new: Ints) -> float:
    """The p-value of Hotelling's two-sample test on the leading coordinates; 1 for too few rows."""
    n_old, n_new = len(old), len(new)
    width = min(LEADING_AXES, coordinates.shape[1], (min(n_old, n_new) - 2) // 3)
    if width < 1:
        return 1.0
    A, B = (coordinates[rows, :width].astype(np.float64) for rows in (old, new))
    difference = A.mean(axis=0) - B.mean(axis=0)
    freedom = n_old + n_new - 2
    pooled = (np.cov(A.T, bias=True) * n_old + np.cov(B.T, bias=True) * n_new).reshape(width, width) / freedom
    pooled += np.eye(width) * 1e-9 * max(float(np.trace(pooled)), np.finfo(np.float64).tiny)
    T2 = n_old * n_new / (n_old + n_new) * float(difference @ np.linalg.solve(pooled, difference))
    rest = freedom - width + 1
    return float(f_distribution.sf(T2 * rest / (freedom * width), width, rest))
