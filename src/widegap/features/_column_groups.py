"""Which columns of X belong together as one column of the user's table: the flags of a category, the parts of a text.

Methods that weigh every column of a table alike have to know that five flags are one category. What they are told is a
list of ``ColumnGroup``, one for each column of the table, in the order of the columns of X and without gaps. It comes

- from the user: names, or slices, of the columns that form one category each; all others are numbers;
- from ``TableEncoder``, whose arrays carry it (``EncodedTable``), also through slices of rows;
- from a data frame: columns of truth values or of categories, and columns that ``TableEncoder`` named "kind = new".

Anything else says nothing about its columns: all of them are numbers, and ``column_groups`` gives None.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from widegap._types import Floats
from widegap.exceptions import InvalidDataError

IS = " = "  # between the name of a category and the level, in the names that TableEncoder gives to flags


@dataclass(frozen=True)
class ColumnGroup:
    """Columns ``first`` to ``stop - 1`` of X: one column of a table, with the weight that the user gives it."""

    first: int
    stop: int
    is_category: bool = False
    weight: float = 1.0

    @property
    def columns(self) -> slice:
        """Its columns of X."""
        return slice(self.first, self.stop)


class EncodedTable(np.ndarray[Any, Any]):
    """An array that knows which of its columns form one column of a table; ordinary in every other way."""

    _groups: Sequence[ColumnGroup] | None

    @classmethod
    def of(cls, values: Floats, groups: Sequence[ColumnGroup]) -> "EncodedTable":
        """The values, without a copy."""
        found = values.view(cls)
        found._groups = groups
        return found

    @property
    def column_groups(self) -> Sequence[ColumnGroup] | None:
        """The groups of the columns; None where the columns are others than those of the table."""
        fits = self._groups is not None and self.ndim == 2 and self.shape[1] == self._groups[-1].stop
        return self._groups if fits else None

    def __array_finalize__(self, source: Any) -> None:
        self._groups = getattr(source, "_groups", None)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        of_columns = index[1:] if isinstance(index, tuple) else ()
        keeps = all(part is Ellipsis or (isinstance(part, slice) and part == slice(None)) for part in of_columns)
        if isinstance(found, EncodedTable) and not keeps:
            found._groups = None
        return found


def shuffle_groups(X: EncodedTable, rng: np.random.Generator) -> EncodedTable:
    """The table with every group of columns shuffled on its own: no row has two levels of a category."""
    assert X.column_groups is not None
    parts = [np.asarray(X)[rng.permutation(len(X)), group.columns] for group in X.column_groups]
    return EncodedTable.of(np.hstack(parts), X.column_groups)


def column_groups(columns: Any, X: Any, n_features: int) -> Sequence[ColumnGroup] | None:
    """The groups of the columns of X, as the user or X tells; None if all columns are numbers.

    ``columns`` is "auto", None, or a list of names and slices.
    """
    if columns is None:
        return None
    names = _names(X)
    if not isinstance(columns, str):
        return _with_numbers([_category(entry, names, n_features) for entry in columns], n_features)
    told = getattr(X, "column_groups", None)
    if told is not None:
        return list(told)
    return None if names is None else _from_frame(X, names, n_features)


def _names(X: Any) -> list[str] | None:
    """Names of the columns of a frame."""
    found = getattr(X, "columns", None)
    return None if found is None else [str(name) for name in found]


def _category(entry: Any, names: list[str] | None, n_features: int) -> ColumnGroup:
    """What the user calls one category: a slice, or the name of a column or of the column that flags came from."""
    if isinstance(entry, slice):
        first, stop, step = entry.indices(n_features)
        if step != 1 or first >= stop:
            raise InvalidDataError(
                f"columns has {entry}, which is not a run of the {n_features} columns of X; pass slices such as "
                "slice(2, 5)."
            )
        return ColumnGroup(first, stop, is_category=True)
    if names is None:
        raise InvalidDataError(
            f"columns has {entry!r}, but X has no names; pass slices such as slice(2, 5), or a data frame."
        )
    found = [j for j, name in enumerate(names) if name == entry or name.startswith(f"{entry}{IS}")]
    if not found or found[-1] - found[0] + 1 != len(found):
        raise InvalidDataError(
            f"columns has {entry!r}, but X has no such column, nor neighbouring columns '{entry}{IS}...'; its columns "
            f"are {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}."
        )
    return ColumnGroup(found[0], found[-1] + 1, is_category=True)


def _with_numbers(categories: list[ColumnGroup], n_features: int) -> list[ColumnGroup]:
    """All groups: the categories, and a number for every other column."""
    owners = [group for group in categories for _ in range(group.first, group.stop)]
    taken = [j for group in categories for j in range(group.first, group.stop)]
    if len(set(taken)) < len(taken):
        twice = next(j for j in taken if taken.count(j) > 1)
        raise InvalidDataError(f"columns puts column {twice} of X into two categories; name it once.")
    of_column = dict(zip(taken, owners, strict=True))
    found = dict.fromkeys(of_column.get(j, ColumnGroup(j, j + 1)) for j in range(n_features))
    return list(found)


def _from_frame(X: Any, names: list[str], n_features: int) -> list[ColumnGroup] | None:
    """Groups by the types of a frame's columns and by the names of flags; None if all are numbers."""
    in_memory = not hasattr(X, "__dask_graph__")
    categories = [group for group in _runs_of_flags(names) if in_memory and _holds_flags(X, group)]
    taken = {j for group in categories for j in range(group.first, group.stop)}
    kinds = [str(kind).lower() for kind in getattr(X, "dtypes", [""] * len(names))]
    marked = [j for j, kind in enumerate(kinds) if kind.startswith(("bool", "categ", "enum"))]
    categories += [ColumnGroup(j, j + 1, is_category=True) for j in marked if j not in taken]
    return _with_numbers(categories, n_features) if categories else None


def _runs_of_flags(names: list[str]) -> Iterator[ColumnGroup]:
    """Neighbouring columns with names such as "kind = new"."""
    first = 0
    for stem, run in groupby(name.partition(IS)[0] if IS in name else None for name in names):
        stop = first + len(list(run))
        if stem is not None:
            yield ColumnGroup(first, stop, is_category=True)
        first = stop


def _holds_flags(X: Any, group: ColumnGroup) -> bool:
    """Whether every column of a group has two values at most, and no row has more than one flag."""
    values = np.asarray(X)[:, group.columns].astype(np.float64)
    raised = values > values.min(axis=0, initial=0.0)
    two = all(len(np.unique(column[high])) <= 1 for column, high in zip(values.T, raised.T, strict=True))
    return two and bool((raised.sum(axis=1) <= 1).all())
