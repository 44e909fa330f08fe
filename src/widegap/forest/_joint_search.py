"""The search of an update: clusters of joint rows, new ones and remembered ones, that keep their identity.

Two labelings are compared. *Kept* labels are those that the rows have: of remembered rows the clusters before, of new
rows what the old model predicts, and new clusters where there are any (``updating/_new_clusters.py``). The *search*
knows nothing of them; it divides the joint rows into as many clusters. More rows show clusters better, so that where
both say the same of every cluster, the search draws the borders, if it cuts fewer edges per bit (``forest/_choice.py``;
tables that follow their columns are judged by what the clusters explain of these). Where the search divides a cluster,
or joins two, it has to be far better: the cut per bit must be below ``CONTRADICTED`` of that of the kept labels.
Otherwise clusters stay what they are, but the contradiction is not forgotten, as the clusters of few rows are often
wrong: if the joint rows are ``CLEARLY_MORE`` than those that the clusters come from, the ratios of successive updates
in which the search divides or joins clusters, and cuts less, are multiplied, until one of them agrees. Once the product
is below ``CONTRADICTED``, the search decides. Two clusters that the search joins may only be short of a place for the
parts of another one, so that the search for one cluster more decides instead if it cuts less than the clusters there
are (``FINER``).

Two clusters also become one where new rows have filled the gap between them: the search at one cluster less joins them,
the cut per bit is lower then, and of the rows that lie between both, far too many are new (Fisher's exact test).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import fisher_exact

from widegap._types import Floats, Ints, Labels, Mask
from widegap.forest._choice import OFFSET, cut_per_bit
from widegap.forest._kept_search import KeptSearch
from widegap.forest._merge_search import LEADING
from widegap.forest._search_result import SearchResult
from widegap.updating._changes import Lineage
from widegap.updating._joint_rows import JointRows
from widegap.updating._matching import Match, match_clusters
from widegap.updating._new_clusters import find_new_clusters

# Of updates of the digits from the same source, 900 rows before and as many new ones, the search divides or joins
# clusters at ratios of 0.81 and more, of four touching clouds at 0.74 and more in 4 of 30. Where 165 digits were too
# few at first, it does so at 0.67 to 0.84, and is better by 3 to 19 points.
CONTRADICTED = 0.75
# Ten batches of digits (six orders), optdigits (six) and MNIST's test set (three): 86.5, 94.1 and 78.5 % of the rows
# are right without products, 87.0, 95.1 and 81.2 % with them. With products of any number of rows and a memory of 300,
# digits and optdigits fall from 85.9 and 89.6 to 80.8 and 86.7 %: a search of no more rows errs as often.
CLEARLY_MORE = 1.5
AGAINST = 0.97  # a ratio that counts as a contradiction; not tuned
FINER = 0.95  # of the cut per bit; without it 85.1, 96.3 and 81.4 %: two old clusters of digits become one
SELF_TRAINING = 3  # rounds in which a new cluster takes new rows; not tuned
# Of the cut per bit without new clusters, that with them: a part of a cluster that had few remembered rows by chance
# had 4, new classes of digits 1.1, and a new blob among 2,600 rows 1.3.
MOST_TIMES_CUT_WITH_NEW = 1.5
BETWEEN = 0.25  # of a row's edges lead to the other cluster: it lies between both
BRIDGED = 0.01  # chance of as many new rows between two clusters, corrected for the pairs of clusters


@dataclass(frozen=True)
class JointLabels:
    """Clusters of the searched joint rows.

    ``result`` has positions; ``numbers`` are the numbers of the clusters. ``alike`` are positions that were found in
    one way for new and for remembered rows. ``n_settled`` are the rows of this search if the clusters come from it.
    ``doubt`` is the product of ratios by which searches contradicted clusters that stayed.
    """

    result: SearchResult
    numbers: Labels
    alike: Labels
    coordinates: Floats
    lineage: Lineage
    n_settled: int = 0
    doubt: float = 1.0


class JointSearch:
    """A finished search of joint rows, and what is known of these."""

    def __init__(self, kept: KeptSearch, joint: JointRows):
        self.kept, self.joint, self.k = kept, joint, len(joint.numbers)
        self.searched = kept.part.searched
        self.is_new = joint.is_new[self.searched]
        self.counts = joint.counts[self.searched]
        self.coordinates = kept.space.leading(LEADING)
        self.fresh = self._new_clusters()
        self.n_fresh = int(self.fresh.max(initial=-1)) + 1

    def _new_clusters(self) -> Labels:
        """New clusters, the largest ones if the search has formed too few groups for all."""
        before = self.joint.before[self.searched]
        smooth = self.kept.forest.graph.smooth(self.coordinates, 1)
        found = find_new_clusters(smooth, self.is_new, self.counts, before, np.random.default_rng(0))
        room, sizes = max(0, self.kept.forest.most_clusters - self.k), np.bincount(found[found >= 0])
        number = np.full(len(sizes) + 1, -1, np.int32)
        for place, cluster in enumerate(np.argsort(-sizes, kind="stable")[:room]):
            number[cluster] = place
        found = self._grown(number[found], before)
        return found if self._are_apart(found, before) else np.full(len(found), -1, np.int32)

    def _grown(self, found: Labels, before: Labels) -> Labels:
        """New clusters with the new rows that a classifier gives them: not all rows were looked at, and some stray."""
        k, space = self.k + int(found.max(initial=-1)) + 1, self.kept.space
        for _ in range(SELF_TRAINING if k > self.k else 0):
            labels = np.where(found >= 0, self.k + found, before).astype(np.int32)
            coef, constants = space.nearest_mean_scores(labels, k)
            likely = ((space.features - space.mean) @ coef.T + constants).argmax(axis=1) - self.k
            grown = np.where(self.is_new & (likely >= 0), likely, -1).astype(np.int32)
            if len(np.unique(grown[grown >= 0])) < k - self.k:  # one has lost all its rows
                break
            found = grown
        return found

    def _are_apart(self, found: Labels, before: Labels) -> bool:
        """Whether new clusters stand apart from those they were predicted to be in: they hardly cut more edges.

        The graph of a table with categories knows its numbers alone, and says nothing about it.
        """
        n_fresh = int(found.max(initial=-1)) + 1
        if self.kept.forest.columns is not None:
            return n_fresh > 0
        graph, labels = self.kept.forest.graph, np.where(found >= 0, self.k + found, before).astype(np.int32)
        cut = cut_per_bit(graph, before.astype(np.int32), self.k) if self.k > 1 else 2 * OFFSET
        return n_fresh > 0 and cut_per_bit(graph, labels, self.k + n_fresh) <= MOST_TIMES_CUT_WITH_NEW * cut

    def labels(self) -> JointLabels:
        """The labels to take."""
        k = self.k + self.n_fresh
        kept = self._kept_labels()
        numbers: Ints = np.concatenate([self.joint.numbers, self.joint.next_number + np.arange(self.n_fresh)])
        found = self.kept.cuts.result(k, self.kept.units)
        if k == 1:
            return self._of(found, numbers, found.labels)
        match, cut = self._matched(found.labels, kept, numbers), self._cut(kept, k, found)
        ratio = self._cut(found.labels, k, found) / cut
        joined = self._joined(kept, numbers, cut)
        if joined is not None:
            return joined
        if ratio < (1.0 if match.clean else CONTRADICTED):
            return self._found(found.labels, match)
        doubt = 1.0 if match.clean else self._doubt(ratio)
        if doubt < CONTRADICTED:
            return self._mended(found, kept, numbers, cut)
        return replace(self._of(self._kept_result(kept, k), numbers, self._alike(kept)), doubt=doubt)

    def _doubt(self, ratio: float) -> float:
        """The product of the ratios of searches that contradict, this one included; 1 if it does not."""
        has_more = 0 < CLEARLY_MORE * self.joint.n_settled <= len(self.searched)
        return self.joint.doubt * ratio if has_more and ratio < AGAINST else 1.0

    def _mended(self, found: SearchResult, kept: Labels, numbers: Ints, cut: float) -> JointLabels:
        """The clusters of the search, or of that for one more, where it cuts less than the clusters there are."""
        k = found.n_clusters + 1
        if k <= self.kept.forest.most_clusters:
            finer = self.kept.cuts.result(k, self.kept.units)
            found = finer if self._cut(finer.labels, k, finer) < FINER * cut else found
        return self._found(found.labels, self._matched(found.labels, kept, numbers))

    def _kept_labels(self) -> Labels:
        """The clusters that the rows have."""
        return np.where(self.fresh >= 0, self.k + self.fresh, self.joint.before[self.searched]).astype(np.int32)

    def _alike(self, kept: Labels) -> Labels:
        """The same found in one way for all rows: remembered ones have what the old model predicts, as new ones do."""
        return np.where(self.is_new, kept, self.joint.predicted[self.searched]).astype(np.int32)

    def _matched(self, found: Labels, kept: Labels, numbers: Ints) -> Match:
        """The clusters of the search, matched by remembered rows, and by new ones of new clusters."""
        rows, known = ~self.is_new | (self.fresh >= 0), len(self.kept.constraints.classes)
        return match_clusters(
            found[rows],
            numbers[kept[rows]],
            self.counts[rows],
            int(found.max()) + 1,
            self.joint.next_number + self.n_fresh,
            numbers[:known],
        )

    def _cut(self, labels: Labels, k: int, found: SearchResult) -> float:
        """The evidence against labels: the cut per bit; where clusters follow columns, the less of these explained."""
        columns = self.kept.forest.columns
        if columns is None or found.classes is None:
            return cut_per_bit(self.kept.forest.graph, labels, k)
        return 1 / max(float(columns.shares(labels, k).mean()), np.finfo(np.float64).tiny)

    def _found(self, labels: Labels, match: Match) -> JointLabels:
        """The clusters of the search, in the order of their numbers; those with known labels stay first."""
        order = np.argsort(match.numbers, kind="stable")
        named = len(self.kept.constraints.classes)
        order = np.concatenate([np.arange(named), order[order >= named]])
        position = np.empty(len(order), np.int32)
        position[order] = np.arange(len(order))
        labels, k = position[labels], len(order)
        match = Match(match.numbers[order], match.parents[order], match.clean)
        return replace(self._of(self._kept_result(labels, k), match.numbers, labels, match), n_settled=len(labels))

    def _kept_result(self, labels: Labels, k: int) -> SearchResult:
        """The labels as the result of the search."""
        return self.kept.cuts.keeping(labels, k).result(k, None)

    def _of(self, result: SearchResult, numbers: Ints, alike: Labels, match: Match | None = None) -> JointLabels:
        """Labels with what became of every cluster; new ones are numbered without gaps."""
        fresh = np.flatnonzero(numbers >= self.joint.next_number)
        numbers = numbers.copy()
        numbers[fresh[np.argsort(numbers[fresh])]] = self.joint.next_number + np.arange(len(fresh))
        before, after = self.joint.numbers.tolist(), numbers.tolist()
        parents: dict[int, int] = {}
        heirs = {p: self._heir(p, result.labels, numbers) for p in before if p not in after}
        for position, p in enumerate(after if match is not None else []):
            is_split = p not in before and not self._is_made_of_new_rows(result.labels == position)
            if match is not None and is_split and match.parents[position] in before:
                parents[p] = int(match.parents[position])
        lineage = Lineage(before, after, parents, heirs)
        return JointLabels(result, numbers.astype(np.int32), alike, self.coordinates, lineage)

    def _heir(self, p: int, labels: Labels, numbers: Ints) -> int:
        """The cluster that most of what is remembered of a former one belongs to."""
        place = int(np.flatnonzero(self.joint.numbers == p)[0])
        rows = ~self.is_new & (self.joint.before[self.searched] == place)
        return int(numbers[np.bincount(labels[rows], self.counts[rows], len(numbers)).argmax()])

    def _is_made_of_new_rows(self, inside: Mask) -> bool:
        """Whether most rows of a cluster are those of a new one."""
        counts = self.counts * inside
        return float(counts[self.fresh >= 0].sum()) > 0.5 * float(counts.sum())

    # Clusters that new rows have joined

    def _joined(self, kept: Labels, numbers: Ints, cut: float) -> JointLabels | None:
        """Labels in which two clusters are one, if new rows have filled the gap between them."""
        k = len(numbers)
        if k <= max(2, self.kept.constraints.fewest_clusters):
            return None
        found = self.kept.cuts.result(k - 1, self.kept.units)
        pair = self._pair_joined(found.labels, kept, k)
        if pair is None or not self._is_bridged(kept, *pair, k):
            return None
        position = np.arange(k) - (np.arange(k) > pair[1])
        position[pair[1]] = pair[0]
        labels = position[kept].astype(np.int32)
        if self._cut(labels, k - 1, found) >= cut:
            return None
        alike = position[self._alike(kept)].astype(np.int32)
        return self._of(self._kept_result(labels, k - 1), np.delete(numbers, pair[1]), alike)

    def _pair_joined(self, found: Labels, kept: Labels, k: int) -> tuple[int, int] | None:
        """The two clusters, the lower first, that a search with one cluster less has as one.

        Clusters with known labels stay, as do new ones: the rows around these are new anyway.
        """
        rows = ~self.is_new | (self.fresh >= 0)
        shared = np.zeros((k, k - 1))
        np.add.at(shared, (kept[rows], found[rows]), self.counts[rows])
        homes = shared.argmax(axis=1)
        twice = np.flatnonzero(np.bincount(homes, minlength=k - 1) == 2)
        if len(twice) != 1 or len(np.unique(homes)) != k - 1:
            return None
        low, high = np.flatnonzero(homes == twice[0]).tolist()
        stay = high < len(self.kept.constraints.classes) or high >= self.k
        return None if stay else (low, high)

    def _is_bridged(self, kept: Labels, low: int, high: int, k: int) -> bool:
        """Whether far too many of the rows between two clusters are new."""
        to, _ = self.kept.forest.graph.weights_to(kept, k)
        both = (kept == low) | (kept == high)
        own = np.where(kept == low, to[low], to[high])
        other = np.where(kept == low, to[high], to[low])
        between = both & (other > BETWEEN * (own + other))
        kinds = self.is_new, ~self.is_new
        table = np.array([[(between & kind).sum(), (both & ~between & kind).sum()] for kind in kinds])
        return float(fisher_exact(table, alternative="greater")[1]) < BRIDGED / (k * (k - 1) / 2)
