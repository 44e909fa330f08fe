"""What the fields of saved events have to be: anybody may have edited a session or a model file.

Every field that the state, the constraints and the fits read is of the right kind, rows exist, and a fit builds on
earlier actions alone. Whether an event suits the clusters of its time is left to the fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from widegap.corrections._events import Event


@dataclass(frozen=True)
class Rule:
    """What a field has to be, in words and as a test of its value, the events before and the number of rows."""

    words: str
    holds: Callable[[Any, Sequence[Event], int], bool]


def _is_whole(value: Any, least: int, end: int) -> bool:
    return type(value) is int and least <= value < end


def _are_whole(values: Any, least: int, end: int, fewest: int) -> bool:
    return isinstance(values, list) and len(values) >= fewest and all(_is_whole(x, least, end) for x in values)


def _are_parts(parts: Any, n: int) -> bool:
    return isinstance(parts, list) and len(parts) == 2 and all(_are_whole(part, 0, n, 0) for part in parts)


def _are_pairs(pairs: Any, n: int) -> bool:
    return isinstance(pairs, list) and all(_are_whole(p, 0, n, 2) and len(p) == 2 and p[0] != p[1] for p in pairs)


def _is_fit(number: Any, before: Sequence[Event]) -> bool:
    return _is_whole(number, 0, len(before) + 1) and (number == 0 or before[number - 1].kind == "again")


ROWS = Rule("a list of rows that there are", lambda rows, before, n: _are_whole(rows, 0, n, 1))
TWO_ROWS = Rule("a list of two rows or more", lambda rows, before, n: _are_whole(rows, 0, n, 2))
LINKS = Rule("a list of pairs of different rows", lambda pairs, before, n: _are_pairs(pairs, n))
PARTS = Rule("two lists of rows that there are", lambda parts, before, n: _are_parts(parts, n))
KEY = Rule("the number of a cluster", lambda key, before, n: _is_whole(key, 0, 2**31))
KEYS = Rule("the numbers of two clusters or more", lambda keys, before, n: _are_whole(keys, 0, 2**31, 2))
COUNT = Rule("a number of clusters", lambda k, before, n: _is_whole(k, 1, n + 1))
COUNT_OR_NONE = Rule("a number of clusters or null", lambda k, before, n: k is None or _is_whole(k, 1, n + 1))
LESS = Rule("a number of clusters", lambda k, before, n: _is_whole(k, 0, n + 1))
TEXT = Rule("a text", lambda text, before, n: isinstance(text, str))
TEXTS = Rule(
    "a list of texts", lambda texts, before, n: isinstance(texts, list) and all(isinstance(x, str) for x in texts)
)
FIT = Rule("0 or the number of an earlier fit", lambda number, before, n: _is_fit(number, before))
EARLIER = Rule("the number of an earlier action", lambda number, before, n: _is_whole(number, 1, len(before) + 1))
ALL_EARLIER = Rule("numbers of earlier actions", lambda some, before, n: _are_whole(some, 1, len(before) + 1, 0))
FLAG = Rule("true or false", lambda flag, before, n: isinstance(flag, bool))
