"""Documents from a folder, a JSONL file, a column of a table, or lines."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError
from widegap.exceptions import InvalidDataError

ENDINGS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm")
OFFICE = (".pdf", ".docx")
NO_TEXT = "convert it to plain text, or leave it out"
SHOWN_NAMES = 5  # of files that are skipped
ID_NAMES = ("id", "_id", "key", "uid", "uuid", "doc_id", "document_id", "url", "name", "file")
TITLE_NAMES = ("title", "headline", "subject")
TEXT_NAMES = ("text", "body", "content", "document", "message", "abstract", "description")


@dataclass
class Documents:
    """Texts, what to call each, the table they came from if there was one, what was noticed, and their titles.

    Names are those that the documents have, or "row 1" or "line 1", where ``counted`` is "row" or "line".
    """

    names: list[str]
    texts: list[str]
    frame: Any
    notes: list[str]
    dialect: Any = None  # of the text file that a table came from
    titles: list[str] | None = None
    counted: str | None = None
    entries: list[dict[str, Any]] | None = None  # of JSON lines
    left_out: tuple[str, ...] = ()  # names of documents that were taken out

    @property
    def columns(self) -> list[str]:
        """What there is besides the texts, by name."""
        if self.entries is not None:
            return list(dict.fromkeys(key for entry in self.entries for key in entry))
        return [] if self.frame is None else [str(name) for name in self.frame.columns]

    def column(self, name: str) -> list[Any]:
        """A column of the table, or what JSON lines hold under a key, None where they have none."""
        if self.entries is not None:
            return [None if entry.get(name) is None else str(entry[name]) for entry in self.entries]
        return self.frame[name].tolist()

    def items(self) -> list[tuple[str, str]]:
        """Title and body of every document; the title is its first line where nothing else gives one."""
        from widegap._wording import titled

        if self.titles is None:
            return [tuple(titled(text)) for text in self.texts]
        return list(zip(self.titles, self.texts, strict=True))

    def without(self, chosen: set[int]) -> "Documents":
        """The documents without some of them."""
        rows = [i for i in range(len(self.texts)) if i not in chosen]
        frame = None if self.frame is None else self.frame.iloc[rows].reset_index(drop=True)
        titles = None if self.titles is None else [self.titles[i] for i in rows]
        entries = None if self.entries is None else [self.entries[i] for i in rows]
        names, texts = ([values[i] for i in rows] for values in (self.names, self.texts))
        left_out = tuple(self.names[i] for i in sorted(chosen))
        changed = {"names": names, "texts": texts, "frame": frame, "titles": titles, "entries": entries}
        return replace(self, **changed, left_out=left_out)


REFUSALS = (CommandError, InvalidDataError)


def read_documents(source: Path, text_column: str | None, encoding: str, known: str | None = None) -> Documents:
    """Read documents; "-" is standard input, one document a line (or one JSON object).

    ``known`` may name a column of labels, which then holds no texts.
    """
    from widegap.tables._unpacking import decode

    if str(source) == "-":
        text = decode(sys.stdin.buffer.read(), "standard input", encoding, NO_TEXT)
        return _from_lines(text, "standard input", text_column)
    if source.is_dir():
        return _from_folder(source, encoding)
    if not source.exists():
        raise CommandError(f"{source}: no such file or folder; check the name.")
    ending = source.suffix.lower()
    if ending in (".csv", ".tsv", ".parquet"):
        return _from_table(source, text_column, encoding, known)
    if ending in OFFICE:
        raise CommandError(f"{source} is a single document; put it in a folder with others, and name the folder.")
    text = decode(source.read_bytes(), str(source), encoding, NO_TEXT)
    return _from_lines(text, str(source), text_column, ending)


def _from_folder(folder: Path, encoding: str) -> Documents:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    paths = [path for path in files if path.suffix.lower() in (*ENDINGS, *OFFICE)]
    if not paths:
        raise CommandError(f"{folder} holds no documents; they end in {', '.join((*ENDINGS, *OFFICE))}.")
    names, texts, notes = [], [], []
    for path in paths:
        try:
            texts.append(_text_of(path, encoding))
            names.append(path.relative_to(folder).as_posix())
        except REFUSALS as error:
            notes.append(f"Skipped: {error}")
    if not texts:
        raise CommandError(f"{folder}: none of {len(paths)} files could be read. {notes[0]}")
    others = [path.relative_to(folder).as_posix() for path in files if path not in set(paths)]
    if others:
        more = f" and {len(others) - SHOWN_NAMES} more" if len(others) > SHOWN_NAMES else ""
        notes.append(f"Skipped, as their names do not end like documents: {', '.join(others[:SHOWN_NAMES])}{more}.")
    return Documents(names, texts, None, notes)


def _text_of(path: Path, encoding: str) -> str:
    if path.suffix.lower() in OFFICE:
        from widegap.cli._document_files import read_office

        return read_office(path)
    from widegap.tables._unpacking import decode

    return decode(path.read_bytes(), str(path), encoding, NO_TEXT)


def _from_lines(text: str, name: str, text_column: str | None, ending: str = "") -> Documents:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise CommandError(f"{name} is empty; at least two documents are needed.")
    if ending in (".jsonl", ".ndjson", ".json") or (not ending and lines[0].lstrip().startswith("{")):
        return _from_json(lines, name, text_column)
    names = [f"line {i}" for i in range(1, len(lines) + 1)]
    return Documents(names, lines, None, [f"Every line of {name} was taken for one document."], counted="line")


def _from_json(lines: list[str], name: str, text_column: str | None) -> Documents:
    entries, key = [], text_column
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CommandError(
                f"{name}, line {number} is not JSON ({error}); every line must be one object."
            ) from error
        if not isinstance(entry, dict):
            raise CommandError(f'{name}, line {number}: must be an object such as {{"text": "..."}}.')
        key = key or next((known for known in TEXT_NAMES if known in entry), None)
        if key is None or key not in entry:
            raise CommandError(
                f"{name}, line {number}: no text under {key!r}; it has {list(entry)[:10]}: --text-column."
            )
        entries.append(entry)
    texts = [str(entry[key]) for entry in entries]
    names = [f"line {i}" for i in range(1, len(texts) + 1)]
    found = Documents(names, texts, None, [], counted="line", entries=entries)
    id_key, title_key = (
        next((k for k in known if all(k in entry for entry in entries)), None) for known in (ID_NAMES, TITLE_NAMES)
    )
    if id_key is not None:
        import pandas as pd

        found.names, found.counted = [str(entry[id_key]) for entry in entries], None
        found.frame = pd.DataFrame({id_key: [entry[id_key] for entry in entries]})
    if title_key is not None and title_key != key:
        found.titles = [str(entry[title_key]) for entry in entries]
    return found


def _from_table(source: Path, text_column: str | None, encoding: str, known: str | None) -> Documents:
    from widegap.tables._delimited import Dialect
    from widegap.tables._reading import read_table

    table = read_table(source, Dialect(encoding), least="at least one document")
    frame = table.frame
    if text_column is not None and text_column not in frame.columns:
        raise CommandError(f"{source} has no column {text_column!r}; it has {list(frame.columns)[:10]}.")
    notes = []
    if text_column is not None and _holds_numbers(frame[text_column]):
        raise CommandError(f"{source}: column {text_column!r} holds numbers, not texts; name another --text-column.")
    if text_column is None:
        worded = [name for name in frame.columns if name != known and not _holds_numbers(frame[name])]
        if not worded:
            raise CommandError(
                f"{source} has no column of texts, only numbers ({list(frame.columns)[:10]}); 'widegap cluster' groups "
                "rows of numbers."
            )
        lengths = {name: frame[name].astype(str).str.len().mean() for name in worded}
        text_column = max(lengths, key=lambda name: lengths[name])
        notes.append(f"The texts were taken from column {text_column!r}, the longest; --text-column names another.")
    texts = frame[text_column].fillna("").astype(str).tolist()
    names = [f"row {i}" for i in range(1, len(texts) + 1)]
    found = Documents(names, texts, frame, notes, table.dialect, counted="row")
    lowered = {str(name).lower(): name for name in frame.columns if name != text_column}
    id_name, title_name = (next((lowered[k] for k in known if k in lowered), None) for known in (ID_NAMES, TITLE_NAMES))
    if id_name is not None and frame[id_name].is_unique:
        found.names, found.counted = frame[id_name].astype(str).tolist(), None
    if title_name is not None:
        found.titles = frame[title_name].fillna("").astype(str).tolist()
    return found


def _holds_numbers(series: Any) -> bool:
    """Whether all cells of a column that hold anything are numbers."""
    from widegap.tables._values import Cells

    cells = Cells(series)
    return bool((cells.missing | cells.numbers(None).read).all())
