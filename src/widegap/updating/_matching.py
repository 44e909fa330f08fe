"""Which cluster is which: clusters of a new search are matched to those before by the remembered rows they share.

With the overlaps C(f, p), the weight of remembered rows that are in cluster f now and were in cluster p before, the
optimal assignment maximises the weight of all matched pairs. A pair keeps the number of p if most of what is remembered
of f comes from p, and most of p is in f: then the number means what it meant. If several clusters before have most of
their rows in f, and are together most of f, they were joined, and f keeps the number of the largest. All other clusters
of the search get new numbers. The match is *clean* if no cluster was divided, and none joined with another.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from widegap._types import Doubles, Ints, Labels

NO_NUMBERS = np.empty(0, np.int64)
MOST = 0.5  # of the weight of a cluster: more than half


@dataclass(frozen=True)
class Match:
    """Clusters of a search and the clusters before.

    Attributes
    ----------
    numbers : ndarray of shape (k,)
        The number of every cluster of the search; new ones are numbered from the next free number on.
    parents : ndarray of shape (k,)
        The cluster before that has most of what is remembered of each; -1 if nothing is.
    clean : bool
        Whether every cluster before has kept most of its rows, and every matched one has got most of its rows from it.
    """

    numbers: Ints
    parents: Ints
    clean: bool


def match_clusters(
    found: Labels, before: Labels | Ints, weights: Doubles, k: int, next_number: int, fixed: Ints | Labels = NO_NUMBERS
) -> Match:
    """Match k clusters ``found`` in remembered rows to the numbers that these had ``before``.

    The first clusters have the numbers ``fixed``: they carry known labels.
    """
    overlaps = np.zeros((k, next_number))
    np.add.at(overlaps, (found, before), weights)
    overlaps[np.arange(len(fixed)), fixed] += 2 * weights.sum() + 1
    pairs = linear_sum_assignment(-overlaps)
    shared, of_found, of_before = overlaps[pairs], overlaps.sum(axis=1), overlaps.sum(axis=0)
    same = (shared > MOST * of_found[pairs[0]]) & (shared > MOST * of_before[pairs[1]])
    numbers = np.full(k, -1)
    numbers[pairs[0][same]] = pairs[1][same]
    joined = np.where(overlaps > MOST * of_before, overlaps, 0.0)
    for f in np.flatnonzero((numbers < 0) & (joined.sum(axis=1) > MOST * of_found)):
        numbers[f] = joined[f].argmax()  # no other cluster has most of it
    unclean = not same.all() or len(pairs[0]) < k
    fresh = np.flatnonzero(numbers < 0)
    numbers[fresh] = next_number + np.arange(len(fresh))
    stays = np.zeros(next_number, bool)
    stays[pairs[1][same]] = True
    clean = not unclean and bool(stays[of_before > 0].all())
    return Match(numbers, np.where(of_found > 0, overlaps.argmax(axis=1), -1), clean)
