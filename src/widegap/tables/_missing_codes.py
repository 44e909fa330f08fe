"""Numbers that may mean "missing": -1, -99, 999, 9999 and the like, repeated and away from the rest.

They are asked about, not removed: only the user knows. A value is asked about if it is -1 or, but for its sign, two
nines or more, occurs at least twice, is the smallest or largest value, and

- is below 0 where all others are not, ``FEWEST_VALUES`` different ones at least; -1 must also occur more often than
  the value next to it, as the last step of a scale hardly does; or
- is as far from the nearest of the others as they reach.
"""

import numpy as np

from widegap._types import Doubles, Ints
from widegap.tables._arrow_tables import shortest
from widegap.tables._ids import spaced

ROWS_LOOKED_AT = 20_000  # evenly spaced; a code in one cell of a thousand is among them
FEWEST_VALUES = 10  # different values beside the code; fewer may be steps of a scale that goes from -1 up
FEWEST_BESIDE = 3  # different values whose reach means something
FEWEST_TIMES = 2  # a single cell may be a slip


def note_on_codes(name: str, values: Doubles) -> str:
    """A question about numbers of a column that may mean a gap; empty if there are none."""
    codes, low, high = codes_for_missing(values)
    if not codes:
        return ""
    counts = [int(np.count_nonzero(values == code)) for code in codes]
    shown = [str(shortest(code)) for code in codes]
    which = " and ".join(f"{n:,} cells are {code}" for n, code in zip(counts, shown, strict=True))
    return (
        f"Column {name!r}: {which}, far outside the rest ({low:g} to {high:g}). If that means missing, pass "
        f"na_values={shown}."
    )


def codes_for_missing(values: Doubles) -> tuple[list[float], float, float]:
    """Values that may mean a gap, and the smallest and largest of the others."""
    sample = spaced(values, ROWS_LOOKED_AT)
    low, high = np.fmin.reduce(sample), np.fmax.reduce(sample)
    if not (is_code(low) or is_code(high)):
        return [], low, high
    distinct, counts = np.unique(sample[~np.isnan(sample)], return_counts=True)
    found: list[float] = []
    first, last = 0, len(distinct) - 1
    while True:
        if _is_away(distinct[first : last + 1], counts[first : last + 1]):
            found.append(float(distinct[first]))
            first += 1
        elif _is_away(-distinct[first : last + 1][::-1], counts[first : last + 1][::-1], is_turned=True):
            found.append(float(distinct[last]))
            last -= 1
        else:
            return found, float(distinct[first]), float(distinct[last])


def is_code(value: float) -> bool:
    """Whether a number is -1, or two nines or more with either sign."""
    if value == -1:
        return True
    digits = f"{abs(value):.0f}"
    return len(digits) > 1 and set(digits) == {"9"} and value == np.floor(value)


def _is_away(distinct: Doubles, counts: Ints, *, is_turned: bool = False) -> bool:
    """Whether the first of sorted values is a code away from the rest; ``is_turned`` if their signs were changed."""
    value, rest = distinct[0], distinct[1:]
    if len(rest) < FEWEST_BESIDE or counts[0] < FEWEST_TIMES or not is_code(-value if is_turned else value):
        return False
    if rest[0] - value >= rest[-1] - rest[0]:
        return True
    is_only_negative = not is_turned and value < 0 <= rest[0] and len(rest) >= FEWEST_VALUES
    return bool(is_only_negative and (value < -1 or counts[0] > counts[1]))
