"""Frames as they are read: numbers in their own units, categories as shares, dates as days; texts and ids stay out."""

from typing import Any

import numpy as np

from widegap.report._profile import LEVEL

MOST_LEVELS = 30
DAY = 86_400 * 10**9


class FrameTable:
    """The columns of a data frame that a profile can show.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features)
        Numbers, 0 and 1 of categories, days since 1970 of dates; NaN where a cell is empty.
    names : list of str
        Names of the features, "city = Paris" for a category.
    dates : frozenset of int
        Which features are dates.
    """

    def __init__(self, frame: Any):
        frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
        blocks: list[Any] = []
        self.names: list[str] = []
        dates = []
        for name in frame.columns:
            names, block, is_date = _column(str(name), frame[name])
            dates += [len(self.names)] * is_date
            self.names += names
            blocks.append(block)
        self.dates = frozenset(dates)
        self.values = np.hstack(blocks) if blocks else np.zeros((len(frame), 0))


def is_frame(X: Any) -> bool:
    """Whether rows are a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def row_names(X: Any) -> Any:
    """The index of a frame where it names rows, and does not only count them; else None."""
    index = getattr(X, "index", None)
    if not is_frame(X) or index is None or type(index).__name__ == "RangeIndex":
        return None
    numbers = getattr(index, "dtype", None)
    return None if numbers is not None and numbers.kind in "iu" and index.is_monotonic_increasing else index


def _column(name: str, series: Any) -> tuple[list[str], Any, bool]:
    kind = getattr(series.dtype, "kind", "O")
    if kind == "M":
        days = series.astype("datetime64[ns]").to_numpy().astype("int64") / DAY
        return [name], np.where(series.isna(), np.nan, days)[:, None], True
    if kind in "iuf" or (kind == "b" and not series.isna().any()):
        return [name], series.to_numpy(dtype=float, na_value=np.nan)[:, None], False
    texts = series.astype(str).where(series.notna(), None)
    levels = sorted(level for level in texts.unique() if level is not None)
    if not 1 < len(levels) <= min(MOST_LEVELS, max(2, len(series) // 2)):
        return [], np.zeros((len(series), 0)), False
    block = np.column_stack([(texts == level).to_numpy(dtype=float) for level in levels])
    return [f"{name}{LEVEL}{level}" for level in levels], block, False
