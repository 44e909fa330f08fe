"""Options for what the user knows about rows or documents: known labels, links, weights, bounds on sizes, outliers.

Options become arguments of ``fit`` or parameters of the estimator; a method that lacks one refuses it and names the
methods that have it. Documents are named by their paths in the folder, by their ids, or by their numbers from 1.
"""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from widegap._catalogue import command_class, command_names
from widegap._types import Floats
from widegap._wording import counted
from widegap.cli import _options as options
from widegap.cli._errors import CommandError, in_options
from widegap.cli._row_names import DocumentNames, RowNames, read_links, read_pairs

if TYPE_CHECKING:
    from widegap.results import Corrections, DocumentRows, EncodedRows

Pairs = list[tuple[int, int]]  # pairs of places of rows
# Options, and the arguments of ``fit`` or of the estimator of which each needs one.
NEEDS = {
    "--known-column": ("known",),
    "--must-link": ("must_link",),
    "--cannot-link": ("cannot_link",),
    "--weight-column": ("sample_weight",),
    "--min-size": ("size_min", "min_cluster_fraction"),
    "--max-size": ("size_max",),
    "--outliers": ("outliers",),
}
NOT_FOR_DOCUMENTS = {
    "weight_column": "--weight-column is not available for documents: term weights depend on how many documents hold a "
    "term; repeat a document to give it more weight.",
    "outliers": "--outliers is not available for documents: those without any term in use get topic -1; name others "
    "that belong to no topic with --universum.",
}


@dataclass(frozen=True)
class ConstraintOptions:
    """The options as the user wrote them."""

    known_column: str | None = None
    must_link: Path | None = None
    cannot_link: Path | None = None
    weight_column: str | None = None
    min_size: str | None = None
    max_size: str | None = None
    outliers: str | None = None

    @property
    def used(self) -> list[str]:
        """The names of the options that have a value."""
        return [option for option in NEEDS if getattr(self, option[2:].replace("-", "_")) is not None]

    def check(self, method: str) -> None:
        """Refuse what the method does not take."""
        for option in self.used:
            able = [name for name in command_names() if _takes(name, option)]
            if method not in able:
                raise CommandError(
                    f"{option} is not possible with --method {method}; methods that take it: {', '.join(able)}."
                )

    def check_documents(self) -> None:
        """Refuse what has no meaning for documents."""
        for name, why in NOT_FOR_DOCUMENTS.items():
            if getattr(self, name) is not None:
                raise CommandError(why)

    def set_up(self, estimator: Any, n_rows: int) -> None:
        """Set the bounds on sizes and the share of outliers."""
        k = estimator.n_clusters
        if self.min_size is not None:
            size, rows = _bound(self.min_size, "--min-size", k, n_rows)
            if "size_min" in estimator.get_params():
                estimator.set_params(size_min=size)
            else:
                estimator.set_params(min_cluster_fraction=rows * k / n_rows)
        if self.max_size is not None:
            estimator.set_params(size_max=_bound(self.max_size, "--max-size", k, n_rows)[0])
        if self.outliers is not None:
            estimator.set_params(outliers=options.outlier_share(self.outliers))

    def about_comparison(self) -> list[str]:
        """What a comparison of numbers of clusters ignored."""
        if not self.used:
            return []
        return [f"The numbers of clusters were compared without {', '.join(self.used)}; the result respects it."]

    def read(self, rows: "EncodedRows", na_values: tuple[str, ...]) -> "StatedConstraints":
        """The constraints on the rows of a table."""
        known = None if self.known_column is None else _known_labels(rows, self.known_column, na_values)
        weights = None if self.weight_column is None else read_weight_column(rows, self.weight_column)
        must, cannot = self._links(RowNames(rows), rows.notes)
        return StatedConstraints(known, must, cannot, weights, self.known_column, self.weight_column)

    def read_documents(self, rows: "DocumentRows") -> "StatedConstraints":
        """The constraints on documents."""
        names = DocumentNames(rows)
        must, cannot = self._links(names, rows.notes)
        known = None if self.known_column is None else _known_documents(self.known_column, rows, names)
        return StatedConstraints(known, must, cannot, known_column=self.known_column, unit="document")

    def _links(self, names: RowNames | DocumentNames, notes: list[str]) -> tuple[Pairs, Pairs]:
        must, cannot = (
            [] if path is None else read_links(path, option, names, notes)
            for option, path in (("--must-link", self.must_link), ("--cannot-link", self.cannot_link))
        )
        return must, cannot


