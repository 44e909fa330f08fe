"""Clusters that keep known labels and links, which spread over neighbours and over the clusters of a search.

A search without labels leaves a graph of neighbours and sets of rows that belong together: small groups,
and the clusters of its members. Known labels, seeds Y (n, k), spread over both to F (``features/_label_spreading.py``).
Columns of Y have the sum 1, one for each cluster.

The clusters that were found without labels are evidence as well: they are matched one to one to the labels by what has
spread to them, and against w labels of a class they count for ``TRUST / (TRUST + w^2)``: a label that others confirm is
worth more than one alone. So a single wrong or odd row does not outweigh a cluster, several do; clusters that match no
label stay without a name. Columns are brought to the same sum; as long as no class has two labels, to sums by the sizes
of the clusters, as far as these are trusted: a few labels must not even out their sizes.

The more labels, the better a classifier of the known rows alone (``_known_classes.py``). With w labels per class in the
mean it decides by ``r = w / (w + SPREAD)`` how a row's share of the known labels is divided among them; the rest is as
it was spread. Clusters without a name keep their shares. A second classifier is self-trained on these shares
(``_self_training.py``), and its own shares q count by the same r: a row's share p of a known label becomes proportional
to ``p q^r``. A row belongs to the cluster of its largest value.

Rows that must be together share the sum of their log values. Rows that are linked, but have no label, get theirs from
the label step, pass it on as if it were known, and are labelled again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from widegap._types import Floats, Labels
from widegap.constraints._constrained_labels import LabelRule
from widegap.constraints._known_classes import LEAST, KnownClasses, Views
from widegap.constraints._units import Units

TRUST = 2.0  # what a cluster found without labels counts for, against the squared number of labels
UNEVEN = 0.5  # power of the sizes of clusters found without labels, as far as these are trusted
SPREAD = 10.0  # labels per class, from which on a classifier decides more than what has spread


@dataclass(frozen=True)
class SeededClusters:
    """Clusters that were found without constraints, and how far they spread; ready for constraints.

    Without ``views`` of the rows there is no classifier.
    """

    spread: Callable[[Floats], Floats]
    found: Labels
    k: int
    trusted: Floats
    views: Views | None

    @classmethod
    def of(
        cls, spread: Callable[[Floats], Floats], found: Labels, k: int, views: Views | None = None
    ) -> "SeededClusters":
        return cls(spread, found, k, spread(_seeds(found, k)), views)

    def constrained(self, units: Units) -> tuple[Labels, Floats]:
        """Clusters of all rows that keep the constraints and follow from them; and the share of each cluster, (n, k).

        Label p is that of cluster p.
        """
        k, known = self.k, units.anchors[units.of_row]
        free = np.zeros(k, np.int64), np.full(k, len(known))
        rule = LabelRule.of_units(units, *free)
        linked = units.constrained & (known < 0)
        spread_labels = self.spread(_seeds(known, k))
        order = np.argsort(self._names(spread_labels, known))
        trusted, sizes = self.trusted[:, order], np.maximum(np.bincount(self.found, minlength=k), 1)[order]
        classes = None if self.views is None else self.views.classes(known)
        seen = known
        for last in (False, True) if linked.any() else (True,):
            squares = np.square(np.bincount(seen[seen >= 0], minlength=k), dtype=np.float64)
            trust = TRUST / (squares + TRUST)
            sums = (sizes / sizes.mean()) ** (UNEVEN * trust) if classes is None else 1.0
            shares = _to_shares((1 - trust) * spread_labels + trust * trusted, sums)
            if classes is not None:
                shares = _divided(shares, classes)
            labels = rule.label(-np.log(np.maximum(shares, LEAST))).labels
            if not last:
                seen = np.where(linked, labels, known)
                spread_labels = self.spread(_seeds(seen, k))
        return labels, shares

    def _names(self, spread_labels: Floats, known: Any) -> Any:
        """The number that each cluster found gets, by the labels that have spread to it; others keep their order."""
        k, named = self.k, int(known.max()) + 1
        if not named:
            return np.arange(k)
        matches = np.zeros((k, k))
        # Shares show which of several labels a row is nearest to; with one label alone, its distance decides.
        closest = _to_shares(spread_labels[:, :named]) if named > 1 else spread_labels[:, :1]
        np.add.at(matches, self.found, closest @ np.eye(named, k))
        matches /= np.maximum(np.bincount(self.found, minlength=k), 1)[:, None]
        return linear_sum_assignment(matches, maximize=True)[1]


def _seeds(labels: Any, k: int) -> Floats:
    """Indicators of the labels that are not -1, columns of sum 1."""
    rows = np.flatnonzero(labels >= 0)
    Y = np.zeros((len(labels), k), np.float32)
    Y[rows, labels[rows]] = 1
    return Y / np.maximum(Y.sum(axis=0), 1)


def _divided(shares: Floats, classes: KnownClasses) -> Floats:
    """Shares of the known labels, divided again as far as classifiers count."""
    part = classes.labels_each / (classes.labels_each + SPREAD)
    known_shares = shares[:, classes.names]
    totals = known_shares.sum(axis=1, keepdims=True)
    known_shares = (1 - part) * known_shares + part * totals * classes.likely
    divided = shares.copy()
    divided[:, classes.names] = totals * softmax(
        np.log(np.maximum(known_shares, LEAST)) + part * classes.self_trained(known_shares), axis=1
    )
    return divided


def _to_shares(F: Floats, sums: Floats | float = 1.0) -> Floats:
    """Rows of sum 1, from columns that are brought to these sums."""
    F = F.astype(np.float64)
    F *= sums / np.maximum(F.sum(axis=0), np.finfo(np.float64).tiny)
    totals = F.sum(axis=1, keepdims=True)
    return np.where(totals > 0, F / np.where(totals > 0, totals, 1), 1 / F.shape[1])
