"""Files that appear whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its name when the block ends well, and vanishes otherwise."""
    check_writable(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=f".tmp{path.suffix}", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # as an ordinary new file; mkstemp lets the owner in only
        os.replace(temporary, path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8; "-" is standard output."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def check_writable(path: Any) -> None:
    """Refuse a place that cannot be written to, before hours of work."""
    path = Path(path)
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file.")
    if not path.parent.exists():
        raise CommandError(f"{path.parent}: no such folder for {path.name}; make it first.")
    if not may_write(path.parent):
        raise CommandError(f"{path}: permission denied; choose another place, or change the folder's permissions.")


def may_write(folder: Path) -> bool:
    """Whether files can be made in a folder."""
    return os.access(folder, os.W_OK)


def partial_name(path: Path) -> Path:
    """Where a result goes that was cut short: ``out.partial.csv``."""
    return path if str(path) == "-" else path.with_suffix(f".partial{path.suffix}")
