"""Choosing the number of clusters without labels: stability, gain over shuffled data, and balance of sizes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from widegap._types import Doubles, Labels
from widegap._warnings import muted
from widegap.base._validation import check_generator, take_rows
from widegap.describe import last_step
from widegap.exceptions import NoStructureWarning
from widegap.forest._number_search import ClusterNumberScore, find_number, reasons_by_columns
from widegap.selection._trials import FittedClusterer, Trials, check_plan, gain_over_null, read_rows

__all__ = ["ClusterNumberRecord", "compare_cluster_numbers"]


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
        0 where there is no more structure than in shuffled columns. None for sparse rows, for texts, and for clusterers
        without ``objective_``.
    smallest, largest : float
        Sizes of the smallest and the largest cluster relative to equal sizes.
    objective : float or None
    separation : float or None
        How much more clearly the two clusters that would be joined next are apart than in null tables, as
        ``n_clusters="auto"`` of :class:`MaxMarginClustering` measures it: about 0 without structure, 10 and more
        between clear clusters. None for one cluster, above 50, and for clusterers without a tree of merges.
    excess : float or None
        By how much all of these clusters are more clearly apart than parts of them are. None as above.
    agreement : float or None
        Mean share of the members of the search that agree on a row's cluster; None for clusterers without members.
    strength : float or None
        How clearly this number stands out from the next coarser one that does, relative to what is needed; "auto" takes
        the largest number at which it exceeds 1. None as ``separation``.
    """

    n_clusters: int
    stability: float
    gain: float | None
    smallest: float
    largest: float
    objective: float | None
    separation: float | None = None
    excess: float | None = None
    agreement: float | None = None
    strength: float | None = None


def compare_cluster_numbers(
    make: Any,
    X: Any,
    numbers: Iterable[int],
    *,
    n_subsamples: int = 5,
    fraction: float = 0.8,
    random_state: Any = None,
    on_fit: Callable[[int], Any] | None = None,
) -> list[ClusterNumberRecord]:
    """Compare several numbers of clusters by what needs no labels.

    An estimator whose search leaves a tree of merges, as that of :class:`MaxMarginClustering`, is fitted once, for the
    largest number, and cut at all of them. Any other, and what a function makes, is fitted anew for each number.

    Parameters
    ----------
    make : callable or estimator
        ``make(k)`` returns an estimator for k clusters; or an estimator with the parameter ``n_clusters``, which is
        cloned, or a pipeline that ends in one.
    X : {array-like, sparse matrix, pandas frame, list of str}
        Rows, or documents for an estimator that takes them; of more than 2000 a random sample of that size is used.
    numbers : iterable of int
        Numbers of clusters, none above the rows of a subsample.
    n_subsamples : int, default=5
        Subsamples, each fitted anew.
    fraction : float, default=0.8
        Share of the rows in a subsample.
    random_state : int, RandomState instance or None, default=None
        Determines samples and shuffles; the estimators have seeds of their own.
    on_fit : callable, default=None
        Called with the number of clusters after every fit; with the largest where one fit serves them all.

    Returns
    -------
    list of ClusterNumberRecord

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap import MaxMarginClustering
    >>> from widegap.selection import compare_cluster_numbers
    >>> X, _ = load_iris(return_X_y=True)
    >>> records = compare_cluster_numbers(MaxMarginClustering(random_state=0), X, [2, 3], random_state=0)
    >>> max(records, key=lambda record: record.stability).n_clusters
    2
    """
    check_plan(n_subsamples, fraction)
    factory = _factory(make)
    rng = check_generator(random_state)
    trials = Trials.draw(read_rows(X), n_subsamples, fraction, rng)
    wanted = _check_numbers(numbers, trials)

    def fit(k: int, rows: Any) -> Any:
        with muted(NoStructureWarning):  # shuffled columns have none, and the records show it for the rows
            model = last_step(factory(k).fit(rows))
        if on_fit is not None:
            on_fit(k)
        return model

    if one_fit_serves(make) and max(wanted, default=1) > 1:
        return _compare_cuts(wanted, partial(fit, max(wanted)), trials, rng)
    return [_compare_fits(k, partial(fit, k), trials) for k in wanted]


def one_fit_serves(make: Any) -> bool:
    """Whether a single fit can be cut at every number; a function may make anything, so only of an estimator."""
    return hasattr(make, "get_params") and bool(getattr(getattr(last_step(make), "_method", None), "cuts_anywhere", 0))


