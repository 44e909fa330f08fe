"""Events on disk: one JSON object a line, written through to the disk before an action is confirmed.

The first line identifies the rows of the session. A last line that was cut off by a crash is dropped; a line damaged
elsewhere is refused, since events build on each other. If the disk is full the work goes on in memory: ``trouble`` says
so, and the lines that could not be written are tried again with the next event.

The file is private from the moment it exists, a new one never replaces another or follows a link, and it is locked as
long as a workspace saves to it: two that append to one file would overwrite each other's events. Nothing in it changes
before it has been read as a session.
"""

import json
import os
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from widegap._wording import ROWS_FROM
from widegap.corrections._events import Event
from widegap.exceptions import InvalidDataError

SESSION_SCHEMA = "widegap.explore/1"
MAX_SESSION_BYTES = 256 << 20  # a million actions; no person makes more
PRIVATE = 0o600  # rows of a person's data are nobody else's business


class Autosave:
    """A file that events are appended to, by one workspace at a time.

    Parameters
    ----------
    path : path
        The file.
    resume : bool
        Whether it has to be there already; ``read`` gives what it holds. If not, it has to be new.
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool):
        self.path = Path(path)
        self.trouble: str | None = None
        self._is_new = not self.path.exists()
        self._waiting: list[bytes] = []
        self._end = 0
        self._closed = False
        self._release: weakref.finalize[..., Any] | None = None
        if resume and not self.path.exists():
            raise InvalidDataError(f"{path}: no such session; leave out --resume to start one.")
        if not resume and self.path.exists() and self.path.stat().st_size:
            raise InvalidDataError(f"{path} exists already; resume that session, or choose another file.")
        if self._is_new and self.path.is_symlink():
            raise InvalidDataError(f"{path} is a link to a file that does not exist; choose another file.")
        if resume:
            self._open()

    def read(self, about: dict[str, object]) -> list[Event]:
        """Events of the session in the file, which is left as it is; it has to be one on the same rows."""
        path, size = self.path, self.path.stat().st_size
        if size > MAX_SESSION_BYTES:
            raise InvalidDataError(
                f"{path} has more than {MAX_SESSION_BYTES >> 20} MiB, too much for a session; start a new one."
            )
        content = path.read_bytes()
        end = content.rfind(b"\n") + 1
        entries = [_entry(line, number, path) for number, line in enumerate(content[:end].splitlines(), 1)]
        if not entries or not isinstance(entries[0], dict) or entries[0].get("schema") != SESSION_SCHEMA:
            raise InvalidDataError(
                f"{path} is not a session of this version of widegap ({SESSION_SCHEMA}); start a new one."
            )
        header = entries[0]
        if any(header.get(name) != about[name] for name in ("rows", "digest")):
            raise InvalidDataError(
                f"{path} is a session on other rows ({header.get('rows')} rows of {header.get('title')!r:.80}); open "
                "those, or leave out --resume."
            )
        events = [Event.from_json(entry) for entry in entries[1:]]
        self._end = end
        return events

    def begin(self, header: dict[str, object], events: Iterable[Event]) -> None:
        """Write the first line of a new session, and the events that it begins with."""
        self._append({"schema": SESSION_SCHEMA, "rows_from": ROWS_FROM, **header})
        for event in events:
            self.add(event)

    def go_on(self) -> None:
        """Cut off half a line that a crash has left, now that the session was read and is the right one."""
        self._write(b"")

    def add(self, event: Event) -> None:
        """Save an event; never fails, see ``trouble``."""
        self._append(event.to_json())

    def retry(self) -> None:
        """Write what could not be written before."""
        if self._waiting and self._write(b"".join(self._waiting)):
            self._waiting.clear()

    def close(self) -> None:
        """Let others have the file; what happens from now on is not saved."""
        self._closed = True
        if self._release is not None:
            self._release()

    def _append(self, entry: dict[str, Any]) -> None:
        self._waiting.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self.retry()

    def _open(self) -> None:
        """Open and lock the file; a new one is private before anything is written to it."""
        made = os.O_CREAT | os.O_EXCL if self._is_new else 0
        self._descriptor = os.open(self.path, os.O_RDWR | made | getattr(os, "O_BINARY", 0), PRIVATE)
        self._release = weakref.finalize(self, os.close, self._descriptor)
        try:
            _lock(self._descriptor)
        except (BlockingIOError, PermissionError) as error:
            self.close()
            raise InvalidDataError(
                f"{self.path} belongs to an explorer that is still running; use its page, or close it first."
            ) from error
        except OSError:
            pass  # a file system without locks

    def _write(self, lines: bytes) -> bool:
        """Put lines behind the last whole one; returns whether they are on the disk."""
        try:
            if self._closed:
                raise OSError("the session was closed")
            if self._release is None:
                self._open()
            if hasattr(os, "fchmod"):  # one that was resumed may be open to others
                os.fchmod(self._descriptor, PRIVATE)
            os.ftruncate(self._descriptor, self._end)  # half a line of a write that failed
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            written = 0
            while written < len(lines):
                written += os.write(self._descriptor, lines[written:])
            os.fsync(self._descriptor)
        except OSError as error:
            self.trouble = (
                f"Not saved: {self.path.name}: {error.strerror or error}. Your work is kept in memory as long as this "
                "program runs; free some space or export it, and it will be saved with your next action."
            )
            return False
        self._end += len(lines)
        self.trouble = None
        return True


# Far behind any session: Windows lets nobody read the bytes that are locked. Its C library counts them in 31 bits.
LOCKED_BYTE = (1 << 31) - 2


def _lock(descriptor: int) -> None:
    """Take the file for this process; fails at once if another has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _entry(line: bytes, number: int, path: Path) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(
            f"{path}, line {number}: damaged ({error}); restore the file, or start a new session."
        ) from error
