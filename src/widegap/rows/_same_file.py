"""A file that is read many times: every pass of a fit has to see the same rows.

Size and time of the last change are compared before a piece is read, since a mapped file that has become shorter ends
the program, and after it. A file that changes while a piece is read, and has become shorter, can still do so.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from widegap.exceptions import InvalidDataError


class SameFile:
    """What a file looked like when it was opened; ``place`` is where it is, also from another working folder."""

    def __init__(self, path: Path):
        self._path, self.place = path, Path(os.path.abspath(path))
        self._seen = _look(self.place)

    @contextmanager
    def while_read(self) -> Iterator[None]:
        """An error, in place of any other, if the file is not what it was."""
        self._check()
        try:
            yield
        finally:
            self._check()

    def _check(self) -> None:
        if _look(self.place) != self._seen:
            raise InvalidDataError(
                f"{self._path} was changed, or is gone, since it was opened; fit a copy of it, or wait until it is "
                "written."
            )


def _look(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
