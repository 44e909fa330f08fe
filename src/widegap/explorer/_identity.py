"""Who is who among clusters: a cluster keeps its key, and so its name and its colour, while its rows stay together.

Labels are numbered anew by every cut and every fit. A *key* stands for a cluster as a person knows it: the new clusters
take the keys of those that they share most rows with, one to one. A cluster that is left over takes the key of an
earlier cluster that is not shown, if each holds more than half of the rows of the other. If there is none, the cluster
is new and takes a key that no cluster had before: it inherits neither a name nor a correction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from widegap._types import Ints

WholeNumbers = npt.NDArray[np.signedinteger]  # labels and keys of rows, as narrow as their number allows

LOOKS = 30  # colours and shapes by key: 10 colours, 6 shapes, so that the pairs repeat after 30 keys
KEY_SPAN = 200 * LOOKS  # keys reserved for the new clusters of one fit: at least twice the 1,000 clusters of a fit
MOST_EARLIER = 4  # partitions that a fit remembers, of the last two fits: each costs one integer per row


@dataclass(frozen=True)
class NewKeys:
    """Keys for clusters that match none before.

    Attributes
    ----------
    start : int
        The least key of a new cluster.
    earlier : sequence of ndarray of shape (n,)
        Keys of the rows in earlier partitions, the latest first.
    """

    start: int = 0
    earlier: Sequence[WholeNumbers] = ()

    def key_of(self, inside: npt.NDArray[np.bool_], shown: set[int], gone: set[int]) -> int:
        """The key of a cluster of some rows beside those that are shown; keys that are gone stay unused."""
        for keys in self.earlier:
            found = _same_cluster(keys, inside)
            if found is not None and found not in shown:
                return found
        looks = {key % LOOKS for key in shown}
        unused = (key for key in count(self.start) if key not in shown and key not in gone)
        return next(key for key in unused if key % LOOKS not in looks or len(looks) == LOOKS)


def _same_cluster(keys: WholeNumbers, inside: npt.NDArray[np.bool_]) -> int | None:
    """The key that more than half of the rows have, and that more than half of its rows are among them."""
    kinds, counts = np.unique(keys[inside], return_counts=True)
    if not len(kinds):
        return None
    best = int(counts.argmax())
    shared, key = 2 * int(counts[best]), int(kinds[best])
    if key < 0 or shared <= np.count_nonzero(inside) or shared <= np.count_nonzero(keys == key):
        return None
    return key


def matched_keys(
    old: WholeNumbers,
    new: WholeNumbers,
    k: int,
    fixed: Mapping[int, int] | None = None,
    *,
    new_keys: NewKeys | None = None,
    gone: set[int] | None = None,
) -> Ints:
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
    new_keys : NewKeys, default=None
        Keys of clusters that match none of the old ones; None takes the least that are free.
    gone : set of int, default=None
        Further keys that no new cluster may take, besides those in ``old``.
    """
    fixed, new_keys = dict(fixed or {}), new_keys or NewKeys()
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
    gone = (gone or set()) | set(kinds.tolist())
    for label in np.flatnonzero(keys < 0).tolist():
        keys[label] = new_keys.key_of(new == label, set(keys[keys >= 0].tolist()), gone)
    return keys


class CutKeys:
    """Keys of the clusters at every number: from those at the fit's own number, step by step."""

    def __init__(self, cut: Callable[[int], WholeNumbers], own: int, keys: Ints, new_keys: NewKeys):
        self._cut, self._own = cut, own
        self._keys = {own: keys}
        # More clusters and fewer have new keys of their own, so that none depends on which were asked for first.
        self._new_keys = {1: new_keys, -1: NewKeys(new_keys.start + KEY_SPAN // 2, new_keys.earlier)}

    def at(self, k: int) -> Ints:
        """The key of every label of the cut at k."""
        step = 1 if k > self._own else -1
        used: set[int] = set()
        for number in range(self._own, k, step):
            used |= set(self._keys[number].tolist())
            if number + step not in self._keys:
                before = with_keys(self._keys[number], self._cut(number))
                self._keys[number + step] = matched_keys(
                    before, self._cut(number + step), number + step, new_keys=self._new_keys[step], gone=used
                )
        return self._keys[k]


def with_keys(keys: Ints, labels: WholeNumbers) -> WholeNumbers:
    """Labels of rows as keys; -1 stays."""
    return np.append(keys, -1)[labels]
