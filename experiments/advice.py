"""Figures of the guide and of how it works: blocks between marks, above all for the questions of ``choose.md``."""

from collections.abc import Callable

import numpy as np

from experiments.means import FAMD, SHORT, TABLES, grid, group_mean, in_order, mean_of, number, panel, values_of
from experiments.sentences import SENTENCES, filled
from experiments.store import Store
from experiments.story import known_means, suite_places
from experiments.tables import EXPERIMENTS
from experiments.tables._ranking import FRONT, USUAL, shortfalls
from experiments.tables._table import ACCURACY, Table
from experiments.tables.aims import COMPARED, THINNED
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.documents import DOCUMENTS, KNOWN, OURS
from experiments.tables.mixed import ARI
from experiments.tables.panel import GEMCLUS, PANEL, SHAPES, TEXTS, standing
from experiments.tables.say import BUDGETS
from experiments.tables.universum import GAIN
from experiments.tables.universum_rules import KEPT, RULED

NEAR = 2.0  # points of accuracy that people would give for a simpler method
SHOWN = (FRONT, "UMAP + GMM", "GMM full", "SpectralClustering", USUAL, "Ward", "HDBSCAN")
LARGE = {
    "letter": "letter (20,000 × 16)",
    "rcv1": "rcv1 (23,428 × 47,236, sparse)",
    "a9a": "a9a (32,561 × 123, sparse)",
    "mnist": "mnist (70,000 × 784)",
}
KINDS = {
    "measurements": (
        "sklearn iris", "sklearn wine", "sklearn breast_cancer", "satimage", "segment", "ionosphere", "svmguide1",
        "ringnorm", "image",
    ),
    "pictures, pixel by pixel": ("digits", "optdigits"),
    "yes/no columns": ("w1a", "a1a", "a4a"),
    "words of texts": (
        *(f"cora titles {field}" for field in ("ds", "ha", "ml", "os", "pl")), "cora", "20news, 20 groups",
        "20news, 4 subjects", "webkb", "rcv1, 6000 rows",
    ),
    "shapes in two or three columns": tuple(f"fcps {name}" for name in SHAPES),
}  # fmt: skip


def with_advice(page: str, store: Store) -> str:
    """The page with all its blocks and sentences filled."""
    return filled(page, "measured", BLOCKS, store)


def after(table: Table, store: Store) -> str:
    """The sentences below a table."""
    return table.after(table, store) if table.after else ""


def _large(store: Store) -> str:
    """Who finishes large sets, and how well."""
    found, titles = panel(store, complete=False), (FRONT, "CPM3C", USUAL, "GMM full", "SpectralClustering", "Ward")
    at = [found.names.index(title) for title in titles]
    lines = {told: found.scores[at, found.sets.index(label)].tolist() for label, told in LARGE.items()}
    return f"Accuracy in %; - where a method was out of time or memory:\n\n{grid(lines, titles)}"


def kinds(store: Store) -> dict[str, list[float]]:
    """Mean adjusted Rand index of the usual methods by kind of data."""
    found = panel(store, ARI, complete=False)
    at = [found.names.index(name) for name in SHOWN]
    chosen = {kind: [found.sets.index(name) for name in names] for kind, names in KINDS.items()}
    return {
        f"{kind} ({len(sets)})": found.scores[np.ix_(at, sets)].mean(axis=1).tolist() for kind, sets in chosen.items()
    }


def _kinds(store: Store) -> str:
    return f"Mean adjusted Rand index, by the kind of data (number of sets):\n\n{grid(kinds(store), SHOWN, 2)}"


def _mixed(store: Store) -> str:
    shown = (TABLES, FAMD, "KMeans(10) of one-hot columns", "k-prototypes", "Gower + average linkage")
    groups = {
        label: f"{label} tables ({len(EXPERIMENTS['mixed'].groups[label])})" for label in ("all", "real", "drawn")
    }
    lines = {told: [group_mean("mixed", title, label, store) for title in shown] for label, told in groups.items()}
    return f"Mean adjusted Rand index on tables with categories:\n\n{grid(lines, shown, 2)}"