def _compare_cuts(
    numbers: list[int], fit: Callable[[Any], Any], trials: Trials, rng: np.random.Generator
) -> list[ClusterNumberRecord]:
    """Records of all numbers from one fit of all rows, of every subsample and of the shuffled columns."""
    whole = fit(trials.X)
    parts = [fit(take_rows(trials.X, rows)) for rows in trials.subsamples]
    shuffled = None if trials.shuffled is None else fit(trials.shuffled)
    reasons = {score.n_clusters: score for score in _number_scores(whole, rng)}
    found = []
    for k in numbers:
        model = _at(whole, k)
        stability = trials.agreement(model.labels_, [_at(part, k).labels_ for part in parts])
        null = None if shuffled is None or k == 1 else float(_at(shuffled, k).objective_)
        found.append(_record(k, model, stability, null, reasons.get(k)))
    return found


def _number_scores(model: Any, rng: np.random.Generator) -> list[ClusterNumberScore]:
    """Scores of other numbers of clusters of the rows of a fitted model."""
    kept = model._kept_search()
    if kept.forest.columns is not None:
        return reasons_by_columns(kept.forest.columns.number(), kept.forest.most_clusters).scores
    return find_number(kept.space.rows, model.n_neighbors, rng).reasons(kept.forest, model.n_clusters_).scores


def _at(model: Any, k: int) -> Any:
    """The fitted model at k clusters, or at as many as it has groups where rows repeat."""
    return model.with_clusters(min(k, model._forest.most_clusters))


def _compare_fits(k: int, fit: Callable[[Any], Any], trials: Trials) -> ClusterNumberRecord:
    """The record of one number from fits of its own."""
    whole = fit(trials.X)
    stability = trials.stability(np.asarray(whole.labels_), fit)
    null = None
    if getattr(whole, "objective_", None) is not None and trials.shuffled is not None and k > 1:
        null = float(fit(trials.shuffled).objective_)
    return _record(k, whole, stability, null)


def _record(
    k: int,
    model: FittedClusterer,
    stability: float,
    null: float | None,
    reasons: Any = None,
) -> ClusterNumberRecord:
    labels: Labels = np.asarray(model.labels_)
    objective: float | None = getattr(model, "objective_", None)
    agreement: Doubles | None = getattr(model, "agreement_", None)
    sizes = np.bincount(labels[labels >= 0], minlength=k) * k / len(labels)
    return ClusterNumberRecord(
        n_clusters=k,
        stability=stability,
        gain=gain_over_null(model, null),
        smallest=float(sizes.min()),
        largest=float(sizes.max()),
        objective=None if objective is None else float(objective),
        separation=getattr(reasons, "separation", None),
        excess=getattr(reasons, "excess", None),
        strength=getattr(reasons, "strength", None),
        agreement=None if agreement is None or not len(agreement) else float(np.mean(agreement)),
    )


def _factory(make: Any) -> Callable[[int], Any]:
    """A function of the number of clusters, from one or from an estimator that is to be cloned."""
    if isinstance(make, type) or not hasattr(make, "get_params"):
        if callable(make):
            return make
        raise TypeError(
            f"make={make!r:.80} is neither a function that takes the number of clusters and returns an estimator, nor "
            "an estimator; pass one of them, such as lambda k: CPM3C(k)."
        )
    parameter = "n_clusters"
    if hasattr(make, "steps"):
        parameter = f"{make.steps[-1][0]}__n_clusters"
    if parameter not in make.get_params():
        raise TypeError(
            f"{type(make).__name__} has no parameter {parameter}, so it cannot be fitted with several numbers of "
            "clusters; pass a function that takes the number and returns an estimator."
        )
    return lambda k: clone(make).set_params(**{parameter: k})


def _check_numbers(numbers: Iterable[int], trials: Trials) -> list[int]:
    if not isinstance(numbers, Iterable):
        raise TypeError(f"numbers={numbers!r} must be several numbers of clusters, such as range(2, 10).")
    found = list(numbers)
    for k in found:
        if not isinstance(k, Integral) or k < 1:
            raise ValueError(f"numbers holds {k!r}; numbers of clusters are integers of at least 1.")
        trials.check_number(int(k), "n_clusters")
    return [int(k) for k in found]
