"""The public benchmark suite, beside what its author publishes of other methods (``experiments/suite_data.py``).

``others.csv.gz`` of the suite's folder has their scores on each set: adjusted Rand index, normalised clustering
accuracy, accuracy, by the rules of the suite from the label vectors in Gagolewski's clustering-results-v1. What they
come to beside ours is kept in ``suite_standing.md``, which the page shows where the folder is missing. The suite is for
reporting: constants are chosen elsewhere.
"""

import csv
import gzip
import os
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from itertools import compress, groupby
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from experiments.store import Store
from experiments.tables._ranking import FRONT
from experiments.tables._table import Measured, Row, Score, Table, costs, lines_of, markdown
from experiments.tables.panel import PEERS

STANDING = Path(__file__).with_name("suite_standing.md")
SCORES = ("ari", "nca", "accuracy")
LABELINGS = {  # how many reference labelings each set of up to 10000 rows has
    f"{line['battery']}/{line['set']}": int(line["labelings"]) for line in lines_of("suite_sets.csv")
}
SETS = [*LABELINGS]
OWN = ("fcps/", "other/iris", "uci/wine", "uci/wdbc", "uci/ionosphere", "uci/statlog")  # on which defaults were tuned
USUAL = ("sklearn_kmeans", "fastcluster_ward", "sklearn_gm", "fastcluster_average")  # shown wherever they rank
LEADING = 8  # published methods shown besides
WORST = 10  # sets told


@cache
def published() -> tuple[list[str], list[str], Any]:
    """Names of methods, names of sets, and scores of each method on each set (NaN where there is none)."""
    path = Path(os.environ["WIDEGAP_DATA"], "suite", "others.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        read = {
            (line["method"].rpartition("/")[2], f"{line['battery']}/{line['set']}"): [float(line[s]) for s in SCORES]
            for line in csv.DictReader(lines)
        }
    methods = sorted({method for method, _ in read})
    missing = [np.nan] * len(SCORES)
    return methods, SETS, np.array([[read.get((method, name), missing) for name in SETS] for method in methods])


def data_sets(name: str) -> tuple[str, ...]:
    return tuple(f"suite/{name}.{labeling}" for labeling in range(LABELINGS[name]))


@dataclass(frozen=True)
class Standing:
    """Ours (first) and the published methods that have a figure on every set: scores by method, set and kind."""

    names: list[str]
    sets: list[str]
    scores: Any

    @classmethod
    def of(cls, ours: Any) -> "Standing":
        methods, sets, theirs = published()
        whole = ~np.isnan(theirs).any(axis=(1, 2))
        names = [FRONT, *(name for name, kept in zip(methods, whole, strict=True) if kept)]
        return cls(names, sets, np.concatenate([ours[None], theirs[whole]]))

    def on(self, chosen: Any) -> "Standing":
        """The same for some of the sets."""
        return Standing(self.names, list(compress(self.sets, chosen)), self.scores[:, chosen])

    @cached_property
    def means(self) -> Any:
        """By method and score."""
        return self.scores.mean(axis=1)

    @cached_property
    def ranks(self) -> Any:
        """Mean rank of every method by adjusted Rand index; equal ones share a rank."""
        return np.array([rankdata(-column) for column in np.round(self.scores[..., 0].T, 4)]).mean(axis=0)

    @property
    def leader(self) -> int:
        """The best of the published methods by mean adjusted Rand index."""
        return 1 + int(np.argmax(self.means[1:, 0]))

    def ranking(self) -> str:
        """Ours, the best published methods and the usual ones, in order of the mean adjusted Rand index."""
        order = np.argsort(-self.means[:, 0], kind="stable")
        kept = {0, *[i for i in order if i][:LEADING], *(self.names.index(name) for name in USUAL)}
        shown = [i for i in order if i in kept]
        figures = [[*self.means[i], np.median(self.scores[i, :, 0])] for i in shown]
        lines = [[*(f"{v:.3f}" for v in line), f"{self.ranks[i]:.1f}"] for i, line in zip(shown, figures, strict=True)]
        heads = ["mean ARI", "mean NCA", "mean accuracy", "median ARI", "mean rank by ARI"]
        return markdown([self.names[i] for i in shown], heads, lines)

    def place(self) -> str:
        """Where ours stands among all, by each score."""
        above = (self.means[1:] > self.means[0]).sum(axis=0) + 1
        by_score = ", ".join(f"{n} by {name}" for n, name in zip(above, ("ARI", "NCA", "accuracy"), strict=True))
        by_rank = int((self.ranks[1:] < self.ranks[0]).sum()) + 1
        return f"{by_score} and {by_rank} by mean rank"

    def batteries(self) -> str:
        """Mean adjusted Rand index by battery: ours, the best in all and the best there."""
        found = np.array([name.partition("/")[0] for name in self.sets])
        lines = {}
        for battery in dict.fromkeys(found):
            part = self.on(found == battery)
            means = [f"{part.means[i, 0]:.3f}" for i in (0, self.leader, part.leader)]
            lines[battery] = [len(part.sets), *means[:2], f"{means[2]} ({part.names[part.leader]})"]
        return markdown(lines, ["sets", FRONT, self.names[self.leader], "best published there"], lines.values())

    def losses(self) -> str:
        """The sets on which the best method in all is ahead of ours by most."""
        ours, theirs, best = self.scores[0, :, 0], self.scores[self.leader, :, 0], self.scores[1:, :, 0].max(axis=0)
        told = [
            f"{self.sets[j]} ({ours[j]:.2f}; {theirs[j]:.2f}, best of all {best[j]:.2f})"
            for j in np.argsort(ours - theirs, kind="stable")[:WORST]
            if theirs[j] > ours[j]
        ]
        return f"Farthest behind {self.names[self.leader]} by ARI: {', '.join(told) or 'nowhere'}."


