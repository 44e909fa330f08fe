"""Tables in text files of any dialect: delimiter, header, line ends, lines above the header, uneven rows."""

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass, replace

import pyarrow as pa

from widegap.exceptions import InvalidDataError
from widegap.tables._frames import few
from widegap.tables._headers import joined_header, note_on_header
from widegap.tables._regular_text import RegularText
from widegap.tables._repeated_texts import compact
from widegap.tables._unpacking import SNIFFED, as_utf8, decode, find_encoding, is_utf8

DELIMITERS = ",;\t|"
LINES_SEEN = 50  # from which delimiter and header are found: tables hardly change further down
LARGEST_BLOCK = 1 << 28  # bytes that Arrow parses at once, and a row must fit into one: not tuned
FEWEST_LINES = 3  # of a table with one column in which a delimiter is looked for; two may agree by accident
REGULAR = 0.9  # share of the lines that a sign must cut into the same number of cells; the others may be notes
ENDING = ""  # name of a column that only the delimiters at the ends of lines make
# Bytes that one thread reads: a program that ends while Arrow's threads are just starting is aborted.
SMALL_FILE = 1 << 20


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; None or "auto" where that is to be found out."""

    encoding: str = "auto"
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    line_end: str = "\n"


@dataclass
class Delimited:
    """A table of texts, its dialect, the line of its first row, and what was noticed."""

    table: pa.Table | RegularText
    dialect: Dialect
    first_line: int
    notes: list[str]


def read_delimited(content: bytes, name: str, dialect: Dialect, least: str, remedy: str) -> Delimited:
    """Read a text file as a table whose cells are texts; ``least`` is what an empty one lacks."""
    encoding = find_encoding(content, name, dialect.encoding)
    body = as_utf8(content, name, encoding, remedy)
    head = _head(body, name, remedy)
    if not head or (head.isspace() and body.decode("utf-8").isspace()):
        raise InvalidDataError(f"{name} is empty; it needs a header and {least}.")
    notes = [] if encoding.startswith(("utf", dialect.encoding)) else [f"The text was read as {encoding}, a guess from its letters; use --encoding to choose another."]  # fmt: skip  # noqa: E501
    skipped, declared = _declared_delimiter(head)
    delimiter = _checked(dialect.delimiter) or declared or _delimiter(head, dialect.decimal)
    lines = list(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter))[: LINES_SEEN + skipped]
    if not declared:
        skipped = _lines_above(lines)
        if skipped:
            notes.append(f"The first {_lines(skipped)} above the table {'was' if skipped == 1 else 'were'} not read.")
    names = next(iter(lines[skipped:]), [])
    if not names:
        raise InvalidDataError(f"{name} has an empty line where its header should be; delete that line.")
    joined = _joined(lines[skipped:], dialect)
    if joined is not None:
        skipped, names = skipped + 1, joined
        notes.append(note_on_header(names))
    headless, header_notes = (False, []) if joined is not None else _is_headless(names, dialect)
    width = _width(lines[skipped:], names)
    columns, more = column_names([] if headless else names, len(names))
    columns += [ENDING] * (width - len(names))
    table = _parse(body, name, delimiter, columns, skipped + (not headless), remedy)
    if not len(table):
        raise InvalidDataError(f"{name} has a header but no rows; it needs {least}.")
    if len(table.column_names) == 1:
        notes += _one_column_notes(head, delimiter)
    line_end = "\r\n" if "\r\n" in head else "\n"
    found = replace(dialect, encoding=encoding, delimiter=delimiter, header=not headless, line_end=line_end)
    return Delimited(table, found, skipped + 2 - headless, [*notes, *header_notes, *more])


def _head(body: bytes, name: str, remedy: str) -> str:
    """The first letters of a text in UTF-8."""
    start = body[: 4 * SNIFFED]  # a letter has at most four bytes
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(start)[:SNIFFED]
    except UnicodeDecodeError:
        return decode(body, name, "utf-8", remedy)  # says in which line


def _checked(delimiter: str | None) -> str | None:
    delimiter = "\t" if delimiter in ("\\t", "tab") else delimiter
    if delimiter is not None and len(delimiter) != 1:
        raise InvalidDataError(f"--delimiter {delimiter!r} must be a single character, or 'tab'.")
    return delimiter


def _declared_delimiter(head: str) -> tuple[int, str | None]:
    """A first line such as ``sep=;``, which spreadsheets write: lines to skip, and the delimiter."""
    first = head.splitlines()[0].strip()
    return (1, first[4:]) if first.lower().startswith("sep=") and len(first) == 5 else (0, None)


def _delimiter(head: str, decimal: str | None) -> str:
    """The sign that cuts most lines into the same number of cells; the decimal sign only if there is no other."""
    signs = [sign for sign in DELIMITERS if sign != decimal and sign in head] or [","]
    return max(signs, key=lambda sign: _evenness(head, sign))


def _evenness(head: str, sign: str) -> tuple[float, int]:
    """Share of the lines that have the usual number of cells, if that is above one; and that number."""
    rows = [row for row in csv.reader(io.StringIO(head, newline=""), delimiter=sign) if row][:LINES_SEEN]
    counts = Counter(map(len, rows))
    width, n = max(counts.items(), key=lambda item: (item[0] > 1, item[1], item[0]), default=(1, 1))
    return (n / max(1, len(rows)) if width > 1 else 0.0), width


def _lines_above(lines: list[list[str]]) -> int:
    """Lines above the header: empty, or with less than two filled cells in a table of three or more columns."""
    above = next((j for j, row in enumerate(lines) if len(row) > 1 or any(map(str.strip, row))), 0)
    widths = Counter(len(row) for row in lines if row)
    usual = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))[0]
    if usual < 3:
        return above
    while above < len(lines) and sum(map(bool, map(str.strip, lines[above]))) < 2 <= usual:
        above += 1
    return above if above < len(lines) else 0


def _width(lines: list[list[str]], names: list[str]) -> int:
    """Columns of the table: those of the header, or one more where every row ends in a delimiter."""
    rows = [row for row in lines[1:] if row]
    if rows and all(len(row) == len(names) + 1 and not row[-1].strip() for row in rows):
        return len(names) + 1
    return len(names)


def is_number(cell: str) -> bool:
    """Whether a cell is a number, as programs write it or with a decimal comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _joined(lines: list[list[str]], dialect: Dialect) -> list[str] | None:
    """Names of the columns where the header has two lines; None where it has one, or none."""
    filled = [line for line in lines[1:] if any(map(str.strip, line))]
    if dialect.header is False or len(filled) < 2 or lines[1] is not filled[0]:
        return None
    return joined_header(lines[0], filled[0], filled[1:])


