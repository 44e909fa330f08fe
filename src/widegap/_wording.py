"""Text of users on its way into a report: cut between words, and without characters that no page can hold."""

import math
import re
from typing import Any, NamedTuple

# Letters of a text, about three lines of the page, and of its title, one line; cells of a row in such a text.
MAX_TEXT = 300
MAX_TITLE = 120
FIRST_CELLS = 8
ROWS_FROM = 0  # where programs begin to count rows, as Python does; every JSON document says so
WORD_END = 0.15  # of an excerpt may be dropped so that it ends between two words
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class ShownItem(NamedTuple):
    """What is shown of a row or document; the title may be empty."""

    title: str
    text: str


def clip(text: Any, length: int = MAX_TEXT) -> str:
    """The text, cut to ``length`` characters, between words where there is a space; unprintable ones are replaced."""
    text = str(text)
    if len(text) > length:
        cut = text[: length - 1]
        end = max(cut.rfind(" "), cut.rfind("\n")) if not text[length - 1].isspace() else -1
        text = (cut[:end] if end >= (1 - WORD_END) * length else cut).rstrip() + "…"
    return _UNPRINTABLE.sub("\ufffd", text)


def titled(text: Any) -> ShownItem:
    """A document as title and body: its first line is the title if it is short and more follows."""
    text = str(text).strip()
    first, _, rest = text.partition("\n")
    if rest.strip() and len(first) <= MAX_TITLE:
        return ShownItem(clip(first.strip().lstrip("#").strip(), MAX_TITLE), clip(rest.strip()))
    return ShownItem("", clip(text))


def as_item(item: Any) -> ShownItem:
    """A text, or a pair of title and text, as it is shown."""
    if isinstance(item, tuple):
        title, text = item
        return ShownItem(clip(title, MAX_TITLE), clip(text))
    return ShownItem("", clip(item))


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


def row_number(row: Any) -> Any:
    """What people call a row, or rows: they count from 1, programs from ``ROWS_FROM``."""
    return row + 1


def counted(n: int, thing: str) -> str:
    """ "1 row", "2 rows"."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def number(value: float | None, digits: int = 3) -> str:
    """A number for people."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:.{digits}g}"
    if "e" in text and abs(value) >= 1:  # 3 digits of 999.7 are 1e+03
        text = f"{value:,.0f}"
    return text.replace("-", "−")


def percent(share: float | None) -> str:
    """A share for people."""
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:.0f} %"


class RowTexts:
    """What to show of every row, made when asked for: documents as they are, the first cells of a frame by name.

    ``kept`` are the numbers of the rows, None for all.
    """

    def __init__(self, rows: Any, kept: Any = None):
        self._rows, self._kept = rows, kept

    def __len__(self) -> int:
        return len(self._rows) if self._kept is None else len(self._kept)

    def __getitem__(self, row: int) -> ShownItem:
        row = int(row if self._kept is None else self._kept[row])
        if not hasattr(self._rows, "iloc"):
            return titled(self._rows[row])
        cells = self._rows.iloc[row]
        if isinstance(cells, str):  # of a column of documents
            return titled(cells)
        return ShownItem("", clip(", ".join(f"{name} {value}" for name, value in cells[:FIRST_CELLS].items())))
