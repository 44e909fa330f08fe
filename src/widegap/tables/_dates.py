"""Texts that are dates or times of day: which format a column has, and what it reads."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from widegap._types import Doubles
from widegap.tables._values import Cells, days_of

SHAPE = (
    r"(?i)^\D{0,12}\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}|\d{1,4}[-/. ](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d|^\d{4}[-/]\d{1,2}$|^\d{1,2}/\d{4}$"
)
TIME_SHAPE = r"^\d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?$"
DAYS = ("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%m-%d-%Y", "%d-%m-%Y", "%Y/%m/%d")
NAMED_DAYS = ("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%b %d %Y")
MONTHS = ("%m/%Y", "%Y/%m", "%b %Y", "%B %Y", "%b-%Y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
TIME_FORMATS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M%p", "%I:%M:%S %p")
ISO = "ISO8601"
DATE_FORMATS = (ISO, *(day + clock for day in (*DAYS, *NAMED_DAYS) for clock in CLOCKS), *MONTHS)
DATES_TRIED = 40  # different texts with which the 86 formats are tried, before the best of them read all


def looks_like_dates(texts: pa.StringArray, least: float) -> bool:
    """Whether enough of the first distinct texts have the shape of a date; cheap, for columns of other texts."""
    return _share(texts, SHAPE) >= least


def looks_like_times(texts: pa.StringArray, least: float) -> bool:
    """Whether enough of the first distinct texts have the shape of a time of day."""
    return _share(texts, TIME_SHAPE) >= least


def _share(texts: pa.StringArray, pattern: str) -> float:
    first = texts.slice(0, DATES_TRIED)
    return pc.sum(pc.match_substring_regex(first, pattern)).as_py() / len(first) if len(first) else 0.0


def find_format(texts: pa.StringArray) -> tuple[str, bool]:
    """The format that reads most of the texts, and whether days and months could as well be the other way round."""
    first = texts.slice(0, DATES_TRIED)
    if _count(read_dates(first, ISO)) == len(first) and _count(read_dates(texts, ISO)) == len(texts):
        return ISO, False
    likely = {form: _count(read_dates(first, form)) for form in DATE_FORMATS}
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


def _count(days: Doubles) -> int:
    return int(np.count_nonzero(~np.isnan(days)))


def read_dates(texts: pa.StringArray, form: str) -> Doubles:
    """Days since 1970 with their fractions; NaN where a text does not have the format."""
    import pandas as pd

    found = pd.to_datetime(pd.Series(texts.to_pylist(), dtype=object), format=form, errors="coerce", utc=True)
    return days_of(found)


def read_times(texts: pa.StringArray) -> Doubles:
    """Hours since midnight; NaN where a text is not a time of day."""
    import pandas as pd

    cells = pd.Series(texts.to_pylist(), dtype=object)
    hours = np.full(len(cells), np.nan)
    for form in TIME_FORMATS:
        found = pd.to_datetime(cells, format=form, errors="coerce")
        hours = np.where(np.isnan(hours), (found.dt.hour + found.dt.minute / 60 + found.dt.second / 3600), hours)
    return hours


def days_in(cells: Cells, form: str) -> Doubles:
    """The dates of a column of texts as days since 1970; NaN for gaps and where a text does not have the format."""
    return cells.dates(form, lambda texts: read_dates(texts, form))


def hours_in(cells: Cells) -> Doubles:
    """The times of a column of texts as hours since midnight; NaN for gaps and for texts that are not times."""
    return cells.dates("time", read_times)


def date_part(days: Doubles, part: str) -> Doubles:
    """Year, month (1 to 12), weekday (0 is Monday) or hour of days since 1970."""
    whole = np.floor(days).astype("datetime64[D]")
    if part == "year":
        return whole.astype("datetime64[Y]").astype(int) + 1970.0
    if part == "month":
        return whole.astype("datetime64[M]").astype(int) % 12 + 1.0
    if part == "weekday":
        return (np.floor(days) + 3) % 7
    return np.floor((days - np.floor(days)) * 24 + 1e-9)
