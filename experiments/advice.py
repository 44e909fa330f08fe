"""Figures of the guide and of how it works: blocks between marks, above all for the questions of ``choose.md``."""

from collections.abc import Callable
from itertools import groupby

import numpy as np

from experiments.loaders import FCPS_SHAPES
from experiments.means import SHORT, by_row, grid, group_means, in_order, mean_of, means_of, number, panel, values_of
from experiments.sentences import SENTENCES, filled
from experiments.store import Store
from experiments.story import known_means, new_rows, suite_places
from experiments.tables import EXPERIMENTS
from experiments.tables._ranking import FRONT, USUAL, shortfalls
from experiments.tables._table import lines_of, markdown
from experiments.tables.aims import COMPARED, THINNED
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.documents import DOCUMENTS, KNOWN, OURS
from experiments.tables.mixed import ARI, FAMD, MIXED, TABLES
from experiments.tables.panel import GEMCLUS, PANEL, TEXTS, standing
from experiments.tables.say import BUDGETS
from experiments.tables.universum import GAIN
from experiments.tables.universum_rules import KEPT, RULED

KINDS = "kinds.csv"  # the sets of the panel by the kind of data
NEAR = 2.0  # points of accuracy that people would give for a simpler method
SHOWN = (FRONT, "UMAP + GMM", "GMM full", "SpectralClustering", USUAL, "Ward", "HDBSCAN")
LARGE = {
    "letter": "letter (20,000 × 16)",
    "rcv1": "rcv1 (23,428 × 47,236, sparse)",
    "a9a": "a9a (32,561 × 123, sparse)",
    "mnist": "mnist (70,000 × 784)",
}


def with_advice(page: str, store: Store) -> str:
    """The page with all its blocks and sentences filled."""
    return filled(page, "measured", BLOCKS, store)


def _large(store: Store) -> str:
    """Who finishes large sets, and how well."""
    titles = (FRONT, "CPM3C", USUAL, "GMM full", "SpectralClustering", "Ward")
    lines = panel(store, complete=False).lines(titles, LARGE)
    return f"Accuracy in %; - where a method was out of time or memory:\n\n{grid(lines)}"


def kinds(store: Store) -> dict[str, dict[str, float]]:
    """Mean adjusted Rand index of the usual methods by kind of data."""
    found, means = panel(store, ARI, complete=False), {}
    for kind, sets in groupby(lines_of(KINDS), lambda line: line["kind"]):
        names = [line["set"] for line in sets]
        lines = found.lines(SHOWN, dict(zip(names, names, strict=True))).values()
        means[f"{kind} ({len(names)})"] = {name: float(np.mean([line[name] for line in lines])) for name in SHOWN}
    return means


def _kinds(store: Store) -> str:
    return f"Mean adjusted Rand index, by the kind of data (number of sets):\n\n{grid(kinds(store), 2)}"


def _mixed(store: Store) -> str:
    shown = (TABLES, FAMD, "KMeans(10) of one-hot columns", "k-prototypes", "Gower + average linkage")
    lines = {
        f"{label} tables ({len(MIXED.groups[label])})": group_means(label, shown, store)
        for label in ("all", "real", "drawn")
    }
    return f"Mean adjusted Rand index on tables with categories:\n\n{grid(lines, 2)}"


def _texts(store: Store) -> str:
    accuracy, shared = (means_of(name, (OURS.title, *KNOWN), store) for name in ("documents", "documents-nmi"))
    lines = {
        "accuracy in %": accuracy,
        "mutual information in %": {title: 100 * mean for title, mean in shared.items()},
    }
    return f"Means over {len(DOCUMENTS.rows)} collections:\n\n{grid(lines)}"


def _numbers(store: Store) -> str:
    drawn, real = hits(ON_SHAPES, store), hits(ON_SETS, store)
    found = {"simulated shapes": drawn, "sets with classes": real}
    lines = {
        f"{told}, right of {of['auto'][1]}": {way: of[way][0] for way in drawn if way in real}
        for told, of in found.items()
    }
    return grid(lines, 0)


def _shapes(store: Store) -> str:
    lines = panel(store, complete=False).lines(SHOWN, {f"fcps {name}": name for name in FCPS_SHAPES})
    suite = ["On the public suite:", *suite_places(store)[:1]]
    return "\n\n".join([f"Accuracy in %, on drawn shapes:\n\n{grid(lines)}", *suite])


def _noise(store: Store) -> str:
    ways = {'`outliers="auto"`': 'outliers="auto"', "the share given": "share given", "HDBSCAN": "HDBSCAN"}
    heads = {"clean rows": "clean rows right", "recall": "noise found", "precision": "of what is found, noise"}
    lines = [means_of("contaminated", [f"{way}: {of}" for of in heads], store).values() for way in ways.values()]
    table = markdown(ways, [*heads.values()], [[f"{number(value)} %" for value in line] for line in lines])
    titles = ("noise ignored: clean rows", "fit of the clean rows alone")
    ignored, clean = map(number, means_of("contaminated", titles, store).values())
    return (
        f"Digits with a tenth of noise rows:\n\n{table}\n\nA fit that ignores the noise has {ignored} % of the "
        f"clean rows right, a fit without the noise {clean} %."
    )


