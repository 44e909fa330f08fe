"""Choosing the kernels of MKC without labels, deprecated: the names of this module go with version 0.3.

None of the six criteria chose kernels better than the default ones by two standard errors (``docs/results/mkc.md``,
``mkc-choice``). ``examples/plot_compare_kernels.py`` shows the best of them in a few lines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from widegap._warnings import muted
from widegap.base._validation import check_generator, check_numbers
from widegap.cutting_plane._mkc import DEFAULT_KERNELS, MKC
from widegap.exceptions import InvalidDataError, KernelWarning
from widegap.rows._matrices import storage
from widegap.selection._trials import Trials, check_plan, gain_over_null

KERNEL_LISTS: tuple[tuple[Any, ...], ...] = (
    DEFAULT_KERNELS,
    ("linear",),
    ("poly",),
    (("rbf", {"width": 0.5}),),
    (("rbf", {"width": 0.75}),),
    ("rbf",),
    ("linear", "rbf"),
    (("rbf", {"width": 0.5}), ("rbf", {"width": 0.75}), "rbf"),
)


@dataclass(frozen=True)
class KernelRecord:
    """How one list of kernels did.

    Attributes
    ----------
    kernels : tuple
        As :class:`MKC` takes them.
    score : float
        The value of the criterion that the records are sorted by.
    agreement : float
        Mean adjusted Rand index of its clusters with those of the other candidates.
    stability : float
        Mean adjusted Rand index between the clusters of all rows and those found anew in random subsamples.
    gain : float or None
        By how much the objective beats that on the same columns shuffled independently, relative to the latter. None
        where no criterion asked for it.
    null_stability : float or None
        The stability on the shuffled columns: what the kernels alone, without structure, repeat. None where only
        "gain" asked for the shuffled columns, or no criterion did.
    degenerate : bool
        Whether a cluster starved or the fit collapsed; such candidates come last whatever their score.
    model : MKC
        Fitted to all rows (to a sample of 2000 if there are more).
    """

    kernels: tuple[Any, ...]
    score: float
    agreement: float
    stability: float
    gain: float | None
    null_stability: float | None
    degenerate: bool
    model: MKC

    def __getattr__(self, name: str) -> float | None:
        """The former name of ``null_stability``."""
        if name != "chance_stability":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.null_stability


def _excess(record: KernelRecord) -> float:
    assert record.null_stability is not None
    return record.stability - record.null_stability


def _gain(record: KernelRecord) -> float:
    assert record.gain is not None
    return record.gain


CRITERIA: dict[str, Callable[[KernelRecord], float]] = {
    "agreement": lambda record: record.agreement,
    "stability": lambda record: record.stability,
    "agreement + stability": lambda record: (record.agreement + record.stability) / 2,
    "gain": _gain,
    "excess stability": _excess,
    "agreement + excess stability": lambda record: (record.agreement + _excess(record)) / 2,
}
OF_EXCESS = ("excess stability", "agreement + excess stability")
OF_SHUFFLED = ("gain", *OF_EXCESS)


def choose_kernels(
    X: Any,
    n_clusters: int,
    candidates: Sequence[Sequence[Any]] | None = None,
    *,
    criterion: str | None = None,
    estimator: MKC | None = None,
    n_subsamples: int = 3,
    fraction: float = 0.8,
    random_state: Any = None,
    on_fit: Callable[[tuple[Any, ...]], Any] | None = None,
) -> list[KernelRecord]:
    """Fit MKC with several lists of kernels and sort them by a criterion that needs no labels.

    A table to look at rather than an oracle: ``docs/results/mkc.md`` measures what it gains over the default kernels.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; of more than 2000 a random sample of that size is used.
    n_clusters : int
        Number of clusters.
    candidates : sequence of lists of kernels, default=None
        Each as the parameter ``kernels`` of :class:`MKC`; columns by number. None is ``KERNEL_LISTS``: linear,
        polynomial and Gaussian kernels of three widths, alone and together.
    criterion : str, default=None
        A key of ``CRITERIA``. "gain" and those with "excess" also fit shuffled columns and need dense rows. None is
        "gain", or "agreement" for sparse rows.
    estimator : MKC, default=None
        Its other parameters; it is cloned. None is ``MKC()``.
    n_subsamples : int, default=3
        Subsamples, each fitted anew.
    fraction : float, default=0.8
        Share of the rows in a subsample.
    random_state : int, RandomState instance or None, default=None
        Determines samples, shuffles and fits, alike for all candidates.
    on_fit : callable, default=None
        Called with the kernels after every fit.

    Returns
    -------
    list of KernelRecord
        Best first; equal scores in the order of the candidates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widegap.selection._kernel_lists import choose_kernels
    >>> X, _ = load_iris(return_X_y=True)
    >>> records = choose_kernels(X, 3, [["linear"], ["rbf"], ["linear", "rbf"]], random_state=0)
    >>> labels = records[0].model.labels_
    """
    lists = _check_candidates(KERNEL_LISTS if candidates is None else candidates)
    X = check_numbers(X)
    if criterion is None:
        criterion = "gain" if storage(X) == "dense" else "agreement"
    _check_criterion(X, criterion)
    check_plan(n_subsamples, fraction)
    rng = check_generator(random_state)
    trials = Trials.draw(X, n_subsamples, fraction, rng)
    trials.check_number(n_clusters, "n_clusters")
    seed = int(rng.integers(2**31))
    base = MKC() if estimator is None else estimator

    def fit(kernels: tuple[Any, ...], rows: Any) -> MKC:
        model = clone(base).set_params(n_clusters=n_clusters, kernels=kernels, random_state=seed)
        with muted(KernelWarning):  # a collapse is recorded
            model.fit(rows)
        if on_fit is not None:
            on_fit(kernels)
        return model

    models = [fit(kernels, trials.X) for kernels in lists]
    shuffled = trials.shuffled if criterion in OF_SHUFFLED else None
    records = []
    for kernels, model in zip(lists, models, strict=True):
        agreements = [adjusted_rand_score(model.labels_, other.labels_) for other in models if other is not model]
        stability = trials.stability(model.labels_, partial(fit, kernels))
        gain = null_stability = None
        if shuffled is not None:
            null = fit(kernels, shuffled)
            gain = gain_over_null(model, float(null.objective_)) or 0.0
            if criterion in OF_EXCESS:
                null_stability = trials.stability(null.labels_, partial(fit, kernels), shuffled)
        agreement = float(np.mean(agreements)) if agreements else 1.0
        degenerate = bool(model.starved_ or model.collapsed_)
        record = KernelRecord(kernels, np.nan, agreement, stability, gain, null_stability, degenerate, model)
        records.append(record)
    return sort_records(records, criterion)


def sort_records(records: Sequence[KernelRecord], criterion: str) -> list[KernelRecord]:
    """The records with the score of another criterion, best first, degenerate ones last.

    Parameters
    ----------
    records : sequence of KernelRecord
    criterion : str
        A key of ``CRITERIA``. Those with "excess" need records of a call with such a criterion, and "gain" of a call
        with "gain" or such a criterion.

    Returns
    -------
    list of KernelRecord
    """
    _check_name(criterion)
    wrong = [record for record in records if not isinstance(record, KernelRecord)]
    if wrong:
        raise InvalidDataError(f"records holds a {type(wrong[0]).__name__}; pass what choose_kernels returned.")
    lacks_gain = criterion in OF_SHUFFLED and any(record.gain is None for record in records)
    if lacks_gain or (criterion in OF_EXCESS and any(record.null_stability is None for record in records)):
        raise ValueError(
            f"criterion={criterion!r} needs fits of shuffled columns, which these lack; give it to choose_kernels."
        )
    scored = [replace(record, score=float(CRITERIA[criterion](record))) for record in records]
    return sorted(scored, key=lambda record: (record.degenerate, -record.score))


def _check_candidates(candidates: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    wrong = [entry for entry in candidates if not isinstance(entry, list | tuple)]
    if wrong:
        raise InvalidDataError(f"candidates holds {wrong[0]!r}; every candidate must be a list of kernels: ['linear'].")
    if not len(candidates):
        raise InvalidDataError("candidates is empty; pass at least one list of kernels, or None for the default ones.")
    return [tuple(entry) for entry in candidates]


def _check_name(criterion: str) -> None:
    if not isinstance(criterion, str) or criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} is unknown; use one of {', '.join(map(repr, CRITERIA))}.")


def _check_criterion(X: Any, criterion: str) -> None:
    _check_name(criterion)
    if criterion in OF_SHUFFLED and storage(X) == "sparse":
        raise InvalidDataError(f"criterion={criterion!r} shuffles columns, which needs dense rows; use 'agreement'.")
