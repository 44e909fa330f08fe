"""Tables of every kind by column, and names of columns in messages."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from widegap._types import Doubles
from widegap.exceptions import InvalidDataError
from widegap.tables._arrow_tables import arrow_columns
from widegap.tables._regular_text import RegularText
from widegap.tables._values import Cells, as_floats

if TYPE_CHECKING:
    import pyarrow as pa

    from widegap.tables._plain_numbers import NumberSource

SIMILAR = 0.7  # of difflib, from which a name may be meant: "incme" and "income" 0.91, "nope" and "income" 0.6


def as_columns(X: Any) -> "Columns":
    """A table with named columns of pandas, polars or Arrow, or in a text."""
    if isinstance(X, RegularText):
        return Columns(X.column_names, X.column, X.num_rows, X)
    names, at, n_rows, numeric = arrow_columns(X)
    return Columns(names, at, n_rows, _TypedNumbers(at, numeric))


class _TypedNumbers:
    """The columns of a table that it holds as numbers."""

    is_text = False

    def __init__(self, at: "Callable[[int], pa.ChunkedArray]", numeric: set[int]):
        self._at, self.numeric = at, numeric

    def read_numbers(self, table: Doubles, slots: Mapping[int, int]) -> set[int]:
        """Write columns to the slots of a table; all are numbers."""
        for place, slot in slots.items():
            table[:, slot] = as_floats(self._at(place), "number")
        return set()

    def text_at(self, row: int, place: int) -> str:
        """A cell as a text."""
        return str(self._at(place)[row].as_py())


class Columns:
    """Names and cells of a table."""

    def __init__(
        self,
        names: list[str],
        at: "Callable[[int], pa.ChunkedArray]",
        n_rows: int,
        numbers: "NumberSource",
    ):
        self.names, self._at, self.n_rows = names, at, n_rows
        self.number_source = numbers
        self._cells: dict[tuple[str, frozenset[str]], Cells] = {}
        self._places = {name: j for j, name in enumerate(names)}
        if len(self._places) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InvalidDataError(f"Columns must have different names, but {few(twice)} occur more than once; rename.")

    def cells(self, name: str, gaps: frozenset[str]) -> Cells:
        """The cells of a column, read once for as long as this table is looked at, by the words that mean a gap."""
        if (name, gaps) not in self._cells:
            self._cells[name, gaps] = Cells(self._at(self._places[name]), gaps)
        return self._cells[name, gaps]

    def place(self, name: str) -> int:
        """Where a column is."""
        return self._places[name]

    def forget(self, name: str) -> None:
        """Drop what was read of a column."""
        for key in [key for key in self._cells if key[0] == name]:
            del self._cells[key]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)


def few(names: Iterable[str]) -> str:
    """The first names of a list, quoted."""
    names = list(names)
    shown = ", ".join(map(repr, names[:10]))
    return f"{shown}, ..." if len(names) > 10 else shown


def nearest(name: str, names: list[str]) -> str:
    """What the table has instead of a name that it lacks: similar names, or the first ones."""
    lower = {known.lower(): known for known in reversed(names)}
    close = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=SIMILAR)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"it has {few(names)}."
