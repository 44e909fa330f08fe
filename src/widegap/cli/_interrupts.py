"""Ctrl-C during a fit: noticed at once even while compiled code runs, and never in the middle of writing.

Python calls a signal handler only when compiled code returns, which takes seconds in some fits, and two signals until
then count as one. A thread therefore listens for the signals themselves: it answers the first, and ends the program at
the second if the fit does not. Nothing is written while a fit runs, so nothing can be left half written.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from widegap.cli._errors import INTERRUPTED, tell

GRACE = 1.0  # seconds that a fit has to end by itself after the last Ctrl-C
GONE = "Interrupted at once; no result was kept, and no file was left half written."


class Interrupts:
    """How often Ctrl-C was pressed, and what is to be done then.

    ``limit`` presses end the block with a KeyboardInterrupt. ``answer`` is called at the first press, in a thread of
    its own, and ``clean`` before the program is ended from there.
    """

    def __init__(self, limit: int, answer: Callable[[], None]):
        self.limit, self.answer = limit, answer
        self.clean: Callable[[], None] = lambda: None
        self.pressed = 0
        self.over = threading.Event()  # the block has ended
        self._handled = 0

    def on_signal(self, number: int, frame: Any) -> None:
        """The handler, called in the main thread when compiled code returns."""
        self._handled += 1
        self.pressed = max(self.pressed, self._handled)
        if self.pressed >= self.limit:
            raise KeyboardInterrupt

    def listen(self, ear: socket.socket) -> None:
        """Count signals as they come."""
        count = 0
        while content := ear.recv(64):
            before, count = count, count + content.count(signal.SIGINT)
            self.pressed = max(self.pressed, count)
            if count and not before:
                self.answer()
            if count > 1 and not self.over.wait(GRACE):
                end_at_once(self.clean)


def end_at_once(clean: Callable[[], None]) -> None:
    """Leave the program while compiled code still runs."""
    with suppress(Exception):
        clean()
    with suppress(Exception):
        tell(GONE)
        sys.stdout.flush()
    os._exit(INTERRUPTED)


@contextmanager
def listening(interrupts: Interrupts) -> Iterator[None]:
    """Ctrl-C means what ``interrupts`` says within the block; elsewhere than in the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    listener = threading.Thread(target=interrupts.listen, args=(ear,), daemon=True)
    listener.start()
    former_fd = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    before = signal.signal(signal.SIGINT, interrupts.on_signal)
    try:
        yield
    finally:
        interrupts.over.set()
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(former_fd)
        mouth.close()
        listener.join()
        ear.close()
