"""The first screen of the results, computed: what they come to, in one table, and where something else is better."""

from typing import Any

import numpy as np

from experiments.means import GAP, SHORT, group_means, in_order, mean_of, means_of, number, panel
from experiments.store import Store
from experiments.tables import EXPERIMENTS
from experiments.tables._compare import chance_of, reasons
from experiments.tables._ranking import FRONT, SURE, USUAL
from experiments.tables._table import markdown
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.mixed import ARI, FAMD, MIXED, REAL, TABLES
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
    table = markdown([what for what, *_ in lines], ["widegap", "others"], [rest for _, *rest in lines])
    return f"{table}\n\n{_papers(store)}"


def _line(what: str, figures: dict[str, float], digits: int = 1, more: str = "") -> Line:
    """Ours is the first figure."""
    (_, ours), *others = figures.items()
    return what, number(ours, digits) + more, in_order(dict(others), digits)


def _panel(store: Store) -> Line:
    found = panel(store)
    means = found.by_name(found.means)
    what = f"[{len(found.sets)} sets with known classes](results/panel.md): accuracy in %"
    return _line(what, {name: means[name] for name in (FRONT, *PEOPLE_USE) if name in means})


def suite_places(store: Store) -> list[str]:
    """The sentences on our places, among all methods and on the sets outside our own panel; none if not compared."""
    return [line for line in SUITE.words(store).split("\n\n") if line.startswith(("Of ", "Without "))]


def _suite_figures(store: Store) -> tuple[str, str, str, str] | None:
    """By adjusted Rand index: ours and that of others on the public suite, our place outside our panel, of how many."""
    if not (places := suite_places(store)):
        return None
    lines = (line.split("|") for line in SUITE.words(store).split("\n\n")[0].splitlines()[2:])
    means = {name.strip(): mean.strip() for _, name, mean, *_ in lines}
    others = ", ".join(f"{SHORT[name]} {means[name]}" for name in ("Genie_G0.3", "sklearn_gm", "sklearn_kmeans"))
    left, _, rest = places[1].partition(" are left:")
    return means[FRONT], others, rest.partition("it is number ")[2].split()[0], left.split()[-1]


def suite_sentence(store: Store) -> str:
    """Our place on the public suite, for the README."""
    if not (found := _suite_figures(store)):
        return "The public suite was not compared yet."
    ours, others, place, left = found
    return (
        f"On a [public suite](docs/results/suite.md) of {len(SUITE.rows)} sets its mean adjusted Rand index is {ours} "
        f"({others}); on the {left} of them outside our panel it is number {place}."
    )


def _suite(store: Store) -> Line:
    what = f"[{len(SUITE.rows)} sets of a public suite](results/suite.md): adjusted Rand index"
    if not (found := _suite_figures(store)):
        return what, GAP, GAP
    ours, others, place, left = found
    return what, f"{ours}; number {place} on the {left} outside our panel", others


def _tables(store: Store) -> list[Line]:
    titles = (TABLES, FAMD, "KMeans(10) of one-hot columns", "k-prototypes")
    lines = []
    for group, name in (("all", "tables with categories"), ("real", "of them are real")):
        what = f"[{len(MIXED.groups[group])} {name}](results/tables.md): adjusted Rand index"
        doubt = "; the lead over FAMD may be chance" if group == "real" and famd_chance(store) > SURE else ""
        lines.append(_line(what, group_means(group, titles, store), 3, doubt))
    return lines


def famd_chance(store: Store) -> float:
    """Wilcoxon's p of the difference between widegap and FAMD on the real tables."""
    real = [row.label in REAL for row in MIXED.rows]
    ours, theirs = (MIXED.means(title, store)[real] for title in (TABLES, FAMD))
    return chance_of(np.round(ours - theirs, 6))


def _texts(store: Store) -> list[Line]:
    titles = ("DocumentClustering", "spherical k-means", "NMF", USUAL, "LDA", "BERTopic on LSA, k-means")
    what = f"[{len(EXPERIMENTS['documents'].rows)} collections of texts](results/texts.md): accuracy in %"
    return [
        _line(what, means_of("documents", titles, store)),
        _line("the same topics: mutual information", means_of("documents-nmi", titles, store), 3),
    ]


