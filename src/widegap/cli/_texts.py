"""Documents from a folder, a JSONL file, a column of a table, or lines."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from widegap.cli._cells import is_missing, is_number
from widegap.cli._errors import CommandError
from widegap.cli._reading import Dialect, decode, read_table

ENDINGS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm")
NO_TEXT = "convert it to plain text, or leave it out"
TEXT_NAMES = ("text", "body", "content", "document", "message", "abstract", "description")


@dataclass
class Documents:
    """Texts, what to call each, the table they came from if there was one, and what was noticed."""

    names: list[str]
    texts: list[str]
    frame: Any
    notes: list[str]
    from_text: bool = False  # the table came from a text file


def read_documents(source: Path, text_column: str | None, encoding: str) -> Documents:
    """Read documents; "-" is standard input, one document a line (or one JSON object)."""
    if str(source) == "-":
        text = decode(sys.stdin.buffer.read(), "standard input", encoding, NO_TEXT)
        return _from_lines(text, "standard input", text_column)
    if source.is_dir():
        return _from_folder(source, encoding)
    if not source.exists():
        raise CommandError(f"{source}: no such file or folder; check the name.")
    ending = source.suffix.lower()
    if ending in (".csv", ".tsv", ".parquet"):
        return _from_table(source, text_column, encoding)
    text = decode(source.read_bytes(), str(source), encoding, NO_TEXT)
    return _from_lines(text, str(source), text_column, ending)


def _from_folder(folder: Path, encoding: str) -> Documents:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    if not paths:
        raise CommandError(f"{folder} holds no documents; they end in {', '.join(ENDINGS)}.")
    names, texts, notes = [], [], []
    for path in paths:
        try:
            texts.append(decode(path.read_bytes(), str(path), encoding, NO_TEXT))
            names.append(path.relative_to(folder).as_posix())
        except CommandError as error:
            notes.append(f"Left out: {error}")
    if not texts:
        raise CommandError(f"{folder}: none of {len(paths)} files is text in {encoding}. {notes[0]}")
    return Documents(names, texts, None, notes)


def _from_lines(text: str, name: str, text_column: str | None, ending: str = "") -> Documents:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise CommandError(f"{name} is empty; at least two documents are needed.")
    if ending in (".jsonl", ".ndjson", ".json") or (not ending and lines[0].lstrip().startswith("{")):
        return _from_json(lines, name, text_column)
    names = [f"line {i}" for i in range(1, len(lines) + 1)]
    return Documents(names, lines, None, [f"Every line of {name} was taken for one document."])


def _from_json(lines: list[str], name: str, text_column: str | None) -> Documents:
    texts, key = [], text_column
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CommandError(f"{name}, line {number}: no JSON ({error}); every line must be one object.") from error
        if not isinstance(entry, dict):
            raise CommandError(f'{name}, line {number}: must be an object such as {{"text": "..."}}.')
        key = key or next((known for known in TEXT_NAMES if known in entry), None)
        if key is None or key not in entry:
            raise CommandError(
                f"{name}, line {number}: no text under {key!r}; it has {list(entry)[:10]}: --text-column."
            )
        texts.append(str(entry[key]))
    return Documents([f"line {i}" for i in range(1, len(texts) + 1)], texts, None, [])


def _from_table(source: Path, text_column: str | None, encoding: str) -> Documents:
    table = read_table(source, Dialect(encoding), least="at least one document")
    frame = table.frame
    if text_column is not None and text_column not in frame.columns:
        raise CommandError(f"{source} has no column {text_column!r}; it has {list(frame.columns)[:10]}.")
    notes = []
    if text_column is not None and _holds_numbers(frame[text_column]):
        raise CommandError(f"{source}: column {text_column!r} holds numbers, not texts; name another --text-column.")
    if text_column is None:
        worded = [name for name in frame.columns if not _holds_numbers(frame[name])]
        if not worded:
            raise CommandError(
                f"{source} has no column of texts, only numbers ({list(frame.columns)[:10]}); 'widegap cluster' groups "
                "rows of numbers."
            )
        lengths = {name: frame[name].astype(str).str.len().mean() for name in worded}
        text_column = max(lengths, key=lambda name: lengths[name])
        notes.append(f"The texts were taken from column {text_column!r}, the longest; --text-column names another.")
    texts = frame[text_column].fillna("").astype(str).tolist()
    return Documents([f"row {i}" for i in range(len(texts))], texts, frame, notes, table.from_text)


def _holds_numbers(series: Any) -> bool:
    """Whether all cells of a column that hold anything are numbers."""
    cells = [str(cell).strip() for cell in series[series.notna()]]
    return all(is_number(cell) or is_number(cell, ",") for cell in cells if not is_missing(cell))
