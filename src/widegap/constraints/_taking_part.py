"""Rows of a table that take part in a fit, and the way back to all of them.

A fit leaves rows out whose weight is zero, and some leave out outliers. What it finds is numbered among the rows that
took part; here, and only here, that becomes a number of the user's table.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widegap._types import Ints


@dataclass(frozen=True)
class TakingPart:
    """Which of ``n`` rows take part: their numbers ``present``, ascending."""

    n: int
    present: Ints

    @classmethod
    def where(cls, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> "TakingPart":
        """The rows that a mask tells."""
        return cls(len(mask), np.flatnonzero(mask))

    @property
    def absent(self) -> Ints:
        """Numbers of the other rows."""
        return np.setdiff1d(np.arange(self.n), self.present, assume_unique=True)

    def some(self, part: "TakingPart") -> "TakingPart":
        """Rows of which ``part`` is told by their numbers among these."""
        return TakingPart(self.n, self.present[part.present])

    def with_absent(self, values: Any, others: Any) -> np.ndarray[Any, Any]:
        """One entry a row of the table: ``values`` of the rows that take part, and ``others``."""
        found = np.empty(self.n, np.asarray(values).dtype)
        found[self.present], found[self.absent] = values, others
        return found
