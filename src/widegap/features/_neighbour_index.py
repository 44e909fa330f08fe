"""An approximate index of dense rows: a row is compared with the rows of near cells instead of the whole table.

*Cells.* k-means on a sample divides the rows into cells of about ``CELL_ROWS``. A cell that other rows make larger than
``2 CELL_ROWS`` (a sample knows little of a dense place, and equal rows all fall into one cell) is halved at the median
of its widest axis until it is not. A row is compared with the rows of the ``probes`` cells whose means are nearest to
it, or more of them if these hold too few.

*Axes.* Cells are formed, and rows compared, in principal axes z = V'(x - mean): distances in z are at most those in x.
Of the compared rows the ``count + SURPLUS`` nearest in z are candidates, and these are ranked by their true distances,
computed in float64 from the rows themselves. Tables with up to ``INDEX_AXES`` columns keep their columns.

*Rounding.* z is stored in float32 as the difference from the mean of its cell, and products with the rows of a cell
have that mean as their origin, so that rounding is relative to the distances around a cell, wherever the cell lies.
Where it may still decide between neighbours (``is_blurred``), rows are compared by float64 products of all columns.

*How much is enough.* For ``JUDGED_ROWS`` rows the nearest of all rows are found by comparison with all. The axes are
doubled until ``KEPT`` of these neighbours are candidates in z, or all columns are in use. ``probes`` is then the least
number of cells, from ``LEAST_CELLS`` to ``MOST_CELLS``, in which ``FOUND`` of the neighbours are met and kept. Rows
without structure in many columns reach the upper bound: there the index finds fewer neighbours.

*Memory.* Besides the rows themselves the index holds 4 bytes for every row and axis. Fitting it takes, for a while, as
many numbers in the dtype of the rows, and copies of ``INDEX_SAMPLE`` rows. A search holds, for every thread, a few
tables of ``DISTANCES_HELD`` numbers and the candidates of ``QUERY_ROWS`` rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

from widegap._types import Doubles, Floats, FloatType, Indices, Ints, Mask
from widegap.features._exact_neighbours import (
    DISTANCES_HELD,
    is_blurred,
    measure_nearest,
    merge_nearest,
)
from widegap.features._kmeans import kmeans
from widegap.rows._sampling import all_or_drawn
from widegap.rows._threads import one_blas_thread, ordered_map

INDEX_AXES = 64  # principal axes at first: of 30 neighbours in MNIST .965 are candidates, with 128 axes .997
AXIS_STEPS = 3  # of power iteration for the axes: 1 finds a thousandth fewer candidates in MNIST, 6 no more
INDEX_SAMPLE = 10_000  # rows from which axes and cells are found, to bound the time of k-means; not tuned
CELL_ROWS = 256  # rows of a cell: smaller ones cost more calls, larger ones hold more rows that are far away
ROWS_FOR_CELL = 8  # sampled rows for every cell, at least: the mean of fewer is hardly the mean of the cell
CELL_TURNS = 5  # of k-means: after 2, 5 or 15 as many cells must be probed in MNIST
LEAST_CELLS = 8  # cells with which a row is compared, at least: the judged rows may be easier than others; not tuned
MOST_CELLS = 128  # and at most: of 100,000 rows a third, where comparing all pairs takes about twice the time
QUERY_ROWS = 8192  # rows that are compared with a cell together: fewer make products too small to be fast; not tuned
SURPLUS = 20  # candidates beyond the neighbours asked for; not tuned
JUDGED_ROWS = 128  # whose neighbours are found exactly: a quarter of a second for MNIST; not tuned
JUDGED_NEIGHBOURS = 60  # of each of them: as many as a search for clusters asks for among many rows
KEPT = 0.975  # share of neighbours that must be candidates in the axes
FOUND = 0.97  # share of neighbours to be found, where MOST_CELLS permit
BLOCK_ROWS = 4096  # rows of the table that are read at a time, to bound memory; not tuned


@dataclass(frozen=True)
class _Axes:
    """Coordinates of rows: the columns about their mean, turned to principal axes if there are any."""

    mean: Doubles
    turn: Floats | None

    def coordinates(self, X: Floats) -> Floats:
        """Coordinates of any rows, in their dtype."""
        found = np.empty((len(X), len(self.mean) if self.turn is None else self.turn.shape[1]), X.dtype)
        for rows in _blocks(len(X)):
            centred = X[rows] - self.mean.astype(X.dtype)
            found[rows] = centred if self.turn is None else centred @ self.turn.astype(X.dtype)
        return found


@dataclass(frozen=True)
class _Judge:
    """The nearest of all rows for a few rows, and which of them count: neither equal rows nor ties with the last."""

    rows: Indices
    nearest: Ints
    counting: Mask

    @classmethod
    def of(cls, X: Floats, mean: Floats, rows: Indices) -> "_Judge":
        nearest, distances = _among_all(X, mean, rows, min(JUDGED_NEIGHBOURS, len(X) - 1))
        return cls(rows, nearest, (distances > 0) & (distances < distances[:, -1:]))

    def kept(self, Z: Floats) -> float:
        """Share of the neighbours that are candidates in the coordinates Z."""
        if not self.counting.any():
            return 1.0
        width = min(self.nearest.shape[1] + SURPLUS, len(Z) - 1)
        candidates = _among_all(Z, np.zeros(Z.shape[1]), self.rows, width)[0]
        found = np.stack([np.isin(true, near) for true, near in zip(self.nearest, candidates, strict=True)])
        return float(found[self.counting].mean())


@dataclass(frozen=True)
class NeighbourIndex:
    """Cells of the rows of a table: ``order`` lists rows cell by cell, ``starts`` where cells begin and the last ends.

    ``offsets`` are the coordinates of the rows in that order, less the ``means`` of their cells; ``copies`` is, for a
    cell of equal rows, how many rows equal to these are in cells before it.
    """

    X: Floats
    axes: _Axes
    order: Ints
    starts: Ints
    means: Doubles
    offsets: Floats
    copies: Ints
    probes: int

    @classmethod
    def fit(cls, X: Floats, seed: int = 0) -> "NeighbourIndex":
        """The index of the rows of X, two at least: the same for the same rows and seed."""
        X, rng = np.ascontiguousarray(X), np.random.default_rng(seed)
        mean = X.mean(axis=0, dtype=np.float64)
        sample = all_or_drawn(len(X), INDEX_SAMPLE, rng)
        with one_blas_thread():
            judge = _Judge.of(X, mean, all_or_drawn(len(X), JUDGED_ROWS, rng))
            axes, Z, kept = _choose_axes(X, mean, sample, judge, seed)
            cells = _cells(Z, sample, rng)
        order, starts = np.concatenate(cells), np.cumsum([0, *map(len, cells)])
        means = np.stack([Z[rows].mean(axis=0, dtype=np.float64) for rows in cells])
        offsets = np.empty(Z.shape, np.float32)
        for rows, start, mean_of_cell in zip(cells, starts, means, strict=False):
            offsets[start : start + len(rows)] = Z[rows] - mean_of_cell
        parts = (X, axes, order, starts, means, offsets, _copies_before(X, cells))
        probes = cls(*parts, MOST_CELLS)._enough_probes(Z[judge.rows].astype(np.float64), judge, kept)
        return cls(*parts, probes)

    def of_rows(self, count: int, n_threads: int = 1) -> tuple[Ints, Floats]:
        """The ``count`` nearest other rows of every row, fewer than there are, and their distances: (n, count) each."""
        cell_of = np.repeat(np.arange(len(self.means)), np.diff(self.starts))

        def search(places: slice) -> tuple[Ints, Ints, Doubles]:
            rows = self.order[places]
            Z = self.offsets[places] + self.means[cell_of[places]]
            return rows, *self._search(_Queries(self.X, rows, Z, rows), count)

        return _collect(search, len(self.X), count, n_threads)

    def of_queries(self, Q: Floats, count: int, n_threads: int = 1) -> tuple[Ints, Floats]:
        """The ``count`` nearest indexed rows of every row of Q, and their distances: two tables (rows of Q, count)."""
        Q = np.ascontiguousarray(Q)

        def search(places: slice) -> tuple[Ints, Ints, Doubles]:
            rows = np.arange(len(Q))[places]
            Z = self.axes.coordinates(Q[places]).astype(np.float64)
            return rows, *self._search(_Queries(Q, rows, Z, np.full(len(rows), -1)), count)

        return _collect(search, len(Q), count, n_threads)

    def _search(self, queries: "_Queries", count: int) -> tuple[Ints, Doubles]:
        """Numbers and distances of the neighbours of some queries."""
        width = min(count + SURPLUS, len(self.X) - (queries.own[0] >= 0))
        probed = self._probed(queries.Z, width)
        nearest = self._compare(queries, probed, width, self._by_axes, np.dtype(np.float32))
        overflown = nearest[:, -1] < 0  # squares beyond float32: some distances were infinite
        distances: Doubles = measure_nearest(queries.table, queries.rows, self.X, nearest)
        nearest, distances = nearest[:, :count], distances[:, :count]
        last = distances[:, -1]
        blurred = is_blurred(probed.nearest, last, self.offsets.shape[1]) & (last > 0)  # nothing is nearer than 0
        blurred |= overflown
        if blurred.any():
            queries, probed = queries.some(blurred), probed.some(blurred)
            chosen = self._compare(queries, probed, count, self._by_columns, np.dtype(np.float64))
            distances[blurred] = measure_nearest(queries.table, queries.rows, self.X, chosen)
            nearest[blurred] = chosen
        return nearest, distances

    def _compare(self, queries: "_Queries", probed: "_Probed", width: int, tables: "_Tables", dtype: FloatType) -> Ints:
        """Numbers of the nearest rows of the probed cells for every query, by products of tables of this dtype."""
        nearest = np.full((len(queries.rows), width), -1)
        best = np.full(nearest.shape, np.inf, dtype)
        for cell, pairs in _split_by(probed.cells):
            numbers = self.order[self.starts[cell] : self.starts[cell + 1]]
            step = max(1, DISTANCES_HELD // max(len(numbers), self.X.shape[1]))
            for start in range(0, len(pairs), step):
                places = probed.places[pairs[start : start + step]]
                left, right = tables(queries, places, cell)
                products = -2 * (left @ right.T)
                merge_nearest(products, _squares(left), _squares(right), numbers, places, queries.own, best, nearest)
        return nearest

    def _by_axes(self, queries: "_Queries", places: Ints, cell: int) -> tuple[Floats, Floats]:
        """Coordinates of some queries and of the rows of a cell about its mean, in float32."""
        rows = slice(self.starts[cell], self.starts[cell + 1])
        return (queries.Z[places] - self.means[cell]).astype(np.float32), self.offsets[rows]

    def _by_columns(self, queries: "_Queries", places: Ints, cell: int) -> tuple[Floats, Floats]:
        """Some queries and the rows of a cell about the first of these, in float64."""
        rows = self.X[self.order[self.starts[cell] : self.starts[cell + 1]]].astype(np.float64)
        return queries.table[queries.rows[places]] - rows[0], rows - rows[0]

    def _probed(self, Z: Doubles, width: int) -> "_Probed":
        """The nearest cells of every query, with more than ``width`` rows if there are as many."""
        m, sizes, found, lengths = len(self.means), np.diff(self.starts), [], np.empty(len(Z))
        step = max(1, DISTANCES_HELD // (2 * m))
        for start in range(0, len(Z), step):
            away = self._away(Z[start : start + step], width)
            lengths[start : start + step] = np.sqrt(np.maximum(away.min(axis=1), 0))
            left, probes = np.arange(len(away)), min(self.probes, m)
            while len(left):
                cells = np.argpartition(away[left], probes - 1, axis=1)[:, :probes]
                enough = (sizes[cells].sum(axis=1) > width) | (probes == m)
                found.append((np.repeat(start + left[enough], probes), cells[enough].ravel()))
                left, probes = left[~enough], min(2 * probes, m)
        return _Probed(np.concatenate([p for p, _ in found]), np.concatenate([c for _, c in found]), lengths)

    def _away(self, Z: Doubles, width: int) -> Doubles:
        """Squared distances of rows to the means of cells, infinite where ``width`` copies are in cells before."""
        away = _squares(self.means) - 2 * (Z @ self.means.T) + _squares(Z)[:, None]
        away[:, self.copies >= width] = np.inf
        return np.asarray(away)

    def _enough_probes(self, Z: Doubles, judge: _Judge, kept: float) -> int:
        """How many cells must be probed to meet enough of the neighbours of the judged rows, by their coordinates."""
        if not judge.counting.any():
            return LEAST_CELLS
        cell_of = np.empty(len(self.X), np.int64)
        cell_of[self.order] = np.repeat(np.arange(len(self.means)), np.diff(self.starts))
        ranks = np.argsort(np.argsort(self._away(Z, judge.nearest.shape[1] + SURPLUS), axis=1), axis=1)
        met = 1 + np.take_along_axis(ranks, cell_of[judge.nearest], axis=1)[judge.counting]
        return int(np.clip(np.quantile(met, min(1.0, FOUND / kept)), LEAST_CELLS, MOST_CELLS))


@dataclass(frozen=True)
class _Queries:
    """Rows of a table that look for neighbours, their coordinates, and the indexed row that each of them is, or -1."""

    table: Floats
    rows: Ints
    Z: Doubles
    own: Ints

    def some(self, chosen: Mask) -> "_Queries":
        return _Queries(self.table, self.rows[chosen], self.Z[chosen], self.own[chosen])


@dataclass(frozen=True)
class _Probed:
    """Pairs of a query, by its place among the queries, and a cell; and how far the nearest mean is from each query."""

    places: Ints
    cells: Ints
    nearest: Doubles

    def some(self, chosen: Mask) -> "_Probed":
        kept = chosen[self.places]
        return _Probed((np.cumsum(chosen) - 1)[self.places[kept]], self.cells[kept], self.nearest[chosen])


_Tables = Callable[[_Queries, Ints, int], tuple[Floats, Floats]]  # queries by their places, and the rows of a cell


def _blocks(n: int) -> list[slice]:
    """Slices of about equal size, none much above ``BLOCK_ROWS``."""
    bounds = np.linspace(0, n, -(-n // BLOCK_ROWS) + 1).astype(int)
    return [slice(start, stop) for start, stop in zip(bounds[:-1], bounds[1:], strict=True)]


def _squares(table: Floats) -> Floats:
    """Squared lengths of rows."""
    return np.asarray(np.einsum("ij,ij->i", table, table))


def _among_all(T: Floats, origin: Floats, rows: Indices, count: int) -> tuple[Ints, Doubles]:
    """The nearest of all other rows of a table for some of its rows, and their distances, by products in its dtype."""
    queries, found = T[rows] - origin.astype(T.dtype), []
    for block in _blocks(len(T)):
        table = T[block] - origin.astype(T.dtype)
        away = _squares(table) - 2 * (queries @ table.T)
        own = np.flatnonzero((rows >= block.start) & (rows < block.stop))
        away[own, rows[own] - block.start] = np.inf
        most = min(count, len(table) - 1)
        found.append(np.argpartition(away, most - 1, axis=1)[:, :most] + block.start)
    joined = np.concatenate(found, axis=1)
    distances: Doubles = measure_nearest(T, rows, T, joined)
    return joined[:, :count], distances[:, :count]


def _choose_axes(X: Floats, mean: Doubles, sample: Indices, judge: _Judge, seed: int) -> tuple[_Axes, Floats, float]:
    """Axes in which the neighbours of the judged rows are candidates, all coordinates, and the share of those kept."""
    size = INDEX_AXES
    while size < X.shape[1]:
        centred = X[sample] - mean.astype(X.dtype)
        turn = randomized_svd(centred, size, n_iter=AXIS_STEPS, random_state=seed)[2].T
        axes = _Axes(mean, np.ascontiguousarray(turn))
        Z = axes.coordinates(X)
        kept = judge.kept(Z)
        if kept >= KEPT:
            return axes, Z, kept
        size *= 2
    axes = _Axes(mean, None)
    return axes, axes.coordinates(X), 1.0


def _cells(Z: Floats, sample: Indices, rng: np.random.Generator) -> list[Ints]:
    """Rows of every cell."""
    drawn = np.ascontiguousarray(Z[sample], dtype=np.float64)
    n_cells = max(1, min(len(Z) // CELL_ROWS, len(drawn) // ROWS_FOR_CELL))
    labels = kmeans(drawn, n_cells, CELL_TURNS, rng)
    means = np.stack([drawn[labels == cell].mean(axis=0) for cell in np.unique(labels)])
    pending, cells = [rows for _, rows in _split_by(_nearest_means(Z, means))], []
    while pending:
        rows = pending.pop()
        if len(rows) <= 2 * CELL_ROWS:
            cells.append(rows)
            continue
        inside = Z[rows]
        along = rows[np.argsort(inside[:, inside.var(axis=0).argmax()], kind="stable")]
        pending += [along[: len(along) // 2], along[len(along) // 2 :]]
    return cells


def _copies_before(X: Floats, cells: list[Ints]) -> Ints:
    """For every cell of equal rows, how many rows equal to these are in cells before it; 0 for other cells."""
    before, seen = np.zeros(len(cells), np.int64), dict[bytes, int]()
    for cell, rows in enumerate(cells):
        first = X[rows[0]]
        if np.array_equal(first, X[rows[-1]]) and (X[rows] == first).all():  # most cells differ at the first look
            before[cell] = seen.get(first.tobytes(), 0)
            seen[first.tobytes()] = before[cell] + len(rows)
    return before


def _nearest_means(Z: Floats, means: Doubles) -> Ints:
    """The number of the mean nearest to every row."""
    found, halves = np.empty(len(Z), np.int64), _squares(means) / 2
    for rows in _blocks(len(Z)):
        found[rows] = (Z[rows].astype(np.float64) @ means.T - halves).argmax(axis=1)
    return found


def _split_by(labels: Ints) -> list[tuple[int, Ints]]:
    """Every label that occurs, and the numbers of its rows."""
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return [(int(labels[rows[0]]), rows) for rows in parts if len(rows)]


def _collect(
    search: Callable[[slice], tuple[Ints, Ints, Doubles]], n: int, count: int, n_threads: int
) -> tuple[Ints, Floats]:
    """The answers for n rows, found for some of them at a time, in the order of the rows."""
    nearest, distances = np.empty((n, count), np.int64), np.empty((n, count))
    parts = [slice(start, start + QUERY_ROWS) for start in range(0, n, QUERY_ROWS)]
    with one_blas_thread():
        for rows, found, away in ordered_map(search, parts, n_threads):
            nearest[rows], distances[rows] = found, away
    return nearest, distances
