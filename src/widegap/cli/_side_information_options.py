"""What the user says besides the rows: known labels, links, weights, bounds on sizes, outliers.

Options become arguments of ``fit`` or parameters of the estimator; what its method does not take is refused with the
names of those that do. The summary tells what was fixed by hand.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from widegap._catalogue import command_class, command_names
from widegap.cli import _options as options
from widegap.cli._errors import CommandError, in_options
from widegap.cli._row_names import RowNames, read_links

# Options, and the arguments of ``fit`` or of the estimator of which each needs one.
NEEDS = {
    "--known": ("known",),
    "--must-link": ("must_link",),
    "--cannot-link": ("cannot_link",),
    "--weight-column": ("sample_weight",),
    "--min-size": ("size_min", "min_cluster_fraction"),
    "--max-size": ("size_max",),
    "--outliers": ("outliers",),
}


@dataclass(frozen=True)
class Wishes:
    """The options as they came."""

    known: str | None = None
    must_link: Path | None = None
    cannot_link: Path | None = None
    weight_column: str | None = None
    min_size: str | None = None
    max_size: str | None = None
    outliers: str | None = None

    @property
    def asked(self) -> list[str]:
        """The options that were given."""
        return [option for option in NEEDS if getattr(self, option[2:].replace("-", "_")) is not None]

    def check(self, method: str) -> None:
        """Refuse what the method does not take."""
        for option in self.asked:
            able = [name for name in command_names() if _takes(name, option)]
            if method not in able:
                raise CommandError(
                    f"{option} is not possible with --method {method}; methods that take it: {', '.join(able)}."
                )

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

    def told_of_comparison(self) -> list[str]:
        """What a comparison of numbers of clusters left out."""
        if not self.asked:
            return []
        return [f"The numbers of clusters were compared without {', '.join(self.asked)}; the result keeps to it."]

    def read(self, table: Any, rows: Any, na_values: tuple[str, ...]) -> "Said":
        """What was said of the rows that are clustered."""
        names = RowNames(table, rows)
        links = {
            name: read_links(path, option, names, rows.notes)
            for name, option, path in (
                ("must_link", "--must-link", self.must_link),
                ("cannot_link", "--cannot-link", self.cannot_link),
            )
            if path is not None
        }
        known = None if self.known is None else _known(table, rows, self.known, na_values)
        weights = None if self.weight_column is None else read_weights(table, rows, self.weight_column)
        return Said(known, **links, weights=weights, known_column=self.known, weight_column=self.weight_column)


@dataclass(frozen=True)
class Said:
    """What is known of the rows: a label or None for each, pairs of their places, weights."""

    known: list[str | None] | None = None
    must_link: list[tuple[int, int]] = field(default_factory=list)
    cannot_link: list[tuple[int, int]] = field(default_factory=list)
    weights: Any = None
    known_column: str | None = None
    weight_column: str | None = None
    unit: str = "row"

    def arguments(self) -> dict[str, Any]:
        """For ``fit``; only what was said."""
        given = {
            "known": self.known,
            "must_link": self.must_link or None,
            "cannot_link": self.cannot_link or None,
            "sample_weight": self.weights,
        }
        return {name: value for name, value in given.items() if value is not None}

    def check(self, kept: Sequence[int], k: int | str) -> None:
        """Refuse contradictions before the fit, with rows numbered as in the table, from 1; ``kept`` are from 0."""
        from widegap._wording import row_number
        from widegap.constraints._units import read_constraints
        from widegap.exceptions import InvalidDataError

        numbers = [int(row_number(row)) for row in kept]
        # Rows that are left out, and a row before the first, of which nothing is known: so the message has the numbers.
        known: list[str | None] = [None] * (max(numbers) + 1)
        for number, label in zip(numbers, self.known if self.known is not None else (), strict=False):
            known[number] = label
        links = {
            "must_link": [(numbers[a], numbers[b]) for a, b in self.must_link] or None,
            "cannot_link": [(numbers[a], numbers[b]) for a, b in self.cannot_link] or None,
        }
        said = None if self.known is None else known
        try:
            read_constraints(len(known), k if isinstance(k, int) else None, known=said, **links)
        except InvalidDataError as error:
            message = str(error).replace("known holds", f"--known {self.known_column} holds")
            raise CommandError(in_options(message)) from error

    def figures(self, labels: Any) -> dict[str, Any] | None:
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
            # Documents without a topic hold no term that counts; nobody set them aside.
            "set_aside": int(np.count_nonzero(np.asarray(labels) < 0)) if self.unit == "row" else 0,
            "corrections": [],
        }
        return by_hand_figures(
            found, "" if self.known_column is None else f" known by {self.known_column!r}", self.unit
        )

    def stored(self, labels: Any) -> dict[str, Any]:
        """For the model file, so that ``widegap refine`` and ``widegap explore`` keep to it."""
        from widegap.corrections._stored_log import StoredCorrections

        known = {row: int(labels[row]) for row, label in enumerate(self.known or ()) if label is not None}
        log = StoredCorrections.of_side_information(known, self.must_link, self.cannot_link, self.weight_column)
        return log.stored() if self.arguments() else {}


def _takes(method: str, option: str) -> bool:
    """Whether the estimator of a method, or its ``fit``, has an argument that an option needs."""
    cls = command_class(method)
    arguments = {*inspect.signature(cls).parameters, *inspect.signature(cls.fit).parameters}
    return any(name in arguments for name in NEEDS[option])


def _bound(text: str, option: str, k: Any, n_rows: int) -> tuple[int | float, int]:
    """A bound on sizes as it was given and in rows; refuses one that so many clusters cannot keep."""
    size = options.size(text, option)
    rows = size if isinstance(size, int) else max(1, round(size * n_rows))
    least = option == "--min-size"
    if isinstance(k, int) and (rows * k > n_rows if least else rows * k < n_rows):
        raise CommandError(
            f"{option} asks for {k} clusters of {rows:,} rows or {'more' if least else 'fewer'}, but there are "
            f"{n_rows:,} rows; {'lower' if least else 'raise'} one of them."
        )
    return size, rows


def _known(table: Any, rows: Any, column: str, na_values: tuple[str, ...]) -> list[str | None]:
    from widegap.tables._frames import as_columns
    from widegap.tables._values import missing_words

    names, codes = as_columns(table.columns).cells(column, missing_words(na_values)).levels
    labels = [*(None if name == "-1" else name for name in names), None]
    found = [labels[code] for code in codes[rows.kept]]
    if not any(label is not None for label in found):
        raise CommandError(f"--known {column!r} holds no label at all; fill some in, or leave the option out.")
    return found


def read_weights(table: Any, rows: Any, column: str) -> Any:
    """The weights of a column; refuses cells that are none."""
    import numpy as np

    from widegap.tables._frames import as_columns
    from widegap.tables._values import MISSING

    if table.columns is None or column not in as_columns(table.columns).names:  # of a model, not of this command
        raise CommandError(f"{table.name} lacks the column {column!r:.80}, the weights that the model was fitted with.")
    cells = as_columns(table.columns).cells(column, MISSING)
    weights = np.asarray(cells.numbers(None, rows.decimal).values)[rows.kept]
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        row = int(rows.kept[wrong[0]])
        raise CommandError(
            f"--weight-column {column!r} holds {cells.cell(row)!r} in row {row + 1:,}; every row needs a number "
            "that is not negative: fill it in, or give it weight 0."
        )
    if not weights.any():
        raise CommandError(f"--weight-column {column!r} is zero for every row; at least one row must count.")
    return weights
