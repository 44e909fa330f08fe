"""The first screen of the results, computed: what they come to, in one table, and where something else is better."""

from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from experiments.means import FAMD, GAP, SHORT, TABLES, group_mean, in_order, mean_of, number, panel, values_of
from experiments.store import Store
from experiments.tables import EXPERIMENTS
from experiments.tables._compare import reasons
from experiments.tables._ranking import FRONT, SURE, USUAL
from experiments.tables._table import Printed
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.mixed import ARI, REAL
from experiments.tables.say import SETS as SAY_SETS
from experiments.tables.suite import SUITE

CLOSE = 1.0  # point within which a figure of a paper is reached
CLEAR = 0.02  # of the adjusted Rand index on one set
PAPERS = {  # table: the paper's column and ours, and the page
    "cpm3c-table2": ("CPM3C, paper's", "CPM3C", "cpm3c"),
    "iterative-table4": ("iterSVR", "IterSVR", "itersvr"),
    "m2dcu-table3": ("M2DCU, paper's", "M2DCU", "m2dcu"),
    "mkc-table2": ("MKC, paper's", "MKC", "mkc"),
}
PEOPLE_USE = ("UMAP + GMM", "GMM full", "SpectralClustering", USUAL, "HDBSCAN", "Genie", "Leiden")
Line = tuple[str, str, str]  # what was measured, ours, others
RIVALS = ("LabelSpreading", "linear self-training", "RBF self-training", "COP-k-means", "PCK-means")


def story(store: Store) -> str:
    """A line for each subject: ours, what others reach, and where to read more."""
    lines = [
        *(_panel(store), _suite(store), *_tables(store), *_texts(store), *_numbers(store)),
        *(_known(store), _outliers(store), _new_rows(store)),
    ]
    rows = [f"| {what} | {ours} | {others} |" for what, ours, others in lines]
    return "\n".join(["| | widegap | others |", "|---|---|---|", *rows, "", _papers(store)])


def _panel(store: Store) -> Line:
    found = panel(store)
    means = dict(zip(found.names, found.scores.mean(axis=1), strict=True))
    others = {name: means[name] for name in PEOPLE_USE if name in means}
    what = f"[{len(found.sets)} sets with known classes](results/panel.md): accuracy in %"
    return what, number(means[FRONT]), in_order(others)


def suite_rows(store: Store) -> dict[str, list[str]]:
    """The ranking of the public suite by method; empty if it was not measured."""
    lines = [line.split("|")[1:-1] for line in SUITE.words(store).split("\n\n")[0].splitlines()[2:]]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def suite_places(store: Store) -> list[str]:
    """The sentences on our places, among all methods and on the sets outside our own panel."""
    return [line for line in SUITE.words(store).split("\n\n") if line.startswith(("Of ", "Without "))]


def suite_fresh(store: Store) -> tuple[str, str]:
    """Our place by the adjusted Rand index on the sets outside our own panel, and how many these are."""
    fresh = suite_places(store)[1]
    return fresh.partition("it is number ")[2].split()[0], fresh.partition(" are left:")[0].split()[-1]


def suite_sentence(store: Store) -> str:
    """Our place on the public suite, for the README."""
    rows = suite_rows(store)
    if not rows:
        return "The public suite was not compared yet."
    place, left = suite_fresh(store)
    return (
        f"On a [public suite](docs/results/suite.md) of {len(SUITE.rows)} sets its mean adjusted Rand index is "
        f"{rows[FRONT][0]} ({_suite_others(rows)}); on the {left} of them outside our panel it is number {place}."
    )


def _suite_others(rows: dict[str, list[str]]) -> str:
    return ", ".join(f"{SHORT[name]} {rows[name][0]}" for name in ("Genie_G0.3", "sklearn_gm", "sklearn_kmeans"))


def _suite(store: Store) -> Line:
    what = f"[{len(SUITE.rows)} sets of a public suite](results/suite.md): adjusted Rand index"
    rows = suite_rows(store)
    if not rows:
        return what, GAP, GAP
    place, left = suite_fresh(store)
    return what, f"{rows[FRONT][0]}; number {place} on the {left} outside our panel", _suite_others(rows)


def _tables(store: Store) -> list[Line]:
    others = (FAMD, "KMeans(10) of one-hot columns", "k-prototypes")
    lines = []
    for group, name in (("all", "tables with categories"), ("real", "of them are real")):
        count = len(EXPERIMENTS["mixed"].groups[group])
        what = f"[{count} {name}](results/tables.md): adjusted Rand index"
        doubt = "; the lead over FAMD may be chance" if group == "real" and famd_chance(store) > SURE else ""
        theirs = in_order({title: group_mean("mixed", title, group, store) for title in others}, 3)
        lines.append((what, f"{number(group_mean('mixed', TABLES, group, store), 3)}{doubt}", theirs))
    return lines


def famd_chance(store: Store) -> float:
    """Wilcoxon's p of the difference between widegap and FAMD on the real tables."""
    ours, theirs = (values_of("mixed", title, store, REAL) for title in (TABLES, FAMD))
    return float(wilcoxon(np.round(ours - theirs, 6)).pvalue)


def _texts(store: Store) -> list[Line]:
    others = ("spherical k-means", "NMF", USUAL, "LDA", "BERTopic on LSA, k-means")
    count = len(EXPERIMENTS["documents"].rows)
    lines = []
    for name, what, digits in (
        ("documents", f"[{count} collections of texts](results/texts.md): accuracy in %", 1),
        ("documents-nmi", "the same topics: mutual information", 3),
    ):
        ours = number(mean_of(name, "DocumentClustering", store), digits)
        lines.append((what, ours, in_order({title: mean_of(name, title, store) for title in others}, digits)))
    return lines


