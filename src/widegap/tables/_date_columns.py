"""Columns of dates and of times of day."""

from typing import Any

import numpy as np

from widegap.tables._dates import find_format, looks_like_dates, looks_like_times, read_dates, read_times
from widegap.tables._decisions import MOSTLY, Column, Wishes, constant, gap_words, mostly, said, words_of
from widegap.tables._values import Cells

DATE_WORDS = frozenset("date day datum tag since until dob birth birthday born".split())
DATE_PARTS = ("year", "month", "weekday", "hour")


def as_dates(name: str, cells: Cells, wishes: Wishes) -> Column | None:
    """A column of dates or times; None if it is neither."""
    if cells.kind == "date":
        return _date(name, cells, cells.numbers(None).values, "", "", wishes)
    if cells.kind != "text":
        return None
    if cells.plain is not None:
        return _as_digit_dates(name, cells, wishes)
    if looks_like_times(cells.texts, MOSTLY):
        hours = cells.spread(read_times(cells.texts))
        if mostly(~np.isnan(hours), cells):
            fill = float(np.nanmedian(hours))
            why = said("times of day", gap_words(cells, ~np.isnan(hours), f"the median, {fill:.4g} h"))
            return Column(name, "time", why=why, change="categorical", fill=fill)
    if not looks_like_dates(cells.texts, MOSTLY):
        return None
    form, ambiguous = find_format(cells.texts)
    if not form:
        return None
    note = "day and month could be the other way round; read as " + ("month/day" if form[1] == "m" else "day/month")
    return _date(name, cells, cells.spread(read_dates(cells.texts, form)), form, note if ambiguous else "", wishes)


def _as_digit_dates(name: str, cells: Cells, wishes: Wishes) -> Column | None:
    """Whole numbers such as 20240131 under a name that speaks of dates."""
    values = cells.plain[~cells.missing]
    if not words_of(name) & DATE_WORDS or not ((values >= 19000101) & (values <= 21001231)).all():
        return None
    return _date(name, cells, cells.spread(read_dates(cells.texts, "%Y%m%d")), "%Y%m%d", "", wishes)


def _date(name: str, cells: Cells, days: Any, form: str, note: str, wishes: Wishes) -> Column | None:
    read = ~np.isnan(days)
    if not mostly(read, cells):
        return None
    if np.ptp(days[read]) == 0 and not wishes.named(name):
        return constant(name, cells, cells.example(read))
    origin = np.datetime64(int(np.floor(np.nanmin(days))), "D")
    fill = float(np.nanmedian(days))
    shown = np.datetime64(int(fill), "D")
    wanted = DATE_PARTS if wishes.dates == "parts" else ()
    parts = [part for part in wanted if len(np.unique(date_part(days[read], part))) > 1]
    what = f"dates from {origin} to {np.datetime64(int(np.nanmax(days)), 'D')}"
    why = said(what, note, gap_words(cells, read, f"the median, {shown}"))
    return Column(name, "date", why=why, change="dates", fill=fill, form=form, origin=str(origin), parts=parts)


def date_part(days: Any, part: str) -> Any:
    """Year, month (1 to 12), weekday (0 is Monday) or hour of days since 1970."""
    whole = np.floor(days).astype("datetime64[D]")
    if part == "year":
        return whole.astype("datetime64[Y]").astype(int) + 1970.0
    if part == "month":
        return whole.astype("datetime64[M]").astype(int) % 12 + 1.0
    if part == "weekday":
        return (np.floor(days) + 3) % 7
    return np.floor((days - np.floor(days)) * 24 + 1e-9)
