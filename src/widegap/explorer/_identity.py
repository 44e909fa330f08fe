"""Who is who among clusters: a cluster keeps its key, and so its name and its colour, while its rows stay together.

Labels are numbered anew by every cut and every fit. A *key* is the number of a cluster as a person knows it: the new
clusters take the keys of those that they share most rows with, one to one; further clusters take the least numbers that
are free.
"""

from collections.abc import Callable, Mapping
from itertools import count

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from widegap._types import Ints

WholeNumbers = npt.NDArray[np.signedinteger]  # labels and keys of rows, as narrow as their number allows


def matched_keys(old: WholeNumbers, new: WholeNumbers, k: int, fixed: Mapping[int, int] | None = None) -> Ints:
    """The key of each of k new clusters.

    Parameters
    ----------
    old : ndarray of shape (n,)
        Keys of the rows before, -1 for none.
    new : ndarray of shape (n,)
        New labels, from 0 to k - 1, -1 for none.
    k : int
        Number of new clusters.
    fixed : mapping, default=None
        Keys of labels that are known from corrections.
    """
    fixed = dict(fixed or {})
    kinds = np.setdiff1d(old[old >= 0], list(fixed.values()))
    free = np.setdiff1d(np.arange(k), list(fixed))
    overlap = np.zeros((len(kinds), k))
    both = np.isin(old, kinds) & (new >= 0)
    np.add.at(overlap, (np.searchsorted(kinds, old[both]), new[both]), 1)
    keys = np.full(k, -1, np.int64)
    for label, key in fixed.items():
        keys[label] = key
    rows, columns = linear_sum_assignment(overlap[:, free], maximize=True)
    for row, column in zip(rows, columns, strict=True):
        if overlap[row, free[column]]:
            keys[free[column]] = kinds[row]
    unused = (number for number in count() if number not in set(keys.tolist()))
    taken = [next(unused) for _ in range(int((keys < 0).sum()))]
    keys[keys < 0] = taken
    return keys


class CutKeys:
    """Keys of the clusters at every number: from those at the fit's own number, step by step."""

    def __init__(self, cut: Callable[[int], WholeNumbers], own: int, keys: Ints):
        self._cut, self._own = cut, own
        self._keys = {own: keys}

    def at(self, k: int) -> Ints:
        """The key of every label of the cut at k."""
        step = 1 if k > self._own else -1
        for number in range(self._own, k, step):
            if number + step not in self._keys:
                before = with_keys(self._keys[number], self._cut(number))
                self._keys[number + step] = matched_keys(before, self._cut(number + step), number + step)
        return self._keys[k]


def with_keys(keys: Ints, labels: WholeNumbers) -> WholeNumbers:
    """WholeNumbers of rows as keys; -1 stays."""
    return np.append(keys, -1)[labels]
