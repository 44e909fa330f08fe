"""What settings are compared on: the same rows, subsamples and shuffled columns for each."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import adjusted_rand_score

from widegap._types import Indices, Labels
from widegap.base._clusterer import Objective
from widegap.base._validation import check_numbers, take_rows
from widegap.exceptions import InvalidDataError
from widegap.features._column_groups import EncodedTable, shuffle_groups
from widegap.rows._matrices import dense_rows, shuffle_columns, storage
from widegap.rows._sampling import drawn

TRIAL_ROWS = 2000  # a sample of more rows is enough to compare settings, and each is fitted several times


class FittedClusterer(Protocol):
    """What a comparison reads of any clusterer."""

    labels_: Labels


def read_rows(X: Any) -> Any:
    """Rows to compare on: pandas frames and texts are left to the estimator, all else becomes an array or CSR."""
    if isinstance(X, str):
        raise InvalidDataError(f"X is a single text of {len(X)} characters; pass a list of documents.")
    if hasattr(X, "iloc") or _are_documents(X):
        return X
    groups = getattr(X, "column_groups", None)
    return check_numbers(X) if groups is None else EncodedTable.of(dense_rows(check_numbers(X), slice(None)), groups)


def _are_documents(X: Any) -> bool:
    """Whether X is a list or a column of texts."""
    return len(np.shape(X[:1])) == 1 if isinstance(X, list | tuple) else getattr(X, "ndim", 2) == 1


def check_plan(n_subsamples: int, fraction: float) -> None:
    """Refuse subsamples that measure nothing."""
    if not isinstance(n_subsamples, Integral) or n_subsamples < 1:
        raise ValueError(
            f"n_subsamples={n_subsamples!r} must be an integer of at least 1: stability needs a subsample."
        )
    if not isinstance(fraction, Real) or not 0 < fraction <= 1:
        raise ValueError(
            f"fraction={fraction!r} must be above 0 and at most 1: it is the share of rows in a subsample."
        )


@dataclass(frozen=True)
class Trials:
    """What every setting of a comparison is tried on.

    Attributes
    ----------
    X : rows
        The rows, or a sample of 2000 of them.
    subsamples : list of ndarray
        Row numbers of the subsamples.
    shuffled : rows or None
        The rows with every column shuffled on its own: the same columns without structure. None for sparse rows and
        for texts.
    """

    X: Any
    subsamples: list[Indices]
    shuffled: Any

    @classmethod
    def draw(cls, X: Any, n_subsamples: int, fraction: float, rng: np.random.Generator) -> "Trials":
        """Draw the sample, the subsamples and the shuffle."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if n > TRIAL_ROWS:
            X, n = take_rows(X, drawn(n, TRIAL_ROWS, rng)), TRIAL_ROWS
        size = min(n, max(2, int(fraction * n)))
        subsamples = [drawn(n, size, rng) for _ in range(n_subsamples)]
        return cls(X, subsamples, _shuffled(X, rng))

    def check_number(self, k: int, name: str) -> None:
        """Refuse more clusters than a subsample has rows."""
        size = len(self.subsamples[0])
        if k > size:
            raise InvalidDataError(
                f"{name}={k} is more than the {size} rows of a subsample: every cluster needs a row there; ask for at "
                f"most {size}, or raise fraction."
            )

    def stability(self, labels: Labels, fit: Callable[[Any], FittedClusterer], X: Any = None) -> float:
        """Mean adjusted Rand index of labels of all rows with those that ``fit`` finds in each subsample."""
        X = self.X if X is None else X
        return self.agreement(labels, [fit(take_rows(X, rows)).labels_ for rows in self.subsamples])

    def agreement(self, labels: Labels, found: list[Labels]) -> float:
        """Mean adjusted Rand index of labels of all rows with those found in each subsample."""
        pairs = zip(self.subsamples, found, strict=True)
        return float(np.mean([adjusted_rand_score(labels[rows], other) for rows, other in pairs]))


def _shuffled(X: Any, rng: np.random.Generator) -> Any:
    """The table with every column shuffled; None for documents and for sparse rows, whose zeros are their structure."""
    if _are_documents(X):
        return None
    if getattr(X, "column_groups", None) is not None:
        return shuffle_groups(X, rng)
    if not hasattr(X, "columns"):
        return shuffle_columns(X, rng) if storage(X) == "dense" else None
    frame = X.copy()
    for name in X.columns:
        frame[name] = X[name].array[rng.permutation(len(X))]
    return frame


def gain_over_null(model: object, null: float | None) -> float | None:
    """Relative improvement over the objective without structure; None if the model declares no objective."""
    declared: Objective | None = getattr(model, "_objective", None)
    reached: float | None = getattr(model, "objective_", None)
    return None if not null or declared is None or reached is None else declared.gain(float(reached), null)
