"""How a user names rows and documents: by an id, or by their numbers from 1; and files of pairs of them."""

import csv
import io
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from widegap.cli._errors import CommandError

if TYPE_CHECKING:
    from widegap.results import DocumentRows, EncodedRows

MAX_LINK_BYTES = 1 << 26  # of a file of links, which is read whole: some millions of lines


class RowNames:
    """Places among the rows that are clustered, by what the user calls them."""

    def __init__(self, rows: "EncodedRows"):
        table = rows.table
        self.id_column = rows.id_columns[0] if rows.id_columns and table.frame is not None else None
        self.n_rows = table.n_rows
        self._rows = rows

    @cached_property
    def _kept(self) -> dict[int, int]:
        return {int(row): place for place, row in enumerate(self._rows.kept)}

    @cached_property
    def _ids(self) -> dict[str, int]:
        from widegap.tables._values import shortest

        cells = self._rows.table.frame[self.id_column].tolist()
        return {str(shortest(cell)).strip(): row for row, cell in enumerate(cells)}

    def find(self, name: str) -> int:
        """The place of a row; refuses unknown names; the caller adds where they stood."""
        row = self.row(name)
        if row is None:
            raise CommandError(f"{name.strip()!r:.80} is not {self.rule}.")
        if row not in self._kept:
            raise CommandError(
                f"row {name.strip()!r} lacks a value and was left out; fill it in, or leave it out here."
            )
        return self._kept[row]

    def row(self, name: str) -> int | None:
        """The row of the table, from 0, or None."""
        name = name.strip()
        if self.id_column is not None:
            return self._ids.get(name)
        is_number = name.isascii() and name.isdigit() and len(name) < 19 and 1 <= int(name) <= self.n_rows
        return int(name) - 1 if is_number else None

    @property
    def rule(self) -> str:
        """What names of rows are."""
        if self.id_column is not None:
            return f"a value of the column {self.id_column!r}, by which the rows are named"
        return f"a row number from 1 to {self.n_rows:,}"


class DocumentNames:
    """Places of documents, by what the user calls them."""

    def __init__(self, rows: "DocumentRows"):
        self._counted = rows.counted
        self._places = {name: place for place, name in enumerate(rows.names)}
        self._junk = set(rows.junk)

    def row(self, name: str) -> int | None:
        """The place of a document, or None."""
        return self._places.get(self._full(name))

    def _full(self, name: str) -> str:
        name = name.strip()
        return name if self._counted is None else f"{self._counted} {name}"

    def find(self, name: str) -> int:
        """The place of a document; refuses unknown names; the caller adds where they stood."""
        place = self.row(name)
        if place is not None:
            return place
        if self._full(name) in self._junk:
            raise CommandError(f"{name.strip()!r} is also in the universum and gets no topic; leave it out here.")
        raise CommandError(f"{name.strip()!r:.80} is not {self.rule}.")

    @property
    def rule(self) -> str:
        """What names of documents are."""
        if self._counted is not None:
            return f"the number of a {self._counted} with a document, counted from 1"
        return f"the name of a document, such as {next(iter(self._places), '')!r}"


def read_pairs(path: Path, option: str) -> Iterator[tuple[int, str, str]]:
    """Line number and both cells of a file of two columns; empty lines are skipped."""
    if not path.is_file():
        raise CommandError(f"{option} {path}: no such file; it needs two columns, separated by commas.")
    if path.stat().st_size > MAX_LINK_BYTES:
        raise CommandError(
            f"{option} {path} is larger than {MAX_LINK_BYTES >> 20} MiB; split it, or use --known-column."
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{option} {path} is not text in UTF-8; save it as CSV in UTF-8.") from error
    first = text.lstrip().partition("\n")[0]
    delimiter = next((sign for sign in ("\t", ";", ",") if sign in first), ",")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != 2:
                raise CommandError(
                    f"{option} {path}, line {reader.line_num}: {len(cells)} columns; there must be two, as in 3,17."
                )
            yield reader.line_num, cells[0].strip(), cells[1].strip()
    except csv.Error as error:
        raise CommandError(f"{option} {path} cannot be read as CSV: {error}.") from error


def read_links(path: Path, option: str, names: "RowNames | DocumentNames", notes: list[str]) -> list[tuple[int, int]]:
    """Pairs of places from a file; a first line in which neither cell names a row is read as column names."""
    found = []
    for place, (line, *pair) in enumerate(read_pairs(path, option)):
        if place == 0 and all(names.row(name) is None for name in pair):
            notes.append(f"{option} {path.name}: the first line, {pair[0]!r} and {pair[1]!r}, names the columns.")
            continue
        try:
            first, second = (names.find(name) for name in pair)
        except CommandError as error:
            raise CommandError(f"{option} {path}, line {line}: {error}") from error
        if first == second:
            raise CommandError(f"{option} {path}, line {line}: links {pair[0]!r} with itself; name two rows.")
        found.append((first, second))
    if not found:
        raise CommandError(f"{option} {path} holds no links; each line names two rows, and a row is {names.rule}.")
    return found