def time_ratios(store: Store) -> dict[str, float]:
    """Time of the default on large sets, in fits of k-means with ten starts."""
    whole = panel(store, complete=False)
    times = whole.by_name(whole.times)
    ratios = dict(zip(whole.sets, times[FRONT] / times[USUAL], strict=True))
    return {label: float(ratios[label]) for label in LARGE}


def _time(store: Store) -> str:
    found = panel(store)
    times = found.by_name(found.typical_times)
    shown = sorted((*SHOWN, "CPM3C"), key=lambda name: times[name])
    told = ", ".join(f"{SHORT.get(name, name)} {times[name]:.0f}" for name in shown)
    large = ", ".join(f"{LARGE[label]} {ratio:.1f}" for label, ratio in time_ratios(store).items())
    return (
        f"CPU time in fits of k-means with one start, geometric mean over {len(found.sets)} sets: {told}.\n\n"
        f"{FRONT} on the largest sets, in fits of k-means with ten starts: {large}."
    )


def _new_rows(store: Store) -> str:
    halves = zip(("widegap", "k-means"), new_rows(store), strict=True)
    told = "; ".join(f"{name} {found['fitted']} % and {found['other']} %" for name, found in halves)
    same = values_of("predicted-again", "equal labels, in %", store)
    return (
        "Accuracy of rows that were in the fit and of rows that were not, mean of "
        f"{len(EXPERIMENTS['new-rows'].rows)} sets: {told}. `predict` of {FRONT} repeats {number(np.mean(same))} % of "
        f"the labels of the fit (mean of {len(same)} sets; at least {number(np.min(same))} %)."
    )


def _explained(store: Store) -> str:
    """Among others, where k-means is as good, or less accurate by no more than people would give for simplicity."""
    found = panel(store, complete=False)
    lead = found.scores_of(FRONT) - found.scores_of(USUAL)
    sets = [found.sets[j] for j in np.flatnonzero(lead <= NEAR)]
    error, theirs = (mean_of("calibration", f"{name}: calibration error in %", store) for name in (FRONT, "GMM full"))
    return (
        f"On {len(sets)} of {np.isfinite(lead).sum()} sets k-means is more accurate than {FRONT}, or less by no more "
        f"than {NEAR:g} points: {', '.join(sets)}.\n\nProbabilities of {FRONT} are off by {number(error)} points, "
        f"those of a Gaussian mixture by {number(theirs)} (expected calibration error, mean over sets)."
    )


def _sizes(store: Store) -> str:
    told = "Accuracy in %, where every other class was thinned to a fifth (1:5) or a twentieth (1:20)"
    return f"{told}:\n\n{grid(by_row(THINNED, (FRONT, *COMPARED), store))}"


def _known(store: Store) -> str:
    lines = {f"{budget} per class": known_means(budget, store) for budget in BUDGETS}
    free, linked, theirs = (
        values_of("links", title, store) for title in ("without links", "with links", "COP-k-means")
    )
    both = np.isfinite(theirs)
    means = {"without links": free, "with links": linked, "COP-k-means with the same links": theirs}
    told = in_order({name: float(values[both].mean()) for name, values in means.items()}, unit=" %")
    return (
        f"Known labels, mean accuracy in % of the other rows:\n\n{grid(lines)}\n\n"
        f"Links between rows, mean of the {both.sum()} sets that COP-k-means finished: {told}."
    )


def _collections(store: Store) -> str:
    titles = [column.title for column in DOCUMENTS.columns if column.title in (OURS.title, *KNOWN)]
    lines = by_row(DOCUMENTS, titles, store) | {"mean": means_of("documents", titles, store)}
    return f"Accuracy in %:\n\n{grid(lines)}"


def _place(store: Store) -> str:
    return standing(store).split("\n\n")[-1]


def _below_kmeans(store: Store) -> str:
    """The sets on which k-means is clearly better, with reasons."""
    lines = shortfalls(PANEL, store, TEXTS, GEMCLUS).splitlines()
    return next(line.removeprefix("- ") for line in lines if f"below {USUAL}" in line)


COMPUTED: tuple[Callable[[Store], str], ...] = (
    *(_large, _kinds, _mixed, _texts, _numbers, _shapes, _noise, _time, _new_rows, _explained, _sizes, _known),
    *(_collections, _place, _below_kmeans),
)
BLOCKS = {block.__name__.removeprefix("_"): block for block in COMPUTED} | {
    "seeds_of_collections": DOCUMENTS.words,
    "numbers_of_shapes": ON_SHAPES.words,
    "numbers_of_sets": ON_SETS.words,
    "universum": GAIN.words,
    "universum_rules": RULED.words,
    "universum_junk": KEPT.words,
    **SENTENCES,
}