def _one_column_notes(head: str, delimiter: str) -> list[str]:
    """A question about a sign that cuts the lines of a table with one column evenly."""
    lines = [line for line in head.splitlines() if line.strip()][:LINES_SEEN]
    if len(lines) < FEWEST_LINES:
        return []
    are_numbers = all(map(is_number, lines[1:]))  # with a decimal comma, unless the header has commas as well
    signs = [sign for sign in DELIMITERS if sign != delimiter and sign in (lines[0] if are_numbers else head)]
    if _has_spaced_numbers(lines) and delimiter != " ":
        signs.append(" ")
    for sign in signs:
        share, width = _evenness(head, sign)
        if width > 1 and share >= REGULAR:
            shown = "tab" if sign == "\t" else sign
            return [f"Only one column found; is {shown!r} the delimiter? Pass --delimiter {shown!r} to use it."]
    return []


def _has_spaced_numbers(lines: list[str]) -> bool:
    """Whether single spaces cut lines of numbers; words of a sentence are not cells."""
    cells = [cell for line in lines[1:] for cell in line.split(" ")]
    return 2 * sum(map(is_number, cells)) > len(cells)


def _is_headless(head: list[str], dialect: Dialect) -> tuple[bool, list[str]]:
    """Whether the first line is a row rather than names of columns, and a note on it."""
    if dialect.header is not None:
        return not dialect.header, []
    n_numbers = sum(map(is_number, head))
    if head and n_numbers == len(head):
        return True, ["The first line holds only numbers, so it was read as a row; pass --header if it holds names."]
    if n_numbers:
        shown = next(cell for cell in head if is_number(cell))
        return False, [
            f"The first line was read as names of columns, though {shown.strip()!r} is a number; pass --no-header if "
            "it is a row."
        ]
    return False, []


