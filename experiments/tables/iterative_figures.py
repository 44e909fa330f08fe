"""The figures of the iterSVR paper, and its Table VIII, which belongs to Figure 8.

In Figures 9 and 10 photos are segmented by recursive bisection of their colours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.photos import small_photo, unpacked
from experiments.store import Record, Store
from experiments.tables._compare import paper_table
from experiments.tables._figure import Figure, growth, least_seconds, measured, score_of, series
from experiments.tables._table import BASELINE, NOT_RUN, Measured, Row, Score, Table, listed, noted, other, ours
from experiments.tables.iterative import ITERATIVE, UNBALANCED
from widegap.image import paint

COST = 0.01  # of figures 1, 5 and 6, whose captions our copy of the paper has lost
TUBES = (0.0, 0.5, 0.9)


def _turns(C: float, epsilon: float | None) -> Cell:
    """IterSVM or, with an epsilon, IterSVR; the cells of Table I."""
    return Cell.of("optdigits/3-9", "turn by turn", 1, C=C, epsilon=epsilon)


def _by_cost(epsilon: float | None) -> dict[str, Cell]:
    return {f"C = {C:g}": _turns(C, epsilon) for C in (0.0001, 0.01, 1.0, 100.0)}


def _tube(epsilon: float) -> Callable[[Any], Any]:
    """The Laplacian loss if it has no width."""
    return lambda at: np.maximum(0, np.abs(1 - at) - epsilon)


BY_TUBE = {"IterSVM": _turns(COST, None)} | {f"IterSVR, epsilon = {e:g}": _turns(COST, e) for e in TUBES}


def _turn_by_turn(name: str, cells: Mapping[str, Cell], size: tuple[float, float]) -> Figure:
    def drawn(figure: Any, store: Store) -> str:
        """Objective and error after every turn."""
        left, right = figure.subplots(1, 2)
        told = []
        for name, cell in cells.items():
            noted = measured(store, cell).extra[0]
            objectives, errors = noted["objectives"][1:], noted["errors"]
            left.plot(range(1, len(objectives) + 1), objectives, ".-", label=name)
            right.plot(range(len(errors)), errors, ".-", label=name)
            told.append(f"{name} from {errors[0]:.1f} % to {errors[-1]:.1f} % in {len(errors) - 1} turns")
        for axes, title in ((left, "SVM objective of the labels"), (right, "error in %")):
            axes.set(xlabel="turn", title=title)
            axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
            axes.xaxis.get_major_locator().set_params(integer=True)
        if len(cells) > 1:
            figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=len(cells))
        return "; ".join(told) + "."

    return Figure(name, cells, drawn, size)


def _margins(name: str, cells: Mapping[str, Cell], losses: Mapping[str, Any], reach: tuple[float, float]) -> Figure:
    def drawn(figure: Any, store: Store) -> str:
        """The loss, and how y f is distributed after the last turn."""
        left, right = figure.subplots(1, 2)
        at = np.linspace(-0.5, 2.5, 301)
        for name, loss in losses.items():
            left.plot(at, loss(at), label=name)
        left.set(xlabel="y f", title="loss")
        if len(losses) > 1:
            left.legend()
        told = []
        for (name, cell), style in zip(cells.items(), ("-", "-", "-", "--"), strict=False):
            noted = measured(store, cell).extra[0]
            edges, counts = np.array(noted["margins"]), np.array(noted["counts"])
            right.stairs(counts / counts.sum() / np.diff(edges), edges, label=name, linewidth=1.2, linestyle=style)
            beyond = counts[(edges[:-1] + edges[1:]) / 2 > 2].sum() / counts.sum()
            told.append(f"{name} {100 * beyond:.0f} %")
        right.set(xlabel="y f", title="density of rows", xlim=reach)
        right.set_ylim(bottom=0)
        right.legend()
        return f"Rows with y f above 2, twice the margin: {', '.join(told)}."

    return Figure(name, cells, drawn, (7.0, 2.8))


STARTED = {
    pair: Cell.of(f"digits/{pair}", "start, then IterSVR", 20, start="k-means") for pair in "4-9 1-4 1-9 1-8".split()
}


def _draw_starts(figure: Any, store: Store) -> str:
    """Twenty starts by k-means and what IterSVR makes of them, in the order of the starts' errors."""
    told = []
    for axes, (pair, cell) in zip(figure.subplots(1, 4, sharey=True), STARTED.items(), strict=True):
        record = measured(store, cell)
        before = np.array([extra["start_error"] for extra in record.extra])
        after = 100 - np.array(record.scores["accuracy"])
        order = np.argsort(before, kind="stable")
        axes.plot(range(1, len(order) + 1), before[order], ".", label="k-means")
        axes.plot(range(1, len(order) + 1), after[order], "x", markersize=4, label="then IterSVR")
        axes.set(title=f"{pair.replace('-', ' and ')}", xlabel="start")
        told.append(
            f"{pair}: {before.mean():.1f} to {after.mean():.1f} %, lower after {int((after < before).sum())} and "
            f"higher after {int((after > before).sum())} of {len(order)} starts"
        )
    figure.axes[0].set_ylabel("error in %")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return "Mean error before and after: " + "; ".join(told) + "."


