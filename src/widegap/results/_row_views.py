"""The rows of a report as tables and documents show them: columns, names of clusters, margins, places on the map."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from widegap import describe
from widegap._types import Floats, Ints
from widegap._wording import RowTexts, ShownItem, as_item, clip, number, plain, titled
from widegap.base._numbered_clusters import numbers_of, places_of
from widegap.base._validation import check_labels, check_numbers
from widegap.documents._markup import plain_text
from widegap.documents._phrases import with_phrases
from widegap.exceptions import InvalidDataError
from widegap.features._neighbour_layout import Layout, neighbour_layout
from widegap.results._certainty import agreement_of
from widegap.results._deciding_columns import deciding_columns
from widegap.results._frame_values import frame_values, is_data_frame, row_names
from widegap.results._images import grey_picture, picture_shape
from widegap.results._input_rows import InputRows
from widegap.results._map_rows import map_rows_of
from widegap.results._names import cluster_names
from widegap.results._profile import Contrasts, Feature, count_columns, features_of
from widegap.results._scored_rows import labels_and_scores
from widegap.rows._matrices import column_moments, dense_rows, without_gaps

# Sizes of a card on the page, which fits a screen with them: columns that separate a cluster, its typical and its
# borderline rows, columns of these, and columns in the text of any row.
SEPARATING = 6
EXAMPLE_ROWS = 5
EXAMPLE_COLUMNS = 4
ROW_COLUMNS = 8
ABOUT = 0.8  # of a difference counts as the same: a category that a cluster has reads better than one that it lacks


def view_of(estimator: Any, X: Any, labels: Any) -> "RowView":
    """What a report shows of a model's rows; of a pipeline, the rows of its last step in the units they came in."""
    clusterer, rows = describe.unwrap(estimator, X)
    if hasattr(clusterer, "topic_names_"):
        return DocumentView(clusterer, rows, labels)
    view = RowView(clusterer, rows, labels)
    if rows is not X:
        _show_input(view, estimator[:-1], X)
    view.ids = row_names(X)
    return view


