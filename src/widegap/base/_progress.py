"""Progress of a fit through ``logging``: the logger "widegap", level INFO."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

logger = logging.getLogger("widegap")


class _Switch:
    """Lets INFO through from the first fit that opens it until the last one closes it, whatever their threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._level = logging.NOTSET
        self._handler: logging.Handler | None = None

    def open(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._level = logger.level
            logger.setLevel(logging.INFO)
            if not logger.hasHandlers():
                self._handler = logging.StreamHandler()
                logger.addHandler(self._handler)

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            logger.setLevel(self._level)
            if self._handler is not None:
                logger.removeHandler(self._handler)
                self._handler = None


_switch = _Switch()


@contextmanager
def progress_logging(verbose: int) -> Iterator[None]:
    """Let INFO messages of the fit through while it runs; write to stderr if the application set no handler."""
    if not verbose:
        yield
        return
    _switch.open()
    try:
        yield
    finally:
        _switch.close()
