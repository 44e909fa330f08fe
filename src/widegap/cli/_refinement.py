"""A stored result on the way to a corrected one: the corrections are events of the log that the explorer replays.

Rows without a correction stay in their clusters: their labels become known labels, and the estimator is fitted once
more, so that it predicts accordingly. With ``--follow`` only the more typical half of every cluster and the corrected
rows are known, and the other rows may follow the corrections. The log is stored in the model file, see
``widegap.corrections``.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Floats, Ints, Mask
from widegap.cli import _options as options
from widegap.cli._constraint_options import StatedConstraints, read_weight_column
from widegap.cli._errors import CommandError
from widegap.cli._row_names import RowNames, read_pairs
from widegap.corrections._actions import Rename
from widegap.corrections._corrections import CORRECTIONS
from widegap.corrections._parts import unbounded_copy
from widegap.corrections._stored_log import StoredCorrections, rows_of_fit
from widegap.explorer._cluster_names import correction_words
from widegap.explorer._rows import ShownRows
from widegap.explorer._workspace import Workspace
from widegap.results import Corrections, EncodedRows, Result
from widegap.results._result import stored_names

MOST_RANGE_ROWS = 1_000_000  # rows of a range such as 5-9: a mistyped end must not fill the memory


class Corrected:
    """A stored result, its rows, and the corrections of one command; clusters keep their numbers until the fit."""

    def __init__(self, estimator: Any, extra: dict[str, Any], rows: EncodedRows):
        self.extra, self.rows = extra, rows
        self.names = RowNames(rows)
        shown = ShownRows(rows.X, kept=rows.kept)
        self.workspace = Workspace(
            estimator, rows.X, rows=shown, extra={**extra, "names": stored_names(extra)}, weights=self._weights()
        )
        self._check_rows(estimator)
        self.k = self.workspace.k
        self._wanted: dict[int, int] = {}  # clusters that this command names for rows
        self._merged: set[int] = set()  # clusters that this command merges

    def _weights(self) -> Floats | None:
        column = self.extra.get("weight_column")
        return None if column is None else read_weight_column(self.rows, str(column))

    def _check_rows(self, estimator: Any) -> None:
        """Refuse rows that are not those of the fit; junk may have been left out of it."""
        junk = set(self.workspace.keyed_constraints.junk.tolist())
        active = rows_of_fit(estimator, self.rows.X, junk)
        if active is None and not describe.is_fitted_on(estimator, self.rows.X):
            name = self.rows.table.name
            raise CommandError(f"{name} does not hold the rows that the model was fitted to; pass these, unchanged.")

    # The corrections

    def rename(self, texts: Iterable[str]) -> None:
        """``2=loyal``; nothing behind the sign removes a name."""
        for text in texts:
            which, sign, name = text.partition("=")
            if not sign:
                raise CommandError(f"--rename {text!r} must be a cluster and its name, such as 2=loyal.")
            key, name = self._cluster(which, "--rename"), name.strip()
            if name and name in (other for p, other in self.workspace.state.names.items() if p != key):
                raise CommandError(
                    f"--rename {text!r}: another cluster is called {name!r}; merge them, or choose another name."
                )
            self.workspace.act("rename", {"cluster": key, "name": name})

    def move(self, texts: Iterable[str]) -> None:
        """``4,7-9:2``, or a file of rows and clusters."""
        pairs = [pair for text in texts for pair in self._moves(text)]
        for row, key in pairs:
            self._want(row, key)
        for key in dict.fromkeys(key for _, key in pairs):
            self.workspace.act("is", {"rows": [row for row, to in pairs if to == key], "cluster": key})

    def _moves(self, text: str) -> list[tuple[int, int]]:
        if Path(text).is_file():
            return self._read_moves(Path(text))
        rows, sign, which = text.rpartition(":")
        if not sign:
            raise CommandError(f"--move {text!r} is neither rows and a cluster, such as 4,7:2, nor a file.")
        key = self._cluster(which, "--move")
        return [(row, key) for row in self._rows(rows, "--move")]

    def junk(self, texts: Iterable[str]) -> None:
        """``4,7-9``."""
        rows = [row for text in texts for row in self._rows(text, "--outliers")]
        for row in rows:
            self._want(row, -1)
        if rows:
            self._check_clusters_left({*rows})
            self.workspace.act("junk", {"rows": rows})

    def _want(self, row: int, key: int) -> None:
        """Refuse two places for one row."""
        first = self._wanted.setdefault(row, key)
        if first != key:
            places = ["an outlier" if to < 0 else f"moved to {to}" for to in (first, key)]
            raise CommandError(
                f"Row {row + 1} is {places[0]} and {places[1]} by the same command; keep one of the two."
            )

    def merge(self, texts: Iterable[str]) -> None:
        """``2,5``."""
        for text in texts:
            group = [self._cluster(which, "--merge") for which in options.names(text)]
            if len(set(group)) < 2:
                raise CommandError(f"--merge {text!r} must name two clusters or more, such as 2,5.")
            self.workspace.act("merge", {"clusters": group})
            self._merged.update(group)

    def split(self, texts: Iterable[str]) -> None:
        """``3``."""
        for text in texts:
            key = self._cluster(text, "--split")
            if key in self._merged:
                raise CommandError(f"--split {text}: the same command merges this cluster; do one after the other.")
            self.workspace.act("split", {"cluster": key})

    # The new fit

    def refit(self, title: str | None, *, follow: bool, quiet: bool) -> Result:
        """The result with the corrected clusters, numbered without gaps."""
        from widegap.cli import _fitting as fitting

        found = self.workspace.corrected_keys
        self._check_clusters_left(set())
        self.keys = np.unique(found[found >= 0]).tolist()
        inside = found >= 0
        labels = np.where(inside, np.searchsorted(self.keys, found), -1)
        known = np.where(self._held(labels), labels, -1) if follow else labels
        model = unbounded_copy(self.workspace.fit.model, len(self.keys))
        with fitting.watching("Fitting", None, quiet) as watch, fitting.gathering_warnings(self.rows.notes):
            model.set_params(callback=watch).fit(self.rows.X, **self._arguments(known, inside))
        if watch.interrupted:
            raise KeyboardInterrupt
        model.set_params(callback=None)
        model.labels_ = np.where(inside, model.labels_, -1).astype(np.int32)
        names = self.workspace.state.names
        model.classes_ = [names.get(key) or None for key in self.keys]
        if hasattr(model, "agreement_"):
            model.agreement_ = np.where(inside, model.agreement_, 0.0)
        log = self._log(model.labels_)
        title = title or str(self.extra.get("title") or self.rows.table.name)
        corrections = Corrections(log.figures(model.labels_), log.stored())
        return Result(model, self.rows, labels=model.labels_, title=title, corrections=corrections)

    def _check_clusters_left(self, junk: set[int]) -> None:
        """Refuse corrections that leave a cluster without rows, unless it was merged."""
        keys = np.delete(self.workspace.corrected_keys, [*junk])
        merged = {key for event in self.workspace.new_corrections for key in event.data.get("clusters", ())[1:]}
        empty = sorted({*self.workspace.cluster_keys} - merged - {*keys.tolist()})
        if empty:
            raise CommandError(f"Cluster {empty[0]} would have no rows left; merge it with another instead.")

    def _held(self, labels: Ints) -> Mask:
        """Rows that stay where others may follow: typical and corrected ones, and clusters without any of them."""
        held = self._typical() | np.isin(np.arange(len(labels)), [*self.workspace.keyed_constraints.known])
        unheld = np.bincount(labels[held & (labels >= 0)], minlength=len(self.keys)) == 0
        return held | np.append(unheld, False)[labels]

    def _log(self, labels: Ints) -> StoredCorrections:
        active = [one for one in self.workspace.history.active if one.kind in CORRECTIONS or one.kind == Rename.kind]
        numbers = {key: label for label, key in enumerate(self.keys)}
        return self.workspace.stored.continued(
            active, numbers, labels.tolist(), lambda event: correction_words(self.workspace, event)
        )

    def _arguments(self, known: Ints, inside: Mask) -> dict[str, Any]:
        """Side information for ``fit``; rows without a cluster have no weight."""
        found, weights = self.workspace.keyed_constraints, self.workspace.weights
        must, cannot = ([(a, b) for a, b in pairs.tolist()] for pairs in (found.must_link, found.cannot_link))
        if weights is not None or not inside.all():
            weights = np.where(inside, 1.0 if weights is None else weights, 0.0)
        constraints = StatedConstraints(known.tolist(), must, cannot, weights=weights)
        constraints.check(self.rows.kept.tolist(), "auto")
        return constraints.arguments()

    def _typical(self) -> Mask:
        """Which rows are at least as far ahead in their cluster as half of it."""
        labels = self.workspace.fit.cut(self.k)
        margins = describe.leads(describe.scores(self.workspace.fit.model, self.rows.X), labels)
        sure = np.ones(len(margins), bool)
        for label in range(self.k):
            inside = labels == label
            if inside.any() and np.isfinite(margins[inside]).all():
                sure[inside] = margins[inside] >= np.median(margins[inside])
        return sure

    # How clusters and rows are named

    def _cluster(self, text: str, option: str) -> int:
        text = text.strip()
        names = self.workspace.state.names
        called = [key for key in self.workspace.cluster_keys if names.get(key)]
        if text in (names[key] for key in called):
            return next(key for key in called if names[key] == text)
        numbers = self.workspace.model_classes.tolist()  # with gaps after updates
        if text.isascii() and text.isdigit() and len(text) < 10 and int(text) in numbers:
            return self.workspace.cluster_keys[numbers.index(int(text))]
        listed = ", ".join(repr(names[key]) for key in called)
        span = f"from 0 to {self.k - 1}" if max(numbers) < self.k else ", ".join(map(str, sorted(numbers)))
        raise CommandError(
            f"{option}: there is no cluster {text!r}; they are numbered {span}"
            f"{', or called ' + listed if listed else ''}."
        )

    def _rows(self, text: str, option: str) -> list[int]:
        found = []
        for name in options.names(text):
            span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", name) if self.names.id_column is None else None
            if span is not None and int(span[2]) - int(span[1]) > MOST_RANGE_ROWS:
                raise CommandError(f"{option} {name}: more than {MOST_RANGE_ROWS:,} rows; name fewer.")
            names = [name] if span is None else map(str, range(int(span[1]), int(span[2]) + 1))
            try:
                found += [self.names.find(one) for one in names]
            except CommandError as error:
                raise CommandError(f"{option}: {error}") from error
        if not found:
            raise CommandError(f"{option} {text!r} names no rows.")
        return found

    def _read_moves(self, path: Path) -> list[tuple[int, int]]:
        found = []
        for place, (line, name, which) in enumerate(read_pairs(path, "--move")):
            if place == 0 and self.names.row(name) is None:
                self.rows.notes.append(
                    f"--move {path.name}: the first line, {name!r} and {which!r}, names the columns."
                )
                continue
            try:
                found.append((self.names.find(name), self._cluster(which, "--move")))
            except CommandError as error:
                raise CommandError(f"--move {path}, line {line}: {error}") from error
        if not found:
            raise CommandError(f"--move {path} moves no row; each line names one and its new cluster, as in 3,1.")
        return found