def _show_input(view: "RowView", steps: Any, X: Any) -> None:
    """Show the rows as they entered a pipeline if they are a frame or numbers, and else the columns its steps made."""
    encoder = next((step for _, step in getattr(steps, "steps", ()) if hasattr(step, "readable")), None)
    if encoder is not None and hasattr(encoder, "explain"):  # a TableEncoder knows the values behind the texts
        view.show(encoder._observed(X))
        view.names = encoder.get_feature_names_out()
        view.frame = X if hasattr(X, "iloc") else None
        return
    if is_data_frame(X):
        view.show_frame(X)
        return
    try:
        view.show(X)
    except (ValueError, TypeError):
        view.names = _made_names(steps, view.shown.shape[1])
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
    dates: frozenset[int] = frozenset()
    X: Any  # rows or documents, as the clusterer takes them
    ids: Sequence[Any] | None = None
    frame: Any = None  # the rows as they were read, for single cells
    sure: Floats | None = None  # how much the members of the search agree on each row
    weighted = False  # whether the user gave the columns weights
    names: Sequence[str] | None
    n_rows: int
    labels: Ints
    is_fit: bool
    kinds: Ints
    places: Ints
    scores: Floats | None  # in the order of kinds
    model_scores: Floats | None  # in the order of the model
    margins: Floats
    pairwise: bool
    item: Callable[[int], ShownItem]
    features: list[Feature]
    n_columns: int | None

    def __init__(self, estimator: Any, X: Any, labels: Any):
        self.names = getattr(estimator, "feature_names_in_", None)
        self.X = check_numbers(X)
        self.weighted = any(group.weight != 1 for group in getattr(X, "column_groups", None) or ())
        self.shown = self.X
        self.n_rows = self.X.shape[0]
        self._score(estimator, X, labels)
        self.margins = np.full(self.n_rows, np.nan)
        if self.scores is not None:
            self.margins = describe.leads(self.scores, self.places)
        if self.is_fit:
            self.sure = agreement_of(estimator)
        self.pairwise = get_tags(estimator).input_tags.pairwise
        self.item = self._values
        self._contrasts: Contrasts | None = None
        self._read_columns: dict[str, Any] = {}

    def _score(self, estimator: Any, X: Any, labels: Any) -> None:
        """Note clusters and scores of the rows, the numbers of the clusters, ascending, and the place of every row."""
        if labels is None:
            labels, scores = labels_and_scores(estimator, X)
        else:
            scores = describe.scores(estimator, X)
        self.labels = check_labels(labels, self.n_rows)
        same_labels = np.array_equal(self.labels, getattr(estimator, "labels_", ()))
        self.is_fit = same_labels and describe.is_fitted_on(estimator, X)
        numbers = numbers_of(estimator, self.labels)
        order = np.argsort(numbers)
        self.kinds = numbers[order]
        self.places = places_of(self.kinds, self.labels)
        self.model_scores = scores if scores is not None and scores.shape[1] == len(numbers) else None
        self.scores = None if self.model_scores is None else self.model_scores[:, order]

    def place_of(self, label: int) -> int:
        """The place of a cluster among all of them."""
        return int(np.searchsorted(self.kinds, label))

    def show(self, values: Any) -> None:
        """Take the values to be shown from another table of the same rows; NaN are gaps."""
        self.shown = check_numbers(values, ensure_all_finite="allow-nan", ensure_min_features=0)
        if self.shown.shape[0] != self.n_rows:
            raise InvalidDataError(
                f"values has {self.shown.shape[0]} rows, but X has {self.n_rows}; pass the same rows."
            )

    def show_frame(self, frame: Any, *, with_values: bool = True) -> None:
        """Take the cells of single rows from a frame of the same rows, and all other figures ``with_values``."""
        if len(frame) != self.n_rows:
            raise InvalidDataError(f"frame has {len(frame)} rows, but X has {self.n_rows}; pass the same rows.")
        self.frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
        self._read_columns = {}
        if with_values:
            values, self.names, self.dates = frame_values(self.frame)
            self.show(values)

    def describe(self, rows: InputRows) -> None:
        """Take what is shown from rows as people know them."""
        for name, entries in (("items", rows.items), ("ids", rows.ids)):
            if entries is not None and len(entries) != self.n_rows:
                raise InvalidDataError(f"{name} has {len(entries)} entries for {self.n_rows} rows; pass one per row.")
        if rows.values is not None:
            self.show(rows.values)
        if rows.frame is not None and self.unit == "row":
            self.show_frame(rows.frame, with_values=rows.values is None)
        if rows.items is not None:
            items = rows.items
            self.item = lambda row: as_item(items[row])
        if rows.ids is not None:
            self.ids = rows.ids
        self.name_columns(rows.feature_names)

    def name_columns(self, names: Sequence[str] | None) -> None:
        """Settle what the columns are called, and how each is read."""
        n = self.shown.shape[1]
        if names is not None:
            self.names = names
        if self.names is None or len(self.names) == 0:
            self.names = [f"column {j + 1}" for j in range(n)]
        if len(self.names) != n:
            raise InvalidDataError(f"feature_names has {len(self.names)} names for {n} columns.")
        self.features = features_of([clip(name, 80) for name in self.names], self.shown, self.dates)
        self.n_columns = count_columns(self.features)
        for name in ("picture", "_row_groups"):
            self.__dict__.pop(name, None)  # of other columns

    @property
    def contrasts(self) -> Contrasts:
        """What sets clusters apart, computed when it is first asked for."""
        if self._contrasts is None:
            self._contrasts = Contrasts(self.shown, self.places, self.features, len(self.kinds))
        return self._contrasts

    def named(self, own: Mapping[int, str]) -> dict[int, str]:
        """The name of every cluster; ``own`` are names of clusters that need no other."""
        return {**dict(zip(map(int, self.kinds), self.titles(), strict=True)), **own}

    def titles(self) -> list[str]:
        """Names of the clusters by what sets them apart."""
        if self.pairwise or self.picture is not None:
            return [f"Cluster {label}" for label in self.kinds]
        return cluster_names(self.contrasts, self.kinds)

    def place(self, rows: Ints) -> Layout:
        """Where some rows are on the map."""
        return neighbour_layout(map_rows_of(self.X), rows)

    def profile(self) -> dict[str, Any] | None:
        """Means and shares of every cluster, column by column."""
        if self.pairwise or not len(self.kinds):
            return None
        found = self.contrasts.table()
        return found if found["lines"] else None

    def decided(self) -> list[dict[str, Any]] | None:
        """How much every column decided."""
        if self.pairwise or self.picture is not None:
            return None
        return deciding_columns(self.shown, self.features, self.labels)

    @cached_property
    def picture(self) -> tuple[int, int] | None:
        """Height and width if the columns are pixels; every text of a row asks for it."""
        names = [feature.name for feature in self.features]
        return None if self.pairwise else picture_shape(names, column_moments(without_gaps(self.shown)[0])[0])

    def pictures(self) -> list[str] | None:
        """The mean picture of every cluster as data addresses, if the columns are pixels."""
        if self.picture is None:
            return None
        means = np.nan_to_num(self.contrasts.means)  # of a cluster without rows an empty picture
        return [grey_picture(mean.reshape(self.picture), float(means.min()), float(means.max())) for mean in means]

    def separates(self, label: int) -> list[dict[str, Any]]:
        """The columns in which a cluster differs most from all other rows."""
        if self.pairwise:
            return []
        found, place = self.contrasts, self.place_of(label)
        return [
            {
                "feature": self.features[j].name,
                "difference": plain(found.differences[place, j]),
                "mean": plain(found.means[place, j]),
                "rest_mean": plain(found.rest[place, j]),
                "text": self.features[j].text(found.means[place, j]),
                "rest_text": self.features[j].text(found.rest[place, j]),
            }
            for j in self._leading(label, SEPARATING)
        ]

    def _leading(self, label: int, most: int) -> list[int]:
        """The features that set a cluster apart most, one of every column of the file.

        Of categories the one that the cluster has more of, if that says about as much as another that it lacks.
        """
        found: dict[int, int] = {}
        place = self.place_of(label)
        differences = self.contrasts.differences[place]
        for j in self.contrasts.order(place):
            first = found.setdefault(self.features[j].group, int(j))
            if differences[first] < 0 < differences[j] and differences[j] > ABOUT * -differences[first]:
                found[self.features[j].group] = int(j)
        return list(found.values())[:most]

    def example_columns(self, label: int) -> list[int]:
        """Groups of features, that is columns of the file, that set a cluster apart: to be shown of its examples."""
        if self.pairwise or self.picture is not None or self.item != self._values:
            return []
        return [self.features[j].group for j in self._leading(label, EXAMPLE_COLUMNS)]

    def representatives(self, label: int) -> list[int]:
        """Rows with the largest margins: deepest inside."""
        return self._ends(label, -self.margins)

    def borderline(self, label: int) -> list[int]:
        return self._ends(label, self.margins)

    def _ends(self, label: int, key: Floats) -> list[int]:
        rows = np.flatnonzero((self.labels == label) & np.isfinite(key))
        return rows[np.argsort(key[rows], kind="stable")[:EXAMPLE_ROWS]].tolist()

    def cell(self, row: int, group: int) -> str:
        """What a row has in a column of the file, which is a group of features."""
        feature = self.features[group]
        if self.frame is not None and feature.column in self.frame.columns:
            cell = self._frame_cells(feature.column)[row]
            is_year = feature.kind == "year" and isinstance(cell, float | np.floating)
            return feature.text(float(cell)) if is_year else _cell_text(cell)
        values = dense_rows(self.shown, np.array([row]))[0]
        if feature.level is not None:
            levels = (other.level for j, other in enumerate(self.features) if other.group == group and values[j])
            return next(levels, None) or "–"
        if feature.kind == "share":
            return "–" if np.isnan(values[group]) else "yes" if values[group] else "no"
        return feature.text(values[group]) if feature.kind in ("date", "year") else number(values[group], 4)

    def _frame_cells(self, column: str) -> Any:
        """The cells of a column of the frame by their places; thousands of rows ask for one each."""
        if column not in self._read_columns:
            self._read_columns[column] = self.frame[column].array
        return self._read_columns[column]

    def _values(self, row: int) -> ShownItem:
        if self.pairwise or self.picture is not None:
            return ShownItem("", "")
        parts = [f"{self.features[group].column} {self.cell(row, group)}" for group in self._row_groups]
        return ShownItem("", clip(", ".join(parts)))

    @cached_property
    def _row_groups(self) -> list[int]:
        """The columns of the file in the text of any row: those in which clusters differ most."""
        groups = dict.fromkeys(self.features[j].group for j in self.contrasts.strongest(4 * ROW_COLUMNS))
        return list(groups)[:ROW_COLUMNS]