@dataclass(frozen=True)
class StatedConstraints:
    """What the user knows about rows: a label or None for each, pairs of their places, weights."""

    known: Sequence[Any] | None = None
    must_link: Pairs = field(default_factory=list)
    cannot_link: Pairs = field(default_factory=list)
    weights: Floats | None = None
    known_column: str | None = None
    weight_column: str | None = None
    unit: str = "row"

    def arguments(self) -> dict[str, Any]:
        """For ``fit``; only what there is."""
        found = {
            "known": self.known,
            "must_link": self.must_link or None,
            "cannot_link": self.cannot_link or None,
            "sample_weight": self.weights,
        }
        return {name: value for name, value in found.items() if value is not None}

    def check(self, kept: Sequence[int], k: int | str) -> None:
        """Refuse contradictions before the fit, with rows numbered as in the table, from 1; ``kept`` are from 0."""
        from widegap._wording import row_number
        from widegap.constraints._units import read_constraints
        from widegap.exceptions import InvalidDataError

        if self.known is None and not self.must_link and not self.cannot_link:
            return
        numbers = [int(row_number(row)) for row in kept]
        # With the rows that were left out, and one before the first, places are the numbers that the message shows.
        known: list[str | None] = [None] * (max(numbers) + 1)
        for number, label in zip(numbers, self.known if self.known is not None else (), strict=False):
            known[number] = label
        links = {
            "must_link": [(numbers[a], numbers[b]) for a, b in self.must_link] or None,
            "cannot_link": [(numbers[a], numbers[b]) for a, b in self.cannot_link] or None,
        }
        labels = None if self.known is None else known
        try:
            read_constraints(len(known), k if isinstance(k, int) else None, known=labels, **links)
        except InvalidDataError as error:
            message = str(error).replace("known holds", f"--known-column {self.known_column} holds")
            raise CommandError(in_options(message)) from error

    def check_documents(self, rows: "DocumentRows", k: int) -> None:
        """The same with the names of the documents that contradict each other."""
        try:
            self.check(range(len(rows.X)), k)
        except CommandError as error:
            if rows.counted is not None and not rows.junk:
                raise  # numbers are those of the file
            numbers = {int(n) for pair in re.findall(r"(\d+) (?:-|and) (\d+)", str(error)) for n in pair}
            named = ", ".join(f"{n} is {rows.names[n - 1]!r}" for n in sorted(numbers))
            raise CommandError(f"{error} Documents by number: {named}." if named else str(error)) from error

    def corrections(self, labels: Any) -> "Corrections":
        """What was fixed by hand, as the summary shows it and the model file keeps it for later corrections."""
        from widegap.corrections._stored_log import StoredCorrections
        from widegap.results import Corrections

        places = {row: int(labels[row]) for row, label in enumerate(self.known or ()) if label is not None}
        log = StoredCorrections.of_side_information(places, self.must_link, self.cannot_link, self.weight_column)
        return Corrections(self._shown(labels), log.stored() if self.arguments() else {})

    def _shown(self, labels: Any) -> dict[str, Any] | None:
        """What was fixed by hand, in figures and in words; None if nothing was."""
        import numpy as np

        from widegap.corrections._stored_log import by_hand_figures

        known = [label for label in self.known or () if label is not None]
        found = {
            "known": len(known),
            "labels": sorted(set(known)),
            "must_links": len(self.must_link),
            "cannot_links": len(self.cannot_link),
            "weight_column": self.weight_column,
            # Documents without a topic hold no term in use; they are not outliers.
            "set_aside": int(np.count_nonzero(np.asarray(labels) < 0)) if self.unit == "row" else 0,
            "corrections": [],
        }
        known_by = "" if self.known_column is None else f" known by {self.known_column!r}"
        return by_hand_figures(found, known_by, self.unit)


def _takes(method: str, option: str) -> bool:
    """Whether the estimator of a method, or its ``fit``, has an argument that an option needs."""
    cls = command_class(method)
    arguments = {*inspect.signature(cls).parameters, *inspect.signature(cls.fit).parameters}
    return any(name in arguments for name in NEEDS[option])


