"""Events on disk: one JSON object a line, written through to the disk before an action counts as saved.

The first line says of which rows the session is. A last line that was cut off by a crash is dropped; a line damaged
elsewhere is refused, since events build on each other. If the disk is full the work goes on in memory: ``trouble`` says
so, and the lines that could not be written are tried again with the next event.
"""

import json
import os
from pathlib import Path
from typing import Any

from widegap.exceptions import InvalidDataError
from widegap.explorer._history import Event

SCHEMA = "widegap.explore/1"
MAX_BYTES = 256 << 20


class Autosave:
    """A file that events are appended to."""

    def __init__(self, path: str | os.PathLike[str], header: dict[str, Any]):
        self.path = Path(path)
        self.trouble: str | None = None
        self._waiting: list[bytes] = []
        self._end = self.path.stat().st_size if self.path.exists() else 0
        if not self._end:
            self._append({"schema": SCHEMA, **header})

    def add(self, event: Event) -> None:
        """Save an event; never fails, see ``trouble``."""
        self._append(event.to_json())

    def retry(self) -> None:
        """Write what could not be written before."""
        if not self._waiting:
            return
        try:
            with open(self.path, "ab") as file:
                os.chmod(self.path, 0o600)
                file.truncate(self._end)  # half a line of a write that failed
                file.write(b"".join(self._waiting))
                file.flush()
                os.fsync(file.fileno())
                self._end = file.tell()
        except OSError as error:
            self.trouble = (
                f"Not saved: {self.path.name}: {error.strerror or error}. Your work is kept in memory as long as this "
                "program runs; free some space or export it, and it will be saved with your next action."
            )
        else:
            self._waiting.clear()
            self.trouble = None

    def _append(self, entry: dict[str, Any]) -> None:
        self._waiting.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self.retry()


def read_session(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Event]]:
    """Header and events of a saved session."""
    path = Path(path)
    if not path.exists():
        raise InvalidDataError(f"{path}: there is no saved session; leave out --resume to begin one.")
    if path.stat().st_size > MAX_BYTES:
        raise InvalidDataError(f"{path} has more than {MAX_BYTES >> 20} MiB, too much for a session; begin a new one.")
    content = path.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if len(content) > sum(len(line) + 1 for line in lines):
        os.truncate(path, content.rfind(b"\n") + 1)
    entries = [_entry(line, number, path) for number, line in enumerate(lines, 1)]
    if not entries or not isinstance(entries[0], dict) or entries[0].get("schema") != SCHEMA:
        raise InvalidDataError(f"{path} is no session of this version of widegap ({SCHEMA}); begin a new one.")
    return entries[0], [Event.from_json(entry) for entry in entries[1:]]


def _entry(line: bytes, number: int, path: Path) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidDataError(f"{path}, line {number}: damaged ({error}); restore the file, or begin anew.") from error
