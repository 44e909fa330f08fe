"""What the panel comes to: means, ranks, times and tests over the sets, and where the front door falls short."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from experiments.store import Store
from experiments.tables._table import LEAST_TIME, Score, Table

FRONT, USUAL = "MaxMarginClustering", "KMeans(10)"
KNOWN = (
    "UMAP + GMM",
    "GMM full",
    "SpectralClustering",
    USUAL,
    "Ward",
    "HDBSCAN",
    "Genie",
    "Leiden",
)  # what people use today
SAME = 0.05  # points; scores that print alike are equally good
SURE = 0.05  # p
AIM = 77.0  # mean accuracy, set before the search by agreement was built
FAR = 5.0  # points behind the best that are told
BELOW = 2.0  # points below k-means that need a reason
WHY = {
    "ionosphere": "in some runs the cut of similar sizes is uneven, and a small group apart from the others is taken",
    "image": "the clusters of similar sizes cut as few edges and tell more, but they are not the classes",
    "webkb": "the small groups from which clusters are merged mix classes: they are 72 % pure",
}


@dataclass(frozen=True)
class Panel:
    """Mean accuracy of methods (rows) on sets (columns), its deviation over seeds and the time; NaN where missing."""

    names: list[str]
    sets: list[str]
    scores: Any
    spreads: Any
    times: Any

    @classmethod
    def of(cls, table: Table, store: Store, left_out: Collection[str] = ()) -> "Panel":
        columns = [column for column in table.columns if column.title not in left_out]
        scores, spreads = (_figures(table, store, columns, table.score, summary) for summary in (np.mean, np.std))
        times = _figures(table, store, columns, LEAST_TIME, np.mean)
        return cls([column.title for column in columns], [row.label for row in table.rows], scores, spreads, times)

    def on(self, chosen: Any) -> "Panel":
        """The same for some of the sets."""
        sets = [name for name, kept in zip(self.sets, chosen, strict=True) if kept]
        return Panel(self.names, sets, self.scores[:, chosen], self.spreads[:, chosen], self.times[:, chosen])

    def finished(self) -> "Panel":
        """The sets that all methods finished."""
        return self.on(~np.isnan(self.scores).any(axis=0))

    def begun(self) -> "Panel":
        """The methods that were measured at all."""
        begun = ~np.isnan(self.scores).all(axis=1)
        names = [name for name, kept in zip(self.names, begun, strict=True) if kept]
        return Panel(names, self.sets, self.scores[begun], self.spreads[begun], self.times[begun])

    @property
    def front(self) -> int:
        return self.names.index(FRONT)

    @property
    def ranks(self) -> Any:
        return np.array([rankdata(-np.round(column, 1)) for column in self.scores.T]).mean(axis=0)


def _figures(table: Table, store: Store, columns: Sequence[Any], score: Score, summary: Any) -> Any:
    values = [[column.values(row, score, store) for row in table.rows] for column in columns]
    return np.array([[np.nan if isinstance(value, str) else summary(value) for value in row] for row in values])


def ranking(table: Table, store: Store, left_out: Collection[str], known: Collection[str] = ()) -> str:
    """The methods in order of mean accuracy, over the sets that all finished, and where the front door stands.

    If some are ``known``, these alone are listed beside it, with fewer figures.
    """
    whole = Panel.of(table, store, left_out).begun()
    panel = whole.finished()
    if not panel.sets:
        return "Not measured yet."
    means, ranks = panel.scores.mean(axis=1), panel.ranks
    best = (panel.scores >= panel.scores.max(axis=0) - SAME).sum(axis=1)
    spreads, times = panel.spreads.mean(axis=1), np.exp(np.log(panel.times).mean(axis=1))
    heads = ["", "mean accuracy", "spread over seeds", "mean rank", "best on", f"{FRONT} better, worse on (p)", "time"]
    heads.append(f"mean over all {len(whole.sets)} sets")
    if known:
        heads = [*heads[:3], f"mean rank of {len(panel.names)}", "CPU time, in k-means"]
    lines = [
        f"Accuracy in %, without labels, on the {len(panel.sets)} labelled sets that all methods finished:\n",
        f"| {' | '.join(heads)} |".replace("|  |", "| |"),
        "|---" * len(heads) + "|",
    ]
    for i in np.argsort(-means):
        if known and panel.names[i] not in (FRONT, *known):
            continue
        line = f"| {panel.names[i]} | {means[i]:.1f} | {spreads[i]:.1f} | {ranks[i]:.2f} |"
        if not known:
            better, worse, chance = _against(panel, i)
            line += f" {best[i]} |" + (" |" if i == panel.front else f" {better}, {worse} ({chance:.2g}) |")
        line += f" {times[i]:.0f} |"
        if not known:
            line += f" {'' if np.isnan(whole.scores[i]).any() else f'{whole.scores[i].mean():.1f}'} |"
        lines.append(line)
    return "\n".join([*lines, "", _standing(panel, means, ranks), _significance(panel)])


def _against(panel: Panel, other: int) -> tuple[int, int, float]:
    """Sets on which the front door is better and worse than another method, and Wilcoxon's p."""
    difference = np.round(panel.scores[panel.front] - panel.scores[other], 3)
    chance = float(wilcoxon(difference).pvalue) if difference.any() else 1.0
    return int((difference > SAME).sum()), int((difference < -SAME).sum()), chance


