"""Constraints on rows: labels of some, which rows belong together, which must be apart.

Rows that belong together are *units*: they get one label. A unit with a known label is *anchored* to its cluster.
Statements "these rows are together" (a must-link, a group of them, all rows of one known label) and rows are the two
sides of a graph whose connected components are the units; a path in it says why two rows are together.

=============  ====================================================================================
argument       forms
=============  ====================================================================================
``known``      one entry a row: a label (int, string), or -1, None or NaN where it is not known
``must_link``  pairs of row numbers, shape (m, 2), or one group per row (-1, None or NaN: none)
``cannot_link``  the same; rows of one group are all to be in different clusters
=============  ====================================================================================
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from widegap._types import Ints
from widegap.exceptions import InvalidDataError

CLIQUE_TRIES = 200  # units from which a set that is all apart is sought greedily
CHAINS = 50  # contradictions among which the one with the shortest chain is shown


@dataclass(frozen=True)
class Units:
    """Sets of rows that get one label, numbered by their first rows; units without rows come last.

    Attributes
    ----------
    of_row : ndarray of shape (n,)
        The unit of each row.
    sizes : ndarray of shape (u,)
        Rows of each unit.
    anchors : ndarray of shape (u,)
        The cluster of each unit, -1 where it is free.
    apart : ndarray of shape (m, 2)
        Pairs of units that must not be in one cluster, each once, the lower first.
    """

    of_row: Ints
    sizes: Ints
    anchors: Ints
    apart: Ints

    @classmethod
    def free(cls, n_rows: int) -> "Units":
        """Units of rows without constraints."""
        return cls(np.arange(n_rows), np.ones(n_rows, np.int64), np.full(n_rows, -1), np.empty((0, 2), np.int64))

    def of_rows(self, rows: np.ndarray[Any, Any]) -> "Units":
        """The units of some of the rows, in the order of these rows."""
        return self._some(self._in_order(rows), rows)

    def of_present(self, rows: np.ndarray[Any, Any]) -> "Units":
        """The same, and after them units of the other rows that links set apart: these have no rows, but still bind."""
        kept = self._in_order(rows)
        return self._some(np.concatenate([kept, np.setdiff1d(self.apart, kept)]), rows)

    def _in_order(self, rows: np.ndarray[Any, Any]) -> Ints:
        """The units of some rows by their first rows."""
        chosen, first = np.unique(self.of_row[rows], return_index=True)
        return chosen[np.argsort(first)]

    def _some(self, kept: Ints, rows: np.ndarray[Any, Any]) -> "Units":
        number = np.full(len(self.sizes), -1)
        number[kept] = np.arange(len(kept))
        apart = number[self.apart]
        apart = apart[(apart >= 0).all(axis=1)]
        of_row = number[self.of_row[rows]]
        sizes = np.bincount(of_row, minlength=len(kept))
        return Units(of_row, sizes, self.anchors[kept], np.sort(apart, axis=1))

    def followed_by(self, further: "Units") -> "Units":
        """The units of these rows and then of other rows; those of one label are one unit."""
        shift = len(self.sizes)
        of_row = np.concatenate([self.of_row, further.of_row + shift])
        anchors = np.concatenate([self.anchors, further.anchors])
        apart = np.concatenate([self.apart, further.apart + shift])
        same = np.arange(len(anchors))
        for label in np.intersect1d(self.anchors, further.anchors[further.anchors >= 0]):
            held = np.flatnonzero(anchors == label)
            same[held] = held[0]
        kept, number = np.unique(same, return_inverse=True)
        of_row = number[of_row]
        sizes = np.bincount(of_row, minlength=len(kept))
        return Units(of_row, sizes, anchors[kept], np.unique(np.sort(number[apart], axis=1), axis=0).reshape(-1, 2))

    def check(self, n_rows: int, n_clusters: int) -> None:
        """Raise an error if a file holds units that do not fit together."""
        n_units = len(self.sizes)
        parts = (self.of_row, (n_rows,), n_units), (self.anchors, (n_units,), n_clusters)
        shapes = all(part.shape == shape and part.dtype.kind == "i" for part, shape, _ in parts)
        if not shapes or not all(
            np.all((part >= least) & (part < most)) for (part, _, most), least in zip(parts, (0, -1), strict=True)
        ):
            raise ValueError("labels or links of the rows it remembers name clusters or rows that are not there")
        if not np.array_equal(self.sizes, np.bincount(self.of_row, minlength=n_units)):
            raise ValueError("the links of the rows it remembers have other sizes than their rows")
        fits = self.apart.ndim == 2 and self.apart.shape[1] == 2 and self.apart.dtype.kind == "i"
        if not fits or not np.all((self.apart >= 0) & (self.apart < n_units)):
            raise ValueError("rows it remembers are to be apart from rows that are not there")

    @property
    def constrained(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows have a label or a link."""
        known = (self.sizes > 1) | (self.anchors >= 0)
        known[self.apart.ravel()] = True
        return known[self.of_row]


