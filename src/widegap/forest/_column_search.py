"""Clusters that follow all columns of a table evenly: latent classes, and how many there are.

Flags of a category create gaps, whatever the other columns are, and a search that follows gaps ends with
sexes, islands or combinations of yes and no. Latent classes (``forest/_latent_classes.py``) ask instead which rows make
the columns independent of each other. EM starts from k-means along the axes that several columns share
(``features/_famd.py``), and the most likely result of several starts is taken. Gaps between the numbers alone may still
be plain; then they are followed (``forest/_choice.py``).

*How sure a row is.* The search is repeated on rows drawn with replacement. What these *members* say about a row tells
how far its cluster depends on which rows happen to be there.

*Known labels and links.* Rows with a label stay in its class while EM goes on from the classes found, which are first
matched to the labels; linked rows are then labelled at the least cost in the scores.

*How many classes.* AIC3 compares numbers of classes, up to one more than the axes that the columns share by parallel
analysis: k classes in general position need k - 1 axes, and more classes than that along few axes are pieces of a
continuum. Columns that were shuffled one by one share no axis, and have one class. The *strength* of going from j to k
classes is what the likelihood gains, relative to what AIC3 charges for it,

    rho(j -> k) = 2 (L_k - L_j) / (3 (p_k - p_j)),       p the numbers of parameters;

for the number taken and those below it is that of the last class, and above 1 there; beyond, it is that from the number
taken, and below 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from widegap._types import Doubles, Floats, Labels
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._known_starts import matched_to_anchors, with_anchors
from widegap.constraints._side_information import no_size_bounds
from widegap.constraints._units import Units
from widegap.features._coded_columns import FEW_LEVELS, CodedColumns
from widegap.features._column_groups import ColumnGroup
from widegap.features._explained_columns import column_shares
from widegap.features._famd import mixed_axes, n_shared_axes
from widegap.features._kmeans import kmeans
from widegap.forest._cluster_number import ClusterNumberChoice
from widegap.forest._latent_classes import PENALTY, LatentClasses, classes_of_labels, fit_latent_classes
from widegap.rows._sampling import all_or_drawn
from widegap.rows._threads import one_blas_thread

FEWEST_MEASURED = 2  # columns of many values in which a search by gaps looks for any
STARTS = 6  # with four, the ARI of mixed tables was 0.006 lower
KMEANS_TURNS = 30  # of a start, which EM goes on from
MEMBERS = 10  # tables of rows drawn with replacement
MEMBER_ROWS = 4_000  # of such a table, at most: with two starts, ten take not much longer than the classes themselves
MEMBER_STARTS = 2  # of each: from the classes found, EM would stay there, also in rows without structure
FIT_ROWS = 10_000  # that EM sees: shares of a class of 100 rows are then known to 0.05
MOST_CLASSES = 30  # that are compared
BEYOND = 2  # numbers above the best by AIC3 that are still looked at


def has_few_levels(X: Floats, groups: Sequence[ColumnGroup]) -> bool:
    """Whether a table is one for latent classes: it has a category, or half of its columns have few values."""
    return any(group.is_category for group in groups) or 2 * sum(_few_levels(X, groups)) >= len(groups)


def unmeasured_columns(X: Floats, groups: Sequence[ColumnGroup]) -> list[int] | None:
    """The columns of X in which gaps mean nothing; None if fewer than two are left in which they may.

    Gaps mean nothing between the flags of a category, and between the values of a number that has few.
    """
    few = _few_levels(X, groups)
    if few.count(False) < FEWEST_MEASURED:
        return None
    return [j for group, has_few in zip(groups, few, strict=True) if has_few for j in range(group.first, group.stop)]


def _few_levels(X: Floats, groups: Sequence[ColumnGroup]) -> list[bool]:
    """Of each column of the table, whether it is a category or a number of few values."""
    return [group.is_category or len(np.unique(X[:, group.first])) <= FEW_LEVELS for group in groups]


@dataclass(frozen=True)
class ColumnSearch:
    """Latent classes of the searched rows at any number of clusters; ``table`` has the rows as they came, dense.

    ``measures_gaps`` is whether a search by gaps sees enough numbers beside them.
    """

    table: Floats
    groups: Sequence[ColumnGroup]
    seed: int
    measures_gaps: bool = False
    _found: dict[int, LatentClasses | None] = field(default_factory=dict, compare=False)

    @cached_property
    def coding(self) -> CodedColumns:
        """How columns become codes."""
        return CodedColumns.fit(self.table, self.groups)

    @cached_property
    def codes(self) -> Doubles:
        """Codes of the searched rows."""
        return self.coding.transform(self.table)

    @cached_property
    def _fitted(self) -> tuple[Doubles, Doubles]:
        """Codes of the rows that EM sees, and their coordinates along the axes that columns share."""
        rows = all_or_drawn(len(self.table), FIT_ROWS, np.random.default_rng(self.seed))
        return self.codes[rows], np.ascontiguousarray(mixed_axes(self.table[rows], self.groups).leading)

    @cached_property
    def n_axes(self) -> int:
        """How many axes the columns share."""
        rng = np.random.default_rng(self.seed)
        with one_blas_thread():
            return n_shared_axes(self.table[all_or_drawn(len(self.table), FIT_ROWS, rng)], self.groups, rng)

    def shares(self, labels: Labels, k: int) -> Doubles:
        """How much of every column some clusters explain."""
        return column_shares(self.table, self.groups, labels, k)

    def classes(self, k: int) -> LatentClasses | None:
        """The most likely k classes that all have rows; None if no start leads to any."""
        if k not in self._found:
            codes, axes = self._fitted
            rng = np.random.default_rng([self.seed, k])
            fits = self._fits(codes, axes, k, STARTS, rng)
            full = [found for found in fits if len(np.unique(found.labels(self.codes))) == k]
            self._found[k] = max(full, key=lambda found: found.log_likelihood, default=None)
        return self._found[k]

    def _fits(
        self, codes: Doubles, axes: Doubles, k: int, n_starts: int, rng: np.random.Generator
    ) -> list[LatentClasses]:
        """Classes of some rows from every start."""
        starts = [kmeans(axes, k, KMEANS_TURNS, rng) for _ in range(n_starts)]
        with one_blas_thread():  # products with a few classes are too small to share
            return [fit_latent_classes(codes, self.coding.ends, start, k) for start in starts]

    def classes_of(self, labels: Labels, k: int) -> LatentClasses:
        """The classes that have given rows."""
        return classes_of_labels(self.codes, self.coding.ends, labels, k)

    def constrained(self, labels: Labels, units: Units, k: int) -> tuple[Labels, LatentClasses]:
        """Labels that keep the constraints, and their classes: EM from labels, with known rows in their classes."""
        known = units.anchors[units.of_row].astype(np.int32)
        start = with_anchors(matched_to_anchors(labels, units, None, k), units)
        classes = fit_latent_classes(self.codes, self.coding.ends, start, k, known)
        rule = LabelRule.of_units(units, *no_size_bounds(len(labels), k))
        return rule.label(-log_softmax(classes.scores(self.codes), axis=1)).labels, classes

    def members(self, k: int) -> list[Labels]:
        """Classes of all rows, each time by other rows drawn with replacement."""
        codes, axes = self._fitted
        rng = np.random.default_rng([self.seed, k, 1])
        found = []
        for _ in range(MEMBERS):
            rows = rng.integers(len(codes), size=min(len(codes), MEMBER_ROWS))
            fits = self._fits(codes[rows], axes[rows], k, MEMBER_STARTS, rng)
            found.append(max(fits, key=lambda fit: fit.log_likelihood).labels(self.codes))
        return found

    def number(self) -> "ClassNumber":
        """How many classes there are."""
        codes, _ = self._fitted
        fits, best = {1: classes_of_labels(codes, self.coding.ends, np.zeros(len(codes), np.int32), 1)}, 1
        for k in range(2, min(self.n_axes + 1, MOST_CLASSES) + 1):
            found = self.classes(k) if k <= best + BEYOND else None
            if found is None:
                break
            fits[k] = found
            best = min(fits, key=lambda j: fits[j].aic3)
        return ClassNumber(fits, best)


@dataclass(frozen=True)
class ClassNumber:
    """The latent classes of 1, 2, ... that were compared, and the number that was taken."""

    fits: dict[int, LatentClasses]
    n_clusters: int

    def strength(self, k: int) -> float:
        """rho of k classes."""
        before, after = self.fits[min(k - 1, self.n_clusters)], self.fits[k]
        gain = 2 * (after.log_likelihood - before.log_likelihood)
        return gain / (PENALTY * (after.n_parameters - before.n_parameters))

    @property
    def choice(self) -> ClusterNumberChoice:
        """The number, and how sure it is."""
        k = self.n_clusters
        beyond = {j: self.strength(j) for j in self.fits if j > k}
        rejected = max(beyond, key=beyond.__getitem__, default=None)
        missed = 0.0 if rejected is None else beyond[rejected]
        strength = missed if k == 1 else self.strength(k)
        return ClusterNumberChoice(k, strength, [], rejected, missed, continuum=False, by_columns=True)
