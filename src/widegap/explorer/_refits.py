"""A new fit from the present clusters and the corrections: the one place that knows how estimators take them."""

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from widegap._types import Floats, Mask
from widegap.corrections._constraints import KeyedConstraints
from widegap.corrections._corrections import CORRECTIONS, Junk
from widegap.exceptions import NotSupportedError
from widegap.explorer._fits import Before, NotFitted, PageModel, ShownFit

Progress = Callable[[object], bool]


class StoppedError(Exception):
    """A fit was stopped before it had a result."""


def supported(model: PageModel) -> tuple[str, ...]:
    """Kinds of corrections that the next fit of a model can follow."""
    if not hasattr(model, "get_params"):
        return ()
    takes_labels = "known" in inspect.signature(model.fit).parameters and not _is_documents(model)
    return tuple(CORRECTIONS) if takes_labels else (Junk.kind,)


@dataclass(frozen=True)
class NextFit:
    """What the next fit has to do.

    Attributes
    ----------
    constraints : KeyedConstraints
        All corrections together.
    k : int or None
        Its number of clusters, None for the estimator's own.
    shown : int
        The number of clusters that the last fit was shown at: they keep their keys.
    weights : ndarray or None
        Weights of all rows.
    """

    constraints: KeyedConstraints
    k: int | None
    shown: int
    weights: Floats | None = None


def refit(fit: ShownFit | NotFitted, X: Any, plan: NextFit, callback: Progress | None) -> tuple[ShownFit, list[str]]:
    """Fit again, from the clusters of an earlier fit, and what there was to note.

    Where rows are assigned to keys, typical rows of all clusters are known, too, so that clusters keep their keys.
    Raises ``StoppedError`` if the callback ended the fit.
    """
    if plan.constraints.known and isinstance(fit, ShownFit):
        plan = replace(plan, constraints=plan.constraints.with_anchors(fit.anchors(plan.shown)))
    stopped = []

    def watch(record: object) -> bool:
        if callback is not None and callback(record):
            stopped.append(True)
        return bool(stopped)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _refit_documents if _is_documents(fit.model) else _refit_rows
        new = found(fit, X, plan, watch)
    if stopped:
        raise StoppedError
    return new, list(dict.fromkeys(str(warning.message) for warning in caught))


def _is_documents(model: PageModel) -> bool:
    return "stop_words" in model.get_params()


def _prepared(model: PageModel, k: int | None, callback: Progress) -> PageModel:
    """An unfitted copy for k clusters."""
    found: PageModel = clone(model)
    if k is not None:
        found.set_params(n_clusters=k)
    if "callback" in found.get_params():
        found.set_params(callback=callback)
    return found


def _refit_rows(fit: ShownFit | NotFitted, X: Any, plan: NextFit, callback: Progress) -> ShownFit:
    """From what the last search has left if the same rows take part, and else by a new search."""
    constraints, k = plan.constraints, plan.k
    active = _active(constraints, X.shape[0])
    rows = X if active is None else X[active]
    arguments = _arguments(constraints, X.shape[0], active)
    if _is_warm(fit, active, k):
        callback(None)  # it is too short for records, but may have been stopped
        model = fit.model if k in (None, fit.own) else fit.model.with_clusters(k)
        model = model.refit(**{**_nothing(rows.shape[0]), **arguments})
    else:
        if plan.weights is not None:
            arguments["sample_weight"] = plan.weights if active is None else plan.weights[active]
        model = _searched_again(fit, rows, arguments, k, callback)
    return ShownFit(model, rows, active=active, before=_before(fit, plan), fixed=_fixed(model))


def searches_anew(fit: ShownFit | NotFitted, n_rows: int, constraints: KeyedConstraints, k: int | None) -> bool:
    """Whether the next fit takes as long as the first, as the search of the last one does not serve it."""
    if isinstance(fit, NotFitted) or _is_documents(fit.model):
        return False
    return not _is_warm(fit, _active(constraints, n_rows), k)


def _active(constraints: KeyedConstraints, n_rows: int) -> Mask | None:
    """Which rows are fitted: all but the junk; None for all."""
    if not len(constraints.junk):
        return None
    active = np.ones(n_rows, bool)
    active[constraints.junk] = False
    return active


def _is_warm(fit: ShownFit | NotFitted, active: Mask | None, k: int | None) -> bool:
    """Whether the search of a fit serves the next one: it keeps one, of the same rows, and k is within its reach."""
    before = fit.active
    same = before is None if active is None else before is not None and np.array_equal(before, active)
    forest = getattr(fit.model, "_forest", None)
    reached = forest is not None and (k is None or 2 <= k <= forest.most_clusters)
    return bool(
        same and reached and hasattr(fit.model, "refit") and not getattr(fit.model, "_is_bounded_update", False)
    )


def _nothing(n: int) -> dict[str, object]:
    """Arguments of ``refit`` that remove all earlier constraints."""
    none = np.zeros((0, 2), np.int64)
    return {"known": np.full(n, -1), "must_link": none, "cannot_link": none}


def _searched_again(
    fit: ShownFit | NotFitted, rows: object, arguments: dict[str, object], k: int | None, callback: Progress
) -> PageModel:
    model = _prepared(fit.model, k, callback)
    if arguments.keys() - {"sample_weight"} and "known" not in inspect.signature(model.fit).parameters:
        raise NotSupportedError(
            f"{type(model).__name__} takes no known labels or links; remove those corrections, or open the rows with "
            "an estimator that does."
        )
    model.fit(rows, **arguments)
    return model.set_params(callback=None) if "callback" in model.get_params() else model


def _arguments(constraints: KeyedConstraints, n: int, active: Mask | None) -> dict[str, object]:
    """What ``fit`` takes besides the rows, numbered as the rows that are fitted."""
    kept = np.arange(n) if active is None else np.flatnonzero(active)
    place = np.full(n, -1)
    place[kept] = np.arange(len(kept))
    known = constraints.known_labels(n)
    arguments = {
        "known": None if known is None else known[kept],
        "must_link": place[constraints.must_link] if len(constraints.must_link) else None,
        "cannot_link": place[constraints.cannot_link] if len(constraints.cannot_link) else None,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _fixed(model: PageModel) -> dict[int, int]:
    """Keys of clusters that had known labels: those labels are keys."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return {}
    return {label: int(key) for label, key in enumerate(classes) if isinstance(key, int | np.integer) and key >= 0}


def _before(fit: ShownFit | NotFitted, plan: NextFit) -> Before | None:
    return fit.before_next(plan.shown) if isinstance(fit, ShownFit) else None


def _refit_documents(fit: ShownFit | NotFitted, X: Any, plan: NextFit, callback: Progress) -> ShownFit:
    constraints, k = plan.constraints, plan.k
    if constraints.known or len(constraints.must_link) or len(constraints.cannot_link):
        raise NotSupportedError(
            "On the page documents can be marked as junk and topics renamed; for labels and links of documents use "
            "DocumentClustering.refit, or widegap documents with --known-column, --must-link and --cannot-link."
        )
    marked = np.zeros(len(X), bool)
    marked[constraints.junk] = True
    warm = isinstance(fit, ShownFit) and hasattr(fit.model, "_corpus") and k in (None, fit.own)
    if warm and not np.any(getattr(fit.model, "_marked", ~marked) & ~marked):
        model = copy.copy(fit.model).set_params(callback=callback)
    else:
        model = _prepared(fit.model, k, callback).fit(X)
    if len(constraints.junk):
        model.refit(universum_documents=constraints.junk.tolist())
    model.set_params(callback=None)
    return ShownFit(model, X, before=_before(fit, plan))
