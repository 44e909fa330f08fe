"""The rows of a report as tables and documents show them: names of columns, margins, places on the map, examples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array, get_tags

from widegap import describe
from widegap.data._tables import dense_rows
from widegap.exceptions import InvalidDataError
from widegap.report._wording import RowTexts, clip, plain

TOP_FEATURES = 6
EXAMPLES = 5


def view_of(estimator: Any, X: Any, labels: Any) -> "RowView":
    """What a report shows of a model's rows; of a pipeline, the rows of its last step in the units they came in."""
    clusterer, rows = describe.unwrap(estimator, X)
    if hasattr(clusterer, "topic_names_"):
        return DocumentView(clusterer, rows, labels)
    view = RowView(clusterer, rows, labels)
    if rows is not X:
        _show_input(view, estimator[:-1], X)
    return view


def _show_input(view: "RowView", steps: Any, X: Any) -> None:
    """Show the rows as they entered a pipeline if they are numbers, and else the columns that its steps made."""
    try:
        view.show(X)
        view.names = getattr(X, "columns", None)
    except (ValueError, TypeError):
        view.names = _made_names(steps, view.n_features)
        view.item = RowTexts(X).__getitem__


def _made_names(steps: Any, n_columns: int) -> Any:
    """Names of the columns that the steps of a pipeline make, if they tell."""
    try:
        names = steps.get_feature_names_out()
    except (AttributeError, ValueError):  # a step that does not know
        return None
    return names if len(names) == n_columns else None


class RowView:
    """Rows of a table, their clusters and their scores."""

    unit = "row"
    _agreement: Any = None

    def __init__(self, estimator: Any, X: Any, labels: Any):
        self.names = getattr(estimator, "feature_names_in_", None)
        self.X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.shown = self.X
        self.n_rows, self.n_features = self.X.shape
        self.labels = _checked_labels(estimator, X, self.n_rows, labels)
        self.is_fit = _is_fit(estimator, X, self.labels)
        self.kinds = np.arange(max(int(getattr(estimator, "n_clusters_", 0)), int(self.labels.max()) + 1))
        self.scores = _scores(estimator, X, len(self.kinds))
        self.margins = np.full(self.n_rows, np.nan)
        if self.scores is not None:
            self.margins = describe.leads(self.scores, self.labels)
        if self.is_fit and len(getattr(estimator, "history_", ())) > 1:  # a single member agrees with itself
            self._agreement = getattr(estimator, "agreement_", None)
        self.pairwise = get_tags(estimator).input_tags.pairwise
        self.item = self._values
        self._strongest: Any = None

    def agreement(self, inside: Any) -> float | None:
        """How sure the clusters of some of the rows are, if the search tells and these are the rows of the fit."""
        return None if self._agreement is None or not inside.any() else float(self._agreement[inside].mean())

    def show(self, values: Any) -> None:
        """Take the values to be shown from another table of the same rows."""
        self.shown = check_array(values, accept_sparse="csr", dtype=[np.float64, np.float32])
        if self.shown.shape[0] != self.n_rows:
            raise InvalidDataError(f"values has {self.shown.shape[0]} rows for {self.n_rows} of X; pass the same ones.")
        self.n_features = self.shown.shape[1]

    def name_columns(self, names: Sequence[str] | None) -> None:
        if names is not None:
            self.names = names
        if self.names is None:
            self.names = [f"column {j}" for j in range(self.n_features)]
        if len(self.names) != self.n_features:
            raise InvalidDataError(f"feature_names has {len(self.names)} names for {self.n_features} columns.")
        self.names = [clip(name, 80) for name in self.names]

    def title(self, label: int) -> str:
        return f"Cluster {label}"

    def place(self, rows: Any) -> Any:
        return describe.layout(self.X, self.scores, rows)

    def features(self, label: int) -> list[dict[str, Any]]:
        """The columns in which a cluster differs most from all other rows."""
        if self.pairwise:
            return []
        if self._strongest is None:
            self._strongest = describe.contrasts(self.shown, self.labels, len(self.kinds))
        differences, means, rest = (table[label] for table in self._strongest)
        order = np.argsort(-np.abs(differences), kind="stable")[:TOP_FEATURES]
        return [
            {
                "feature": self.names[j],
                "difference": plain(differences[j]),
                "mean": plain(means[j]),
                "rest_mean": plain(rest[j]),
            }
            for j in order
            if differences[j]
        ]

    def representatives(self, label: int) -> list[int]:
        """Rows with the largest margins: deepest inside."""
        return self._ends(label, -self.margins)

    def borderline(self, label: int) -> list[int]:
        return self._ends(label, self.margins)

    def _ends(self, label: int, key: Any) -> list[int]:
        rows = np.flatnonzero((self.labels == label) & np.isfinite(key))
        return rows[np.argsort(key[rows], kind="stable")[:EXAMPLES]].tolist()

    def _values(self, row: int) -> str:
        values = dense_rows(self.shown, [row])
        parts = [f"{self.names[j]} {values[0, j]:.3g}" for j in np.flatnonzero(values[0])[:8]]
        return clip(", ".join(parts) or "all zero")


