"""Wide rows, such as those of documents, in a few dimensions: where a search among starts is cheap, and finds more.

The weights of a large margin lie mostly along the leading singular vectors V (r, d) of the rows, because every other
direction costs more of |W|^2 than it gains. So the starts of a wide sample X are tried on its coordinates Z = X V', and
only the best goes on with all columns. A score in the reduced frame is

    w . (z - mean_z) / scale_z  =  (w V stretch) . (x - mean_x) / scale_x,      stretch = scale_x / scale_z,

so that weights w stand for w V stretch, and beta / 2 |W|^2 for stretch^2 beta / 2 |w|^2, V having orthonormal rows.
"""

from dataclasses import dataclass, replace

import numpy as np

from widegap._types import Floats
from widegap.base._records import SolverResult
from widegap.base._starts import Sample
from widegap.features._spectrum import leading_vectors
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

WIDE_COLUMNS = 500  # columns (and rows) above which few dimensions pay
# Dimensions, and further ones a cluster. Not tuned: well above the k - 1 that separate k clusters.
LEAST_RANK, RANK_A_CLUSTER = 20, 5
START_TOL = 0.03  # the starts are only compared: the search on all columns has a tolerance of its own
START_STEPS = 15  # with 30 or 20 the accuracy on 20news is the same and on RCV1 lower (56.0, 57.6, now 58.8)


def is_wide(sample: Sample) -> bool:
    """Whether starts are to be tried in few dimensions: not where the search on the sample is that on all rows."""
    return not sample.whole and min(sample.X.shape) > WIDE_COLUMNS


@dataclass(frozen=True)
class ReducedSample:
    """A sample by its coordinates ``X``, and centred as ``rows``; ``V`` and ``stretch`` are as above."""

    X: Floats
    rows: CentredRows
    V: Floats
    stretch: float

    @classmethod
    def of(cls, sample: Sample, n_clusters: int, rng: np.random.Generator) -> "ReducedSample":
        """The leading dimensions of a sample, more for more clusters."""
        rank, seed = LEAST_RANK + RANK_A_CLUSTER * n_clusters, int(rng.integers(2**31))
        V = leading_vectors(sample.X, rank, seed, sample.rows.array_weights())
        Z = np.asarray(sample.X @ V.T, np.float32)  # starts are only compared: six digits are enough
        rows = CentredRows(row_blocks(Z, n_threads=sample.rows.blocks.n_threads), sample.rows.array_weights())
        return cls(Z, rows, V, sample.rows.scale / rows.scale)

    def lifted(self, found: SolverResult) -> SolverResult:
        """What was found, with weights for all columns."""
        return replace(found, point=replace(found.point, W=found.point.W @ self.V * self.stretch))