ROWS = (1605, 2265, 3185, 4781, 6414, 11_220, 16_100, 22_696, 32_561)
SIZES = {f"adult/a{i}a": rows for i, rows in enumerate(ROWS, 1)}
SOME_OF_A1A = {"adult/a1a@250": 250, "adult/a1a@500": 500, "adult/a1a@1000": 1000}
UP_TO_8000 = {name: rows for name, rows in SIZES.items() if rows <= 8000}
SAME_RANK = {"min_cluster_fraction": UNBALANCED, "n_components": 300}


@dataclass(frozen=True)
class Growth(Measured):
    """A method over subsets of growing size, as a column whose figure is the exponent of its CPU time."""

    seeds: int = 3
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)

    def by_size(self) -> dict[int, Cell]:
        return {rows: Cell.of(name, self.method, self.seeds, **self.settings) for name, rows in self.sizes.items()}

    def cells(self, row: Row) -> list[Cell]:
        return list(self.by_size().values())

    def series(self, store: Store, value: Callable[[Record], float]) -> tuple[Any, Any]:
        """Sizes and values; none if nothing was measured."""
        return series(store, self.by_size(), value) if store.ok(self.by_size().values()) else (None, None)

    def text(self, row: Row, score: Any, store: Store) -> str:
        at, seconds = self.series(store, least_seconds)
        return NOT_RUN if at is None else f"{growth(at, seconds):.2f} ({at[0]:.0f} to {at[-1]:.0f} rows)"


GROWTHS = {
    "KM": Growth("KMeans(1)", "KMeans(1)", kind=BASELINE),
    "KKM": Growth("kernel k-means", "kernel k-means", {"width": 1.0}, BASELINE, sizes=UP_TO_8000),
    "NC": Growth("NCut", "NCut", {"local": True}, BASELINE, sizes=UP_TO_8000),
    "GMMC": Growth("GMMC here", "GMMC by width", {"most_rows": 1000}, seeds=1, sizes=SOME_OF_A1A),
    **{name: Growth(title, title, SAME_RANK) for name, title in ITERATIVE.items()},
    "": Growth("MaxMarginClustering", "MaxMarginClustering"),
}
TABLE8 = paper_table(
    "iterative-table8",
    (Row("exponent", ("adult",)),),
    {name: (column,) for name, column in GROWTHS.items()},
    Score("exponent d of the CPU time n^d, fitted to the least time of every size", lambda r: r.seconds, better=0),
)