def _standing(panel: Panel, means: Any, ranks: Any) -> str:
    """Where the front door stands, in words."""
    front, leader, closest = panel.front, int(np.argmax(means)), int(np.argmin(ranks))
    by_mean = "first by mean accuracy"
    if leader != front:
        by_mean = f"{means[leader] - means[front]:.1f} points behind {panel.names[leader]} by mean accuracy"
    by_rank = "first by mean rank"
    if closest != front:
        by_rank = f"{ranks[front] - ranks[closest]:.2f} behind {panel.names[closest]} by mean rank"
    return f"`{FRONT}` is {by_mean} and {by_rank}."


def _significance(panel: Panel) -> str:
    """Against whom the lead is more than chance, by Wilcoxon's signed-rank test."""
    unsure = []
    for i, name in enumerate(panel.names):
        better, worse, chance = _against(panel, i)
        if i != panel.front and (chance >= SURE or better <= worse):
            unsure.append(name)
    over = "every other method" if not unsure else f"every other method but {', '.join(unsure)}"
    return (
        f"Over the sets it is better than {over} by Wilcoxon's signed-rank test (p < {SURE:g}, not corrected for the "
        "number of tests). Times are CPU time in multiples of one k-means, geometric means over the sets."
    )


def shortfalls(table: Table, store: Store, joined_last: Collection[str], beside: str) -> str:
    """Where the front door is not good enough, set by set, and what it has without the sets that joined last."""
    whole = Panel.of(table, store).begun()
    panel = Panel.of(table, store, (beside,)).begun().finished()
    if not panel.sets:
        return ""
    whole = whole.on(~np.isnan(whole.scores[whole.front]))
    former = panel.on(np.array([name not in joined_last for name in panel.sets]))
    mean = former.scores[former.front].mean()
    found = [
        f"Without the {len(joined_last)} collections of texts, which joined the panel last, {FRONT} has {mean:.1f} on "
        f"{len(former.sets)} sets, with a mean rank of {former.ranks[former.front]:.2f}; the aim was {AIM:g}"
        f"{'' if round(mean, 1) >= AIM else ', and it is missed'}.",
        _below(whole),
        _behind(whole),
        _beside(whole, beside),
    ]
    return "\n".join(f"- {sentence}" for sentence in found if sentence)


def _below(panel: Panel) -> str:
    """Sets on which k-means is clearly better, with the reason where it is known."""
    ours, theirs = panel.scores[panel.front], panel.scores[panel.names.index(USUAL)]
    told = []
    for name, mine, usual in zip(panel.sets, ours, theirs, strict=True):
        if usual - mine > BELOW:
            reason = f": {WHY[name]}" if name in WHY else ""
            told.append(f"{name} ({mine:.1f} against {usual:.1f}{reason})")
    return f"More than {BELOW:g} points below {USUAL}: {'; '.join(told) if told else 'nowhere'}."


def _behind(panel: Panel) -> str:
    """Sets on which the best method is far better."""
    told = []
    for name, scores in zip(panel.sets, panel.scores.T, strict=True):
        best = int(np.nanargmax(scores))
        if scores[best] - scores[panel.front] > FAR:
            told.append(f"{name} ({scores[panel.front]:.1f}, {panel.names[best]} {scores[best]:.1f})")
    return f"More than {FAR:g} points behind the best method of the row: {'; '.join(told) if told else 'nowhere'}."


def _beside(panel: Panel, name: str) -> str:
    """The mean of a method that is left out of the ranking, and ours on the same sets."""
    if name not in panel.names:
        return ""
    theirs = panel.scores[panel.names.index(name)]
    ran = ~np.isnan(theirs)
    if not ran.any():
        return ""
    return (
        f"`{name}`, at the setting that was best by labels on four of them, has {theirs[ran].mean():.1f} on the "
        f"{ran.sum()} sets it finished, ours {panel.scores[panel.front][ran].mean():.1f}. It is not ranked, because "
        "it is not measured everywhere."
    )
