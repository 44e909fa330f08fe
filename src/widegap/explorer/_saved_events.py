"""Events that come from a file or a script, checked before they are replayed: anybody may have edited them.

Every field that the state, the statements and the fits read is of the right kind, rows exist, and a fit builds on
earlier actions alone. Whether an event suits the clusters of its time is left to the fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from widegap.exceptions import InvalidDataError
from widegap.explorer._history import Event


@dataclass(frozen=True)
class _Rule:
    """What a field has to be, in words and as a test of its value, the events before and the number of rows."""

    words: str
    holds: Callable[[Any, Sequence[Event], int], bool]


def _is_whole(value: Any, least: int, end: int) -> bool:
    return type(value) is int and least <= value < end


def _are_whole(values: Any, least: int, end: int, fewest: int) -> bool:
    return isinstance(values, list) and len(values) >= fewest and all(_is_whole(x, least, end) for x in values)


def _are_parts(parts: Any, n: int) -> bool:
    return isinstance(parts, list) and len(parts) == 2 and all(_are_whole(part, 0, n, 0) for part in parts)


def _is_fit(number: Any, before: Sequence[Event]) -> bool:
    return _is_whole(number, 0, len(before) + 1) and (number == 0 or before[number - 1].kind == "again")


_ROWS = _Rule("a list of rows that there are", lambda rows, before, n: _are_whole(rows, 0, n, 1))
_PAIR = _Rule("a list of two rows or more", lambda rows, before, n: _are_whole(rows, 0, n, 2))
_PARTS = _Rule("two lists of rows that there are", lambda parts, before, n: _are_parts(parts, n))
_KEY = _Rule("the number of a cluster", lambda key, before, n: _is_whole(key, 0, 2**31))
_KEYS = _Rule("the numbers of two clusters or more", lambda keys, before, n: _are_whole(keys, 0, 2**31, 2))
_COUNT = _Rule("a number of clusters", lambda k, before, n: _is_whole(k, 1, n + 1))
_WISH = _Rule("a number of clusters or null", lambda k, before, n: k is None or _is_whole(k, 1, n + 1))
_TEXT = _Rule("a text", lambda text, before, n: isinstance(text, str))
_TEXTS = _Rule(
    "a list of texts", lambda texts, before, n: isinstance(texts, list) and all(isinstance(x, str) for x in texts)
)
_FIT = _Rule("0 or the number of an earlier fit", lambda number, before, n: _is_fit(number, before))
_ACTION = _Rule("the number of an earlier action", lambda number, before, n: _is_whole(number, 1, len(before) + 1))
_ACTIONS = _Rule("numbers of earlier actions", lambda some, before, n: _are_whole(some, 1, len(before) + 1, 0))
_FLAG = _Rule("true or false", lambda flag, before, n: isinstance(flag, bool))
_LESS = _Rule("a number of clusters", lambda k, before, n: _is_whole(k, 0, n + 1))

_FIELDS: dict[str, dict[str, _Rule]] = {
    "together": {"rows": _PAIR},
    "apart": {"rows": _PAIR},
    "is": {"rows": _ROWS, "cluster": _KEY},
    "junk": {"rows": _ROWS},
    "merge": {"clusters": _KEYS, "rows": _ROWS},
    "split": {"cluster": _KEY, "new": _KEY, "parts": _PARTS},
    "k": {"k": _COUNT},
    "number": {"k": _COUNT},
    "rename": {"cluster": _KEY, "name": _TEXT},
    "drop": {"statement": _ACTION},
    "skip": {"rows": _ROWS},
    "again": {"parent": _FIT, "using": _ACTIONS, "k": _WISH, "shown": _COUNT, "labels": _TEXT},
}
_OPTIONAL = {"junk": {"gone": _LESS}, "is": {"new": _FLAG}, "together": {"asked": _FLAG}, "apart": {"asked": _FLAG}}
_OPTIONAL["again"] = {"notes": _TEXTS}


def check_saved(event: Event, before: Sequence[Event], n_rows: int) -> None:
    """Refuse an event that no workspace on so many rows would have saved after these."""
    given = {name: rule for name, rule in _OPTIONAL.get(event.kind, {}).items() if name in event.data}
    for name, rule in {**_FIELDS.get(event.kind, {}), **given}.items():
        if name not in event.data or not rule.holds(event.data[name], before, n_rows):
            raise InvalidDataError(
                f"Action {event.number} of the session ({event.kind}): {name}={event.data.get(name)!r:.40} must be "
                f"{rule.words}. Restore the file as it was saved, or start a new session."
            )
