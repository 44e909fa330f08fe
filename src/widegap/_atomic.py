"""Files that are written completely or not at all, and folders for a while.

What is passing, a file that has not got its name yet or such a folder, is listed, so that a program that is told to end
can delete it.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_urlsafe

from widegap.exceptions import InvalidDataError

_passing: set[Path] = set()


def destination(path: str | os.PathLike[str]) -> tuple[Path, int | None]:
    """Where a write to ``path`` ends up, behind links, and the mode of the file there; None if there is none yet."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(mode):
        raise InvalidDataError(f"{path} is not an ordinary file and cannot be replaced; choose another file name.")
    return target, stat.S_IMODE(mode)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its name when the block ends well, and vanishes otherwise.

    Links are followed, and a file that is replaced keeps its mode.
    """
    target, mode = destination(path)
    temporary = target.with_name(f".{target.name}.{token_urlsafe(6)}.tmp{target.suffix}")
    # A new file gets the mode of any new file from the system: to ask for the umask is to change it for all threads.
    # A replacement may hold private data, so only its owner may read it until it has the mode of the file it replaces.
    first_mode = 0o666 if mode is None else 0o600
    _passing.add(temporary)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, first_mode))
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, target)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        _remove(temporary)
        _passing.discard(temporary)


@contextmanager
def passing_folder(prefix: str, place: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A folder that only its owner may enter, among temporary files or in another place; deleted in the end."""
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True) as name:
        _passing.add(Path(name))
        try:
            yield Path(name)
        finally:
            _passing.discard(Path(name))


def remove_passing() -> None:
    """Delete all that is passing: for a program that ends without leaving its blocks."""
    for path in [*_passing]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            _remove(path)


def _remove(path: Path) -> None:
    """Delete a temporary file, if it is there; the error that made it superfluous is the one to be seen."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        return
    with suppress(OSError):  # Windows keeps read-only files, and those that are still open
        path.chmod(0o600)
        path.unlink()
