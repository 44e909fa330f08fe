"""Whether this machine gives the labels of a stored model: the model is fitted again to its rows, and compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from widegap._types import Ints
from widegap._versions import versions
from widegap.base._fit_fingerprint import label_digest, processor
from widegap.base._validation import digest_of
from widegap.exceptions import NotSupportedError

AGAIN = "fit the rows again and save that model to have one that can be verified."
Verdict = Literal["identical", "renumbered", "different", "other rows"]


@dataclass(frozen=True)
class Verification:
    """What a second fit gave.

    Attributes
    ----------
    verdict : str
        "identical" labels; the same clusters under other numbers ("renumbered"); "different" labels of the same rows;
        or "other rows" than those of the fit.
    n_rows, n_different : int
        Rows, and how many of them are in another cluster, whatever the numbers of the clusters.
    ari : float or None
        Adjusted Rand index between the labels; None for another number of rows.
    changed : dict
        Versions and names of processors at the fit and here, where they differ.
    """

    verdict: Verdict
    n_rows: int
    n_different: int
    ari: float | None
    changed: dict[str, tuple[str, str]]


def fit_again(clusterer: Any, X: Any, fit_arguments: Mapping[str, Any]) -> Verification:
    """Fit a stored clusterer again; ``fit_arguments`` are those of its fit that could be read again."""
    check_verifiable(clusterer, fit_arguments)
    made, before = clusterer._fingerprint, clusterer.labels_
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(before):
        return Verification("other rows", n_rows, n_rows, None, {})
    again = clone(clusterer)
    if "checkpoint" in again.get_params():
        again.set_params(checkpoint=None)
    found = again.fit(X, **fit_arguments).labels_
    then, here = {**made.versions, **made.processor}, {**versions(), **processor()}
    changed = {name: (text, here.get(name, "none")) for name, text in then.items() if here.get(name) != text}
    n_different = _n_in_other_clusters(before, found)
    verdict: Verdict = "different"
    if np.array_equal(before, found):
        verdict = "identical"
    elif not n_different:
        verdict = "renumbered"
    elif made.rows is not None and made.rows != digest_of(X):
        verdict = "other rows"
    return Verification(verdict, n_rows, n_different, float(adjusted_rand_score(before, found)), changed)


def check_verifiable(clusterer: Any, fit_arguments: Mapping[str, Any]) -> None:
    """Refuse models whose labels do not follow from rows and settings, with the reason."""
    made = clusterer._fingerprint
    if hasattr(clusterer, "changes_"):
        raise NotSupportedError(
            f"The model was updated: its labels follow from rows of earlier fits that it does not hold; {AGAIN}"
        )
    if made is None:
        raise NotSupportedError(f"The model has no fingerprint: it was made by an older version of widegap; {AGAIN}")
    if made.labels is None or made.labels != label_digest(clusterer):
        raise NotSupportedError(
            f"The labels of the model are not those of its fit: they were corrected, or cut at another number; {AGAIN}"
        )
    missing = [name for name in made.arguments if name not in fit_arguments]
    if missing:
        raise NotSupportedError(
            f"The model was fitted with {', '.join(missing)}, which its file does not hold as the fit took it; fit the "
            "rows again with the same options and compare the labels."
        )
    if not isinstance(clusterer.random_state, int | np.integer):
        raise NotSupportedError(
            f"random_state={clusterer.random_state!r} does not determine the labels; fit the rows with a number."
        )


def _n_in_other_clusters(before: Ints, found: Ints) -> int:
    """Rows whose cluster is another one, after the best matching of clusters; -1 is matched with -1 alone."""
    inside = (before >= 0) & (found >= 0)
    overlaps = contingency_matrix(before[inside], found[inside])
    matched = overlaps[linear_sum_assignment(overlaps, maximize=True)].sum()
    return int(len(before) - matched - np.count_nonzero((before < 0) & (found < 0)))