@dataclass(frozen=True)
class LabelledUnits:
    """The units of all rows, and the labels of the first clusters in their order."""

    units: Units
    classes: list[Any]


def read_constraints(
    n_rows: int, n_clusters: int | None, *, known: Any = None, must_link: Any = None, cannot_link: Any = None
) -> LabelledUnits:
    """Constraints on the rows, contracted to units and free of direct contradictions.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_clusters : int or None
        Number of clusters, None where it is not known yet.
    known, must_link, cannot_link
        As above, None for nothing.

    Returns
    -------
    LabelledUnits
        Labels are given to clusters in sorted order. The order of links does not matter.

    Raises
    ------
    InvalidDataError
        If something cannot be read, or if statements contradict each other: with the shortest chain that shows why.
    """
    labels, classes = _read_column(known, n_rows, "known", "labels")
    if n_clusters is not None and len(classes) > n_clusters:
        shown = ", ".join(map(repr, classes[:5])) + (", ..." if len(classes) > 5 else "")
        raise InvalidDataError(
            f"known holds {len(classes)} labels ({shown}), but n_clusters={n_clusters}; every label needs a cluster of "
            "its own: raise n_clusters or merge labels."
        )
    together = _Statements(n_rows)
    together.add_groups(labels, [f"same known label {name!r}" for name in classes])
    pairs, groups, names = _read_links(must_link, n_rows, "must_link")
    together.add_groups(groups, [f"same group {name!r} of must_link" for name in names])
    together.add_pairs(pairs)
    apart = _read_apart(cannot_link, n_rows, n_clusters)
    root = together.components()
    label_roots = root[n_rows : n_rows + len(classes)]
    _check_labels(together, label_roots, classes)
    _check_apart(together, apart, root)
    units = _contract(root[:n_rows], label_roots, apart)
    if n_clusters is not None:
        check_cliques(units, n_clusters)
    return LabelledUnits(units, classes)


def _contract(root: Ints, label_roots: Ints, apart: Ints) -> Units:
    first, of_row = np.unique(root, return_inverse=True)  # a root is the first row of its unit
    anchors = np.full(len(first), -1)
    anchors[np.searchsorted(first, label_roots)] = np.arange(len(label_roots))
    pairs = np.sort(of_row[apart], axis=1).reshape(-1, 2)
    both = anchors[pairs]
    settled = (both >= 0).all(axis=1)  # two labels: two clusters
    return Units(of_row, np.bincount(of_row), anchors, np.unique(pairs[~settled], axis=0))


# Reading


_COLUMN_RULE = "give every row a number or a text, -1 where there is none."


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas' own
        return True
    return bool(isinstance(value, Real) and (value == -1 or value != value)) or (
        isinstance(value, str) and value == "-1"
    )


def _read_column(values: Any, n_rows: int, name: str, what: str) -> tuple[Ints, list[Any]]:
    """Numbers of the distinct values in sorted order, -1 for missing ones, and these values."""
    if values is None:
        return np.full(n_rows, -1), []
    if isinstance(values, np.ma.MaskedArray):
        is_masked, values = np.ma.getmaskarray(values), values.data.astype(object)
        values[is_masked] = None
    if not hasattr(values, "__array__"):
        values = _as_objects(values, name, what)
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise InvalidDataError(
            f"{name} has shape {column.shape}, X has {n_rows} rows; {what} need one entry a row, -1 where there is "
            "none."
        )
    if column.dtype.kind in "iub":
        values, codes = np.unique(column, return_inverse=True)
        distinct = values.tolist()
    else:
        try:
            distinct, codes = _code(column.tolist())
        except TypeError as error:
            raise InvalidDataError(f"{name} holds a value that cannot be compared ({error}); {_COLUMN_RULE}") from error
    missing = np.array([_is_missing(value) for value in distinct], dtype=bool)
    number = np.where(missing, -1, np.cumsum(~missing) - 1)
    return number[codes.ravel()], [value for value, gone in zip(distinct, missing, strict=True) if not gone]


