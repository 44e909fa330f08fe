"""Columns that name rows instead of measuring them, judged by their header and by their own values.

A number is an id if nearly all of its values are different whole numbers and its header has a word for it
(``customer_id``, ``OrderNo``, ``PID``); or if all are different and it has no header, or counts the rows from 0 or 1. A
header that speaks of a measurement (``number of rooms``, ``account balance``) comes before these words. Whole numbers
without such a header are judged by the other columns of the table: ``_unrelated.py``.
"""

import re
from functools import lru_cache
from typing import TypeVar

import numpy as np

from widegap._types import Doubles, Indices, Ints

Numeric = TypeVar("Numeric", Doubles, Ints, Indices)
FEWEST_IDS = 5  # rows; fewer numbers differ by accident
MOSTLY_DIFFERENT = 0.9  # share of different values among ids: a patient comes back, and 645 of 699 numbers differ
SAMPLED = 1000  # values, evenly spaced, that must look like ids before all are compared
SAMPLE_DIFFERENT = 0.5  # share of different values in that sample; it is small enough to vary
NO_NAMES = ("", "unnamed: 0")  # headers of row numbers, which other programs write
ID_WORDS = frozenset(
    "# id ids idx index key no nr num number nummer row rowid rownum uid uuid guid pid cid oid sid tid eid rid ref "
    "reference account acct serial".split()
)
CODE_WORDS = frozenset(
    "zip zipcode postcode postal plz code codes sku ean isbn gtin fips phone tel telephone mobile fax iban vat".split()
)
TIME_WORDS = frozenset("age date day hour minute month second t time week year yr".split())
MEASURES = frozenset(
    "count of total amount sum qty quantity rooms items orders visits mean average avg max min balance income salary "
    "wage price cost value revenue sales profit weight height length width depth area distance volume size population "
    "score mileage duration speed rate".split()
)
# Two words written as one: customerid, orderno. Only whom an id may name, because paid, acid and grid end in id too.
JOINED = re.compile(
    r"(?:id|cust|customer|client|user|member|person|people|patient|subject|participant|respondent|employee|emp|staff|"
    r"student|account|acct|order|invoice|transaction|trans|txn|product|prod|item|article|ticket|case|record|row|line|"
    r"sample|specimen|device|session|visit|booking|contract|policy|loan|card|vehicle|property|listing|document|doc|"
    r"image|file|post|event|game|team|player|company|firm|store|shop|school|site|station|object|kunden|auftrags|"
    r"artikel|rechnungs)(?:id|no|nr|num|number|nummer|key)"
)


@lru_cache(4096)  # several rules ask for the same headers
def words_of(name: str) -> frozenset[str]:
    """The words of a header in lower case: "Row No.", "row_no" and "rowNo" have the same."""
    return frozenset(re.findall(r"#|[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def is_id_name(name: str) -> bool:
    """Whether a header has a word for ids, and none for a measurement."""
    words = words_of(name)
    return not words & MEASURES and bool(words & ID_WORDS or any(map(JOINED.fullmatch, words)))


def is_measure_name(name: str) -> bool:
    """Whether a header has a word for a measurement or a time."""
    return bool(words_of(name) & (MEASURES | TIME_WORDS))


def spaced(values: Numeric, n: int) -> Numeric:
    """About n of the values, evenly spaced; all if there are fewer."""
    return values[:: max(1, len(values) // n)]


def why_id(name: str, values: Doubles) -> str:
    """Why a column of numbers, NaN for gaps, names rows instead of measuring something; empty if it measures."""
    if share_different(spaced(values, SAMPLED)) < SAMPLE_DIFFERENT:
        return ""
    is_nameless = name.strip().lower() in NO_NAMES or bool(re.fullmatch(r"column \d+", name))
    is_counting = not is_measure_name(name) and np.fmin.reduce(values) in (0, 1) and np.ptp(values) == len(values) - 1
    if not (is_nameless or is_id_name(name) or is_counting):
        return ""
    share = share_different(values)
    is_full = share == 1 and not np.isnan(values).any()
    if is_full and is_nameless:
        return "it has no name, and a different whole number in every row"
    if is_id_name(name) and share >= MOSTLY_DIFFERENT:
        return f"its name says so, and {'every' if is_full else 'nearly every'} row has a different whole number"
    if is_full and is_counting:
        return f"it numbers the rows from {values.min():g} to {values.max():g}"
    return ""


def share_different(values: Doubles) -> float:
    """Share of different values among whole numbers, NaN for gaps; 0 if some are not whole, or there are few."""
    present = values[~np.isnan(values)]
    if len(present) < FEWEST_IDS or not (present == np.floor(present)).all():
        return 0.0
    return len(np.unique(present)) / len(present)
