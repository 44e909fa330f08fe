"""Texts that are dates or times of day: which format a column has, and what it reads."""

from typing import Any

import numpy as np
import pyarrow.compute as pc

Strings = Any  # pa.StringArray

SHAPE = (
    r"(?i)^\D{0,12}\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}|\d{1,4}[-/. ](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d|^\d{4}[-/]\d{1,2}$|^\d{1,2}/\d{4}$"
)
TIME_SHAPE = r"^\d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?$"
DAYS = ("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d")
NAMED_DAYS = ("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%b %d %Y")
MONTHS = ("%m/%Y", "%Y/%m", "%b %Y", "%B %Y", "%b-%Y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M%p", "%I:%M:%S %p")
ISO = "ISO8601"
FORMATS = (ISO, *(day + clock for day in (*DAYS, *NAMED_DAYS) for clock in CLOCKS), *MONTHS)
SAMPLED = 40


def looks_like_dates(texts: Strings, least: float) -> bool:
    """Whether enough of the first distinct texts have the shape of a date; cheap, for columns that are none."""
    return _share(texts, SHAPE) >= least


def looks_like_times(texts: Strings, least: float) -> bool:
    """Whether enough of the first distinct texts have the shape of a time of day."""
    return _share(texts, TIME_SHAPE) >= least


def _share(texts: Strings, pattern: str) -> float:
    first = texts.slice(0, SAMPLED)
    return pc.sum(pc.match_substring_regex(first, pattern)).as_py() / len(first) if len(first) else 0.0


def find_format(texts: Strings) -> tuple[str, bool]:
    """The format that reads most of the texts, and whether days and months could as well be the other way round."""
    first = texts.slice(0, SAMPLED)
    if _count(read_dates(first, ISO)) == len(first) and _count(read_dates(texts, ISO)) == len(texts):
        return ISO, False
    likely = {form: _count(read_dates(first, form)) for form in FORMATS}
    most = max(likely.values())
    if not most:
        return "", False
    found = {form: _count(read_dates(texts, form)) for form, n in likely.items() if n == most}
    best = max(found, key=lambda form: found[form])
    return best, found.get(_swapped(best)) == found[best] and _swapped(best) != best


def _swapped(form: str) -> str:
    """The same format with day and month exchanged, where a number stands for both."""
    if not form.startswith(("%d/%m", "%m/%d", "%d-%m", "%m-%d")):
        return form
    return form[3:5] + form[2] + form[0:2] + form[5:]


def _count(days: Any) -> int:
    return int(np.count_nonzero(~np.isnan(days)))


def read_dates(texts: Strings, form: str) -> Any:
    """Days since 1970 with their fractions; NaN where a text does not have the format."""
    import pandas as pd

    found = pd.to_datetime(pd.Series(texts.to_pylist(), dtype=object), format=form, errors="coerce", utc=True)
    return days_of(found)


def days_of(series: Any) -> Any:
    """Days since 1970 with their fractions of a column of dates; NaN for gaps."""
    import pandas as pd

    series = series.dt.tz_localize(None) if series.dt.tz is not None else series
    found = (series - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return found.to_numpy(dtype=np.float64, na_value=np.nan)


def read_times(texts: Strings) -> Any:
    """Hours since midnight; NaN where a text is no time of day."""
    import pandas as pd

    cells = pd.Series(texts.to_pylist(), dtype=object)
    hours = np.full(len(cells), np.nan)
    for form in TIMES:
        found = pd.to_datetime(cells, format=form, errors="coerce")
        hours = np.where(np.isnan(hours), (found.dt.hour + found.dt.minute / 60 + found.dt.second / 3600), hours)
    return hours