def _as_objects(values: Any, name: str, what: str) -> Any:
    """A list as an array of its entries, whatever they are."""
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise InvalidDataError(
            f"{name} is of type {type(values).__name__}; {what} are a list or an array: {_COLUMN_RULE}"
        )
    return np.array([*values], dtype=object)


def _code(items: list[Any]) -> tuple[list[Any], Ints]:
    """Distinct values, sorted where they can be, and the place of every item among them."""
    items = [None if _is_missing(item) else _plain(item) for item in items]
    present = set(items) - {None}
    try:
        distinct = sorted(present)
    except TypeError:  # such as numbers and strings
        distinct = sorted(present, key=lambda item: (type(item).__name__, str(item)))
    distinct = [None, *distinct]
    place = {value: i for i, value in enumerate(distinct)}
    return distinct, np.array([place[item] for item in items], dtype=np.int64)


def _plain(value: Any) -> Any:
    """A Python value; whole numbers that NaN made floats are ints again."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_links(links: Any, n_rows: int, name: str) -> tuple[Ints, Ints, list[Any]]:
    """Pairs (m, 2), group of every row (-1: none), and names of the groups; one of the two forms is empty."""
    no_pairs = np.empty((0, 2), np.int64)
    if links is not None and (not hasattr(links, "__len__") or getattr(links, "ndim", 1) == 0):
        raise InvalidDataError(
            f"{name} is of type {type(links).__name__}; pass pairs of row numbers, or one group per row "
            "with -1 for none."
        )
    if links is None or len(links) == 0:
        return no_pairs, np.full(n_rows, -1), []
    table = np.asarray(links, dtype=None if hasattr(links, "__array__") else object)
    if table.ndim == 1:
        return no_pairs, *_read_column(links, n_rows, name, "groups")
    pairs = np.asarray(links)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidDataError(
            f"{name} has shape {pairs.shape} and dtype {pairs.dtype}; pass pairs of row numbers as integers of shape "
            "(m, 2), or one group per row with -1 for none."
        )
    wrong = np.flatnonzero(((pairs < 0) | (pairs >= n_rows)).any(axis=1))
    if len(wrong):
        raise InvalidDataError(
            f"{name}[{wrong[0]}] = {pairs[wrong[0]].tolist()}, but rows are numbered from 0 to {n_rows - 1}; remove "
            "the link or number the rows of X."
        )
    return pairs.astype(np.int64), np.full(n_rows, -1), []


def _read_apart(cannot_link: Any, n_rows: int, n_clusters: int | None) -> Ints:
    """All pairs of rows that are to be apart, each once."""
    pairs, groups, names = _read_links(cannot_link, n_rows, "cannot_link")
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise InvalidDataError(
            f"cannot_link[{same[0]}] sets row {pairs[same[0], 0]} apart from itself; remove the link."
        )
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.searchsorted(groups[order], np.arange(len(names))))[1:]
    for name, rows in zip(names, members, strict=True):
        if n_clusters is not None and len(rows) > n_clusters:
            raise InvalidDataError(
                f"Group {name!r} of cannot_link holds {len(rows)} rows, such as {_listed(rows)}, which are all to be "
                f"in different clusters, but n_clusters={n_clusters}; raise n_clusters or split the group."
            )
    cliques = [np.stack(np.triu_indices(len(rows), 1), axis=1) for rows in members]
    pairs = np.concatenate([pairs, *(rows[clique] for rows, clique in zip(members, cliques, strict=True))])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _listed(rows: Any) -> str:
    return ", ".join(map(str, list(rows)[:6])) + (", ..." if len(rows) > 6 else "")


# Units and contradictions


class _Statements:
    """Statements that rows are together, as a graph of rows and statements; ``reasons`` says each in words."""

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self.reasons: list[str] = []
        self._edges: list[Ints] = [np.empty((0, 2), np.int64)]

    def add_groups(self, groups: Ints, reasons: Sequence[str]) -> None:
        """Rows of the same number are together."""
        rows = np.flatnonzero(groups >= 0)
        self._edges.append(np.stack([rows, self.n_rows + len(self.reasons) + groups[rows]], axis=1))
        self.reasons += reasons

    def add_pairs(self, pairs: Ints) -> None:
        """The rows of every pair are together."""
        numbers = self.n_rows + len(self.reasons) + np.arange(len(pairs))
        self._edges += [np.stack([pairs[:, side], numbers], axis=1) for side in (0, 1)]
        self.reasons += ["must-link"] * len(pairs)

    def components(self) -> Ints:
        """For every row and statement the first row that it is connected with, by hooking and shortcutting."""
        edges = np.concatenate(self._edges)
        root = np.arange(self.n_rows + len(self.reasons))
        while True:
            ends = np.sort(root[edges], axis=1)
            if (ends[:, 0] == ends[:, 1]).all():
                return root
            np.minimum.at(root, ends[:, 1], ends[:, 0])
            while not np.array_equal(root[root], root):
                root = root[root]

    def chain(self, start: int, end: int) -> list[int]:
        """The shortest path between two nodes, rows and statements in turn; both must be connected."""
        neighbours: dict[int, list[int]] = {}
        for row, statement in np.concatenate(self._edges).tolist():
            neighbours.setdefault(row, []).append(statement)
            neighbours.setdefault(statement, []).append(row)
        parents, queue = {start: start}, deque([start])
        while end not in parents:
            node = queue.popleft()
            for other in sorted(neighbours.get(node, ())):
                if other not in parents:
                    parents[other] = node
                    queue.append(other)
        path = [end]
        while path[-1] != start:
            path.append(parents[path[-1]])
        return path[::-1]

    def in_words(self, path: Sequence[int]) -> str:
        """A path from row to row in words."""
        steps = zip(path[:-2:2], path[1:-1:2], path[2::2], strict=True)
        return ", ".join(f"{a} - {b} ({self.reasons[by - self.n_rows]})" for a, by, b in steps)


def _check_labels(together: _Statements, label_roots: Ints, classes: Sequence[Any]) -> None:
    """Refuse two known labels in one unit."""
    order = np.argsort(label_roots, kind="stable")
    twice = np.flatnonzero(np.diff(label_roots[order]) == 0)
    if not len(twice):
        return
    n = together.n_rows
    paths = [together.chain(n + int(order[i]), n + int(order[i + 1])) for i in twice[:CHAINS]]
    path = min(paths, key=len)
    first, last = (classes[node - n] for node in (path[0], path[-1]))
    raise InvalidDataError(
        f"Rows {path[1]} and {path[-2]} are known as {first!r} and {last!r}, but links put them together: "
        f"{together.in_words(path[1:-1])}; remove one of these statements."
    )


def _check_apart(together: _Statements, apart: Ints, root: Ints) -> None:
    """Refuse rows that are to be apart, and together by other statements."""
    broken = apart[root[apart[:, 0]] == root[apart[:, 1]]]
    if not len(broken):
        return
    path = min((together.chain(a, b) for a, b in broken[:CHAINS].tolist()), key=len)
    raise InvalidDataError(
        f"Rows {path[0]} and {path[-1]} cannot be together by cannot_link, but {together.in_words(path)}; remove one "
        "of these statements."
    )


def check_cliques(units: Units, n_clusters: int, rows: Ints | None = None) -> None:
    """Refuse units that are all apart, or apart from the known labels of all clusters, if found by a greedy search.

    ``rows`` are the numbers of the rows in the user's table, if these are not all of it.
    """
    clique = next((clique for clique in _cliques(units) if len(clique) > n_clusters), None)
    if clique is None:
        return
    owners, first_row = np.unique(units.of_row, return_index=True)
    shown = first_row[np.isin(owners, clique)]
    raise InvalidDataError(
        f"The {len(clique)} rows {_listed(shown if rows is None else rows[shown])} are all to be in different clusters "
        f"by cannot_link and known labels, but n_clusters={n_clusters}; raise n_clusters or remove links."
    )


def largest_clique(units: Units) -> int:
    """How many units were found that all have to be in different clusters."""
    return max(map(len, _cliques(units)), default=0)


def _cliques(units: Units) -> Iterator[list[int]]:
    """Sets of units that are all apart by links or known labels, each found greedily from another unit."""
    apart_from: dict[int, set[int]] = {}
    for a, b in units.apart.tolist():
        apart_from.setdefault(a, set()).add(b)
        apart_from.setdefault(b, set()).add(a)
    if not apart_from:
        return
    anchored = dict.fromkeys(np.flatnonzero(units.anchors >= 0).tolist())
    for unit in anchored:  # two known labels: two clusters
        apart_from[unit] = apart_from.get(unit, set()) | (anchored.keys() - {unit})
    for start in sorted(apart_from, key=lambda unit: (-len(apart_from[unit]), unit))[:CLIQUE_TRIES]:
        clique, open_units = [start], apart_from[start]
        while open_units:
            best = min(open_units, key=lambda unit: (-len(apart_from[unit] & open_units), unit))
            clique.append(best)
            open_units = open_units & apart_from[best]
        yield clique
