"""What a model remembers of the rows it has seen: a sample of every cluster, with weights.

All rows are kept while there is room. Beyond, every cluster keeps a random sample of its own rows, whose size follows
the share of the cluster but is at least ``LEAST_SHARE`` of an even one, so that a small cluster is not forgotten. The
weights of a cluster's rows then add up to all that it has seen. Rows with a known label or a link are kept as well; if
they were not drawn they have the weight 0, and count neither as rows nor in any test.

The next update draws from the remembered rows and the new ones together, each as likely as it is heavy, so that the
sample of a cluster is always one of all its rows, however many updates came before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from widegap._types import Doubles, Indices, Ints, Labels, Mask, Matrix
from widegap.constraints._units import Units
from widegap.exceptions import InvalidDataError
from widegap.rows._matrices import stored_numbers

LEAST_SHARE = 0.25  # of memory / k rows that every cluster keeps, if it has as many; not tuned
LEAST_WEIGHT = 0.5  # rows that a cluster has left below which it is forgotten: less than one row


@dataclass(frozen=True)
class Memory:
    """Rows that a model remembers.

    Attributes
    ----------
    rows : table
        As the estimator takes them.
    labels : ndarray of shape (m,)
        Their clusters, by number.
    weights : ndarray of shape (m,)
        How many rows each stands for.
    places : ndarray of shape (m,)
        Which of the rows of the last fit or update each is.
    units : Units or None
        Known labels and links of the rows.
    next_number : int
        The number of the next new cluster: one above all that were ever used.
    n_new : int
        How many rows were new to the last fit or update; later places are those that were remembered before it.
    n_settled : int
        Rows of the search that the clusters come from; 0 if they are not to be searched for again.
    doubt : float
        How much searches since then have spoken against the clusters: 1 for not at all, and less the more.
    """

    rows: Matrix
    labels: np.ndarray
    weights: np.ndarray
    places: np.ndarray
    units: Units | None
    next_number: int
    n_new: int
    n_settled: int = 0
    doubt: float = 1.0

    @property
    def before_update(self) -> Indices:
        """Which of them the model remembered before the last update; none after a fit."""
        return np.flatnonzero(self.places >= self.n_new)

    @property
    def n_rows(self) -> int:
        """How many rows are remembered."""
        return len(self.labels)

    @property
    def n_seen(self) -> float:
        """How many rows the remembered ones stand for."""
        return float(self.weights.sum())

    def faded(self, forget: float, named: Labels | Sequence[int] = ()) -> "Memory":
        """The same rows, which count less; clusters of which nothing is left are forgotten, unless a label holds them.

        Labels that came after the fit may be of rows that are not remembered, so the clusters ``named`` are held, too.
        Returns the memory itself if nothing is to be forgotten.
        """
        if not forget:
            return self
        weights = self.weights * (1 - forget)
        totals = np.bincount(self.labels, weights, self.next_number)
        held = np.isin(np.arange(self.next_number), named)
        if self.units is not None:
            held[self.labels[self.units.constrained]] = True
        rows = np.flatnonzero(((totals >= LEAST_WEIGHT) | held)[self.labels])
        if not len(rows):
            raise InvalidDataError(
                f"forget={forget} leaves less than {LEAST_WEIGHT} rows of every cluster, of {self.n_seen:.3g} that the "
                "model remembers, so that no cluster is left to be updated; forget less, or fit the new rows alone."
            )
        return replace(self, weights=weights)._some(rows)

    def relabelled(self, labels: Labels, numbers: Labels, units: Units | None) -> "Memory":
        """The same rows after the clusters were cut again: their labels, the numbers of all clusters, constraints.

        Rows that have become outliers are forgotten.
        """
        next_number = max(self.next_number, int(numbers.max(initial=0)) + 1)
        found = replace(self, labels=labels, next_number=next_number, units=units)
        return found._some(np.flatnonzero(labels >= 0))

    def _some(self, rows: Indices) -> "Memory":
        return replace(
            self,
            rows=self.rows[rows],
            labels=self.labels[rows],
            weights=self.weights[rows],
            places=self.places[rows],
            units=None if self.units is None else self.units.of_rows(rows),
        )

    def check(self, n_features: int, numbers: Sequence[int]) -> None:
        """Raise an error if a file holds rows that do not fit together."""
        n = self.rows.shape[0]
        if self.rows.ndim != 2 or self.rows.shape[1] != n_features or self.rows.dtype.kind != "f":
            raise ValueError(f"it remembers rows of shape {self.rows.shape}, but has {n_features} columns")
        for name, kind in (("labels", "i"), ("weights", "f"), ("places", "i")):
            values = getattr(self, name)
            if values.shape != (n,) or values.dtype.kind != kind:
                raise ValueError(f"the {name} of the rows it remembers do not fit them")
        if not np.isin(self.labels, np.asarray(numbers)).all() or not max(numbers, default=-1) < self.next_number:
            raise ValueError("it remembers rows of clusters that it does not have")
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and (self.places >= 0).all()):
            raise ValueError("the rows it remembers have weights or places that are not possible")
        if not np.isfinite(stored_numbers(self.rows)).all():
            raise ValueError("the rows it remembers are not all finite numbers")
        if self.n_settled < 0:
            raise ValueError(f"its clusters come from {self.n_settled} rows")
        if not 0 < self.doubt <= 1:
            raise ValueError(f"searches spoke against its clusters by {self.doubt}, which is not above 0 and up to 1")
        if self.units is not None:
            self.units.check(n, len(numbers))


def rows_to_remember(
    labels: Labels, weights: Doubles, held: Mask, size: int, rng: np.random.Generator
) -> tuple[Indices, Doubles]:
    """Which rows to remember, ascending, and their weights; ``held`` ones are kept whether they are drawn or not.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Clusters of the rows; those of -1 are outliers, which are not remembered.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    held : ndarray of shape (n,)
        Rows with a label or a link.
    size : int
        Rows to draw, at most.
    """
    inside = np.flatnonzero((labels >= 0) & (weights > 0))
    kept = np.zeros(len(labels))
    if len(inside) <= size:
        kept[inside] = weights[inside]
    else:
        for rows, quota in zip(*_quotas(labels, weights, inside, size), strict=True):
            kept_rows = _heavy_first(weights[rows], rng)[:quota]
            kept[rows[kept_rows]] = weights[rows].sum() / quota if quota < len(rows) else weights[rows[kept_rows]]
    chosen = np.flatnonzero((kept > 0) | (held & (labels >= 0)))
    return chosen, kept[chosen]


def _quotas(labels: Labels, weights: Doubles, inside: Indices, size: int) -> tuple[list[Indices], Ints]:
    """The rows of every cluster, and how many of them to keep: in proportion, but not too few of small clusters."""
    clusters = [inside[labels[inside] == p] for p in np.unique(labels[inside])]
    counts = np.array([len(rows) for rows in clusters])
    shares = np.array([weights[rows].sum() for rows in clusters]) / weights[inside].sum()
    wanted = np.minimum(counts, np.maximum(size * shares, LEAST_SHARE * size / len(clusters)))
    quotas = np.maximum(1, np.floor(wanted * min(1.0, size / wanted.sum()))).astype(np.int64)
    for _ in range(int(quotas.sum()) - size):  # one row per cluster may be more than its part
        quotas[quotas.argmax()] -= quotas.max() > 1
    return clusters, quotas


def _heavy_first(weights: Doubles, rng: np.random.Generator) -> Indices:
    """Rows in random order, heavier ones earlier: the first m are a sample without replacement by weight."""
    return np.argsort(rng.exponential(size=len(weights)) / weights, kind="stable")