def column_names(names: list[str], width: int) -> tuple[list[str], list[str]]:
    """Different names for all columns, and notes on empty ones and on those that occur twice."""
    found: dict[str, None] = {}
    empty, twice = [], []
    for j in range(width):
        name = (names[j] if j < len(names) else "").strip()
        if not name and names:
            empty.append(j + 1)
        name = name or f"column {j + (1 if names else 0)}"
        if name in found:
            twice.append(name)
            name = next(f"{name} ({i})" for i in range(2, width + 2) if f"{name} ({i})" not in found)
        found[name] = None
    notes = []
    if empty:
        shown = ", ".join(map(str, empty[:10]))
        notes.append(f"The header has no name for column {shown}; called 'column {empty[0]}' and so on.")
    if twice:
        notes.append(f"The header names {few(dict.fromkeys(twice))} more than once; called '{twice[0]} (2)' and so on.")
    return list(found), notes


def _lines(n: int) -> str:
    return "line" if n == 1 else f"{n} lines"


def _parse(
    body: bytes, name: str, delimiter: str, columns: list[str], skipped: int, remedy: str
) -> "pa.Table | RegularText":
    """The rows below the header: as texts, or as they are where they are many regular lines of numbers."""

    def texts() -> pa.Table:
        return _texts(body, name, delimiter, columns, skipped, remedy)

    may_be_regular = len(body) > SMALL_FILE and len(columns) > 1 and ENDING not in columns and delimiter.isascii()
    if not may_be_regular or b'"' in body or not is_utf8(body):
        return texts()
    begin = 0
    for _ in range(skipped):
        begin = body.find(b"\n", begin) + 1
    return RegularText.find(body, begin, delimiter, columns, texts) or texts()


def _texts(body: bytes, name: str, delimiter: str, columns: list[str], skipped: int, remedy: str) -> pa.Table:
    """The rows as texts; Arrow reads even tables, Python those with short rows and says what is wrong."""
    from pyarrow import csv as arrow

    keys, quoted = [str(j) for j in range(len(columns))], b'"' in body
    is_large = len(body) > SMALL_FILE

    def read(*, cut_quotes: bool) -> pa.Table:
        """``cut_quotes``: blocks may end inside of quotes, which Arrow refuses."""
        options = arrow.ReadOptions(
            column_names=keys, skip_rows=skipped, block_size=_block(body, quoted and not cut_quotes), use_threads=False
        )
        parsing = arrow.ParseOptions(delimiter=delimiter, newlines_in_values=quoted and not cut_quotes)
        converting = arrow.ConvertOptions(column_types=dict.fromkeys(keys, pa.string()), strings_can_be_null=False)
        if not is_large:
            return arrow.read_csv(pa.BufferReader(body), options, parsing, converting)
        return compact(arrow.open_csv(pa.BufferReader(body), options, parsing, converting))

    try:
        table = read(cut_quotes=is_large)
    except pa.ArrowInvalid:
        try:
            if not (is_large and quoted):
                raise
            table = read(cut_quotes=False)
        except pa.ArrowInvalid:
            table = _parse_uneven(decode(body, name, "utf-8", remedy), name, delimiter, keys, skipped)
    return _without_ending(table.rename_columns(columns))


def _block(body: bytes, quoted: bool) -> int:
    """Bytes read at once: a row has to fit, and where lines may lie inside of quotes the fewer cuts the faster."""
    if quoted or len(body) <= SMALL_FILE:
        return min(len(body) + 1, LARGEST_BLOCK)
    return min(max(SMALL_FILE, len(body) // 64), LARGEST_BLOCK)


def _parse_uneven(text: str, name: str, delimiter: str, keys: list[str], skipped: int) -> pa.Table:
    """The same row by row: short rows have gaps at their end, long ones are refused."""
    width, rows = len(keys), []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for number, row in enumerate(reader):
            if number < skipped or not row:
                continue
            if len(row) > width and any(map(str.strip, row[width:])):
                raise InvalidDataError(
                    f"{name}, line {reader.line_num} has {len(row)} cells, but the table has {width} columns; check "
                    "the quotes and delimiters there."
                )
            rows.append(row[:width] + [""] * (width - len(row)))
    except csv.Error as error:
        raise InvalidDataError(
            f"{name} cannot be read as a table: line {reader.line_num}, {error}; check the quotes there."
        ) from error
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)] or [pa.array([], pa.string())] * width
    return pa.Table.from_arrays(columns, names=keys)


def _without_ending(table: pa.Table) -> pa.Table:
    """The table without the column that only the delimiters at the ends of lines made."""
    import pyarrow.compute as pc

    if table.column_names[-1] != ENDING:
        return table
    if pc.any(pc.not_equal(table.column(table.num_columns - 1), "")).as_py():
        return table.rename_columns([*table.column_names[:-1], f"column {table.num_columns}"])
    return table.remove_column(table.num_columns - 1)
