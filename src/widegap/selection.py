"""Choosing the number of clusters without labels: stability, gain over shuffled data, and balance of sizes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from widegap._validation import check_generator

__all__ = ["ClusterNumberRecord", "compare_cluster_numbers"]

COMPARED_ROWS = 2000  # of more rows, a sample of so many is compared


@dataclass(frozen=True)
class Trials:
    """What every setting of a comparison is tried on, so that none has better luck than another.

    Attributes
    ----------
    X : {ndarray, CSR matrix} of shape (n_compared, n_features)
        The rows, or a sample of 2000 of them.
    subsamples : list of ndarray
        Row numbers of the subsamples.
    shuffled : ndarray or None
        The rows with every column shuffled on its own: the same columns without structure. None for sparse rows.
    """

    X: Any
    subsamples: list[Any]
    shuffled: Any

    @classmethod
    def draw(cls, X: Any, n_subsamples: int, fraction: float, rng: np.random.Generator) -> "Trials":
        """Draw the sample, the subsamples and the shuffle."""
        n = X.shape[0]
        if n > COMPARED_ROWS:
            X, n = X[np.sort(rng.choice(n, COMPARED_ROWS, replace=False))], COMPARED_ROWS
        subsamples = [np.sort(rng.choice(n, max(2, int(fraction * n)), replace=False)) for _ in range(n_subsamples)]
        return cls(X, subsamples, rng.permuted(X, axis=0) if isinstance(X, np.ndarray) else None)

    def stability(self, labels: Any, fit: Callable[[Any], Any], X: Any = None) -> float:
        """Mean adjusted Rand index of labels of all rows with those that ``fit`` finds in each subsample."""
        X = self.X if X is None else X
        return float(np.mean([adjusted_rand_score(labels[rows], fit(X[rows]).labels_) for rows in self.subsamples]))


@dataclass(frozen=True)
class ClusterNumberRecord:
    """How one number of clusters did.

    Attributes
    ----------
    n_clusters : int
    stability : float
        Mean adjusted Rand index between the clusters of all rows and those found anew in random subsamples: 1 if
        subsamples lead to the same clusters, about 0 if to unrelated ones.
    gain : float or None
        By how much the objective beats that on the same columns shuffled independently, relative to the latter: near
        0 where there is no more structure than chance makes. None for sparse rows.
    smallest, largest : float
        Sizes of the smallest and the largest cluster relative to equal sizes.
    objective : float
    """

    n_clusters: int
    stability: float
    gain: float | None
    smallest: float
    largest: float
    objective: float


def compare_cluster_numbers(
    make: Callable[[int], Any],
    X: Any,
    numbers: Iterable[int],
    *,
    n_subsamples: int = 5,
    fraction: float = 0.8,
    random_state: Any = None,
    on_fit: Callable[[int], Any] | None = None,
) -> list[ClusterNumberRecord]:
    """Fit several numbers of clusters and compare them by what needs no labels.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns an estimator for k clusters.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows; of more than 2000 a random sample of that size is used.
    numbers : iterable of int
        Numbers of clusters.
    n_subsamples : int, default=5
        Subsamples, each fitted anew.
    fraction : float, default=0.8
        Share of the rows in a subsample.
    random_state : int, RandomState instance or None, default=None
        Determines samples and shuffles; the estimators have seeds of their own.
    on_fit : callable, default=None
        Called with the number of clusters after every fit.

    Returns
    -------
    list of ClusterNumberRecord
    """
    trials = Trials.draw(X, n_subsamples, fraction, check_generator(random_state))

    def fit(k: int, rows: Any) -> Any:
        model = make(k).fit(rows)
        if on_fit is not None:
            on_fit(k)
        return model

    records = []
    for k in numbers:
        whole = fit(k, trials.X)
        stability = trials.stability(whole.labels_, partial(fit, k))
        chance = None if trials.shuffled is None or k < 2 else float(fit(k, trials.shuffled).objective_)
        sizes = np.bincount(whole.labels_, minlength=k) * k / trials.X.shape[0]
        records.append(
            ClusterNumberRecord(
                n_clusters=k,
                stability=stability,
                gain=gain_over_chance(whole, chance),
                smallest=float(sizes.min()),
                largest=float(sizes.max()),
                objective=float(whole.objective_),
            )
        )
    return records


def gain_over_chance(model: Any, chance: float | None) -> float | None:
    """Relative improvement over chance; only the R2 of MaxMarginClustering, which has smoothing, is better if large."""
    if not chance:
        return None
    better = 1 if hasattr(model, "smoothing_") else -1
    return better * (float(model.objective_) - chance) / abs(chance)