def _numbers(store: Store) -> list[Line]:
    lines = []
    for table, what in ((ON_SHAPES, "simulated shapes"), (ON_SETS, "sets with known classes")):
        found = hits(table, store)
        right, total = found.get("auto", (np.nan, 0))
        others = {way: found[way][0] for way in ("HDBSCAN", "silhouette", "gap statistic") if way in found}
        told = f"[number of clusters](results/numbers.md): right on how many of {total} {what}"
        lines.append((told, number(right, 0), in_order(others, 0)))
    return lines


def known_means(budget: int, store: Store) -> dict[str, float]:
    """The mean accuracy of every method with so many labels per class."""
    ours = {"widegap": mean_of(f"labels-{budget}", "with labels, by name", store)}
    return ours | {name: mean_of(f"labels-{budget}", name, store) for name in RIVALS}


def _known(store: Store) -> Line:
    free = number(mean_of("labels-5", "without labels", store))
    means = known_means(5, store)
    ours = number(means.pop("widegap"))
    what = f"[five known labels per class](results/known.md), {len(SAY_SETS)} sets: accuracy in %"
    return what, f"{ours} (without labels {free})", in_order(means)


def _outliers(store: Store) -> Line:
    ours, theirs = (
        " and ".join(number(mean_of("contaminated", f"{title}: {of}", store), 0) for of in ("clean rows", "recall"))
        for title in ('outliers="auto"', "HDBSCAN")
    )
    what = "[digits with noise](results/known.md): % of clean rows that are right, of noise that is found"
    return what, ours, f"HDBSCAN {theirs}"


def _new_rows(store: Store) -> Line:
    ours, theirs = (
        [number(mean_of("new-rows", f"{name}: {half} half", store)) for half in ("other", "fitted")]
        for name in (FRONT, USUAL)
    )
    sets = len(EXPERIMENTS["new-rows"].rows)
    what = f"[rows that were not in the fit](results/panel.md#new-rows), {sets} sets: accuracy in %"
    return what, f"{ours[0]} (fitted rows {ours[1]})", f"{SHORT[USUAL]} {theirs[0]} ({theirs[1]})"


def unexplained(store: Store) -> list[str]:
    """Printed figures that ours misses and for which ``missed.csv`` has no reason."""
    found = []
    for name in PAPERS:
        missed = zip(EXPERIMENTS[name].rows, leads(name, store) < -CLOSE, strict=True)
        found += [
            f"{name}: {row.label}" for row, is_missed in missed if is_missed and (name, row.label) not in reasons()
        ]
    return found


def leads(name: str, store: Store) -> Any:
    """By how much ours is better than printed in every row of a paper's table; NaN without both figures."""
    paper, ours, _ = PAPERS[name]
    table = EXPERIMENTS[name]
    printed = next(column for column in table.columns if isinstance(column, Printed) and column.title == paper)
    known = [str(printed.figures.get(row.label, "")).split(" ")[0] for row in table.rows]
    return table.score.better * (values_of(name, ours, store) - [_float(text) for text in known])


def reached(name: str, store: Store) -> tuple[int, int]:
    """Rows of a paper's table on which ours is no more than a point worse than printed, and all with both figures."""
    lead = leads(name, store)
    return int((lead >= -CLOSE).sum()), int(np.isfinite(lead).sum())


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _papers(store: Store) -> str:
    told = []
    for name, (_, ours, page) in PAPERS.items():
        good, rows = reached(name, store)
        told.append(f"[{ours}](results/{page}.md) on {good} of {rows}")
    return (
        "The published methods, on the data sets of their papers, are as good as printed or worse by no more than "
        f"{CLOSE:g} point: {', '.join(told)}."
    )


def worse(store: Store) -> str:
    """Where something else is better, by method."""
    found = panel(store, ARI, complete=False)
    ours = found.scores[found.front]
    lines = []
    for name in (name for name in PEOPLE_USE if name in found.names):
        theirs = found.scores[found.names.index(name)]
        order = [j for j in np.argsort(ours - theirs) if min(theirs[j] - ours[j], theirs[j]) > CLEAR]
        told = "; ".join(f"{found.sets[j]} {theirs[j]:.2f} ({ours[j]:.2f})" for j in order)
        lines.append(f"- **{name}** on {len(order)} of {np.isfinite(theirs).sum()} sets{': ' * bool(told)}{told}.")
    head = (
        f"Sets on which another method is more than {CLEAR:g} above {FRONT}, in brackets, by the adjusted Rand index, "
        "which is 0 for one large cluster:"
    )
    return "\n".join([head, "", *lines, *_worse_elsewhere(store)])


def _worse_elsewhere(store: Store) -> list[str]:
    losses = [line for line in SUITE.words(store).split("\n\n") if line.startswith("Farthest")]
    time = panel(store)
    seconds: dict[str, Any] = dict(zip(time.names, np.exp(np.log(time.times).mean(axis=1)), strict=True))
    return [
        *(f"- **Genie** on the public suite. {line}" for line in losses),
        f"- **Time**: a fit takes {seconds[FRONT]:.0f} times as long as one k-means, `KMeans(n_init=10)` takes "
        f"{seconds[USUAL]:.0f} times as long (geometric means). On large tables it depends on the columns: "
        "[measured speed](guide/choose.md#how-long-may-it-take).",
    ]
