"""Columns that repeat another one: the same values, the same on another linear scale, or categories in other words.

Such a column would count twice in every distance, so it is left out. Both must lack their values in the same rows, and

- numbers, dates or times: y = a x + b in all rows, up to the digits to which both are written. These may be at most
  ``ROUNDING_SHARE`` of the middle half of y; otherwise, as with counts or marks, y must be exact: a few large numbers
  would else make two columns of small ones equal;
- categories and yes/no: each value of one stands for one value of the other.

Columns of two values must be the same in values and words: two questions may be answered alike in every row. A number
is never compared with a category: a mark from 1 to 5 and its words are two views of one thing.

``ROWS_SEEN`` rows find the pairs; all rows of a pair are then compared. Where all of these rows are equal, the places
of the others find the pairs.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from widegap._types import Doubles, Ints
from widegap.tables._column_values import ColumnValues
from widegap.tables._columns import Column, replaced
from widegap.tables._ids import spaced

ROWS_SEEN = 200  # evenly spaced; two columns that differ hardly agree in so many
LIKELY = 0.999  # correlation in these rows from which all are compared; rounding leaves 0.9992 or more
ROUNDING_SHARE = 0.05  # of the range of the middle half: inches and centimetres with one digit need 0.015
EXACT = 1e-9  # of the largest value: what a change of units leaves in the last digits
MOST_DIGITS = 6  # behind the point; numbers with more are taken as exact
DIGITS_SEEN = 1000  # values from which the number of digits is found
SLACK = 1.1  # times half of the last digits; the fitted line adds a little to what rounding alone leaves
COLUMNS_AT_ONCE = 64  # compared with all earlier ones: 1.3 MB of correlations; not tuned
MOST_COLUMNS = 5000  # columns; as many take half a second, and time grows with their square

Values = TypeVar("Values")


class _Lazy(Mapping[int, Values]):
    """Values of some columns, by their places, which are got whenever they are asked for."""

    def __init__(self, places: list[int], get: Callable[[int], Values]):
        self._places, self._get = places, get

    def __getitem__(self, j: int) -> Values:
        return self._get(j)

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Named(NamedTuple):
    """A column of categories: their names, and which every row has; -1 for gaps."""

    levels: list[str]
    codes: Ints


def leave_out_repeats(columns: list[Column], values: ColumnValues, is_named: Callable[[str], bool]) -> list[Column]:
    """The decisions with columns left out that repeat another one; what the user named stays."""
    used = [j for j, column in enumerate(columns) if column.used and column.topics is None][:MOST_COLUMNS]
    kept = {j for j in used if is_named(columns[j].name)}
    found: dict[int, tuple[int, str]] = {}
    for kind in ("number", "date", "time"):
        alike = [j for j in used if columns[j].read_as == kind]
        numbers = _Lazy(alike, lambda j: values.numbers(columns[j]))
        found |= _repeats(numbers, _likely_numbers(numbers), scale_between, kept)
    flags = [j for j in used if columns[j].is_flag]
    categories = _Lazy(flags, lambda j: Named(*values.cells(columns[j].name).levels))
    found |= _repeats(categories, _likely_categories(categories), words_between, kept)
    left = {j: f"repeats {columns[first].name!r}{words}" for j, (first, words) in found.items()}
    return [_as_repeat(column, left[j]) if j in left else column for j, column in enumerate(columns)]


def _as_repeat(column: Column, why: str) -> Column:
    change = {"number": "numeric", "category": "categorical", "yes/no": "categorical"}.get(column.read_as, "")
    return replaced(column, "repeat", why, change)


def _repeats(
    values: "_Lazy[Values]",
    likely: dict[int, list[int]],
    compare: Callable[[Values, Values], str | None],
    kept: set[int],
) -> dict[int, tuple[int, str]]:
    """Columns that are not ``kept`` and repeat another one, which one, and words on how.

    ``likely`` gives the earlier columns that each is compared with. The first of several stays, or the first of those
    that are kept.
    """
    groups: dict[int, list[int]] = {}
    for j in values:
        first = next((i for i in likely[j] if i in groups and compare(values[i], values[j]) is not None), j)
        groups.setdefault(first, []).append(j)
    found = {}
    for group in groups.values():
        first = next((j for j in group if j in kept), group[0])
        for j in group:
            words = None if j == first or j in kept else compare(values[first], values[j])
            if words is not None:
                found[j] = (first, words)
    return found


# Which columns to compare -----------------------------------------------------------------------------------------


def _likely_numbers(numbers: "_Lazy[Doubles]") -> dict[int, list[int]]:
    """For each column the earlier ones that some rows cannot tell from it, up to a linear scale."""
    still: list[int] = []
    varying: list[int] = []
    rows = np.empty((len(numbers), 0), dtype=np.float32)
    for start in range(0, len(numbers), COLUMNS_AT_ONCE):
        some = list(numbers)[start : start + COLUMNS_AT_ONCE]
        samples = np.array([spaced(numbers[j], ROWS_SEEN) for j in some])
        is_still = ~(np.fmin.reduce(samples, axis=1) < np.fmax.reduce(samples, axis=1))  # also if all are gaps
        still += [j for j, equal in zip(some, is_still, strict=True) if equal]
        varying += [j for j, equal in zip(some, is_still, strict=True) if not equal]
        rows = rows if rows.size else np.empty((len(numbers), samples.shape[1]), dtype=np.float32)
        rows[len(varying) - int(np.count_nonzero(~is_still)) : len(varying)] = _standardized(samples[~is_still])
    likely = _earlier((j, _places(numbers[j], spaced(numbers[j], ROWS_SEEN))) for j in still)
    if varying:  # in float32, because LIKELY has a wider margin
        for start in range(0, len(varying), COLUMNS_AT_ONCE):
            some = varying[start : start + COLUMNS_AT_ONCE]
            likely |= {j: [] for j in some}
            similar = np.abs(rows[start : start + len(some)] @ rows[: start + len(some)].T) > LIKELY
            for own, other in zip(*np.nonzero(np.tril(similar, start - 1)), strict=True):
                likely[some[own]].append(varying[other])
    return likely


def _likely_categories(categories: "_Lazy[Named]") -> dict[int, list[int]]:
    """For each column the earlier ones whose categories change in the same rows."""
    keys: list[tuple[int, Hashable]] = []
    for j, (_, codes) in categories.items():
        sample = spaced(codes, ROWS_SEEN)
        keys.append((j, _places(codes, sample) if _all_equal(sample) else _in_order_of_appearance(sample)))
    return _earlier(keys)


def _earlier(keys: Iterable[tuple[int, Hashable]]) -> dict[int, list[int]]:
    """For each column the earlier ones with the same key."""
    same: dict[Hashable, list[int]] = defaultdict(list)
    found = {}
    for j, key in keys:
        found[j] = list(same[key])
        same[key].append(j)
    return found


def _all_equal(sample: Doubles | Ints) -> bool:
    return bool(not np.fmin.reduce(sample) < np.fmax.reduce(sample))  # also if all are gaps


def _places(values: Doubles | Ints, sample: Doubles | Ints) -> Hashable:
    """Where a column differs from the one value of its sample: how often, first and last."""
    rows = np.flatnonzero(values != np.fmin.reduce(sample))
    return (len(rows), int(rows[0]), int(rows[-1])) if len(rows) else (0, 0, 0)


def _standardized(samples: Doubles) -> Doubles:
    """Rows of mean 0 and length 1; gaps are 0."""
    present = ~np.isnan(samples)
    means = np.where(present, samples, 0.0).sum(axis=1, keepdims=True) / np.count_nonzero(
        present, axis=1, keepdims=True
    )
    centred = np.where(present, samples - means, 0.0)
    with np.errstate(over="ignore"):  # columns of giants are like none
        lengths = np.sqrt(np.vecdot(centred, centred))[:, None]
    return np.asarray(centred / np.maximum(lengths, np.finfo(float).tiny))


def _in_order_of_appearance(sample: Doubles | Ints) -> bytes:
    """The same bytes for categories that change in the same rows."""
    _, first, place = np.unique(sample, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place].astype(np.int32).tobytes()


# Whether one repeats the other --------------------------------------------------------------------------------------


def scale_between(x: Doubles, y: Doubles) -> str | None:
    """Empty if two columns of numbers are the same, words if they are so on another scale; None if they are not."""
    present = ~np.isnan(x)
    if not np.array_equal(present, ~np.isnan(y)):
        return None
    x, y = x[present], y[present]
    if np.array_equal(x, y):
        return ""
    if not len(x) or np.isin(x, (x.min(), x.max())).all():  # two values, or one
        return None
    centred_x, centred_y = x - x.mean(), y - y.mean()
    factor = float(centred_x @ centred_y) / float(centred_x @ centred_x)
    rests = np.abs(centred_y - factor * centred_x).max()
    rounding = SLACK * (_last_digit(y) + abs(factor) * _last_digit(x)) / 2
    low, high = np.quantile(spaced(y, DIGITS_SEEN), (0.25, 0.75))
    bound = (rounding if rounding <= ROUNDING_SHARE * (high - low) else 0.0) + EXACT * float(np.abs(y).max())
    return " on another scale" if rests <= bound else None


def _last_digit(values: Doubles) -> float:
    """The last digit to which numbers are written, such as 0.1; 0 if they have more than a few."""
    sample = spaced(values, DIGITS_SEEN)
    for digits in range(MOST_DIGITS + 1):
        if np.allclose(sample, np.round(sample, digits), rtol=EXACT, atol=0):
            return float(10.0**-digits)
    return 0.0


def words_between(x: Named, y: Named) -> str | None:
    """Empty if two columns have the same categories, words if these stand for each other; None if they do not."""
    if np.array_equal(x.codes, y.codes) and x.levels == y.levels:
        return ""
    if len(x.levels) == 2 or len(y.levels) == 2 or not np.array_equal(x.codes < 0, y.codes < 0):
        return None
    ours, theirs = x.codes[x.codes >= 0], y.codes[y.codes >= 0]
    partner = np.full(int(ours.max(initial=0)) + 1, -1)
    partner[ours] = theirs
    used = partner[partner >= 0]
    is_same = np.array_equal(partner[ours], theirs) and len(np.unique(used)) == len(used)
    return " in other words" if is_same else None