def _texts(store: Store) -> str:
    titles = (OURS.title, *KNOWN)
    lines = {
        told: [scale * mean_of(name, title, store) for title in titles]
        for told, name, scale in (("accuracy in %", "documents", 1), ("mutual information in %", "documents-nmi", 100))
    }
    return f"Means over {len(EXPERIMENTS['documents'].rows)} collections:\n\n{grid(lines, titles)}"


def _numbers(store: Store) -> str:
    drawn, real = hits(ON_SHAPES, store), hits(ON_SETS, store)
    ways = [way for way in drawn if way in real]
    lines = {
        f"simulated shapes, right of {drawn['auto'][1]}": [float(drawn[way][0]) for way in ways],
        f"sets with classes, right of {real['auto'][1]}": [float(real[way][0]) for way in ways],
    }
    return f"{grid(lines, ways, 0)}"


def _shapes(store: Store) -> str:
    found = panel(store)
    at = [found.names.index(name) for name in SHOWN]
    lines = {name: found.scores[at, found.sets.index(f"fcps {name}")].tolist() for name in SHAPES}
    return "\n\n".join(
        [f"Accuracy in %, on drawn shapes:\n\n{grid(lines, SHOWN)}", "On the public suite:", *suite_places(store)[:1]]
    )


def _noise(store: Store) -> str:
    ways = {'`outliers="auto"`': 'outliers="auto"', "the share given": "share given", "HDBSCAN": "HDBSCAN"}
    heads = ("clean rows", "recall", "precision")
    lines = {told: [mean_of("contaminated", f"{title}: {of}", store) for of in heads] for told, title in ways.items()}
    ignored = mean_of("contaminated", "noise ignored: clean rows", store)
    clean = mean_of("contaminated", "fit of the clean rows alone", store)
    table = "\n".join(
        [
            "| | clean rows right | noise found | of what is found, noise |",
            "|---|---|---|---|",
            *(f"| {told} | {' | '.join(f'{number(value)} %' for value in line)} |" for told, line in lines.items()),
        ]
    )
    return (
        f"Digits with a tenth of noise rows:\n\n{table}\n\nA fit that ignores the noise has {number(ignored)} % of the "
        f"clean rows right, a fit without the noise {number(clean)} %."
    )


def time_ratios(store: Store) -> dict[str, float]:
    """Time of the default on large sets, in fits of k-means with ten starts."""
    whole = panel(store, complete=False)
    ratios = whole.times[whole.front] / whole.times[whole.names.index(USUAL)]
    return {label: float(ratios[whole.sets.index(label)]) for label in LARGE}


def _time(store: Store) -> str:
    found = panel(store)
    times = dict(zip(found.names, np.exp(np.log(found.times).mean(axis=1)), strict=True))
    shown = sorted((*SHOWN, "CPM3C"), key=lambda name: times[name])
    told = ", ".join(f"{SHORT.get(name, name)} {times[name]:.0f}" for name in shown)
    large = ", ".join(f"{LARGE[label]} {ratio:.1f}" for label, ratio in time_ratios(store).items())
    return (
        f"CPU time in fits of k-means with one start, geometric mean over {len(found.sets)} sets: {told}.\n\n"
        f"{FRONT} on the largest sets, in fits of k-means with ten starts: {large}."
    )


def _new_rows(store: Store) -> str:
    halves = {
        name: [number(mean_of("new-rows", f"{name}: {half} half", store)) for half in ("fitted", "other")]
        for name in (FRONT, USUAL)
    }
    same = values_of("predicted-again", "equal labels, in %", store)
    told = "; ".join(f"{SHORT[name]} {old} % and {new} %" for name, (old, new) in halves.items())
    return (
        "Accuracy of rows that were in the fit and of rows that were not, mean of "
        f"{len(EXPERIMENTS['new-rows'].rows)} sets: {told}. `predict` of {FRONT} repeats {number(np.mean(same))} % of "
        f"the labels of the fit (mean of {len(same)} sets; at least {number(np.min(same))} %)."
    )


