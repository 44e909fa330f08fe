"""Text of PDF and Word files. They come from anywhere: sizes are limited, and any damage skips the file alone."""

import zipfile
from pathlib import Path

from widegap.cli._errors import CommandError, one_line

MAX_FILE_BYTES = 100 << 20
MAX_UNPACKED_BYTES = 200 << 20
MAX_PAGES = 1000
MAX_LETTERS = 2_000_000


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
