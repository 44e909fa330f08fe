"""How many clusters: which merges join groups that a single cloud of rows would not have kept so far apart.

When a tree merges a and b, the conductance phi of the cut between them (``_linkage.cut_conductance``) is low if few
edges cross it. How low it is without any structure depends on the sizes: small groups have more of their edges at their
border. So the same search also runs on rows without structure, drawn from one Gaussian and one box of the same
covariance, and a quadratic in log size is fitted to the log conductances found there:

    log phi_0(s) = c_0 + c_1 log s + c_2 (log s)^2,    s the rows of the smaller group,   sigma its standard error
    z_k = (log phi_0(s) - log phi) / sigma             for the merge from k to k - 1 groups, median over the trees

is the *separation* of the merge: about 0 without structure, 10 and more between clear clusters. But a long or
curved cluster is cut more easily than a round cloud wherever one cuts it, and the more easily the more rows are on
either side. So the merges within clusters are themselves what a merge between clusters has to stand out from. If there
are k clusters, those are the merges j > k, and a line through them (the median of all slopes between two of them, after
Theil and Sen, and at least 0),

    line_k(s) = max(0, a + b min(log s, the largest log s among j > k)),

is the separation to expect of a merge within a cluster. It ends where they end: beyond, it would be that of clusters
larger than there are. The *excess* of k clusters is what even the least clear merge between them has above it,

    e_k = min over 2 <= j <= k of z_j - line_k(s_j),

and the number of clusters is the largest k with e_k > ``CLEAR_EXCESS``; 1 if there is none. The threshold was settled
on drawn shapes (blobs, moons, rings, bands, and clouds without structure); between 3.25 and 4, which do alike there,
data sets with classes decided (``benchmarks/choices.md``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widegap._types import Floats
from widegap.forest._linkage import MergeTree

CLEAR_EXCESS = 3.5  # 3.25 to 4 do alike on drawn shapes; labelled sets decided (benchmarks/choices.md)
LEAST_PHI = 1e-4  # nothing crosses some cuts: they are this clear, no more
LEAST_ERROR = 0.05  # of log phi_0
FEWEST_MERGES = 5  # of the rows without structure, below which no curve is fitted
FEWEST_DEEPER = 3  # merges within clusters, below which no line is fitted
LEAST_STEP = 0.1  # of log sizes between which a slope is taken


@dataclass(frozen=True)
class Separations:
    """Separation z of the merges from k = 2, 3, ... groups, and the excess e of k clusters."""

    separation: Floats
    excess: Floats

    @property
    def n_clusters(self) -> int:
        """The number of clusters that the excesses speak for."""
        clear = np.flatnonzero(self.excess > CLEAR_EXCESS)
        return int(clear[-1]) + 2 if len(clear) else 1


def separations(trees: Sequence[MergeTree], null: Sequence[MergeTree], most: int) -> Separations:
    """Compare the merges of trees with those of rows without structure, for up to ``most`` clusters."""
    curve, error = _null_curve(null)
    found, sizes = [], []
    shortest = min(len(tree.merges) for tree in trees)
    for tree in trees:
        phi, smaller = _merges(tree)
        z = (np.polyval(curve, np.log(smaller)) - np.log(np.maximum(phi, LEAST_PHI))) / error
        found.append(z[::-1][:shortest])
        sizes.append(smaller[::-1][:shortest])
    z, s = np.median(found, axis=0), np.log(np.median(sizes, axis=0))
    excess = [np.min((z - _line(z[k - 1 :], s[k - 1 :], s))[: k - 1]) for k in range(2, min(most, len(z) + 1) + 1)]
    return Separations(z[: most - 1], np.array(excess))


def _line(z: Floats, s: Floats, at: Floats) -> Floats:
    """What merges with separations z and log sizes s let one expect at other log sizes."""
    if len(z) < FEWEST_DEEPER:
        return np.zeros(len(at))
    i, j = np.triu_indices(len(z), 1)
    wide = np.abs(s[j] - s[i]) > LEAST_STEP
    slope = max(0.0, float(np.median((z[j] - z[i])[wide] / (s[j] - s[i])[wide]))) if wide.any() else 0.0
    return np.maximum(0.0, float(np.median(z - slope * s)) + slope * np.minimum(at, s.max()))


def _null_curve(null: Sequence[MergeTree]) -> tuple[Floats, float]:
    """Coefficients of log phi_0 in log size, the highest power first, and the standard error."""
    merges = [_merges(tree) for tree in null]
    phi = np.concatenate([part for part, _ in merges])
    sizes = np.log(np.concatenate([part for _, part in merges])[phi > 0])
    phi = np.log(phi[phi > 0])
    if len(phi) < FEWEST_MERGES:
        return np.zeros(1), 1.0
    curve = np.polyfit(sizes, phi, 2 if len(np.unique(sizes)) > 2 else 0)
    return curve, max(LEAST_ERROR, float(np.std(phi - np.polyval(curve, sizes))))


def _merges(tree: MergeTree) -> tuple[Floats, Floats]:
    """Conductance of each merge's cut, and the rows of its smaller group."""
    sizes = np.concatenate([tree.leaf_sizes, tree.sizes])
    return 1 - tree.margins, sizes[tree.merges].min(axis=1).astype(np.float64)
