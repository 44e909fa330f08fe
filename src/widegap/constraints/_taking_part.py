"""Rows of a table by their part in a fit, and the way back from those that were fitted to all of them.

A fit leaves out rows of weight zero (*absent*). Of the others, the *present* ones, some may belong to no cluster
(*outlying*); the rest is *fitted*, and a search may look at some of these only (*searched*). What is found is numbered
among the rows that were looked at; here, and only here, that becomes a number of the user's table.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widegap._types import Ints, Mask


def _no_rows() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class TakingPart:
    """Which of ``n`` rows take part in a fit, by their numbers.

    Attributes
    ----------
    n : int
        Number of all rows.
    present : ndarray
        Rows that count, ascending.
    outlying : ndarray
        Those of the present rows that belong to no cluster, ascending; they get the label -1.
    searched : ndarray
        Rows that a search looked at, ascending; a row whose weight makes several copies occurs several times.
    """

    n: int
    present: Ints
    outlying: Ints = field(default_factory=_no_rows)
    searched: Ints = field(default_factory=_no_rows)

    @classmethod
    def where(cls, mask: Mask, outlying: Mask | None = None) -> "TakingPart":
        """The rows for which a mask is True; ``outlying`` is a mask of all rows, too."""
        return cls(len(mask), np.flatnonzero(mask), _no_rows() if outlying is None else np.flatnonzero(outlying & mask))

    @property
    def absent(self) -> Ints:
        """Rows that do not count."""
        return np.setdiff1d(np.arange(self.n), self.present, assume_unique=True)

    @property
    def fitted(self) -> Ints:
        """The present rows without the outlying ones."""
        return np.setdiff1d(self.present, self.outlying, assume_unique=True)

    @property
    def searches_all(self) -> bool:
        """Whether every row was searched, and each once."""
        return len(self.searched) == self.n and bool((np.diff(self.searched) > 0).all())

    def within(self, rows: Ints, n: int) -> "TakingPart":
        """The same rows by their numbers in a table of n rows, of which this one has ``rows``."""
        return TakingPart(n, rows[self.present], rows[self.outlying], rows[self.searched])

    def to_all(self, fitted: Any, absent: Any, outlying: Any = -1) -> np.ndarray[Any, Any]:
        """One value a row of the table, from the values of its three kinds of rows."""
        values = np.empty(self.n, np.asarray(fitted).dtype)
        values[self.fitted], values[self.outlying], values[self.absent] = fitted, outlying, absent
        return values
