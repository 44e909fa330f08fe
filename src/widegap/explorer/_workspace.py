"""The workspace: rows, the fits of a model on them, and everything a person said and did. It knows nothing of pages.

The state follows from the events alone (``widegap.corrections``). A fit is found from the one before it and the
statements that it was told to use, so fits can be forgotten and found again, after a restart as well as for an undo
that reaches far back.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from threading import RLock
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from widegap import describe
from widegap._types import Labels
from widegap.base._validation import digest_of
from widegap.corrections._actions import check_saved, checked, constraints_of, count_after, state_of
from widegap.corrections._corrections import CORRECTIONS, Assign
from widegap.corrections._events import Event, History, State, Statement
from widegap.corrections._fixed import Fixed
from widegap.exceptions import NotSupportedError
from widegap.explorer._autosave import Autosave
from widegap.explorer._cluster_names import names_by_key
from widegap.explorer._fits import Fit, NotFitted, halves, open_fit
from widegap.explorer._layouts import map_rows
from widegap.explorer._refits import Progress, StoppedError, Wish, refit, searches_anew, supported
from widegap.explorer._rows import ShownRows

KEPT_FITS = 8  # others are found again when they are needed
TERMS = 10_000  # of documents, by which they are placed on the map


class ChangedError(Exception):
    """Somebody else has changed the workspace since the state that an action was based on."""


class Workspace:
    """Rows, a model of them, and what a person said about it.

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
        What the reader has to know of the data.
    session : path, default=None
        File to save every action in.
    resume : bool, default=False
        Go on with what that file holds.
    source : str, default=None
        Where the rows came from, for the script that reproduces what was done.
    encoder : TableEncoder, default=None
        What made X of a table, if that was done before: model files begin with it.
    extra : mapping, default=None
        What model files hold besides, such as names of clusters, what to do with rows that lack a value, and what was
        fixed by hand: the log of events begins with that.
    events : sequence of mappings, default=()
        What was done before, to be done again.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        rows: ShownRows | None = None,
        title: str = "Rows",
        notes: Sequence[str] = (),
        session: Any = None,
        resume: bool = False,
        source: str | None = None,
        encoder: Any = None,
        extra: Mapping[str, Any] | None = None,
        events: Sequence[Mapping[str, Any]] = (),
    ):
        self.rows = rows or ShownRows(X)
        clusterer, self.X = describe.unwrap(model, X)
        before = [] if encoder is None else [("table", encoder)]
        self._before = model.steps[:-1] if hasattr(model, "steps") else before
        self.title, self.notes, self.source = title, list(notes), source
        self.extra = dict(extra or {})
        self.lock = RLock()
        self.on_map = map_rows(self.rows.n_rows)
        self.working = False
        self._listeners: list[Callable[[], None]] = []
        self.fixed_before = Fixed()
        if Assign.kind in supported(clusterer):  # what the page cannot handle stays in the file as it is
            self.fixed_before = Fixed.read(self.extra, self.rows.n_rows, int(getattr(clusterer, "n_clusters_", 0)))
        self.opening = open_fit(clusterer, self.X, self.rows.n_rows, self.fixed_before.aside)
        self._fits: dict[int, Fit | NotFitted] = {0: self.opening}
        self._opening_names = names_by_key(self.opening, self.extra.get("names"))
        self.autosave: Autosave | None = None
        self._terms: Any = None
        done = [Event.from_json(event) for event in events] if events else self.fixed_before.events()
        self.history = _replayed(done, self.rows.n_rows)
        if session is not None:
            self._open_session(session, resume)

    # What there is now

    @property
    def number(self) -> int:
        """Number of the last event: two who know the same number see the same state."""
        return self.history.number

    @property
    def state(self) -> State:
        """What follows from the events."""
        return state_of(self.history.active, self._opening_names)

    @property
    def fit(self) -> Fit | NotFitted:
        """The fit that counts."""
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
    def model_classes(self) -> Labels:
        """What ``model`` calls its clusters, in the order of its scores."""
        return self.fit.classes if self.k == self.fit.own else np.arange(self.k)

    @property
    def labels(self) -> Labels:
        """Cluster of every row as ``model`` numbers them; -1 for rows in none."""
        return self.fit.labels_at(self.k)

    @property
    def features(self) -> Any:
        """The rows as numbers: X, or the terms of documents, weighted."""
        if hasattr(self.X, "shape"):
            return self.X
        if self._terms is None:
            from sklearn.feature_extraction.text import TfidfVectorizer

            self._terms = TfidfVectorizer(sublinear_tf=True, max_features=TERMS, dtype=np.float32).fit_transform(self.X)
        return self._terms

    @property
    def keys(self) -> Labels:
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
    def reach(self) -> range:
        """Numbers of clusters that need no new fit."""
        return self.fit.numbers

    @property
    def statements(self) -> list[Statement]:
        """What was said about rows, with the numbers of the events."""
        return self.state.statements

    def halves(self, rows: Labels) -> list[list[int]]:
        """Typical rows of the two parts of some rows."""
        return halves(self.features, rows)

    @property
    def constraints(self) -> list[dict[str, Any]]:
        """What was said about rows, in the order in which it was said."""
        return [{"number": said.number, "kind": said.kind, **said.data} for said in self.state.statements]

    @property
    def supported(self) -> tuple[str, ...]:
        """Kinds of statements that the model can follow."""
        return supported(self.opening.model)

    @property
    def pending(self) -> int:
        """How many statements no fit has seen yet, or no longer counts."""
        return len({said.number for said in self.statements} ^ self.followed)

    @property
    def followed(self) -> set[int]:
        """Numbers of the statements that the present fit was told."""
        fit = self.state.fit
        return set(self._event(fit).data["using"] if fit else [e.number for e in self.history.events if e.is_opening])

    @property
    def next_number(self) -> int | None:
        """Number of clusters of the next fit; None for the estimator's own choice."""
        state = self.state
        if state.wanted is not None or isinstance(self.fit, NotFitted):
            return state.wanted
        return count_after([said for said in state.statements if said.number not in self.followed], self.k)

    @property
    def searches_anew(self) -> bool:
        """Whether the next fit needs a new search, which takes longer: after new junk, for instance."""
        said = constraints_of(self.state.statements)
        return searches_anew(self.fit, self.rows.n_rows, said, self.next_number)

    # What a person can do

    def act(self, kind: str, data: dict[str, Any] | None = None, *, base: int | None = None) -> Event:
        """Do something: say something of rows, rename a cluster, choose a number of clusters, skip a question.

        Parameters
        ----------
        kind : str
            A kind of action, see ``widegap.corrections._actions``.
        data : dict, default=None
            What the kind needs.
        base : int, default=None
            Number of the last event that the actor knows of; ``ChangedError`` is raised if there were more.

        Returns
        -------
        Event
        """
        with self.lock:
            self._check_base(base)
            if kind in ("undo", "redo", "k", "number") and self.working:
                raise NotSupportedError("A fit is running; stop it or wait for it first.")
            if kind in CORRECTIONS and kind not in self.supported:
                raise NotSupportedError(f"{type(self.fit.model).__name__} cannot follow a statement of this kind.")
            event = self.history.next(kind, checked(self, kind, data or {}))
            after = state_of(self.history.after(event).active)
            if kind in CORRECTIONS:
                constraints_of(after.statements).check(self.rows.numbers)
            self._add(event)
        return event

    def undo(self) -> Event:
        """Take the last action back."""
        return self.act("undo")

    def redo(self) -> Event:
        """Do the action again that was taken back last."""
        return self.act("redo")

    def again(self, callback: Progress | None = None, *, base: int | None = None) -> Event:
        """Fit again from the present clusters, following all statements.

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
            plan = {"parent": state.fit, "using": [said.number for said in state.statements], "k": k, "shown": self.k}
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
        """Call a function after every event; returns what ends that."""
        self._listeners.append(function)
        return lambda: self._listeners.remove(function)

    def fit_of(self, number: int) -> Fit | NotFitted:
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

    def moved(self) -> tuple[Labels, Labels] | None:
        """Keys of all rows before and after the last fit; None if there was none."""
        state = self.state
        if not state.fit:
            return None
        plan = self._event(state.fit).data
        parent = self.fit_of(plan["parent"])
        if isinstance(parent, NotFitted):
            return None
        return parent.row_keys(plan["shown"]), self.fit.row_keys(self.fit.own)

    def names(self) -> dict[str, str]:
        """Names that were given to clusters, by the numbers that ``model`` gives them."""
        keys = self.fit.keys(self.k).tolist()
        found = {str(label): self.state.names.get(key) for label, key in zip(self.model_classes, keys, strict=True)}
        return {label: name for label, name in found.items() if name}

    def close(self) -> None:
        """Let another workspace resume the session; what happens here from now on is not saved."""
        if self.autosave is not None:
            self.autosave.close()

    def describe_rows(self) -> dict[str, Any]:
        """What tells these rows from others."""
        return {"rows": self.rows.n_rows, "digest": digest_of(self.X), "title": self.title}

    # Inside

    def _refit(self, plan: dict[str, Any], callback: Progress | None) -> tuple[Fit, list[str]]:
        parent = self.fit_of(plan["parent"])
        told = set(plan["using"])
        statements = state_of([e for e in self.history.events if e.number in told]).statements
        return refit(parent, self.X, Wish(constraints_of(statements), plan["k"], plan["shown"]), callback)

    def _event(self, number: int) -> Event:
        return self.history.events[number - 1]

    def _keep(self, number: int, fit: Fit) -> None:
        self._fits[number] = fit
        for old in [*self._fits][1 : -1 - KEPT_FITS]:  # the first stays, the others go in the order they came
            del self._fits[old]

    def _check_base(self, base: int | None) -> None:
        if base is not None and base != self.number:
            raise ChangedError(f"The workspace has changed: you saw action {base}, the last is {self.number}.")

    def _add(self, event: Event) -> None:
        self.history.add(event)
        if self.autosave is not None:
            self.autosave.add(event)
        for function in [*self._listeners]:
            function()

    def _open_session(self, session: Any, resume: bool) -> None:
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


def _digest(labels: Labels) -> str:
    return sha256(np.ascontiguousarray(labels, np.int32).tobytes()).hexdigest()[:16]


__all__ = ["ChangedError", "StoppedError", "Workspace"]
