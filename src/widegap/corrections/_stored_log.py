"""The log of corrections in a model file, which ``widegap refine`` and ``widegap explore`` replay.

It lies under ``corrections``: ``events``, numbered from 1, of every correction that the model follows and of the names
that people gave, and ``earlier``, words for corrections in older files. Clusters are numbered as the model of the file
numbers them; those that a merge has removed have the numbers after these. Rows are the rows that are clustered, counted
from 0. Older files hold the outcome instead of the log, under ``fixed``; it is read as a log with the same outcome.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widegap import describe
from widegap._types import Mask
from widegap._wording import counted
from widegap.corrections import _rules as rules
from widegap.corrections._action import EventData
from widegap.corrections._actions import ACTIONS, Rename, check_saved, constraints_of
from widegap.corrections._corrections import CORRECTIONS
from widegap.corrections._events import Event
from widegap.exceptions import InvalidDataError


@dataclass(frozen=True)
class StoredCorrections:
    """The log of a model file.

    Attributes
    ----------
    events : list of Event
        Corrections and names, oldest first.
    earlier : list of str
        Words for corrections in files without a log.
    weight_column : str or None
        Column of the weights of the rows.
    """

    events: list[Event] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    weight_column: str | None = None

    @classmethod
    def read(cls, extra: dict[str, Any], n_rows: int, k: int) -> "StoredCorrections":
        """From a model file whose clusters have numbers below k, which may come from anywhere."""
        try:
            log = extra.get("corrections")
            if log is None:
                fixed = extra.get("fixed", {})
                entries, earlier = _as_log(fixed), fixed.get("corrections", [])
            else:
                entries, earlier = log["events"], log.get("earlier", [])
            events = [_opening(Event.from_json(entry)) for entry in entries]
            _check_log(events, n_rows, k)
            column = extra.get("weight_column")
            return cls(events, [*map(str, earlier)], None if column is None else str(column))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidDataError(
                f"The corrections in the model file are damaged ({error}); fit the model again."
            ) from error

    @classmethod
    def of_side_information(
        cls,
        known: dict[int, int],
        must_link: Iterable[tuple[int, int]],
        cannot_link: Iterable[tuple[int, int]],
        weight_column: str | None,
    ) -> "StoredCorrections":
        """The log of a first fit: labels and links that were known before it."""
        entries = _entries({}, known, [*must_link], [*cannot_link], [])
        return cls([Event.from_json(entry) for entry in entries], [], weight_column)

    @classmethod
    def of_former_rows(cls, extra: dict[str, Any]) -> "StoredCorrections":
        """The log of a model that has moved on to other rows: words alone, as events name rows that are gone.

        What the corrections say of remembered rows is in the model.
        """
        log = extra.get("corrections") or extra.get("fixed") or {}
        former = log.get("earlier", log.get("corrections", []))
        words = [entry["words"] for entry in log.get("events", []) if "words" in entry]
        column = extra.get("weight_column")
        return cls([], [*map(str, former), *map(str, words)], None if column is None else str(column))

    def continued(
        self,
        events: Sequence[Event],
        numbers: Mapping[int, int],
        row_labels: Sequence[int],
        words: Callable[[Event], str],
    ) -> "StoredCorrections":
        """The log for a new model file.

        Parameters
        ----------
        events : sequence of Event
            Corrections that the model follows, and names.
        numbers : mapping
            What the model calls the cluster of every key.
        row_labels : sequence of int
            Clusters of all rows as the model numbers them.
        words : callable
            What people read of an event.
        """
        labels = {**numbers}
        known = constraints_of(event for event in events if event.kind in CORRECTIONS).known
        # In a cut at another number of clusters a key may be gone or name another part: known rows tell where it is.
        labels |= {key: int(row_labels[row]) for row, key in known.items() if row_labels[row] >= 0}
        named = sorted({key for event in events for key in _keys_of(event)} - labels.keys())
        labels |= {key: max(numbers.values()) + 1 + i for i, key in enumerate(named)}
        kept = [event for event in events if event.kind != Rename.kind or event.data["cluster"] in numbers]
        found = [
            Event(number, event.kind, event.at, {**_renumbered(event, labels), **_worded(event, words)})
            for number, event in enumerate(kept, 1)
        ]
        return StoredCorrections(found, self.earlier, self.weight_column)

    def figures(self, labels: Any) -> dict[str, Any] | None:
        """What was fixed by hand, in figures and in words."""
        found = constraints_of(event for event in self.events if event.kind in CORRECTIONS)
        return by_hand_figures(
            {
                "known": len(found.by_hand),
                "labels": [],
                "must_links": len(found.must_link),
                "cannot_links": len(found.cannot_link),
                "weight_column": self.weight_column,
                "set_aside": int(np.count_nonzero(np.asarray(labels) < 0)),
                "corrections": [
                    *self.earlier,
                    *(event.data["words"] for event in self.events if "words" in event.data),
                ],
            }
        )

    def stored(self, labels: Any = None) -> dict[str, Any]:
        """For the model file."""
        entries = [event.to_json() for event in self.events]
        return {"corrections": {"events": entries, "earlier": self.earlier}, "weight_column": self.weight_column}


def rows_of_fit(estimator: Any, X: Any, junk: set[int]) -> Mask | None:
    """Which rows a model was fitted to, if junk was left out of its fit; None where that is not so."""
    if not junk or describe.is_fitted_on(estimator, X):
        return None
    active = np.ones(X.shape[0] if hasattr(X, "shape") else len(X), bool)
    active[list(junk)] = False
    return active if hasattr(X, "shape") and describe.is_fitted_on(estimator, X[active]) else None


def by_hand_figures(found: dict[str, Any], known_by: str = "", unit: str = "row") -> dict[str, Any] | None:
    """Figures of what was fixed by hand, with the words for them; None if nothing was."""
    if not any(found.values()):
        return None
    parts = []
    if found["known"]:
        labels = f" ({counted(len(found['labels']), 'label')})" if found["labels"] else ""
        parts.append(f"{counted(found['known'], unit)}{known_by}{labels}")
    parts += [
        counted(found[key], word)
        for key, word in (("must_links", "must-link"), ("cannot_links", "cannot-link"))
        if found[key]
    ]
    if found["weight_column"]:
        parts.append(f"weights from {found['weight_column']!r}")
    sentences = [f"Fixed by hand: {', '.join(parts)}."] if parts else []
    if found["corrections"]:
        sentences.append(f"Corrected: {'; '.join(found['corrections'])}.")
    if found["set_aside"]:
        sentences.append(f"{counted(found['set_aside'], 'row')} in no cluster, marked -1.")
    return {**found, "words": " ".join(sentences)}


def _opening(event: Event) -> Event:
    return Event(event.number, event.kind, event.at, {**event.data, "opening": True})


def _check_log(events: Sequence[Event], n_rows: int, k: int) -> None:
    """Refuse events that no model file holds, and constraints on clusters that the model does not have."""
    for i, event in enumerate(events):
        if event.kind != Rename.kind and event.kind not in CORRECTIONS:
            raise InvalidDataError(f"{event.kind!r:.40} is not a correction")
        check_saved(event, events[:i], n_rows)
    known = constraints_of(event for event in events if event.kind in CORRECTIONS).known
    if any(key >= k for key in known.values()):
        raise InvalidDataError(f"clusters must lie between 0 and {k - 1}")


def _keys_of(event: Event) -> Iterable[int]:
    """Clusters that an event names."""
    for name, rule in ACTIONS[event.kind].fields.items():
        if rule is rules.KEY:
            yield event.data[name]
        elif rule is rules.KEYS:
            yield from event.data[name]


def _renumbered(event: Event, labels: dict[int, int]) -> EventData:
    """The data of an event, with clusters as the model of a file numbers them."""
    data = {name: value for name, value in event.data.items() if name != "opening"}
    for name, rule in ACTIONS[event.kind].fields.items():
        if rule is rules.KEY:
            data[name] = labels[data[name]]
        elif rule is rules.KEYS:
            data[name] = [labels[key] for key in data[name]]
    return data


def _worded(event: Event, words: Callable[[Event], str]) -> EventData:
    """Words of a correction; side information of the first fit has none."""
    return {} if event.is_opening else {"words": words(event)}


def _as_log(fixed: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that have the outcome which an older model file holds."""
    by_hand, settled = (
        dict(zip(fixed.get(f"{prefix}rows", []), fixed.get(f"{prefix}clusters", []), strict=True))
        for prefix in ("", "settled_")
    )
    must_link, cannot_link = fixed.get("must_link", []), fixed.get("cannot_link", [])
    return _entries(settled, by_hand, must_link, cannot_link, fixed.get("aside", []))


def _entries(
    settled: dict[int, int], by_hand: dict[int, int], must_link: Any, cannot_link: Any, junk: list[int]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if must_link or cannot_link:
        links = {"must_link": must_link, "cannot_link": cannot_link}
        found.append({"kind": "links", **{name: [list(pair) for pair in pairs] for name, pairs in links.items()}})
    for layer, flag in ((settled, {"settled": True}), (by_hand, {})):
        for cluster in sorted(set(layer.values())):
            rows = sorted(row for row in layer if layer[row] == cluster)
            found.append({"kind": "is", "rows": rows, "cluster": cluster, **flag})
    if junk:
        found.append({"kind": "junk", "rows": sorted(junk)})
    return [{"number": number, "at": "", **entry} for number, entry in enumerate(found, 1)]
