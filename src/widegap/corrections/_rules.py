"""What the fields of saved events must hold: anybody may have edited a session or a model file.

Every field that the state, the constraints and the fits read is of the right kind, rows exist, and a fit builds on
earlier actions alone. Whether an event suits the clusters of its time is left to the fit. Fields under ``KEY`` and
``KEYS`` name clusters, which are numbered anew when a log goes into a model file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from widegap.corrections._events import Event

KEY_END = 2**31  # keys are stored as 64-bit integers, labels as 32-bit ones: beyond this no label can follow


@dataclass(frozen=True)
class FieldRule:
    """What a field must hold, in words and as a test of its value, the events before and the number of rows."""

    words: str
    holds: Callable[[object, Sequence[Event], int], bool]


def _is_whole(value: object, least: int, end: int) -> bool:
    return type(value) is int and least <= value < end


def _are_whole(values: object, least: int, end: int, fewest: int) -> bool:
    return isinstance(values, list) and len(values) >= fewest and all(_is_whole(x, least, end) for x in values)


def _are_parts(parts: object, n: int) -> bool:
    return isinstance(parts, list) and len(parts) == 2 and all(_are_whole(part, 0, n, 0) for part in parts)


def _are_pairs(pairs: object, n: int) -> bool:
    return isinstance(pairs, list) and all(_are_whole(p, 0, n, 2) and len(p) == 2 and p[0] != p[1] for p in pairs)


def _are_texts(texts: object) -> bool:
    return isinstance(texts, list) and all(isinstance(text, str) for text in texts)


def _is_fit(number: object, before: Sequence[Event]) -> bool:
    if type(number) is not int or not 0 <= number <= len(before):
        return False
    return number == 0 or before[number - 1].kind == "again"


SOME_ROWS = FieldRule("a list of existing rows", lambda rows, before, n: _are_whole(rows, 0, n, 1))
TWO_ROWS = FieldRule("a list of two rows or more", lambda rows, before, n: _are_whole(rows, 0, n, 2))
LINKS = FieldRule("a list of pairs of different rows", lambda pairs, before, n: _are_pairs(pairs, n))
PARTS = FieldRule("two lists of existing rows", lambda parts, before, n: _are_parts(parts, n))
KEY = FieldRule("the number of a cluster", lambda key, before, n: _is_whole(key, 0, KEY_END))
KEYS = FieldRule("the numbers of two clusters or more", lambda keys, before, n: _are_whole(keys, 0, KEY_END, 2))
COUNT = FieldRule("a number of clusters", lambda k, before, n: _is_whole(k, 1, n + 1))
COUNT_OR_NONE = FieldRule("a number of clusters or null", lambda k, before, n: k is None or _is_whole(k, 1, n + 1))
LESS = FieldRule("a number of clusters", lambda k, before, n: _is_whole(k, 0, n + 1))
TEXT = FieldRule("a text", lambda text, before, n: isinstance(text, str))
SOME_TEXTS = FieldRule("a list of texts", lambda texts, before, n: _are_texts(texts))
FIT = FieldRule("0 or the number of an earlier fit", lambda number, before, n: _is_fit(number, before))
EARLIER = FieldRule("the number of an earlier action", lambda number, before, n: _is_whole(number, 1, len(before) + 1))
ALL_EARLIER = FieldRule("numbers of earlier actions", lambda some, before, n: _are_whole(some, 1, len(before) + 1, 0))
FLAG = FieldRule("true or false", lambda flag, before, n: isinstance(flag, bool))
