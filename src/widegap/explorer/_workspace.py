"""The workspace: rows, the fits of a model on them, and everything a person did. It knows nothing of pages.

The state follows from the events alone (``widegap.corrections``). A fit is found from the one before it and the
corrections that it uses, so fits can be forgotten and found again, after a restart as well as for an undo that reaches
far back.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from threading import RLock
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widegap import describe
from widegap._types import Floats, Ints, Matrix
from widegap.base._numbered_clusters import numbers_of
from widegap.base._validation import digest_of
from widegap.corrections._action import asked_rows
from widegap.corrections._actions import check_saved, checked, constraints_of, count_after, state_of
from widegap.corrections._constraints import KeyedConstraints
from widegap.corrections._corrections import CORRECTIONS, Assign
from widegap.corrections._events import Event, History, LogState
from widegap.corrections._parts import two_parts
from widegap.corrections._stored_log import StoredCorrections
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.explorer._autosave import Autosave
from widegap.explorer._before_update import RowsBefore, update_changes
from widegap.explorer._cluster_names import correction_words, names_by_key
from widegap.explorer._fits import NotFitted, ShownFit, open_fit
from widegap.explorer._identity import WholeNumbers
from widegap.explorer._layouts import map_rows
from widegap.explorer._refits import NextFit, Progress, StoppedError, refit, searches_anew, supported
from widegap.explorer._rows import ShownRows
from widegap.results._map_rows import map_rows_of
from widegap.results._result import stored_names

KEPT_FITS = 8  # in memory; older ones are computed again when an undo reaches them


class ChangedError(Exception):
    """The workspace has changed since the state that an action was based on."""


class Workspace:
    """Rows, a model of them, and the corrections of it.

    Parameters
    ----------
    model : estimator or pipeline
        Fitted, or still to be fitted, by ``again``.
    X : rows or documents
        As the model takes them.
    rows : ShownRows, default=None
        What is shown of them; None shows X.
    title : str, default="Rows"
        A name for all of it.
    notes : sequence of str, default=()
        Notes on the data for the reader.
    session : path, default=None
        File to save every action in.
    resume : bool, default=False
        Continue the session in that file.
    source : str, default=None
        Where the rows came from, for the script that reproduces what was done.
    encoder : TableEncoder, default=None
        What turned a table into X, if anything did: model files begin with it.
    extra : mapping, default=None
        What model files hold besides: names of clusters, how missing values are handled, and the corrections, with
        which the log of events begins.
    events : sequence of mappings, default=()
        Events to replay.
    weights : ndarray, default=None
        Weights of the rows, for fits that search anew and for splits.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        rows: ShownRows | None = None,
        title: str = "Rows",
        notes: Sequence[str] = (),
        session: str | os.PathLike[str] | None = None,
        resume: bool = False,
        source: str | None = None,
        encoder: object = None,
        extra: Mapping[str, Any] | None = None,
        events: Sequence[Mapping[str, Any]] = (),
        weights: Floats | None = None,
    ):
        self.rows = rows or ShownRows(X)
        clusterer, self.X = describe.unwrap(model, X)
        before = [] if encoder is None else [("table", encoder)]
        self._before = model.steps[:-1] if hasattr(model, "steps") else before
        self.title, self.notes, self.source = title, list(notes), source
        self.extra, self.weights = dict(extra or {}), weights
        self.lock = RLock()
        self.on_map = map_rows(self.rows.n_rows)
        self.working = False
        self.selected: Ints = np.zeros(0, np.int64)
        self._listeners: list[Callable[[], None]] = []
        self.stored = StoredCorrections()
        if Assign.kind in supported(clusterer):  # what the page cannot handle stays in the file as it is
            k = int(numbers_of(clusterer, -1).max(initial=-1)) + 1
            self.stored = StoredCorrections.read(self.extra, self.rows.n_rows, k)
        opening_junk = constraints_of(state_of(self.stored.events).corrections).junk
        self.opening = open_fit(clusterer, self.X, self.rows.n_rows, set(opening_junk.tolist()))
        self.rows_before = RowsBefore.of(clusterer, self.X)
        self._fits: dict[int, ShownFit | NotFitted] = {0: self.opening}
        self._opening_names = names_by_key(self.opening, self.extra.get("names"))
        self.autosave: Autosave | None = None
        self._features: Matrix | None = None
        done = [Event.from_json(event) for event in events] if events else self.stored.events
        self.history = _replayed(done, self.rows.n_rows)
        if session is not None:
            self._open_session(session, resume)

    # What there is now

    @property
    def number(self) -> int:
        """Number of the last event: two who know the same number see the same state."""
        return self.history.number

    @property
    def state(self) -> LogState:
        """The state that follows from the events."""
        return state_of(self.history.active, self._opening_names)

    @property
    def fit(self) -> ShownFit | NotFitted:
        """The current fit."""
        return self.fit_of(self.state.fit)

    @property
    def k(self) -> int:
        """Number of clusters that is shown."""
        k = self.state.k
        return self.fit.own if k is None else k

    @property
    def model(self) -> Any:
        """The fitted estimator for the present number of clusters."""
        return self.fit.model_at(self.k)

    @property
    def pipeline(self) -> Any:
        """The model with the steps before it, if there are any: it takes rows as they came."""
        return Pipeline([*self._before, ("cluster", self.model)]) if self._before else self.model

    @property
    def model_classes(self) -> WholeNumbers:
        """What ``model`` calls its clusters, in the order of its scores."""
        return self.fit.classes_at(self.k)

    @property
    def labels(self) -> WholeNumbers:
        """Cluster of every row as ``model`` numbers them; -1 for rows in none."""
        return self.fit.labels_at(self.k)

    @property
    def features(self) -> Matrix:
        """The rows as numbers: X, or the terms of documents, weighted."""
        if self._features is None:
            self._features = map_rows_of(self.X)
        return self._features

    @cached_property
    def changes(self) -> dict[str, Any] | None:
        """What the last update of the model changed, if these are its rows."""
        own = {str(key): name for key, name in self._opening_names.items()}
        factors = getattr(self._before[0][1], "factors_", None) if self._before else None
        return update_changes(self.opening.model, self.X, self.rows, {**stored_names(self.extra), **own}, factors)

    @property
    def keys(self) -> WholeNumbers:
        """Cluster of every row by its key, which stays while clusters are numbered anew."""
        return self.fit.row_keys(self.k)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def cluster_keys(self) -> list[int]:
        """Keys of the clusters that are shown."""
        return self.fit.keys(self.k).tolist()

    @property
    def used_keys(self) -> set[int]:
        """Keys of clusters that are shown, that other numbers of clusters may show, or that have a name."""
        own = self.fit.keys(self.fit.own).tolist()
        return {*self.cluster_keys, *own, *self.state.names}

    @property
    def can_undo(self) -> bool:
        """Whether there is an action to undo: the first fit, and what the model file held, are none."""
        return self.history.can_undo and not self._is_first_fit(self.history.active[-1])

    @property
    def reach(self) -> range:
        """Numbers of clusters that need no new fit."""
        return self.fit.numbers

    @property
    def corrections(self) -> list[Event]:
        """All corrections, in the order in which they were made."""
        return self.state.corrections

    @property
    def new_corrections(self) -> list[Event]:
        """Corrections that the present fit does not follow."""
        followed = self.followed
        return [event for event in self.corrections if event.number not in followed]

    @property
    def keyed_constraints(self) -> KeyedConstraints:
        """The constraints of all corrections together."""
        return constraints_of(self.corrections)

    @property
    def corrected_keys(self) -> Ints:
        """Cluster of every row by its key, after the corrections that the next fit will follow."""
        return self.keyed_constraints.corrected(self.keys.astype(np.int64))

    def two_parts(self, rows: Ints) -> list[list[int]]:
        """The rows that stay and those that leave when a cluster of these rows is split."""
        return two_parts(self.fit.model, self.X, rows, self.keyed_constraints, self.weights)

    @property
    def constraints(self) -> list[dict[str, Any]]:
        """All corrections as plain data, in the order in which they were made."""
        return [
            {"number": event.number, "kind": event.kind, **event.data, "words": correction_words(self, event)}
            for event in self.corrections
        ]

    @property
    def supported(self) -> tuple[str, ...]:
        """Kinds of corrections that the model can follow."""
        return supported(self.opening.model)

    @property
    def pending(self) -> int:
        """How many corrections were added or removed since the present fit."""
        return len({event.number for event in self.corrections} ^ self.followed)

    @property
    def followed(self) -> set[int]:
        """Numbers of the corrections that the present fit follows."""
        fit = self.state.fit
        opening = [event.number for event in self.history.events if event.is_opening and event.kind in CORRECTIONS]
        return set(self._event(fit).data["using"] if fit else opening)

    @property
    def next_number(self) -> int | None:
        """Number of clusters of the next fit; None for the estimator's own choice."""
        state = self.state
        if state.wanted is not None or isinstance(self.fit, NotFitted):
            return state.wanted
        return count_after(self.new_corrections, self.k)

    @property
    def searches_anew(self) -> bool:
        """Whether the next fit needs a new search, which takes longer: after new junk, for instance."""
        return searches_anew(self.fit, self.rows.n_rows, self.keyed_constraints, self.next_number)

    # What a person can do

    def act(self, kind: str, data: object = None, *, base: int | None = None) -> Event:
        """Do something: correct rows or clusters, rename a cluster, choose a number of clusters, skip a question.

        Parameters
        ----------
        kind : str
            A kind of action, see ``widegap.corrections._actions``.
        data : dict, default=None
            The data of this kind of action.
        base : int, default=None
            Number of the last event that the actor knows; ``ChangedError`` is raised if there were more.

        Returns
        -------
        Event
        """
        with self.lock:
            self._check_base(base)
            if kind in ("undo", "redo", "k", "number") and self.working:
                raise NotSupportedError("A fit is running; stop it or wait for it first.")
            if kind == "undo" and not self.can_undo:
                raise InvalidDataError("There is nothing to undo.")
            if kind in CORRECTIONS and kind not in self.supported:
                raise NotSupportedError(f"{type(self.fit.model).__name__} cannot follow the correction {kind!r}.")
            event = self.history.next(kind, checked(self, kind, {} if data is None else data))
            if kind in CORRECTIONS:  # later fits may number its clusters anew, or have them no more
                event.data["words"] = correction_words(self, event)
            after = state_of(self.history.after(event).active)
            if kind in CORRECTIONS:
                constraints_of(after.corrections).check(self.rows.numbers)
            self._add(event)
        return event

    def select(self, rows: object) -> None:
        """Note which rows are selected on the page, in ``selected``; the clusters do not depend on it.

        Parameters
        ----------
        rows : list of int
            Rows of X, from 0; an empty list for none.
        """
        self.selected = np.array(asked_rows(self, {"rows": rows}, 0), np.int64)
        self._tell()

    def undo(self) -> Event:
        """Undo the last action."""
        return self.act("undo")

    def redo(self) -> Event:
        """Redo the action that was undone last."""
        return self.act("redo")

    def again(self, callback: Progress | None = None, *, base: int | None = None) -> Event:
        """Fit again from the present clusters, following all corrections.

        Parameters
        ----------
        callback : callable, default=None
            Called with every record of the fit; returning True stops it, and the clusters stay as they were.
        base : int, default=None
            As for ``act``.

        Returns
        -------
        Event
        """
        with self.lock:
            self.check_ready(base)
            self.working = True
            state, k = self.state, self.next_number
            plan = {
                "parent": state.fit,
                "using": [event.number for event in state.corrections],
                "k": k,
                "shown": self.k,
            }
        try:
            found, notes = self._refit(plan, callback)
            with self.lock:
                digest = _digest(found.cut(found.own))
                event = self.history.next("again", {**plan, "labels": digest, "notes": notes})
                self._keep(event.number, found)
                self._add(event)
        finally:
            self.working = False
        return event

    def check_ready(self, base: int | None = None) -> None:
        """Refuse a fit while another is running, or one that is based on an older state."""
        with self.lock:
            self._check_base(base)
            if self.working:
                raise NotSupportedError("A fit is running already; stop it or wait for it first.")

    def listen(self, function: Callable[[], None]) -> Callable[[], None]:
        """Call a function after every event, and after every selection; returns what ends that."""
        self._listeners.append(function)
        return lambda: self._listeners.remove(function)

    def fit_of(self, number: int) -> ShownFit | NotFitted:
        """The fit of an event, found again if it was forgotten."""
        with self.lock:
            if number not in self._fits:
                event = self._event(number)
                found, _ = self._refit(event.data, None)
                if _digest(found.cut(found.own)) != event.data["labels"]:
                    self.notes.append(
                        f"Clusters of action {number} could not be reproduced to the last row, perhaps because a "
                        "package has another version now; what is shown is the new result."
                    )
                self._keep(number, found)
            return self._fits[number]

    @property
    def before_fit(self) -> tuple[ShownFit, int] | None:
        """The fit before the present one and its number of clusters that was shown; None if there was none."""
        state = self.state
        if not state.fit:
            return None
        plan = self._event(state.fit).data
        parent = self.fit_of(plan["parent"])
        return None if isinstance(parent, NotFitted) else (parent, plan["shown"])

    def moved(self) -> tuple[WholeNumbers, WholeNumbers] | None:
        """Keys of all rows before and after the last fit; None if there was none."""
        before = self.before_fit
        if before is None:
            return None
        parent, shown = before
        return parent.row_keys(shown), self.fit.row_keys(self.fit.own)

    def names(self) -> dict[str, str]:
        """Names of clusters, by their labels in ``model``."""
        keys = self.fit.keys(self.k).tolist()
        found = {str(label): self.state.names.get(key) for label, key in zip(self.model_classes, keys, strict=True)}
        return {label: name for label, name in found.items() if name}

    def close(self) -> None:
        """Release the session, so that another workspace can resume it; later actions here are not saved."""
        if self.autosave is not None:
            self.autosave.close()

    def describe_rows(self) -> dict[str, object]:
        """What identifies these rows in a session file."""
        return {"rows": self.rows.n_rows, "digest": digest_of(self.X), "title": self.title}

    # Inside

    def _refit(self, plan: dict[str, Any], callback: Progress | None) -> tuple[ShownFit, list[str]]:
        parent = self.fit_of(plan["parent"])
        used = set(plan["using"])
        corrections = state_of([event for event in self.history.events if event.number in used]).corrections
        wanted = NextFit(constraints_of(corrections), plan["k"], plan["shown"], self.weights)
        return refit(parent, self.X, wanted, callback)

    def _is_first_fit(self, event: Event) -> bool:
        """Whether an event is the fit of rows that had no clusters before."""
        return event.kind == "again" and not event.data["parent"] and isinstance(self.opening, NotFitted)

    def _event(self, number: int) -> Event:
        return self.history.events[number - 1]

    def _keep(self, number: int, fit: ShownFit) -> None:
        self._fits[number] = fit
        for old in [*self._fits][1 : -1 - KEPT_FITS]:  # the first stays, the others go in the order they came
            del self._fits[old]

    def _check_base(self, base: int | None) -> None:
        if base is not None and base != self.number:
            raise ChangedError(
                f"The workspace has changed since: you saw action {base}, the last is {self.number}. Try again."
            )

    def _add(self, event: Event) -> None:
        self.history.add(event)
        if self.autosave is not None:
            self.autosave.add(event)
        self._tell()

    def _tell(self) -> None:
        for function in [*self._listeners]:
            function()

    def _open_session(self, session: str | os.PathLike[str], resume: bool) -> None:
        about, saved = self.describe_rows(), Autosave(session, resume=resume)
        if resume:
            try:
                self.history = _replayed(saved.read(about), self.rows.n_rows)
            except BaseException:
                saved.close()
                raise
            saved.go_on()
        else:
            saved.begin(about, self.history.events)
        self.autosave = saved


def _replayed(events: Sequence[Event], n_rows: int) -> History:
    history = History()
    for event in events:
        check_saved(event, history.events, n_rows)
        history.add(event)
    return history


def _digest(labels: WholeNumbers) -> str:
    return sha256(np.ascontiguousarray(labels, np.int32).tobytes()).hexdigest()[:16]


__all__ = ["ChangedError", "StoppedError", "Workspace"]
