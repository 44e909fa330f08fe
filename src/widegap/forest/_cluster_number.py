"""How many clusters: which merges join groups that a single cloud of rows would not have kept so far apart.

*Separation.* When a tree merges a and b, the conductance phi of the cut between them (``_linkage.cut_conductance``) is
low if few edges cross it. How low it is without any structure depends on the sizes: small groups have more of their
edges at their border. So the same search also runs on null tables, rows without structure, and a quadratic in log size
is fitted to the log conductances found there:

    log phi_0(s) = c_0 + c_1 log s + c_2 (log s)^2,    s the rows of the smaller group,   sigma its standard error
    z_k = (log phi_0(s) - log phi) / sigma             for the merge from k to k - 1 groups, median over the trees

is the separation of the merge: about 0 without structure, 10 and more between clear clusters.

*Excess.* A long or curved cluster is cut more easily than a round cloud wherever one cuts it, and the more easily the
more rows are on either side. So a merge between clusters has to stand out from the merges within them. If there are k
clusters, those are the merges j > k. A line through the next ``WINDOW`` of them (the median of all slopes between two
of them, after Theil and Sen, and at least 0),

    line_k(s) = max(0, a + b min(log s, the largest log s among them)),

is the separation to expect of a merge within a cluster. It ends where they end: beyond, it would be that of clusters
larger than there are. The excess of merge j if there are k clusters is x_kj = z_j - line_k(s_j). It says whether that
one split is real (``_split_words.py``).

*Blocks.* One weak merge may stand out by accident, several in a row hardly ever: in 97 single clouds the 97 % quantile
of the least excess of 1, 2, 3, 4 successive merges was 2.3, 1.5, 1.05, 0.86. So the merges k0 + 1 to k are accepted
together, and the more there are, the less each has to show. The *strength* of going from k0 to k clusters is

    rho(k0 -> k) = min over k0 < j <= k of x_kj  /  (f tau(k - k0)),     tau(m) = max(2.1, 3 / sqrt(m)),

with f = 1 from a single cluster and 1.2 later: each further step is another chance to err. From k0 = 1, go to the k
with the largest rho if that exceeds 1, and repeat. The last stop is the number of clusters. Earlier stops are other
defensible numbers, coarser ones; so is, nearly, the best number beyond, if its rho exceeds 0.6.

For each k let ``strengths[k]`` be rho from the last stop before k. The number of clusters is then the largest k of a
strength above 1, or 1 if there is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from widegap._types import Floats
from widegap.forest._linkage import MergeTree

# Of these and WINDOW a grid of 81 was compared on half of 312 drawn tables, and is flat (benchmarks/choices.md).
CLEAR_EXCESS = 3.0  # of a single merge
LEAST_EXCESS = 2.1  # of every merge of a block, however long
LATER_STEPS = 1.2  # f of the second and later steps
NEARLY = 0.6  # strength of a number that nearly stands out: one cloud in ten reaches it
WINDOW = 10  # merges that a line is fitted to
LEAST_PHI = 1e-4  # nothing crosses some cuts: they are this clear, no more
LEAST_ERROR = 0.05  # of log phi_0
FEWEST_MERGES = 5  # of null tables, below which no curve is fitted
FEWEST_DEEPER = 3  # merges within clusters, below which no line is fitted
LEAST_STEP = 0.1  # of log sizes between which a slope is taken
DIVIDED = slice(0, 9)  # the merges from 2 to 10 groups,
CONTINUUM = 2.0  # whose median separation exceeds this in rows that are more divided than a cloud


@dataclass(frozen=True)
class NullCurve:
    """What null tables show: log phi_0 as a polynomial of log size, the highest power first, and the error sigma."""

    coefficients: Floats
    error: float

    @classmethod
    def fit(cls, null: Sequence[MergeTree]) -> "NullCurve":
        """The curve of the merges of null tables."""
        merges = [conductance_and_size(tree) for tree in null]
        phi = np.concatenate([part for part, _ in merges])
        sizes = np.log(np.concatenate([part for _, part in merges])[phi > 0])
        phi = np.log(phi[phi > 0])
        if len(phi) < FEWEST_MERGES:
            return cls(np.zeros(1), 1.0)
        curve = np.polyfit(sizes, phi, 2 if len(np.unique(sizes)) > 2 else 0)
        return cls(curve, max(LEAST_ERROR, float(np.std(phi - np.polyval(curve, sizes)))))

    def separation(self, phi: Floats, sizes: Floats) -> Floats:
        """z of cuts of conductance phi, whose smaller sides have ``sizes`` rows."""
        expected: Floats = np.polyval(self.coefficients, np.log(sizes))
        return (expected - np.log(np.maximum(phi, LEAST_PHI))) / self.error


@dataclass(frozen=True)
class NumberEvidence:
    """Separations z and log sizes s of the merges from 2, 3, ... groups, the last merge first."""

    z: Floats
    s: Floats

    @classmethod
    def of(cls, trees: Sequence[MergeTree], curve: NullCurve) -> "NumberEvidence":
        """The medians over trees, for as many merges as all of them have."""
        shortest = min(len(tree.merges) for tree in trees)
        found = [[part[::-1][:shortest] for part in conductance_and_size(tree)] for tree in trees]
        z = np.median([curve.separation(phi, smaller) for phi, smaller in found], axis=0)
        return cls(z, np.log(np.median([smaller for _, smaller in found], axis=0)))

    def line(self, k: int, at: Floats) -> Floats:
        """line_k at log sizes."""
        deeper = slice(k - 1, k - 1 + WINDOW)
        return _line(self.z[deeper], self.s[deeper], at)

    def excess(self, k: int) -> Floats:
        """x_kj for j = 2 to k."""
        return self.z[: k - 1] - self.line(k, self.s[: k - 1])

    def excess_of(self, z: Floats, s: Floats, k: int) -> Floats:
        """The excess of merges from 2, 3, ... groups of another tree of the same rows, cut at k clusters.

        Merges between clusters are compared with line_k, those within them, from j groups, with line_j.
        """
        lines = [self.line(max(j, k), s[j - 2 : j - 1])[0] for j in range(2, len(z) + 2)]
        return z - np.array(lines)

    @property
    def is_divided(self) -> bool:
        """Whether all of the top merges, taken together, are clearer than those of a cloud."""
        return bool(len(self.z)) and float(np.median(self.z[DIVIDED])) > CONTINUUM


@dataclass(frozen=True)
class NumberSteps:
    """The way to a number of clusters.

    ``stops`` are the numbers that were taken, the last one is the answer; empty for one cluster. ``strengths`` and
    ``excess`` are rho and the least x_kj of k = 2, 3, ... clusters.
    """

    stops: list[int]
    strengths: Floats
    excess: Floats

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.stops[-1] if self.stops else 1

    def strength(self, k: int) -> float:
        """rho of k clusters."""
        return float(self.strengths[k - 2])

    @property
    def rejected(self) -> int | None:
        """The number beyond the answer that comes nearest to being taken."""
        beyond = self.strengths[self.n_clusters - 1 :]
        return self.n_clusters + 1 + int(np.argmax(beyond)) if len(beyond) else None


def take_steps(evidence: NumberEvidence, most: int) -> NumberSteps:
    """From one cluster to the number that merges speak for, up to ``most``."""
    excess = [evidence.excess(k) for k in range(2, min(most, len(evidence.z) + 1) + 1)]
    strengths, k, stops = np.empty(len(excess)), 1, list[int]()
    while k <= len(excess):
        later = LATER_STEPS if stops else 1.0
        rho = [block_strength(x, k) / later for x in excess[k - 1 :]]
        strengths[k - 1 :] = rho
        best = int(np.argmax(rho))
        if rho[best] <= 1:
            break
        k += best + 1
        stops.append(k)
    return NumberSteps(stops, strengths, np.array([x.min() for x in excess]))


def block_strength(excess: Floats, k0: int) -> float:
    """rho of the first step, from k0 to as many clusters as ``excess`` has merges, and one more."""
    block = excess[k0 - 1 :]
    return float(block.min()) / max(LEAST_EXCESS, CLEAR_EXCESS / np.sqrt(len(block)))


def _line(z: Floats, s: Floats, at: Floats) -> Floats:
    """What merges with separations z and log sizes s let one expect at other log sizes."""
    if len(z) < FEWEST_DEEPER:
        return np.zeros(len(at))
    i, j = np.triu_indices(len(z), 1)
    wide = np.abs(s[j] - s[i]) > LEAST_STEP
    slope = max(0.0, float(np.median((z[j] - z[i])[wide] / (s[j] - s[i])[wide]))) if wide.any() else 0.0
    return np.maximum(0.0, float(np.median(z - slope * s)) + slope * np.minimum(at, s.max()))


def conductance_and_size(tree: MergeTree) -> tuple[Floats, Floats]:
    """Conductance of each merge's cut, and the rows of its smaller group."""
    sizes = np.concatenate([tree.leaf_sizes, tree.sizes])
    return 1 - tree.margins, sizes[tree.merges].min(axis=1).astype(np.float64)


