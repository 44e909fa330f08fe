"""When a small cluster gives way to a border between large ones.

Linkages by averages ask how near two groups are and not how many rows the answer moves. So of k clusters one may be a
small part of a class, standing somewhat apart, while two whole classes are still together. With k + 1 clusters both
borders are drawn, and the question is which of them to give up: that between the clusters a and b, which were one of
the k, or that between the small cluster c and its nearest neighbour d. c gives way if

- the smaller of a and b has at least ``TIMES`` as many rows as c,
- a and b are clearly apart: the cut between them, inside their union, has a conductance of at most ``CLEAR``,
- c is not much more clearly apart from d: its conductance is at least that of a and b over ``CLEARER``, and
- c is not tiny: fewer than ``TINY`` n / k rows were kept as a cluster because they are isolated, and stay.

``TIMES`` and ``CLEAR`` were settled on labelled sets (``benchmarks/choices.md``). ``CLEARER`` lies between what pairs
of digits need (2.6) and what keeps a far group of 20 beside 400 rows a cluster (4.6).
"""

import numpy as np

from widegap._types import Doubles, Labels
from widegap.forest._linkage import cut_conductance

TINY = 0.05  # share of n / k below which a cluster has to be isolated
TIMES = 4
CLEAR = 0.05
CLEARER = 3


def may_give_way(sizes: Doubles) -> bool:
    """Whether a cluster of these sizes is so small that half of the largest is ``TIMES`` as large; tiny ones aside."""
    return bool(2 * TIMES * sizes[~_tiny(sizes, len(sizes))].min(initial=sizes.sum()) <= sizes.max())


def border_to_drop(coarse: Labels, fine: Labels, E: Doubles) -> tuple[int, int] | None:
    """The small cluster c and its neighbour d among k + 1 clusters, if these are to be joined to leave k; else None.

    ``coarse`` are the k clusters that were found, ``fine`` the k + 1, and E (k + 1, k + 1) the weights between those.
    """
    sizes = np.bincount(fine, minlength=len(E)).astype(np.float64)
    pair = _split(coarse, fine, len(E))
    if pair is None or (border := cut_conductance(E, *pair)) > CLEAR:
        return None
    small = ~_tiny(sizes, len(E) - 1) & (TIMES * sizes <= sizes[list(pair)].min())
    if not small.any():
        return None
    c = int(np.where(small, sizes, np.inf).argmin())
    nearness = E[c] / sizes
    nearness[c] = -1
    d = int(nearness.argmax())
    return (c, d) if CLEARER * cut_conductance(E, c, d) >= border else None


def _tiny(sizes: Doubles, k: int) -> np.ndarray:
    return sizes < TINY * sizes.sum() / k


def _split(coarse: Labels, fine: Labels, n_fine: int) -> tuple[int, int] | None:
    """The two of the fine clusters that are one of the coarse ones, where that is all that tells them apart."""
    shared = np.zeros((n_fine, n_fine - 1))
    np.add.at(shared, (fine, coarse), 1)
    owners = shared.argmax(axis=1)
    twice = np.flatnonzero(np.bincount(owners, minlength=n_fine - 1) == 2)
    if len(set(owners)) < n_fine - 1:
        return None
    a, b = np.flatnonzero(owners == twice[0])
    return int(a), int(b)
