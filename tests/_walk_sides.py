"""Side information for walks over calls: labels, links and weights of some rows, mostly true of the groups."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from _walk_tables import SEEDS

NAMES = {"strings": "abcd", "numbers": (10, 20, 30, 40), "floats": (0.0, 1.0, 2.0, 3.0)}
NO_LABEL = {"strings": None, "numbers": -1, "floats": float("nan")}
WEIGHTS = ([0, 1], [0, 1, 2], [0.0, 0.3, 1.7], [1, 3], [1, 1], [False, True])
LINKS = ("must_link", "cannot_link")


@dataclass(frozen=True)
class SideSpec:
    """Which side information to draw: small enough to be printed, and the same for the same rows."""

    seed: int = 0
    names: tuple[str, ...] = ()
    kind: str = "strings"
    is_true: bool = True
    as_groups: bool = False

    def of(self, groups):
        """The arguments of ``fit`` or ``refit`` for rows of these groups."""
        rng, n, found = np.random.default_rng(self.seed), len(groups), {}
        if "known" in self.names:
            found["known"] = self._known(rng, groups)
        for name in LINKS:
            if name in self.names and n > 1:
                found[name] = self._links(rng, groups, name)
        if "sample_weight" in self.names:
            weights = rng.choice(WEIGHTS[rng.integers(len(WEIGHTS))], n)
            weights[rng.integers(n, size=min(n, 6))] = 1
            found["sample_weight"] = weights
        return Side(found, self.is_true, self.kind)

    def _known(self, rng, groups):
        shown = rng.choice(len(groups), min(len(groups), rng.integers(1, 8)), replace=False)
        known = np.full(len(groups), NO_LABEL[self.kind], object if self.kind == "strings" else None)
        known[shown] = np.array(list(NAMES[self.kind]), known.dtype)[groups[shown]]
        return known

    def _links(self, rng, groups, name):
        n = len(groups)
        if self.as_groups:  # a few groups of two rows
            rows = rng.choice(n, 2 * min(n // 2, rng.integers(1, 5)), replace=False).reshape(-1, 2)
            found = np.full(n, -1)
            for number, pair in enumerate(rows.tolist()):
                if not self.is_true or (groups[pair[0]] == groups[pair[1]]) == (name == "must_link"):
                    found[pair] = number
            return found
        pairs = [rng.choice(n, 2, replace=False).tolist() for _ in range(rng.integers(1, 10))]
        if self.is_true:
            pairs = [pair for pair in pairs if (groups[pair[0]] == groups[pair[1]]) == (name == "must_link")]
        return np.array(pairs, np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class Side:
    """What was said of the rows of a model; ``is_true`` if labels in the groups keep all of it."""

    arguments: dict = field(default_factory=dict)
    is_true: bool = True
    kind: str = "strings"

    def replaced(self, later):
        """What holds after a correction."""
        return Side({**self.arguments, **later.arguments}, self.is_true and later.is_true, later.kind)

    def known(self, n):
        """Row and label of all rows with one."""
        found = self.arguments.get("known", ())
        return [(row, label) for row, label in enumerate(found) if label is not None and label == label and label != -1]

    def pairs(self, name):
        """The links of a kind as pairs."""
        links = np.asarray(self.arguments.get(name, np.empty((0, 2), int)))
        if links.ndim == 2:
            return links.tolist()
        return [np.flatnonzero(links == number).tolist() for number in np.unique(links[links >= 0])]

    def held(self, n):
        """Rows with a label or a link."""
        rows = [row for row, _ in self.known(n)]
        return np.unique([*rows, *(row for name in LINKS for pair in self.pairs(name) for row in pair)]).astype(int)

    def takes_part(self, n):
        """Rows that count."""
        weights = self.arguments.get("sample_weight")
        return np.ones(n, bool) if weights is None else np.asarray(weights) > 0


@st.composite
def sides(draw, names=("known", *LINKS, "sample_weight")):
    """Some of the kinds of side information."""
    chosen = tuple(name for name in names if draw(st.booleans()))
    kind = draw(st.sampled_from(["strings", "strings", "numbers", "floats"]))
    return SideSpec(draw(SEEDS), chosen, kind, draw(st.integers(0, 4)) < 4, draw(st.integers(0, 3)) == 3)
