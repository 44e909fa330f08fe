"""The rows that an update looks at: the new ones, then those that the model remembers, with what is known of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widegap._types import Doubles, Floats, Indices, Labels, Mask, Matrix
from widegap.constraints._side_information import RowConstraints
from widegap.constraints._units import Units
from widegap.features._column_groups import ColumnGroup, EncodedTable
from widegap.rows._matrices import dense_rows, stacked
from widegap.updating._changes import Compared, Lineage
from widegap.updating._memory import Memory


@dataclass(frozen=True)
class UpdateRows:
    """Rows of an update.

    Attributes
    ----------
    table : table
        The rows that are searched.
    chosen : ndarray
        Their places among all new rows.
    weights : ndarray
        Their weights.
    counted : ndarray
        Places of all new rows whose weight is not zero.
    n : int
        Number of all new rows.
    groups : sequence of ColumnGroup or None
        Which columns belong together.
    """

    table: Matrix
    chosen: Indices
    weights: Doubles
    counted: Indices
    n: int
    groups: Sequence[ColumnGroup] | None = None

    @property
    def all_searched(self) -> bool:
        """Whether every new row is searched."""
        return len(self.chosen) == self.n

    def among_all(self, joint: Indices) -> Indices:
        """Rows of the joint search by their places in a table of all new rows and then the remembered ones."""
        n = len(self.chosen)
        return np.where(joint < n, np.append(self.chosen, 0)[np.minimum(joint, n)], joint - n + self.n)


@dataclass(frozen=True)
class JointRows:
    """New and remembered rows.

    Attributes
    ----------
    rows : table
        The new rows, then the remembered ones.
    n_new : int
        How many are new.
    weights : ndarray
        How many rows each stands for.
    numbers : ndarray
        Numbers of the clusters before the update, by position.
    before : ndarray
        Positions of the clusters: of remembered rows those they had, of new rows those that the old model predicts.
    predicted : ndarray
        Positions that the old model predicts, of all rows.
    constraints : RowConstraints
        Labels and links of the remembered rows.
    next_number : int
        The number of the next new cluster.
    n_settled : int
        Rows of the search that the clusters come from.
    doubt : float
        How much searches since then have spoken against the clusters, at most 1.
    """

    rows: Matrix
    n_new: int
    weights: Doubles
    numbers: Labels
    before: Labels
    predicted: Labels
    constraints: RowConstraints
    next_number: int
    n_settled: int = 0
    doubt: float = 1.0

    @property
    def is_new(self) -> Mask:
        """Which rows are new."""
        return np.arange(len(self.weights)) < self.n_new

    @property
    def counts(self) -> Doubles:
        """What every row counts in a test: the sums over both kinds of rows are the rows that tell independently.

        Of m rows with the weights w that is (sum w)^2 / sum w^2, at most m.
        """
        counts = np.empty(len(self.weights))
        for kind in (self.is_new, ~self.is_new):
            weights = self.weights[kind]
            counts[kind] = weights * weights.sum() / np.maximum(np.square(weights).sum(), np.finfo(np.float64).tiny)
        return counts


def join_rows(
    new: UpdateRows, memory: Memory, numbers: Labels, predicted: Labels, classes: Sequence[object]
) -> JointRows:
    """New rows and remembered ones; ``predicted`` are positions of clusters for both, by the old model."""
    remembered = memory.rows.astype(new.table.dtype, copy=False)
    n_new = new.table.shape[0]
    position = np.full(memory.next_number, -1, np.int32)
    position[numbers] = np.arange(len(numbers))
    units = None if memory.units is None else Units.free(n_new).followed_by(memory.units)
    return JointRows(
        rows=_with_groups(stacked(new.table, remembered), new.groups),
        n_new=n_new,
        weights=np.concatenate([new.weights, memory.weights]),
        numbers=numbers,
        before=np.concatenate([predicted[:n_new], position[memory.labels]]),
        predicted=predicted,
        constraints=RowConstraints(units, _held_classes(classes, units)),
        next_number=memory.next_number,
        n_settled=memory.n_settled,
        doubt=memory.doubt,
    )


def _held_classes(classes: Sequence[object], units: Units | None) -> list[object]:
    """Labels of the clusters up to the last that a label or a row holds; corrections hold clusters without a name."""
    held = [p for p, label in enumerate(classes) if label is not None]
    held += [] if units is None else units.anchors.tolist()
    return list(classes[: max(held, default=-1) + 1])


def _with_groups(rows: Matrix, groups: Sequence[ColumnGroup] | None) -> Matrix:
    return rows if groups is None else EncodedTable.of(dense_rows(rows, slice(None)), groups)


@dataclass(frozen=True)
class Followed:
    """What the search of joint rows has found.

    Attributes
    ----------
    labels : ndarray
        Numbers of the clusters of the joint rows; -1 for outliers.
    alike : ndarray
        The same, but found in one way for new and remembered rows, so that they can be compared.
    coordinates : ndarray
        The joint rows as the search sees them.
    lineage : Lineage
        Clusters before and after.
    n_settled : int
        Rows of the search that the clusters come from, or 0 if they stayed what they were.
    doubt : float
        How much searches have spoken against clusters that stayed, at most 1.
    """

    labels: Labels
    alike: Labels
    coordinates: Floats
    lineage: Lineage
    n_settled: int = 0
    doubt: float = 1.0

    def compared(self, joint: JointRows, columns: Sequence[str]) -> Compared:
        """What the tests of changes compare."""
        return Compared(joint.rows, self.coordinates, self.alike, joint.is_new, joint.counts, columns)
