"""Files that appear whole or not at all."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from widegap.exceptions import InvalidDataError


def destination(path: str | os.PathLike[str]) -> tuple[Path, int | None]:
    """Where a write to ``path`` ends up, behind links, and the mode of the file there; None if there is none yet."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(mode):
        raise InvalidDataError(f"{path} is no ordinary file; only files can be replaced: name one, or a new one.")
    return target, stat.S_IMODE(mode)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its name when the block ends well, and vanishes otherwise.

    Links are followed, and a file that is replaced keeps its mode.
    """
    target, mode = destination(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_urlsafe(6)}.tmp{target.suffix}")
    # A new file gets its mode here, from the system: to read the umask is to set it, for all threads.
    begun = 0o666 if mode is None else 0o600
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, begun))
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, target)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
