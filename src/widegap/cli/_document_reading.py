"""Documents from a folder, a JSONL file, a column of a table, or lines.

Texts that look like HTML lose their markup, so that people read words. PDF and Word files come from anywhere: sizes are
limited, and a damaged file is skipped alone.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError, one_line
from widegap.documents._markup import html_text, plain_text
from widegap.exceptions import InvalidDataError
from widegap.results import DocumentRows

ENDINGS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm")
MARKUP = (".html", ".htm")
OFFICE = (".pdf", ".docx")
NOT_TEXT = "convert it to plain text, or leave it out"
SHOWN_NAMES = 5  # of files that are skipped, so that the note stays one line
ID_NAMES = ("id", "_id", "key", "uid", "uuid", "doc_id", "document_id", "url", "name", "file")
TITLE_NAMES = ("title", "headline", "subject")
TEXT_NAMES = ("text", "body", "content", "document", "message", "abstract", "description")


REFUSALS = (CommandError, InvalidDataError)
# Limits of a PDF or Word file, above books of any length; not tuned. A parser may take a hundred times the bytes that
# it reads, and a page some milliseconds; words beyond the letters do not change a topic.
MAX_FILE_BYTES = 100 << 20
MAX_UNPACKED_BYTES = 200 << 20
MAX_PAGES = 1000
MAX_LETTERS = 2_000_000


def read_documents(source: Path, text_column: str | None, encoding: str, known: str | None = None) -> DocumentRows:
    """Read documents; "-" is standard input, one document a line (or one JSON object).

    ``known`` may name a column of labels, which then holds no texts.
    """
    from widegap.tables._standard_input import read_standard_input
    from widegap.tables._unpacking import decode

    if str(source) == "-":
        text = decode(read_standard_input(), "standard input", encoding, NOT_TEXT)
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
    text = decode(source.read_bytes(), str(source), encoding, NOT_TEXT)
    return _from_lines(text, str(source), text_column, ending)


def _from_folder(folder: Path, encoding: str) -> DocumentRows:
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
    skipped = [path.relative_to(folder).as_posix() for path in files if path not in set(paths)]
    if skipped:
        more = f" and {len(skipped) - SHOWN_NAMES} more" if len(skipped) > SHOWN_NAMES else ""
        notes.append(f"Skipped, not documents by their endings: {', '.join(skipped[:SHOWN_NAMES])}{more}.")
    return DocumentRows(names, texts, None, notes)


def _text_of(path: Path, encoding: str) -> str:
    if path.suffix.lower() in OFFICE:
        return read_office(path)
    from widegap.tables._unpacking import decode

    text = decode(path.read_bytes(), str(path), encoding, NOT_TEXT)
    return html_text(text) if path.suffix.lower() in MARKUP else plain_text(text)


def _from_lines(text: str, name: str, text_column: str | None, ending: str = "") -> DocumentRows:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise CommandError(f"{name} is empty; at least two documents are needed.")
    if ending in (".jsonl", ".ndjson", ".json") or (not ending and lines[0].lstrip().startswith("{")):
        return _from_json(lines, name, text_column)
    names = [f"line {i}" for i in range(1, len(lines) + 1)]
    lines = [plain_text(line) for line in lines]
    return DocumentRows(names, lines, None, [f"Every line of {name} was taken for one document."], counted="line")


def _from_json(lines: list[str], name: str, text_column: str | None) -> DocumentRows:
    from widegap.tables._foreign import check_letters

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
    check_letters("\n".join(lines), entries, name)
    texts = [plain_text(str(entry[key])) for entry in entries]
    names = [f"line {i}" for i in range(1, len(texts) + 1)]
    found = DocumentRows(names, texts, None, [], counted="line", entries=entries)
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


def _from_table(source: Path, text_column: str | None, encoding: str, known: str | None) -> DocumentRows:
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
    texts = [plain_text(text) for text in frame[text_column].fillna("").astype(str)]
    names = [f"row {i}" for i in range(1, len(texts) + 1)]
    found = DocumentRows(names, texts, frame, notes, table.dialect, counted="row")
    lowered = {str(name).lower(): name for name in frame.columns if name != text_column}
    id_name, title_name = (next((lowered[k] for k in known if k in lowered), None) for known in (ID_NAMES, TITLE_NAMES))
    if id_name is not None and frame[id_name].is_unique:
        found.names, found.counted = frame[id_name].astype(str).tolist(), None
    if title_name is not None:
        found.titles = frame[title_name].fillna("").astype(str).tolist()
    return found


def _holds_numbers(series: Any) -> bool:
    """Whether all cells of a column that are not empty are numbers."""
    from widegap.tables._values import Cells

    cells = Cells(series)
    return bool((cells.missing | cells.numbers(None).read).all())


def read_office(path: Path) -> str:
    """The text of a .pdf or .docx file; a CommandError says why there is none."""
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise CommandError(f"{path} has {size >> 20} MB, more than the {MAX_FILE_BYTES >> 20} MB that are read.")
    read = _read_pdf if path.suffix.lower() == ".pdf" else _read_docx
    try:
        text = read(path)
    except CommandError:
        raise
    except ModuleNotFoundError as error:
        raise CommandError(f"{path} needs {error.name}: pip install 'widegap[documents]'.") from error
    except Exception as error:  # whatever a parser makes of a damaged file
        raise CommandError(f"{path} is damaged ({one_line(error)[:80] or type(error).__name__}).") from error
    if not text.strip():
        raise CommandError(f"{path} holds no text; scanned pages need text recognition first.")
    return text[:MAX_LETTERS]


def _read_pdf(path: Path) -> str:
    import logging

    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its remarks on odd files are not for users
    with path.open("rb") as file:
        reader = pypdf.PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise CommandError(f"{path} is locked by a password.")
        if len(reader.pages) > MAX_PAGES:
            raise CommandError(f"{path} has {len(reader.pages):,} pages, more than the {MAX_PAGES:,} that are read.")
        parts: list[str] = []
        for page in reader.pages:
            parts.append(page.extract_text())
            if sum(map(len, parts)) > MAX_LETTERS:
                break
    return "\n".join(parts)


def _read_docx(path: Path) -> str:
    import docx

    with zipfile.ZipFile(path) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > MAX_UNPACKED_BYTES:
        raise CommandError(f"{path} would unpack to {unpacked >> 20} MB, more than {MAX_UNPACKED_BYTES >> 20} MB.")
    document = docx.Document(str(path))
    cells = (cell.text for table in document.tables for row in table.rows for cell in row.cells)
    return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])