def _draw_growths(figure: Any, store: Store) -> str:
    """Balanced error and time over the size."""
    left, right = figure.subplots(1, 2)
    unit = least_seconds(measured(store, GROWTHS["KM"].by_size()[ROWS[0]]))
    told = []
    for column in GROWTHS.values():
        at, errors = column.series(store, score_of("balanced_error"))
        if at is None:
            continue
        _, seconds = column.series(store, least_seconds)
        left.plot(at, errors, ".-", label=column.title)
        right.plot(at, seconds / unit, ".-", label=column.title)
        told.append(f"{column.title} {errors.mean():.1f}")
    left.set(xscale="log", xlabel="rows", title="balanced error in %")
    right.set(xscale="log", yscale="log", xlabel="rows", title="CPU time, in k-means on a1a")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return f"Balanced error in %, mean of the sizes that each ran on: {', '.join(told)}."


def _mean_words(table: Table, store: Store) -> str:
    means = np.array([table.means(column, store) for column in table.columns])
    if np.isnan(means).any():
        return ""
    best = (means >= means.max(axis=0) - 0.0005).sum(axis=1)
    found = zip(table.columns, means.mean(axis=1), best, strict=True)
    told = [f"{column.title} {mean:.3f} ({times})" for column, mean, times in found]
    return f"Mean of the {len(table.rows)} rows, and times best: {', '.join(told)}."


SEGMENTED = Table(
    "iterative-figure9",
    tuple(
        replace(row, label=f"{row.label} in {number} segments", own={"segments": {"number": number}})
        for row in listed("iterative-figure9")
        for number in (2, 4)
    ),
    (
        other("segments", 3, "k-means", by="k-means"),
        *(ours("segments", 3, name, by=name) for name in ("IterSVM", "IterSVR", "MaxMarginClustering")),
    ),
    replace(noted("by_hand", 3), title="Rand index of the pixels, mean over all segmentations by hand"),
    ("horses 113016 in 2 segments",),
    _mean_words,
)
PHOTO = "china"
DRAWN = {by: Cell.of(f"photo/{PHOTO}", "segments", 1, by=by, number=5, keep=True) for by in ("k-means", "IterSVR")}


def _draw_stages(figure: Any, store: Store) -> str:
    """The photo and its segments after every split, in their mean colours, by two methods."""
    photo = small_photo(PHOTO)
    grid = figure.subplots(len(DRAWN), 5)
    told = []
    for line, (name, cell) in zip(grid, DRAWN.items(), strict=True):
        stages = [unpacked(text).reshape(photo.shape[:2]) for text in measured(store, cell).extra[0]["stages"]]
        for axes, stage in zip(line, (None, *stages), strict=True):
            axes.imshow(photo if stage is None else paint(photo, stage), interpolation="nearest")
            axes.set(xticks=[], yticks=[], title="photo" if stage is None else f"{stage.max() + 1} segments")
            axes.grid(False)
            axes.spines[:].set_visible(False)
        line[0].set_ylabel(name)
        share = 100 * np.bincount(stages[-1].ravel()) / stages[-1].size
        told.append(f"{name} {', '.join(f'{s:.0f}' for s in share)}")
    return f"Shares of the five segments in %: {'; '.join(told)}."


EXPERIMENTS = (
    _turn_by_turn("iterative-figure1", {"IterSVM": BY_TUBE["IterSVM"]}, (7.0, 2.6)),
    _margins("iterative-figure2", _by_cost(None), {"hinge": lambda at: np.maximum(0, 1 - at)}, (-2, 40)),
    _margins("iterative-figure4", _by_cost(0.0), {"Laplacian": _tube(0)}, (-0.5, 2.5)),
    _turn_by_turn("iterative-figure5", BY_TUBE, (7.0, 3.2)),
    _margins(
        "iterative-figure6",
        {f"epsilon = {e:g}": _turns(COST, e) for e in TUBES},
        {f"epsilon = {e:g}": _tube(e) for e in TUBES},
        (-0.5, 2.5),
    ),
    Figure("iterative-figure7", STARTED, _draw_starts, (7.5, 2.6)),
    Figure("iterative-figure8", [column.by_size() for column in GROWTHS.values()], _draw_growths, (7.5, 3.6)),
    TABLE8,
    SEGMENTED,
    Figure("iterative-figure10", DRAWN, _draw_stages, (9.0, 2.9)),
)