@dataclass(frozen=True)
class ClusterNumberChoice:
    """How many clusters "auto" found, and how sure that is.

    Attributes
    ----------
    n_clusters : int
        The number by the rows alone. Known labels and bounds on sizes may ask for more clusters than that.
    strength : float
        How clearly that number stands out from the next coarser defensible one: above 1, and 1 is what one in about
        50 single clouds reaches. Of one cluster, the largest strength of any other number: below 1.
    also : list of int
        Other defensible numbers, all of them smaller.
    rejected : int or None
        The number above that comes nearest to being defensible.
    rejected_strength : float
        Its strength, at most 1.
    continuum : bool
        Of one cluster: whether the rows are more divided than a cloud, although no number of clusters stands out.
    by_columns : bool
        Whether the number is that of latent classes, by how the columns of a table go together. Strengths are then
        what the likelihood gains, relative to what AIC3 charges.
    """

    n_clusters: int
    strength: float
    also: list[int]
    rejected: int | None
    rejected_strength: float
    continuum: bool
    by_columns: bool = False

    _added_later: ClassVar[tuple[str, ...]] = ("by_columns",)

    @classmethod
    def of(cls, steps: NumberSteps, evidence: NumberEvidence) -> "ClusterNumberChoice":
        """What the steps led to."""
        k, rejected = steps.n_clusters, steps.rejected
        beyond = 0.0 if rejected is None else steps.strength(rejected)
        strength = beyond if k == 1 else steps.strength(k)
        return cls(k, strength, steps.stops[:-1], rejected, beyond, k == 1 and evidence.is_divided)

    @property
    def nearly(self) -> int | None:
        """The number above that nearly stands out, at a strength of more than 0.6; None if there is none."""
        return self.rejected if self.rejected_strength > NEARLY else None

    def sentence(self) -> str:
        """The number, how sure it is and what else is defensible, in one line."""
        return self._one_cluster() if self.n_clusters == 1 else self._several_clusters()

    def _one_cluster(self) -> str:
        best = "" if self.rejected is None else f" (best {self.rejected}, strength {max(0.0, self.strength):.1f})"
        divided = " The rows are more divided than a cloud: a continuum or a curved shape." if self.continuum else ""
        why = "the columns do not go together" if self.by_columns else "no number stands out"
        return f"1 cluster: {why}{best}.{divided}"

    def _several_clusters(self) -> str:
        also = f" Also defensible: {_listed(self.also)}." if self.also else ""
        nearly = "" if self.nearly is None else f" Nearly: {self.nearly} (strength {self.rejected_strength:.1f})."
        without = "columns that do not go together stay" if self.by_columns else "a single cloud reaches 1"
        how_often = "below 1" if self.by_columns else "about once in 50"
        return f"{self.n_clusters} clusters (strength {self.strength:.1f}; {without} {how_often}).{also}{nearly}"


def _listed(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last
