"""Ids without a telling header: whole numbers, all different, evenly spread, that go with no other column.

Random numbers given to customers look like a measurement. They are left out only if all of this holds:

1. At least ``FEWEST_ROWS`` rows; 99 of 100 values differ, all are whole, and the header names no measure or time.
2. The values are *evenly spread*: sqrt(n) times the largest distance between their distribution function and that of
   the uniform distribution over their range is below ``EVENLY_SPREAD`` (Kolmogorov and Smirnov). Measurements are
   bell-shaped, skewed or in groups.
3. They explain no other column: with the rows in ``BINS`` bins of equal size by this column, the share of variance
   between the bins of the ranks of every other number (Kruskal and Wallis: n - 1 times this share is chi-square with
   BINS - 1 degrees of freedom), and the counts of every category (Pearson), are what independent columns have, at the
   level ``RELATED_LEVEL`` over all other columns together.
4. Some two of the other columns do go together by the same test, so that the table shows relations at all.

A column that passes 2 and 3 has no groups of its own and takes part in none of several columns, so that a measurement
which passes by accident is no loss for clustering. Where one of these does not hold, the column stays a number.

Measured on 48 tables of mixed columns and 8 of numbers, of at least 200 rows: of their 291 numbers with more than
30 values, written as whole numbers that all differ, 2 were evenly spread (places in a picture) and none was left out.
Random numbers of six digits, three times in each of the 48 mixed tables, were left out 143 of 144 times.
"""

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
from scipy.special import chdtrc

from widegap._types import Doubles, Indices, Ints
from widegap.tables._column_values import ColumnValues
from widegap.tables._columns import Column, replaced
from widegap.tables._ids import FEWEST_IDS, is_measure_name, share_different, spaced

FEWEST_ROWS = 200  # from here on a bell-shaped column is seen not to be evenly spread; at 100 rows it often is not
ROWS_TESTED = 2000  # evenly spaced; a correlation of 0.1 shows in as many
ROWS_COMPARED = 20_000  # evenly spaced, in which nearly all values must be different
ALL_DIFFERENT = 0.99  # share of different values; random numbers of six digits repeat by accident
EVENLY_SPREAD = 1.63  # sqrt(n) D exceeds it for one of 100 evenly spread columns
BINS = 10  # enough for a relation that is not monotone, and 20 rows a bin in the smallest table
RELATED_LEVEL = 0.01  # of the test of relations; one of 100 ids is kept
PAIRED = 8  # other columns among which two that go together are looked for: 28 pairs, not tuned


def leave_out_unrelated(columns: list[Column], values: ColumnValues, is_named: Callable[[str], bool]) -> list[Column]:
    """The decisions with ids left out that only the other columns show; what the user named stays."""
    odd = [c for c in columns if c.used and not is_named(c.name) and _is_even(c, values)]
    if not odd:
        return columns
    tested = [column for column in columns if column.used and column.read_as in ("number", "category", "yes/no")]
    rows = spaced(np.arange(values.n_rows), ROWS_TESTED)
    samples = {column.name: _Sampled(column, values, rows) for column in tested}
    plain = [samples[column.name] for column in tested if column not in odd]
    if not _any_related(combinations(plain[:PAIRED], 2)):
        return columns
    unrelated = {
        column.name
        for column in odd
        if not _any_related((samples[column.name], found) for name, found in samples.items() if name != column.name)
    }
    return [_like_id(column) if column.name in unrelated else column for column in columns]


def _like_id(column: Column) -> Column:
    """Not used; and not called an id, by which rows would be named, because no header says so."""
    why = "like an id: nearly every row has another whole number, evenly spread, that goes with no other column"
    return replaced(column, "left out", why, change="numeric")


def _is_even(column: Column, values_of: ColumnValues) -> bool:
    """Whether a column is of different whole numbers that are evenly spread over their range."""
    if column.read_as != "number":
        return False
    values = values_of.numbers(column)
    sample = spaced(values, ROWS_TESTED)
    if (sample[:FEWEST_IDS] % 1 > 0).any() or is_measure_name(column.name):  # most numbers are not whole
        return False
    if share_different(sample) < ALL_DIFFERENT or share_different(spaced(values, ROWS_COMPARED)) < ALL_DIFFERENT:
        return False
    sample = np.sort(sample[~np.isnan(sample)])
    n = len(sample)
    place = (sample - sample[0]) / (sample[-1] - sample[0])
    distance = max(np.max(np.arange(1, n + 1) / n - place), np.max(place - np.arange(n) / n))
    return n >= FEWEST_ROWS and bool(np.sqrt(n) * distance < EVENLY_SPREAD)


class _Sampled:
    """Some rows of one column: the bin or category of each, and scores whose variance others may explain."""

    def __init__(self, column: Column, values_of: ColumnValues, rows: Indices):
        self.is_number = column.read_as == "number"
        if self.is_number:
            values = values_of.numbers(column)[rows]
            present = ~np.isnan(values)
            self.scores = np.zeros(len(rows))
            self.scores[present] = _middle_ranks(values[present])
            self.groups: Ints = np.where(present, np.floor(BINS * self.scores).astype(int), -1)
        else:
            self.groups = values_of.cells(column.name).levels[1][rows]


def _middle_ranks(values: Doubles) -> Doubles:
    """Ranks between 0 and 1; equal values share the middle of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Doubles = ((np.cumsum(counts) - counts / 2) / len(values))[place]
    return ranks


def _any_related(pairs: Iterable[tuple[_Sampled, _Sampled]]) -> bool:
    """Whether one column explains the other in one of the pairs, at RELATED_LEVEL over all pairs together."""
    found = [_relation(first, second) for first, second in pairs]
    return bool(found) and min(found) < RELATED_LEVEL / len(found)


def _relation(first: _Sampled, second: _Sampled) -> float:
    """How often independent columns are at least as related, from 0 to 1; 1 where that cannot be tested."""
    both = (first.groups >= 0) & (second.groups >= 0)
    _, groups, sizes = np.unique(first.groups[both], return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        return 1.0
    if second.is_number:
        scores = second.scores[both]
        means = np.bincount(groups, scores) / sizes
        total = np.sum((scores - scores.mean()) ** 2)
        between = np.sum(sizes * (means - scores.mean()) ** 2)
        return 1.0 if total == 0 else float(chdtrc(len(sizes) - 1, (len(scores) - 1) * between / total))
    _, levels = np.unique(second.groups[both], return_inverse=True)
    k = int(levels.max()) + 1
    counts = np.bincount(groups * k + levels, minlength=len(sizes) * k).reshape(-1, k)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    if k < 2:
        return 1.0
    return float(chdtrc((len(sizes) - 1) * (k - 1), np.sum((counts - expected) ** 2 / expected)))