def near_kmeans(store: Store) -> tuple[list[str], int]:
    """Sets on which k-means is as good, or less accurate by no more than people would give for simplicity."""
    found = panel(store, ACCURACY, complete=False)
    lead = found.scores[found.front] - found.scores[found.names.index(USUAL)]
    return [found.sets[j] for j in np.flatnonzero(lead <= NEAR)], int(np.isfinite(lead).sum())


def _explained(store: Store) -> str:
    sets, total = near_kmeans(store)
    error, theirs = (mean_of("calibration", f"{name}: calibration error in %", store) for name in (FRONT, "GMM full"))
    return (
        f"On {len(sets)} of {total} sets k-means is more accurate than {FRONT}, or less by no more than {NEAR:g} "
        f"points: {', '.join(sets)}.\n\nProbabilities of {FRONT} are off by {number(error)} points, those of a "
        f"Gaussian mixture by {number(theirs)} (expected calibration error, mean over sets)."
    )


def _sizes(store: Store) -> str:
    titles = (FRONT, *COMPARED)
    lines = {
        row.label: [float(values_of(THINNED.name, title, store, [row.label])[0]) for title in titles]
        for row in THINNED.rows
    }
    return (
        "Accuracy in %, where every other class was thinned to a fifth (1:5) or a twentieth (1:20):\n\n"
        f"{grid(lines, titles)}"
    )


def _known(store: Store) -> str:
    found = {budget: known_means(budget, store) for budget in BUDGETS}
    lines = {f"{budget} per class": list(means.values()) for budget, means in found.items()}
    free, linked, theirs = (
        values_of("links", title, store) for title in ("without links", "with links", "COP-k-means")
    )
    both = np.isfinite(theirs)
    means = {"without links": free, "with links": linked, "COP-k-means with the same links": theirs}
    told = in_order({name: float(values[both].mean()) for name, values in means.items()}, unit=" %")
    return (
        f"Known labels, mean accuracy in % of the other rows:\n\n{grid(lines, [*found[BUDGETS[0]]])}\n\n"
        f"Links between rows, mean of the {both.sum()} sets that COP-k-means finished: {told}."
    )


def _collections(store: Store) -> str:
    titles = [column.title for column in DOCUMENTS.columns if column.title in (OURS.title, *KNOWN)]
    lines = {
        row.label: [float(values_of("documents", title, store, [row.label])[0]) for title in titles]
        for row in DOCUMENTS.rows
    }
    means = {"mean": [mean_of("documents", title, store) for title in titles]}
    return f"Accuracy in %:\n\n{grid(lines | means, titles)}"


def _below_kmeans(store: Store) -> str:
    """The sets on which k-means is clearly better, with reasons."""
    lines = shortfalls(PANEL, store, TEXTS, GEMCLUS).splitlines()
    return next(line.removeprefix("- ") for line in lines if f"below {USUAL}" in line)


BLOCKS: dict[str, Callable[[Store], str]] = {
    "large": _large,
    "kinds": _kinds,
    "mixed": _mixed,
    "texts": _texts,
    "numbers": _numbers,
    "shapes": _shapes,
    "noise": _noise,
    "time": _time,
    "new_rows": _new_rows,
    "explained": _explained,
    "sizes": _sizes,
    "known": _known,
    "collections": _collections,
    "seeds_of_collections": lambda store: after(DOCUMENTS, store),
    "place": lambda store: standing(store).split("\n\n")[-1],
    "below_kmeans": _below_kmeans,
    "numbers_of_shapes": lambda store: after(ON_SHAPES, store),
    "numbers_of_sets": lambda store: after(ON_SETS, store),
    "universum": lambda store: after(GAIN, store),
    "universum_rules": lambda store: after(RULED, store),
    "universum_junk": lambda store: after(KEPT, store),
    **SENTENCES,
}
