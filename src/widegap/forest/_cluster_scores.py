"""The rule of ``predict``: scores of the nearest mean of the clusters, in whitened features of a kernel.

A search sees features of few landmarks, which are enough to form groups. Where many rows have clusters of odd shapes,
a classifier in these features repeats the labels only in part. So scores are fitted a second time there, and the rule
that repeats more labels is taken: for dense rows to features of more landmarks and a narrower kernel (``finer_map``),
for documents to their words themselves (``features/_ridge_means.py``), whose map leads to one direction a cluster.
Clusters that are latent classes of a table (``forest/_latent_classes.py``) have their own scores, linear in the codes
of its columns. In every case the rule is parametric: it needs landmarks, knots and weights, not the fitted rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from widegap._types import Floats, Indices, Labels, Matrix
from widegap.constraints._outliers import split_point
from widegap.features._kernel_maps import FeatureMap, FoldedScores, KernelMap, finer_map, linear_map, may_be_finer
from widegap.features._ridge_means import fit_ridge_means, held_out_scores
from widegap.forest._latent_classes import LatentClasses
from widegap.forest._search_result import SearchResult
from widegap.forest._search_space import SearchSpace
from widegap.forest._temperature import fit_temperature, member_votes
from widegap.rows._matrices import storage
from widegap.rows._sampling import all_or_drawn

FAITHFUL = 0.97  # share of the labels that the features of a search have to repeat; 16 of 22 dense sets are above it
FINE_ROWS = 10_000  # to which finer scores are fitted; not tuned
FEWEST_OF_CLUSTER = 100  # rows of a cluster among these, at least, if it has as many: the mean of fewer says little
# Ridge of scores in words, times 1 / C. New rows of 22 sets have an accuracy of 57.7, 57.9, 58.2 and 58.5 % with 10,
# 15, 30 and 100 (57.4 by the features of the search); of cora's fitted rows 3, 4, 6 and 10 % differ from their labels,
# of all other sets fewer.
WORD_RIDGE = 15.0


@dataclass(frozen=True)
class ClusterScores:
    """Scores ``coef (phi(x) - mean) + constants`` of clusters, their temperature, and the least score of a cluster.

    ``faithful`` is the share of the searched rows whose largest score is that of their label.
    """

    kernel_map: FeatureMap
    mean: Floats
    coef: Floats
    constants: Floats
    temperature: float
    least: float
    faithful: float

    @cached_property
    def folded(self) -> FoldedScores:
        """The scores of rows as they came."""
        return FoldedScores(self.kernel_map, self.coef, self.constants, self.mean)


class Scoring:
    """How scores are fitted to labels of the searched rows, for any number of clusters.

    Parameters
    ----------
    kernel_map : KernelMap
        The features of the search.
    space : SearchSpace
        The searched rows.
    outliers : table
        Rows that the search left out, as they came.
    seed : int
        Decides about the landmarks of finer features.
    """

    def __init__(self, kernel_map: KernelMap, space: SearchSpace, outliers: Matrix, seed: int):
        self.kernel_map, self._space, self._outliers, self._seed = kernel_map, space, outliers, seed

    def fit(self, result: SearchResult) -> ClusterScores:
        """Scores of the clusters that a search has found."""
        space = self._space
        if result.classes is not None:
            return self._scores_of_classes(result, result.classes)
        coef, constants = space.nearest_mean_scores(result.labels, result.n_clusters)
        inside = (space.features - space.mean) @ coef.T + constants
        scores = self._scores(self.kernel_map, space.mean, coef, constants, inside, result)
        if scores.faithful >= FAITHFUL or result.cuts is None or not may_be_finer(self.kernel_map, space.rows):
            return scores
        fine = self._scores_in_words(result) if storage(space.rows) == "sparse" else self._fine_scores(result)
        return fine if fine.faithful > scores.faithful else scores

    @cached_property
    def _fine(self) -> tuple[KernelMap, Indices, SearchSpace]:
        """Finer features, and some of the rows in them."""
        fine = finer_map(self.kernel_map, self._space.rows, self._space.features, self._space.offsets, self._seed)
        rows = all_or_drawn(len(self._space.rows), FINE_ROWS, np.random.default_rng(self._seed))
        return fine, rows, SearchSpace.of(self._space.rows[rows], fine.of_scaled(), self._space.C, precomputed=False)

    def _fine_scores(self, result: SearchResult) -> ClusterScores:
        """The same by finer features."""
        kernel_map, rows, space = self._fine
        k, more = result.n_clusters, _rows_of_small(result.labels, rows, result.n_clusters)
        features = kernel_map.of_scaled().transform(self._space.rows[more])
        known = replace(space, features=np.vstack([space.features, features]))
        coef, constants = known.nearest_mean_scores(result.labels[np.concatenate([rows, more])], k)
        inside = kernel_map.of_scaled().folded(coef, constants - coef @ space.mean)(self._space.rows)
        return self._scores(kernel_map, space.mean, coef, constants, inside, result)

    def _scores_in_words(self, result: SearchResult) -> ClusterScores:
        """The same by the columns of sparse rows."""
        space, k = self._space, result.n_clusters
        ridge = WORD_RIDGE / space.C
        found = fit_ridge_means(space.rows, result.labels, k, ridge)
        kernel_map, inside = linear_map(self.kernel_map, found.directions, space.offsets), found.of(space.rows)
        fresh = held_out_scores(space.rows, result.labels, k, ridge, self._seed)
        return self._scores(kernel_map, found.mean_scores, np.eye(k), found.constants, inside, result, fresh)

    def _scores_of_classes(self, result: SearchResult, classes: LatentClasses) -> ClusterScores:
        """The same by the codes of a table's columns."""
        assert result.cuts is not None and result.cuts.forest.columns is not None
        columns = result.cuts.forest.columns
        mean, inside = np.zeros(columns.coding.n_codes), classes.scores(columns.codes)
        return self._scores(columns.coding, mean, classes.log_codes, classes.log_shares, inside, result)

    def _scores(
        self,
        kernel_map: FeatureMap,
        mean: Floats,
        coef: Floats,
        constants: Floats,
        inside: Floats,
        result: SearchResult,
        fresh: Floats | None = None,
    ) -> ClusterScores:
        """The scores, from those of the searched rows; ``fresh`` are those as new rows get them, where they differ."""
        labels, k = result.labels, result.n_clusters
        outside, fresh = inside[:0], inside if fresh is None else fresh
        if self._outliers.shape[0]:
            outside = (kernel_map.transform(self._outliers) - mean) @ coef.T + constants
        temperature = fit_temperature(fresh, member_votes(result.members, labels, k))
        lower = np.minimum(inside.max(axis=1), fresh.max(axis=1))  # so that no fitted row is below the least of all
        least = split_point(lower, outside.max(axis=1))
        faithful = float(np.mean(inside.argmax(axis=1) == labels))
        return ClusterScores(kernel_map, mean, coef, constants, temperature, least, faithful)


def _rows_of_small(labels: Labels, rows: Indices, k: int) -> Indices:
    """Rows beside those drawn, so that every cluster has ``FEWEST_OF_CLUSTER`` of its rows, or all."""
    counts, drawn = np.bincount(labels[rows], minlength=k), np.zeros(len(labels), bool)
    drawn[rows] = True
    wanted = [
        np.flatnonzero((labels == p) & ~drawn)[: FEWEST_OF_CLUSTER - counts[p]]
        for p in np.flatnonzero(counts < FEWEST_OF_CLUSTER)
    ]
    return np.concatenate([rows[:0], *wanted])
