"""A fitted model and its rows: the table with clusters, the summary, and the model file."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widegap import describe, persistence
from widegap._types import Floats, Ints
from widegap._wording import plain
from widegap.results._certainty import probability_of
from widegap.results._input_rows import DocumentRows, EncodedRows, InputRows
from widegap.results._large_files import LargeFile
from widegap.results._names import LONGEST_NAME, known_names, own_names
from widegap.results._row_views import RowView, view_of
from widegap.results._shown_changes import shown_changes
from widegap.results._summary import MAP_POINTS, number_rows, summarize_view

if TYPE_CHECKING:
    import pandas as pd

    from widegap.results._large_result import LargeResult

SURE_DIGITS = 6  # behind the point, as many as margins have in text files: more tell nothing


class Corrections(NamedTuple):
    """What a person fixed: ``shown`` in figures and words, None if nothing was, and what the model file ``keeps``."""

    shown: dict[str, Any] | None = None
    keeps: Mapping[str, Any] = {}


class Result:
    """What a user sees of a fitted model on some rows. Scores are computed once, when they are first needed.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted; of rows that a TableEncoder has read, the clusterer alone.
    rows : InputRows
        Not necessarily those of the fit.
    labels : array-like of shape (n_samples,), default=None
        Their clusters; None takes those of the fit for its rows, and ``predict`` for others.
    names : mapping, default=None
        Names of clusters by label, from the user.
    title : str, default="Clusters"
    corrections : Corrections, default=None
        What was fixed by hand.

    Examples
    --------
    >>> import numpy as np
    >>> from widegap import CPM3C
    >>> from widegap.results import PlainRows, Result
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> result = Result(CPM3C(2, random_state=0).fit(X), PlainRows(X))
    >>> list(result.frame().columns)
    ['row', 'cluster', 'margin']
    >>> result.summary()["n_rows"]
    4
    """

    def __init__(
        self,
        model: Any,
        rows: InputRows,
        *,
        labels: Any = None,
        names: Mapping[Any, str] | None = None,
        title: str = "Clusters",
        corrections: Corrections | None = None,
    ):
        self.model, self.rows, self.title = model, rows, title
        self.names: Mapping[Any, str] = names or {}
        self.corrections = corrections
        self._labels = labels

    @staticmethod
    def open(
        path: Path,
        read: Callable[[Any, dict[str, Any]], "InputRows | LargeFile"],
        *,
        names: Mapping[Any, str] | None = None,
        title: str | None = None,
        untitled: str = "Clusters",
    ) -> "Result | LargeResult":
        """The result of a stored model on rows.

        Parameters
        ----------
        path : path
            Model file.
        read : callable
            Makes the rows from the model and the dict that its file holds beside it.
        names : mapping, default=None
            They come before the names in the file.
        title : str, default=None
            In place of that in the file.
        untitled : str, default="Clusters"
            The title if there is no other.
        """
        model, extra = persistence.load(path)
        rows, title = read(model, extra), title or str(extra.get("title") or untitled)
        if isinstance(rows, LargeFile):
            from widegap.results._large_result import LargeResult

            return LargeResult(model, rows, title=title)
        clusterer = describe.last_step(model) if isinstance(rows, EncodedRows) else model
        return Result(clusterer, rows, names={**stored_names(extra), **(names or {})}, title=title)

    @cached_property
    def labels(self) -> Ints:
        """The cluster of every row, -1 for none."""
        found: Ints = self.view.labels if self._labels is None else self._labels
        return found

    @cached_property
    def view(self) -> RowView:
        """Rows, clusters and scores, which the table and the summary share."""
        return view_of(self.model, self.rows.X, self._labels)

    @property
    def margins(self) -> Floats:
        """How far ahead the cluster of every row is of the next one."""
        return self.view.margins

    @cached_property
    def sure(self) -> Floats | None:
        """How sure the cluster of every row is; None if the model does not tell."""
        found = self.view.sure
        if found is None:
            found = probability_of(self.model, self.rows.X, self.labels, self.view.model_scores)
        return None if found is None else np.round(found, SURE_DIGITS)

    @cached_property
    def own_names(self) -> dict[int, str]:
        """Names of clusters that people gave them, or that known labels carry; the others are named by the report."""
        clusterer, kinds = describe.last_step(self.model), self.view.kinds
        gone = {str(number) for number in self._retired}
        names = {label: name for label, name in self.names.items() if str(label) not in gone}
        return known_names(clusterer, kinds) | own_names(names, kinds)

    @property
    def _retired(self) -> list[int]:
        """Numbers of clusters that the last update ended; they may have names."""
        changes = getattr(describe.last_step(self.model), "changes_", ())
        return [change.cluster for change in changes if change.cluster not in self.view.kinds]

    def _changes(self) -> dict[str, Any] | None:
        """What the last update changed, if these are its rows."""
        if not self.view.is_fit:
            return None
        first = self.model.steps[0][1] if hasattr(self.model, "steps") else None
        encoder = self.rows.encoder if isinstance(self.rows, EncodedRows) else first
        gone = {number: str(self.names.get(str(number), "")) for number in self._retired}
        features = getattr(self.view, "features", ())
        factors = getattr(encoder, "factors_", None)
        return shown_changes(
            describe.last_step(self.model), features, {**gone, **self.own_names}, factors, self.view.unit
        )

    def frame(self) -> "pd.DataFrame":
        """The rows as the user knows them with cluster, its name where there is one, how sure it is, and margin.

        How sure it is, is known where the search has several members, and of models with probabilities.
        """
        from widegap.tables._writing import with_results

        if isinstance(self.rows, DocumentRows):
            unit, names = "topic", self.model.topic_names_
        else:
            unit, names = "cluster", self.own_names
        titles = {f"{unit}_name": [names.get(int(label), "") for label in self.labels]} if names else {}
        sure = {} if self.sure is None else {"sure": self.sure}
        results = {unit: self.labels, **titles, **sure, "margin": self.margins}
        found: pd.DataFrame = with_results(self.rows.written(), results)
        return found

    def write(self, path: Path) -> None:
        """Write the frame; see ``write_frame``."""
        from widegap.results._written_files import write_frame

        write_frame(path, self.frame(), self.rows.dialect)

    def assignments(self) -> list[dict[str, Any]]:
        """The cluster, how sure it is and the margin of every row, by its number from ``ROWS_FROM``, for JSON."""
        numbers = range(len(self.labels)) if self.rows.kept is None else self.rows.kept
        sure = [None] * len(self.labels) if self.sure is None else self.sure.tolist()
        return [
            {"row": int(row), "cluster": int(label), "sure": share, "margin": plain(float(margin))}
            for row, label, share, margin in zip(numbers, self.labels, sure, self.margins, strict=True)
        ]

    def summary(self, max_points: int = MAP_POINTS) -> dict[str, Any]:
        """A dict that JSON can hold, as ``report.summarize`` describes it; rows are numbered as in their table.

        Parameters
        ----------
        max_points : int, default=3000
            Most rows on the map; of more a sample is drawn. 0 makes no map.
        """
        self.view.describe(self.rows)
        by_hand = None if self.corrections is None else self.corrections.shown
        notes = [*([by_hand["words"]] if by_hand else []), *self.rows.notes]
        found = summarize_view(self.view, self.model, self.own_names, self.title, notes, max_points)
        found["changes"] = self._changes()
        if self.rows.kept is not None:
            number_rows(found, self.rows.kept)
        if self.corrections is not None:
            found["by_hand"] = by_hand
        return found

    def save(self, path: Path, *, rows: bool = True) -> None:
        """Write the model file, with title, names, corrections, how rows are read, and remembered ``rows``."""
        assert self.own_names is not None  # refuses names of clusters that do not exist
        from sklearn.pipeline import Pipeline

        model = self.model
        extra: dict[str, Any] = {"title": self.title, "names": dict(self.names)}
        kept = {} if self.corrections is None else self.corrections.keeps
        if isinstance(self.rows, EncodedRows):
            model = Pipeline([("table", self.rows.encoder), ("cluster", model)])
            extra["missing"] = self.rows.missing
        persistence.save(model, path, rows=rows, extra={**extra, **kept})


def stored_names(extra: Mapping[str, Any]) -> dict[str, str]:
    """Names by cluster that a model file holds."""
    found = extra.get("names")
    if not isinstance(found, dict):
        return {}
    return {str(label): str(name)[:LONGEST_NAME] for label, name in found.items()}