def _numbers(store: Store) -> list[Line]:
    lines = []
    for table, what in ((ON_SHAPES, "simulated shapes"), (ON_SETS, "sets with known classes")):
        found = {"auto": (np.nan, 0)} | hits(table, store)
        told = f"[number of clusters](results/numbers.md): right on how many of {found['auto'][1]} {what}"
        ways = [way for way in ("auto", "HDBSCAN", "silhouette", "gap statistic") if way in found]
        lines.append(_line(told, {way: found[way][0] for way in ways}, 0))
    return lines


def known_means(budget: int, store: Store) -> dict[str, float]:
    """The mean accuracy of every method with so many labels per class."""
    table = f"labels-{budget}"
    return {"widegap": mean_of(table, "with labels, by name", store)} | means_of(table, RIVALS, store)


def _known(store: Store) -> Line:
    free = number(mean_of("labels-5", "without labels", store))
    what = f"[five known labels per class](results/known.md), {len(SAY_SETS)} sets: accuracy in %"
    return _line(what, known_means(5, store), more=f" (without labels {free})")


def _outliers(store: Store) -> Line:
    ours, theirs = (
        " and ".join(number(mean_of("contaminated", f"{title}: {of}", store), 0) for of in ("clean rows", "recall"))
        for title in ('outliers="auto"', "HDBSCAN")
    )
    what = "[digits with noise](results/known.md): % of clean rows that are right, of noise that is found"
    return what, ours, f"HDBSCAN {theirs}"


def new_rows(store: Store) -> tuple[dict[str, str], dict[str, str]]:
    """The accuracy of ours and of k-means on the half of the rows that was "fitted" and on the "other"."""
    ours, theirs = (
        {half: number(mean_of("new-rows", f"{name}: {half} half", store)) for half in ("fitted", "other")}
        for name in (FRONT, USUAL)
    )
    return ours, theirs


def _new_rows(store: Store) -> Line:
    ours, theirs = new_rows(store)
    sets = len(EXPERIMENTS["new-rows"].rows)
    what = f"[rows that were not in the fit](results/panel.md#new-rows), {sets} sets: accuracy in %"
    return what, f"{ours['other']} (fitted rows {ours['fitted']})", f"k-means {theirs['other']} ({theirs['fitted']})"


def unexplained(store: Store) -> list[str]:
    """Printed figures that ours misses and for which ``missed.csv`` has no reason."""
    missed = [
        (name, row.label)
        for name in PAPERS
        for row, lead in zip(EXPERIMENTS[name].rows, leads(name, store), strict=True)
        if lead < -CLOSE
    ]
    return [f"{name}: {label}" for name, label in missed if (name, label) not in reasons()]


def leads(name: str, store: Store) -> Any:
    """By how much ours is better than printed in every row of a paper's table; NaN without both figures."""
    table, (paper, ours, _) = EXPERIMENTS[name], PAPERS[name]
    return table.score.better * (table.means(ours, store) - table.means(paper, store))


def _papers(store: Store) -> str:
    told = []
    for name, (_, ours, page) in PAPERS.items():
        lead = leads(name, store)
        told.append(f"[{ours}](results/{page}.md) on {(lead >= -CLOSE).sum()} of {np.isfinite(lead).sum()}")
    return (
        "The published methods, on the data sets of their papers, are as good as printed or worse by no more than "
        f"{CLOSE:g} point: {', '.join(told)}."
    )


def worse(store: Store) -> str:
    """Where something else is better, by method."""
    found = panel(store, ARI, complete=False)
    ours = found.scores_of(FRONT)
    lines = []
    for name in (name for name in PEOPLE_USE if name in found.names):
        theirs = found.scores_of(name)
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
    found = panel(store)
    times = found.by_name(found.typical_times)
    return [
        *(f"- **Genie** on the public suite. {line}" for line in losses),
        f"- **Time**: a fit takes {times[FRONT]:.0f} times as long as one k-means, `KMeans(n_init=10)` takes "
        f"{times[USUAL]:.0f} times as long (geometric means). On large tables it depends on the columns: "
        "[measured speed](guide/choose.md#how-long-may-it-take).",
    ]