def _bound(text: str, option: str, k: Any, n_rows: int) -> tuple[int | float, int]:
    """A bound on sizes as the user wrote it and in rows; refuses one that k clusters cannot keep."""
    size = options.size(text, option)
    rows = size if isinstance(size, int) else max(1, round(size * n_rows))
    least = option == "--min-size"
    if isinstance(k, int) and (rows * k > n_rows if least else rows * k < n_rows):
        raise CommandError(
            f"{option} asks for {counted(k, 'cluster')} of {counted(rows, 'row')} or {'more' if least else 'fewer'}, "
            f"but there are {counted(n_rows, 'row')}; {'lower' if least else 'raise'} one of them."
        )
    return size, rows


def _known_labels(rows: "EncodedRows", column: str, na_values: tuple[str, ...]) -> list[str | None]:
    """Labels by a column of the table, for the rows that are kept."""
    labels = _column_labels(rows.table.columns, column, na_values)
    return _some_known([labels[row] for row in rows.kept], column)


def _column_labels(columns: Any, column: str, na_values: tuple[str, ...] = ()) -> list[str | None]:
    """The label in every cell; None for gaps and -1."""
    from widegap.tables._frames import as_columns
    from widegap.tables._values import missing_words

    names, codes = as_columns(columns).cells(column, missing_words(na_values)).levels
    labels = [*(None if name == "-1" else name for name in names), None]
    return [labels[code] for code in codes]


def _some_known(labels: list[str | None], column: str) -> list[str | None]:
    """The labels; refuses a column without any."""
    if all(label is None for label in labels):
        raise CommandError(f"--known-column {column!r} holds no label at all; fill some in, or leave the option out.")
    return labels


def _known_documents(column: str, rows: "DocumentRows", names: DocumentNames) -> list[str | None]:
    """Labels by a column of the table or a key of JSON lines, or by a file of documents and labels."""
    if column in rows.columns:
        return _some_known(_column_labels({column: rows.column(column)}, column), column)
    if Path(column).is_file():
        return _some_known(_labels_of_file(Path(column), rows, names), column)
    has = f"a column ({', '.join(map(repr, rows.columns[:10]))})" if rows.columns else "a column: there is none"
    raise CommandError(f"--known-column {column!r} is neither {has} nor a CSV file of documents and labels; name one.")


def _labels_of_file(path: Path, rows: "DocumentRows", names: DocumentNames) -> list[str | None]:
    labels: list[str | None] = [None] * len(rows.X)
    for number, (line, name, label) in enumerate(read_pairs(path, "--known-column")):
        place = names.row(name)
        if number == 0 and place is None:
            rows.notes.append(f"--known-column {path.name}: the first line, {name!r} and {label!r}, names the columns.")
            continue
        try:
            place = names.find(name)
        except CommandError as error:
            raise CommandError(f"--known-column {path}, line {line}: {error}") from error
        label_or_none = None if label in ("", "-1") else label
        if labels[place] not in (None, label_or_none):
            raise CommandError(
                f"--known-column {path}, line {line}: {name!r} is {label!r} and also {labels[place]!r}; keep one."
            )
        labels[place] = label_or_none
    return labels


def read_weight_column(rows: "EncodedRows", column: str) -> Floats:
    """The weights of a column; refuses cells that are not weights."""
    import numpy as np

    from widegap.tables._frames import as_columns
    from widegap.tables._values import MISSING

    table = rows.table
    if table.columns is None or column not in as_columns(table.columns).names:  # of a model, not of this command
        raise CommandError(f"{table.name} lacks the column {column!r:.80}, the weights that the model was fitted with.")
    cells = as_columns(table.columns).cells(column, MISSING)
    weights = np.asarray(cells.numbers(None, rows.decimal).values)[rows.kept]
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        row = int(rows.kept[wrong[0]])
        raise CommandError(
            f"--weight-column {column!r} holds {cells.cell(row)!r} in row {row + 1:,}; every row needs a number "
            "that is not negative: correct it, or write 0."
        )
    if not weights.any():
        raise CommandError(f"--weight-column {column!r} is zero for every row; at least one row must count.")
    return weights
