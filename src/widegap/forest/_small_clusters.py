"""When a small cluster gives way to a border between large ones.

Linkages by averages ask how near two groups are and not how many rows the answer moves. So of k clusters one may be a
small part of a class, standing somewhat apart, while two whole classes are still together. With k + 1 clusters both
borders are drawn, and the question is which of them to give up: that between the clusters a and b, which were one of
the k, or that between the small cluster c and its nearest neighbour d. c gives way if

- the smaller of a and b has at least ``TIMES_LARGER`` as many rows as c,
- a and b are clearly apart: the cut between them, inside their union, has a conductance of at most ``CLEAR_BORDER``,
- c is not much more clearly apart from d: its conductance is at least that of a and b over ``CLEARER_TIMES``, and
- c is not tiny: fewer than ``TINY_CLUSTER`` n / k rows were kept as a cluster because they are isolated, and stay.

``TIMES_LARGER`` and ``CLEAR_BORDER`` were settled on labelled sets (``benchmarks/choices.md``). ``CLEARER_TIMES`` lies
between what pairs of digits need (2.6) and what keeps a far group of 20 beside 400 rows a cluster (4.6).
"""

import numpy as np

from widegap._types import Floats, Indices, Labels, Mask
from widegap.forest._linkage import cut_conductance

TINY_CLUSTER = 0.05  # share of n / k below which a cluster has to be isolated
TIMES_LARGER = 4  # settled on labelled sets, with CLEAR_BORDER (benchmarks/choices.md)
CLEAR_BORDER = 0.05  # conductance of a clear border, settled with it
CLEARER_TIMES = 3  # pairs of digits need 2.6, and 4.6 would dissolve a far group of 20 beside 400 rows


def may_give_way(sizes: Indices) -> bool:
    """Whether half of the largest cluster is ``TIMES_LARGER`` as large as the smallest that is not tiny."""
    return bool(2 * TIMES_LARGER * sizes[~_tiny(sizes, len(sizes))].min(initial=sizes.sum()) <= sizes.max())


def border_to_drop(coarse: Labels, fine: Labels, E: Floats) -> tuple[int, int] | None:
    """The small cluster c and its neighbour d among k + 1 clusters, if these are to be joined to leave k; else None.

    ``coarse`` are the k clusters that were found, ``fine`` the k + 1, and E (k + 1, k + 1) the weights between those.
    """
    sizes = np.bincount(fine, minlength=len(E)).astype(np.float64)
    pair = _split(coarse, fine, len(E))
    if pair is None or (border := cut_conductance(E, *pair)) > CLEAR_BORDER:
        return None
    small = ~_tiny(sizes, len(E) - 1) & (TIMES_LARGER * sizes <= sizes[list(pair)].min())
    if not small.any():
        return None
    c = int(np.where(small, sizes, np.inf).argmin())
    nearness = E[c] / sizes
    nearness[c] = -1
    d = int(nearness.argmax())
    return (c, d) if CLEARER_TIMES * cut_conductance(E, c, d) >= border else None


def _tiny(sizes: Floats | Indices, k: int) -> Mask:
    return sizes < TINY_CLUSTER * sizes.sum() / k


def _split(coarse: Labels, fine: Labels, n_fine: int) -> tuple[int, int] | None:
    """The two fine clusters that are one coarse cluster, if that is the only difference."""
    shared = np.zeros((n_fine, n_fine - 1))
    np.add.at(shared, (fine, coarse), 1)
    owners = shared.argmax(axis=1)
    twice = np.flatnonzero(np.bincount(owners, minlength=n_fine - 1) == 2)
    if len(set(owners)) < n_fine - 1:
        return None
    a, b = np.flatnonzero(owners == twice[0])
    return int(a), int(b)
