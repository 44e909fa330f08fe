"""What was fixed by hand, as model files keep it: for ``widegap refine``, and for ``widegap explore``.

It lies under ``fixed``: ``rows`` and their ``clusters``, ``settled_rows`` and ``settled_clusters`` (of merges and
splits), both kinds of links, rows set ``aside``, and the ``corrections`` in words. Rows are numbered from 0 there, as
the rows of the table that are clustered.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widegap import describe
from widegap._wording import counted
from widegap.corrections._constraints import Constraints
from widegap.corrections._events import Event
from widegap.exceptions import InvalidDataError

Rows = np.ndarray[Any, Any]


@dataclass
class Fixed:
    """What was fixed by hand, now and before.

    Attributes
    ----------
    clusters : dict
        Clusters of rows that a person put there.
    settled : dict
        Clusters of rows that a merge or a split of whole clusters put there.
    must_link, cannot_link : lists of pairs of rows
    aside : set
        Rows in no cluster.
    corrections : list of str
        What was done, in words.
    weight_column : str or None
        Column of the weights of the rows.
    """

    clusters: dict[int, int] = field(default_factory=dict)
    settled: dict[int, int] = field(default_factory=dict)
    must_link: list[tuple[int, int]] = field(default_factory=list)
    cannot_link: list[tuple[int, int]] = field(default_factory=list)
    aside: set[int] = field(default_factory=set)
    corrections: list[str] = field(default_factory=list)
    weight_column: str | None = None

    def told(self, labels: Any) -> dict[str, Any] | None:
        """What was fixed by hand, in figures and in words."""
        return told_by_hand(
            {
                "known": len(self.clusters),
                "labels": [],
                "must_links": len(self.must_link),
                "cannot_links": len(self.cannot_link),
                "weight_column": self.weight_column,
                "set_aside": int(np.count_nonzero(np.asarray(labels) < 0)),
                "corrections": self.corrections,
            }
        )

    def stored(self, labels: Any) -> dict[str, Any]:
        """For the model file, with clusters as its model numbers them."""
        fixed = {
            "rows": list(self.clusters),
            "clusters": [int(labels[row]) for row in self.clusters],
            "settled_rows": list(self.settled),
            "settled_clusters": [int(labels[row]) for row in self.settled],
            "must_link": [list(pair) for pair in self.must_link],
            "cannot_link": [list(pair) for pair in self.cannot_link],
            "aside": sorted(self.aside),
            "corrections": self.corrections,
        }
        return {"fixed": fixed, "weight_column": self.weight_column}

    @classmethod
    def read(cls, extra: dict[str, Any], n_rows: int, k: int) -> "Fixed":
        """From a model file, which may come from anywhere."""
        fixed = extra.get("fixed", {})
        try:
            by_hand, settled = (_clusters(fixed, prefix, n_rows, k) for prefix in ("", "settled_"))
            column = extra.get("weight_column")
            return cls(
                by_hand,
                settled,
                _links(fixed, "must_link", n_rows),
                _links(fixed, "cannot_link", n_rows),
                set(_numbers(fixed.get("aside", []), n_rows)),
                [*map(str, fixed.get("corrections", []))],
                None if column is None else str(column),
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidDataError(
                f"What the model file says of corrections is damaged ({error}); fit it again."
            ) from error

    @classmethod
    def of(cls, said: Constraints, before: "Fixed", words: list[str]) -> "Fixed":
        """What corrections come to, after those of a model that was opened."""
        by_hand = {row: key for row, key in said.known.items() if row not in said.settled}
        settled = {row: key for row, key in said.known.items() if row in said.settled}
        must, cannot = ([(int(a), int(b)) for a, b in pairs] for pairs in (said.must_link, said.cannot_link))
        aside = set(said.junk.tolist())
        return cls(by_hand, settled, must, cannot, aside, [*before.corrections, *words], before.weight_column)

    def events(self) -> list[Event]:
        """The same as the events that a log begins with."""
        said: list[tuple[str, dict[str, Any]]] = []
        if self.must_link or self.cannot_link:
            links = {"must_link": self.must_link, "cannot_link": self.cannot_link}
            said.append(("links", {name: [list(pair) for pair in pairs] for name, pairs in links.items()}))
        for layer, flag in ((self.settled, {"settled": True}), (self.clusters, {})):
            for cluster in sorted(set(layer.values())):
                rows = sorted(row for row in layer if layer[row] == cluster)
                said.append(("is", {"rows": rows, "cluster": cluster, **flag}))
        if self.aside:
            said.append(("junk", {"rows": sorted(self.aside)}))
        return [Event(i, kind, "", {**data, "opening": True}) for i, (kind, data) in enumerate(said, 1)]


def rows_of_fit(estimator: Any, X: Any, aside: set[int]) -> Rows | None:
    """Which rows a model was fitted to, if those set aside were left out of its fit; None where that is not so."""
    if not aside or describe.is_fitted_on(estimator, X):
        return None
    active = np.ones(X.shape[0] if hasattr(X, "shape") else len(X), bool)
    active[list(aside)] = False
    return active if hasattr(X, "shape") and describe.is_fitted_on(estimator, X[active]) else None


def told_by_hand(found: dict[str, Any], known_by: str = "", unit: str = "row") -> dict[str, Any] | None:
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
    said = [f"Fixed by hand: {', '.join(parts)}."] if parts else []
    if found["corrections"]:
        said.append(f"Corrected: {', '.join(found['corrections'])}.")
    if found["set_aside"]:
        said.append(f"{counted(found['set_aside'], 'row')} set aside, with cluster -1.")
    return {**found, "words": " ".join(said)}


def _clusters(fixed: dict[str, Any], prefix: str, n_rows: int, k: int) -> dict[int, int]:
    rows = _numbers(fixed.get(f"{prefix}rows", []), n_rows)
    return dict(zip(rows, _numbers(fixed.get(f"{prefix}clusters", []), k), strict=True))


def _links(fixed: dict[str, Any], name: str, n_rows: int) -> list[tuple[int, int]]:
    pairs = [_numbers(pair, n_rows) for pair in fixed.get(name, [])]
    if any(len(set(pair)) != 2 or len(pair) != 2 for pair in pairs):
        raise ValueError("a link is no pair")
    return [(first, second) for first, second in pairs]


def _numbers(values: Any, end: int) -> list[int]:
    if not all(type(value) is int and 0 <= value < end for value in values):
        raise ValueError(f"numbers must lie between 0 and {end - 1}")
    return list(values)
