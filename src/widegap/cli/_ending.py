"""A command that is told to end, by ``kill`` or by its terminal that closes, leaves nothing that was half written.

Ctrl-C raises an error, which Python may lose where C code called it. These signals end the program at once instead:
what has no place of its own yet is deleted, and then the signal does what it does to any program.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from widegap._atomic import remove_passing

SIGNALS = ("SIGTERM", "SIGHUP")  # those of Unix that end a program and may be caught, besides Ctrl-C; Windows has one


@contextmanager
def tidy_end() -> Iterator[None]:
    """Delete what is half written if one of these signals comes; where somebody else cares for them, they do."""
    ours = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == ours:  # a child that was forked has no files of its own
            remove_passing()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    found = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    in_main = threading.current_thread() is threading.main_thread()  # no other may set handlers
    taken = [number for number in found if in_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