class DocumentView(RowView):
    """Documents and their topics."""

    unit = "document"

    def __init__(self, estimator: Any, X: Any, labels: Any):
        self.documents = X
        self.estimator = estimator
        self.n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        self.n_features = len(estimator.terms_) if estimator.terms_ is not None else None
        found = _checked_labels(estimator, X, self.n_rows, labels)
        self.is_fit = _is_fit(estimator, X, found)
        self.kinds = np.asarray(estimator.topics_)
        self.labels = found
        # Scores have one column a topic, topics may be numbered with gaps.
        self.scores = _scores(estimator, X, len(self.kinds))
        place = np.full(int(self.kinds.max()) + 2, -1)
        place[self.kinds] = np.arange(len(self.kinds))
        self.margins = np.asarray(estimator.margins_, dtype=float) if self.is_fit else np.full(self.n_rows, np.nan)
        if not self.is_fit and self.scores is not None:
            self.margins = describe.leads(self.scores, place[found])
        self.item = lambda row: clip(self.documents[row])

    def name_columns(self, names: Sequence[str] | None) -> None:
        self.terms = self.estimator.top_terms(2 * TOP_FEATURES) if self.estimator.terms_ is not None else {}

    def title(self, label: int) -> str:
        return clip(self.estimator.topic_names_[label], 80)

    def place(self, rows: Any) -> Any:
        if self.scores is None:
            return None
        if self.scores.shape[1] > 2:
            return describe.layout(None, self.scores, rows)
        lead = self.scores[rows, -1] - self.scores[rows, 0]
        centrality = self.estimator.centrality_[rows] if self.is_fit else np.zeros(len(rows))
        return np.column_stack([lead, np.nan_to_num(centrality)])

    def features(self, label: int) -> list[dict[str, Any]]:
        return [{"feature": clip(term, 80)} for term in self.terms.get(label, [])]

    def representatives(self, label: int) -> list[int]:
        if not self.is_fit:
            return self._ends(label, -self.margins)
        return self.estimator.representatives(EXAMPLES)[label]


def _checked_labels(estimator: Any, X: Any, n_rows: int, labels: Any) -> Any:
    labels = describe.labels(estimator, X) if labels is None else np.asarray(labels)
    if len(labels) != n_rows:
        raise InvalidDataError(f"labels has {len(labels)} entries for {n_rows} rows; pass one a row.")
    return labels


def _scores(estimator: Any, X: Any, n_clusters: int) -> Any:
    table = describe.scores(estimator, X)
    return table if table is None or table.shape[1] == n_clusters else None


def _is_fit(estimator: Any, X: Any, labels: Any) -> bool:
    """Whether the rows are those of the fit, in the clusters that it found."""
    return describe.is_fitted_on(estimator, X) and np.array_equal(labels, getattr(estimator, "labels_", ()))
