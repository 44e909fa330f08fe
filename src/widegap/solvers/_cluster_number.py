"""How many clusters: which merges join groups that a single cloud of rows would not have kept so far apart.

When a tree merges a and b, the conductance phi of the cut between them (``_merging.cut_conductance``) is low if few
edges cross it. How low it is without any structure depends on the sizes: small groups have more of their edges at their
border. So the same search also runs on rows without structure, drawn from one Gaussian and one box of the same
covariance, and a quadratic in log size is fitted to the log conductances found there:

    log phi_0(s) = c_0 + c_1 log s + c_2 (log s)^2,    s the rows of the smaller group,   sigma its standard error
    z_k = (log phi_0(s) - log phi) / sigma             for the merge from k to k - 1 groups, median over the trees

is the *separation* of the merge: about 0 where chance would do, 10 and more between clear clusters. Curved or long
clusters are cut more easily than a round cloud wherever one cuts them, which lifts all z below the true number alike;
what counts is how far a merge stands out from the deeper ones:

    e_k = z_k - max(0, median of z_j over j > k).

The number of clusters is the largest k such that e_2, ..., e_k all exceed ``CLEAR``; 1 if none does. The threshold was
settled on drawn shapes (blobs, moons, circles, bands, and clouds without structure), not on data sets with classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widegap.solvers._merging import MergeTree
from widegap.solvers._result import FloatArray

CLEAR = 4.0
LEAST_PHI = 1e-4  # nothing crosses some cuts: they are this clear, no more
LEAST_ERROR = 0.05  # of log phi_0
FEWEST_MERGES = 5  # of the rows without structure, below which no curve is fitted


@dataclass(frozen=True)
class Separations:
    """Separation z of the merges from k = 2, 3, ... groups, and by how much each stands out, e."""

    separation: FloatArray
    excess: FloatArray

    @property
    def n_clusters(self) -> int:
        """The number of clusters that the excesses speak for."""
        below = np.flatnonzero(self.excess <= CLEAR)
        return 1 + int(below[0] if len(below) else len(self.excess))


def separations(trees: Sequence[MergeTree], chance: Sequence[MergeTree], most: int) -> Separations:
    """Compare the last merges of trees, from ``most`` groups on, with those of rows without structure."""
    curve, error = _chance_curve(chance)
    found = []
    for tree in trees:
        phi, smaller = _merges(tree)
        z = (np.polyval(curve, np.log(smaller)) - np.log(np.maximum(phi, LEAST_PHI))) / error
        found.append(z[::-1][: most - 1])
    shortest = min(map(len, found))
    z = np.median([row[:shortest] for row in found], axis=0)
    deeper = np.array([np.median(z[j + 1 :]) if j + 1 < len(z) else 0.0 for j in range(len(z))])
    return Separations(z, z - np.maximum(deeper, 0.0))


def _chance_curve(chance: Sequence[MergeTree]) -> tuple[FloatArray, float]:
    """Coefficients of log phi_0 in log size, the highest power first, and the standard error."""
    merges = [_merges(tree) for tree in chance]
    phi = np.concatenate([part for part, _ in merges])
    sizes = np.log(np.concatenate([part for _, part in merges])[phi > 0])
    phi = np.log(phi[phi > 0])
    if len(phi) < FEWEST_MERGES:
        return np.zeros(1), 1.0
    curve = np.polyfit(sizes, phi, 2 if len(np.unique(sizes)) > 2 else 0)
    return curve, max(LEAST_ERROR, float(np.std(phi - np.polyval(curve, sizes))))


def _merges(tree: MergeTree) -> tuple[FloatArray, FloatArray]:
    """Conductance of each merge's cut, and the rows of its smaller group."""
    sizes = np.concatenate([tree.leaf_sizes, tree.sizes])
    return 1 - tree.margins, sizes[tree.merges].min(axis=1).astype(np.float64)