class DocumentView(RowView):
    """Documents and their topics."""

    unit = "document"
    pairwise = False
    picture = None

    def __init__(self, estimator: Any, X: Any, labels: Any):
        self.documents = self.X = list(X) if not hasattr(X, "shape") or getattr(X, "ndim", 2) == 1 else X
        self.estimator = estimator
        self.n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        self._score(estimator, X, labels)
        self.margins = np.asarray(estimator.margins_, dtype=float) if self.is_fit else np.full(self.n_rows, np.nan)
        if not self.is_fit and self.scores is not None:
            self.margins = describe.leads(self.scores, self.places)
        self.item = lambda row: titled(plain_text(str(self.documents[row])))

    def name_columns(self, names: Sequence[str] | None) -> None:
        self.n_columns = len(self.estimator.terms_) if self.estimator.terms_ is not None else None
        if self.estimator.terms_ is None:
            self.terms = {}
        elif isinstance(self.documents[0], str):
            terms = self.estimator.top_terms(4 * SEPARATING)
            self.terms = with_phrases(self.documents, self.labels, terms, 2 * SEPARATING)
        else:
            self.terms = self.estimator.top_terms(2 * SEPARATING)

    def titles(self) -> list[str]:
        return [clip(self.estimator.topic_names_[int(label)], 80) for label in self.kinds]

    def profile(self) -> None:
        return None

    def decided(self) -> None:
        return None

    def pictures(self) -> None:
        return None

    def separates(self, label: int) -> list[dict[str, Any]]:
        return [{"feature": clip(term, 80)} for term in self.terms.get(label, [])]

    def example_columns(self, label: int) -> list[int]:
        return []

    def representatives(self, label: int) -> list[int]:
        if not self.is_fit:
            return self._ends(label, -self.margins)
        return self.estimator.representatives(EXAMPLE_ROWS)[label]


def _cell_text(cell: Any) -> str:
    """A cell of a frame for people; texts as they are."""
    if isinstance(cell, float | np.floating):
        return number(float(cell), 4)
    if hasattr(cell, "isoformat") and cell == cell:
        return clip(cell.isoformat().removesuffix("T00:00:00"), 80)
    return "–" if cell is None or cell != cell or cell == "" else clip(cell, 80)
