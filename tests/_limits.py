"""Limits of what a test may take."""

import signal
from contextlib import contextmanager


@contextmanager
def within(seconds):
    def late(*_):
        raise AssertionError(f"took more than {seconds} s")

    previous = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor: other programs do not count
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