def _incomplete(ours: Any) -> str:
    """How often ours is better than a published method without figures on some sets, on the sets it has."""
    theirs = published()[2][..., 0]
    partial = theirs[np.isnan(theirs).any(axis=1)]
    better = sum(np.mean((ours[:, 0] - row)[~np.isnan(row)]) > 0 for row in partial)
    return (
        f"{len(partial)} further published methods have no figure on some sets; on those that each has, {FRONT} is "
        f"better in mean ARI than {better} of them."
    )


def _mark(ours: Any) -> str:
    """What tells our scores from others."""
    return sha256(np.round(ours, 4).tobytes()).hexdigest()[:12]


@dataclass(frozen=True)
class SuiteTable(Table):
    """Rows are sets, whose data sets are their reference labelings; the page shows what they come to."""

    def measured(self, store: Store) -> Any:
        """Our scores by set and kind, the best over the labelings; None unless all were measured."""
        found = [self.columns[0].records(row, store) for row in self.rows]
        if sum(map(len, found)) < len(self.cells()):
            return None
        best = [[max(np.mean(record.scores[score]) for record in records) for score in SCORES] for records in found]
        return np.array(best) / 100

    def section(self, store: Store) -> str:
        return f"### {self.title}\n\n{self.head}\n\n{self.words(store)}\n"

    def words(self, store: Store) -> str:
        """Rankings and sentences."""
        ours = self.measured(store)
        if ours is None:
            cells = self.cells()
            return f"Not complete: {len(store.ok(cells))} of {len(cells)} cells."
        mark, _, words = STANDING.read_text(encoding="utf-8").partition("\n")
        if mark != _mark(ours):
            return "The sets were measured again since they were compared: `python -m experiments suite` compares them."
        return words

    def compare(self, store: Store) -> None:
        """Keep what the scores come to beside those of other methods."""
        ours = self.measured(store)
        if ours is not None:
            STANDING.write_text(f"{_mark(ours)}\n{self.standing(ours)}", encoding="utf-8")

    @staticmethod
    def standing(ours: Any) -> str:
        """Rankings and sentences, from the published scores."""
        whole = Standing.of(ours)
        own = np.array([name.startswith(OWN[:1]) or name in OWN for name in whole.sets])
        fresh, tuned = whole.on(~own), whole.on(own)
        leader = fresh.names[fresh.leader]
        by_us, by_leader = ([f"{mean:.3f}" for mean in fresh.means[i]] for i in (0, fresh.leader))
        return "\n\n".join(
            [
                whole.ranking(),
                f"Of {len(whole.names)} methods with figures on all {len(whole.sets)} sets, {FRONT} is number "
                f"{whole.place()}. {_incomplete(ours)}",
                whole.batteries(),
                f"Without the {own.sum()} sets of our own panel (fcps, iris, wine, wdbc, ionosphere, statlog), which "
                f"were in view when the defaults were chosen, {len(fresh.sets)} are left: {FRONT} has ARI {by_us[0]}, "
                f"NCA {by_us[1]}, accuracy {by_us[2]}, {leader} {', '.join(by_leader)}; it is number {fresh.place()}. "
                f"On the {own.sum()} it has ARI {tuned.means[0, 0]:.3f}, {leader} {tuned.means[fresh.leader, 0]:.3f}.",
                whole.losses(),
            ]
        )


SUITE = SuiteTable(
    "suite",
    tuple(Row(name, data_sets(name)) for name in SETS),
    (Measured(FRONT, FRONT, seeds=1),),
    Score("adjusted Rand index (ARI), normalised clustering accuracy (NCA) and accuracy", lambda r: r.scores["ari"]),
    quick=("wut/x2", "graves/zigzag_noisy"),
)


class BestLabelings(Measured):
    """A method on the sets of a battery: of the reference labelings of a set the best score counts."""

    def values(self, row: Row, score: Score, store: Store) -> Any:
        best = []
        for _, names in groupby(row.data, lambda name: name.rpartition(".")[0]):
            rows = [replace(row, data=(name,)) for name in names]
            labelings = [super(BestLabelings, self).values(one, score, store) for one in rows]
            if missing := [values for values in labelings if isinstance(values, str)]:
                return missing[0]
            best.append(max(labelings, key=np.mean))
        return np.mean([values[:1] for values in best], axis=0)


SUITE_PEERS = Table(
    "suite-peers",
    tuple(
        Row(battery, tuple(data for name in names for data in data_sets(name)))
        for battery, names in groupby(SETS, lambda name: name.partition("/")[0])
    ),
    tuple(
        BestLabelings(column.title, column.method, kind=column.kind, seeds=1)
        for column in (Measured(FRONT, FRONT), *PEERS)
        if column.title != "BisectingKMeans"
    ),
    Score("mean adjusted Rand index over the sets of a battery", lambda r: [v / 100 for v in r.scores["ari"]], 3),
)
EXPERIMENTS = (SUITE, SUITE_PEERS, *costs(SUITE_PEERS))
