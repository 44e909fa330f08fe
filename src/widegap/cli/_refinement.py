"""Corrections of a stored result, and what was fixed by hand.

Rows without a correction stay in their clusters: the stored labels become known labels, the corrections change some of
them, and the estimator is fitted once more, so that it predicts accordingly. With ``--follow`` only the more typical
half of every cluster, what was fixed by hand, and the rows of merged and split clusters are known; the remaining rows
may change their cluster. The model file keeps what is fixed, see ``widegap.corrections``.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from widegap import describe
from widegap._wording import counted
from widegap.cli import _options as options
from widegap.cli._constraint_options import RowConstraints, read_weight_column
from widegap.cli._errors import CommandError
from widegap.cli._row_names import RowNames, read_pairs
from widegap.corrections._fixed import Fixed, rows_of_fit
from widegap.results import Corrections, EncodedRows, Result
from widegap.results._result import stored_names

NEUTRAL = {"size_min": None, "size_max": None, "outliers": 0, "checkpoint": None}  # corrections override bounds
LONGEST_RANGE = 1_000_000  # rows that 5-9 may name: a wrong digit must not fill the memory


class Corrected:
    """A stored result and its rows, on the way to a corrected one; clusters keep their numbers until the end.

    Attributes
    ----------
    labels : ndarray
        Clusters of the rows, -1 for none, as they are to be.
    sure : ndarray of bool
        Rows that keep theirs, too, where others follow the corrections.
    classes : list
        Names of the clusters, None where there is none.
    """

    def __init__(self, estimator: Any, extra: dict[str, Any], rows: EncodedRows):
        self.estimator, self.extra, self.rows = estimator, extra, rows
        self.names = RowNames(rows)
        self.k = int(estimator.n_clusters_)
        self.fixed = Fixed.read(extra, len(rows.kept), self.k)
        self.labels = self._labels()
        self.classes = list(estimator.classes_)
        for label, name in stored_names(extra).items():
            if label.isdigit() and int(label) < self.k and name not in self.classes:
                self.classes[int(label)] = name
        self.merged = np.arange(self.k)  # where the rows of each cluster are now
        self.sure = self._typical()
        self._wanted: dict[int, int] = {}  # clusters that this command names for rows

    def _labels(self) -> Any:
        """Clusters of all rows, -1 for those that the fit left out; refuses rows that are not those of the fit."""
        active = rows_of_fit(self.estimator, self.rows.X, self.fixed.aside)
        found = np.asarray(self.estimator.labels_).astype(np.int64)
        if active is not None:
            labels = np.full(len(active), -1)
            labels[active] = found
            return labels
        if not describe.is_fitted_on(self.estimator, self.rows.X):
            name = self.rows.table.name
            raise CommandError(f"{name} does not hold the rows that the model was fitted to; pass these, unchanged.")
        return found

    # The corrections

    def rename(self, text: str) -> None:
        """``2=loyal``; nothing behind the sign takes a name away."""
        which, sign, name = text.partition("=")
        if not sign:
            raise CommandError(f"--rename {text!r} must be a cluster and its name, such as 2=loyal.")
        label, name = self._cluster(which, "--rename"), name.strip()
        if name and name in (other for p, other in enumerate(self.classes) if p != label):
            raise CommandError(f"--rename {text!r}: another cluster is called {name!r}; merge them, or choose another.")
        self.classes[label] = name or None
        self.fixed.corrections.append(f"renamed {which.strip()} to {name!r}")

    def move(self, text: str) -> None:
        """``4,7-9:2``, or a file of rows and clusters."""
        if Path(text).is_file():
            pairs = self._read_moves(Path(text))
        else:
            rows, sign, which = text.rpartition(":")
            if not sign:
                raise CommandError(f"--move {text!r} is neither rows and a cluster, such as 4,7:2, nor a file.")
            label = self._cluster(which, "--move")
            pairs = [(row, label) for row in self._rows(rows, "--move")]
        for row, label in pairs:
            self._want(row, label)
            self.labels[row] = self.fixed.clusters[row] = label
            self.fixed.settled.pop(row, None)
            self.fixed.aside.discard(row)
        self.fixed.corrections.append(f"moved {counted(len(pairs), 'row')}")

    def remove(self, text: str) -> None:
        """``4,7-9``; these rows are in no cluster and lose their links."""
        rows = set(self._rows(text, "--outliers"))
        for row in rows:
            self._want(row, -1)
        self.labels[list(rows)] = -1
        fixed = self.fixed
        fixed.aside |= rows
        fixed.clusters = {row: label for row, label in fixed.clusters.items() if row not in rows}
        fixed.settled = {row: label for row, label in fixed.settled.items() if row not in rows}
        fixed.must_link = [pair for pair in fixed.must_link if not rows & {*pair}]
        fixed.cannot_link = [pair for pair in fixed.cannot_link if not rows & {*pair}]
        fixed.corrections.append(f"removed {counted(len(rows), 'row')}")

    def _want(self, row: int, label: int) -> None:
        """Refuse two places for one row."""
        first = self._wanted.setdefault(row, label)
        if first != label:
            places = ["an outlier" if to < 0 else f"moved to {to}" for to in (first, label)]
            raise CommandError(
                f"Row {row + 1} is {places[0]} and {places[1]} by the same command; keep one of the two."
            )

    def merge(self, text: str) -> None:
        """``2,5``: all rows go into the cluster with the smallest number, which takes the first name."""
        group = [self._cluster(which, "--merge") for which in options.names(text)]
        if len(set(group)) < 2:
            raise CommandError(f"--merge {text!r} must name two clusters or more, such as 2,5.")
        kept = int(self.merged[group].min())
        gone = np.isin(self.merged, self.merged[group])
        self.labels[np.isin(self.labels, np.flatnonzero(gone))] = kept
        self._settle(np.flatnonzero(self.labels == kept))
        self.classes[kept] = next((self.classes[p] for p in group if self.classes[p] is not None), None)
        self.merged[gone] = kept
        self.fixed.corrections.append(f"merged {' and '.join(options.names(text))}")

    def split(self, text: str) -> None:
        """``3``: rows that were fixed there stay, or else the larger part does; the other gets the next number."""
        label = self._cluster(text, "--split")
        if np.count_nonzero(self.merged == self.merged[label]) > 1:
            raise CommandError(f"--split {text}: the cluster is merged by the same command; do one after the other.")
        rows = np.flatnonzero(self.labels == label)
        held = np.isin(rows, [*self.fixed.clusters])
        if len(rows) < 2 or held.all():
            raise CommandError(
                f"--split {text}: the cluster has {len(rows)} rows, {held.sum()} of them fixed; none can go."
            )
        known = np.where(held, 0, -1) if held.any() else None
        parts = self._prepared(2).fit(self.rows.X[rows], **self._arguments(rows, known)).labels_
        stays = 0 if held.any() else int(np.bincount(parts).argmax())
        self.labels[rows[parts != stays]] = len(self.classes)
        self._settle(rows)
        self.classes.append(None)
        self.fixed.corrections.append(f"split {text.strip()}")

    def _settle(self, rows: Any) -> None:
        """Note that rows are where a merge or a split of their clusters has put them."""
        for row in rows.tolist():
            layer = self.fixed.clusters if row in self.fixed.clusters else self.fixed.settled
            layer[row] = int(self.labels[row])

    # The new fit

    def refit(self, title: str | None, *, follow: bool, quiet: bool) -> Result:
        """The result with the corrected clusters, numbered without gaps."""
        from widegap.cli import _fitting as fitting

        numbers = np.unique(self.labels[self.labels >= 0])
        wanted = [p for p in range(len(self.classes)) if p >= self.k or self.merged[p] == p]
        empty = sorted({*wanted} - {*numbers.tolist()})
        if empty:
            raise CommandError(f"Cluster {empty[0]} would have no rows left; merge it with another instead.")
        inside = self.labels >= 0
        self.labels[inside] = np.searchsorted(numbers, self.labels[inside])
        self.classes = [self.classes[p] for p in numbers]
        known = np.where(self._held(len(numbers)), self.labels, -1) if follow else self.labels
        model = self._prepared(len(numbers))
        with fitting.watching("Fitting", None, quiet) as watch, fitting.gathering_warnings(self.rows.notes):
            arguments = self._arguments(np.arange(len(self.labels)), known)
            model.set_params(callback=watch).fit(self.rows.X, **arguments)
        if watch.interrupted:
            raise KeyboardInterrupt
        model.set_params(callback=None)
        model.labels_ = np.where(inside, model.labels_, -1).astype(np.int32)
        model.classes_ = self.classes
        if hasattr(model, "agreement_"):
            model.agreement_ = np.where(inside, model.agreement_, 0.0)
        labels = model.labels_
        corrections = Corrections(self.fixed.told(labels), self.fixed.stored(labels))
        title = title or str(self.extra.get("title") or self.rows.table.name)
        return Result(model, self.rows, labels=labels, title=title, corrections=corrections)

    def _held(self, k: int) -> Any:
        """Rows that stay where others follow: typical, fixed and settled ones, and clusters that have none of them."""
        held = self.sure | np.isin(np.arange(len(self.labels)), [*self.fixed.clusters, *self.fixed.settled])
        unheld = np.bincount(self.labels[held & (self.labels >= 0)], minlength=k) == 0
        return held | np.append(unheld, False)[self.labels]

    def _prepared(self, k: int) -> Any:
        from sklearn.base import clone

        model = clone(self.estimator)
        neutral = {name: value for name, value in NEUTRAL.items() if name in model.get_params()}
        return model.set_params(n_clusters=k, **neutral)

    def _arguments(self, rows: Any, known: Any) -> dict[str, Any]:
        """Arguments of ``fit`` for some rows; those without a cluster have no weight."""
        place = {int(row): i for i, row in enumerate(rows)}
        links = [
            [(place[a], place[b]) for a, b in pairs if a in place and b in place]
            for pairs in (self.fixed.must_link, self.fixed.cannot_link)
        ]
        column, weights = self.fixed.weight_column, np.ones(len(self.labels))
        if column is not None:
            weights = read_weight_column(self.rows, column)
        weights = np.where(self.labels < 0, 0.0, weights)[rows]
        constraints = RowConstraints(known, *links, weights=None if weights.all() and column is None else weights)
        constraints.check(self.rows.kept[rows].tolist(), "auto")
        return constraints.arguments()

    def _typical(self) -> Any:
        """Which rows are at least as far ahead in their cluster as half of it."""
        margins = describe.leads(describe.scores(self.estimator, self.rows.X), self.labels)
        sure = np.ones(len(margins), bool)
        for label in range(self.k):
            inside = self.labels == label
            if inside.any() and np.isfinite(margins[inside]).all():
                sure[inside] = margins[inside] >= np.median(margins[inside])
        return sure

    # How clusters and rows are named

    def _cluster(self, text: str, option: str) -> int:
        text = text.strip()
        if text in self.classes[: self.k]:
            return self.classes.index(text)
        if text.isascii() and text.isdigit() and len(text) < 10 and int(text) < self.k:
            return int(text)
        called = ", ".join(repr(name) for name in self.classes if name is not None)
        raise CommandError(
            f"{option}: there is no cluster {text!r}; they are numbered from 0 to {self.k - 1}"
            f"{', or called ' + called if called else ''}."
        )

    def _rows(self, text: str, option: str) -> list[int]:
        found = []
        for name in options.names(text):
            span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", name) if self.names.id_column is None else None
            if span is not None and int(span[2]) - int(span[1]) > LONGEST_RANGE:
                raise CommandError(f"{option} {name}: more than {LONGEST_RANGE:,} rows; name fewer.")
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
