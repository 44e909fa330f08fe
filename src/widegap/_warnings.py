"""Warnings that name the line of the user's program, and how a part of the package mutes another's."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Modules between a cause and the user: scikit-learn wraps a fit to end its callbacks.
WITHIN = ("widegap.", "sklearn.callback.")

_muted: ContextVar[tuple[type[Warning], ...]] = ContextVar("muted", default=())


@contextmanager
def muted(category: type[Warning]) -> Iterator[None]:
    """No warnings of the package's own category from fits in this block, and in this thread only.

    ``warnings.catch_warnings`` would change the filters of the whole process for as long as the fits take.
    """
    token = _muted.set((*_muted.get(), category))
    try:
        yield
    finally:
        _muted.reset(token)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn of the line that called the package, however deep inside it the cause was found."""
    if issubclass(category, _muted.get()):
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(WITHIN):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
