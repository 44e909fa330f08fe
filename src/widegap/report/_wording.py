"""Text of users on its way into a report: cut, and without characters that no page can hold."""

import math
import re
from typing import Any

MAX_TEXT = 300
SHOWN_CELLS = 8
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def clip(text: Any, length: int = MAX_TEXT) -> str:
    """The text, cut to ``length`` characters, with unprintable ones replaced."""
    text = str(text)
    cut = text[: length - 1] + "…" if len(text) > length else text
    return _UNPRINTABLE.sub("\ufffd", cut)


def plain(value: Any) -> Any:
    """A number or text that JSON can hold: numpy scalars unpacked, NaN and infinity as None, all else as text."""
    if value is None or isinstance(value, bool | str):
        return clip(value) if isinstance(value, str) else value
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple) and len(value) <= 20:
        return [plain(item) for item in value]
    if isinstance(value, dict) and len(value) <= 20:
        return {clip(key): plain(item) for key, item in value.items()}
    return clip(repr(value), 80)


def counted(n: int, thing: str) -> str:
    """ "1 row", "2 rows"."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def number(value: float | None, digits: int = 3) -> str:
    """A number for people."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"
    return text.replace("-", "−")


class RowTexts:
    """What to show of every row, made when asked for: documents as they are, the first cells of a frame by name.

    ``kept`` are the numbers of the rows, None for all.
    """

    def __init__(self, rows: Any, kept: Any = None):
        self._rows, self._kept = rows, kept

    def __len__(self) -> int:
        return len(self._rows) if self._kept is None else len(self._kept)

    def __getitem__(self, row: int) -> str:
        row = int(row if self._kept is None else self._kept[row])
        if not hasattr(self._rows, "iloc"):
            return clip(self._rows[row])
        cells = self._rows.iloc[row]
        if isinstance(cells, str):  # of a column of documents
            return clip(cells)
        return clip(", ".join(f"{name} {value}" for name, value in cells[:SHOWN_CELLS].items()))
