"""Figures 1, 2 and 4 to 8 of the iterSVR paper, and its Table VIII, which belongs to Figure 8."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Record, Store
from experiments.tables._figure import Figure, MissingError, growth, least_seconds, measured, series
from experiments.tables._table import BASELINE, FREE, NOT_RUN, Printed, Row, Score, Table, printed
from experiments.tables.iterative import UNBALANCED

TASK = "optdigits/3-9"
COST = 0.01  # of figures 1, 5 and 6, whose captions our copy of the paper has lost
COSTS = (0.0001, 0.01, 1.0, 100.0)
TUBES = (0.0, 0.5, 0.9)


def turns(C: float, epsilon: float | None) -> Cell:
    """IterSVM or, with an epsilon, IterSVR; the cells of Table I."""
    return Cell.of(TASK, "turn by turn", 1, C=C, epsilon=epsilon)


def _noted(store: Store, cell: Cell) -> dict[str, Any]:
    return measured(store, cell).extra[0]


BY_TUBE = {"IterSVM": turns(COST, None)} | {f"IterSVR, epsilon = {e:g}": turns(COST, e) for e in TUBES}


def _draw_turns(figure: Any, store: Store, cells: Mapping[str, Cell]) -> str:
    """Objective and error after every turn."""
    left, right = figure.subplots(1, 2)
    told = []
    for name, cell in cells.items():
        noted = _noted(store, cell)
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
            noted = _noted(store, cell)
            edges, counts = np.array(noted["margins"]), np.array(noted["counts"])
            right.stairs(counts / counts.sum() / np.diff(edges), edges, label=name, linewidth=1.2, linestyle=style)
            beyond = counts[(edges[:-1] + edges[1:]) / 2 > 2].sum() / counts.sum()
            told.append(f"{name} {100 * beyond:.0f} %")
        right.set(xlabel="y f", title="density of rows", xlim=reach)
        right.set_ylim(bottom=0)
        right.legend()
        return f"Rows with y f above 2, twice the margin: {', '.join(told)}."

    return Figure(name, tuple(cells.values()), drawn, (7.0, 2.8))


def _hinge(at: Any) -> Any:
    return np.maximum(0, 1 - at)


def _tube(epsilon: float) -> Callable[[Any], Any]:
    """The Laplacian loss if it has no width."""
    return lambda at: np.maximum(0, np.abs(1 - at) - epsilon)


STARTED = {
    pair: Cell.of(f"digits/{pair}", "start, then IterSVR", 20, start="k-means") for pair in "4-9 1-4 1-9 1-8".split()
}


def _draw_figure7(figure: Any, store: Store) -> str:
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


SIZES = dict(
    zip(
        (f"adult/a{i}a" for i in range(1, 10)),
        (1605, 2265, 3185, 4781, 6414, 11_220, 16_100, 22_696, 32_561),
        strict=True,
    )
)
SOME_OF_A1A = {"adult/a1a@250": 250, "adult/a1a@500": 500, "adult/a1a@1000": 1000}
UP_TO_8000 = {name: size for name, size in SIZES.items() if size <= 8000}
SAME_RANK = (("min_cluster_fraction", UNBALANCED), ("n_components", 300))


@dataclass(frozen=True)
class Growth:
    """A method over subsets of growing size, as a column whose figure is the exponent of its CPU time."""

    title: str
    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    sizes: Mapping[str, int] = field(default_factory=lambda: SIZES)
    kind: str = FREE
    seeds: int = 3

    def by_size(self) -> dict[int, Cell]:
        return {size: Cell(name, self.method, self.settings, self.seeds) for name, size in self.sizes.items()}

    def cells(self, row: Row) -> list[Cell]:
        return list(self.by_size().values())

    def text(self, row: Row, score: Any, store: Store) -> str:
        try:
            at, seconds = series(store, self.by_size(), least_seconds)
        except MissingError:
            return NOT_RUN
        return f"{growth(at, seconds):.2f} ({at[0]:.0f} to {at[-1]:.0f} rows)"


GROWTHS = (
    Growth("KMeans(1)", "KMeans(1)", kind=BASELINE),
    Growth("kernel k-means", "kernel k-means", (("width", 1.0),), UP_TO_8000, BASELINE),
    Growth("NCut", "NCut", (("local", True),), UP_TO_8000, BASELINE),
    Growth("GMMC here", "GMMC by width", (("most_rows", 1000),), SOME_OF_A1A, seeds=1),
    Growth("IterSVM", "IterSVM", SAME_RANK),
    Growth("IterLSSVM", "IterLSSVM", SAME_RANK),
    Growth("IterSVR", "IterSVR", SAME_RANK),
    Growth("MaxMarginClustering", "MaxMarginClustering"),
)
ALL_ADULT = tuple(cell for column in GROWTHS for cell in column.by_size().values())
EXPONENTS = printed("iterative-table8")
TABLE8 = Table(
    "iterative-table8",
    (Row("exponent", ("adult",)),),
    tuple(
        column
        for name, ours in zip((*EXPONENTS, ""), GROWTHS, strict=True)
        for column in (*([Printed(name, EXPONENTS[name])] if name else []), ours)
    ),
    Score(
        "exponent d of the CPU time n^d, fitted to the least time of every size",
        lambda record: record.seconds,
        better=0,
    ),
)


def _balanced_error(record: Record) -> float:
    return float(np.mean(record.scores["balanced_error"]))


def _draw_figure8(figure: Any, store: Store) -> str:
    """Balanced error and time over the size."""
    left, right = figure.subplots(1, 2)
    unit = least_seconds(measured(store, GROWTHS[0].by_size()[1605]))
    told = []
    for column in GROWTHS:
        try:
            at, errors = series(store, column.by_size(), _balanced_error)
            _, seconds = series(store, column.by_size(), least_seconds)
        except MissingError:
            continue
        left.plot(at, errors, ".-", label=column.title)
        right.plot(at, seconds / unit, ".-", label=column.title)
        told.append(f"{column.title} {errors.mean():.1f}")
    left.set(xscale="log", xlabel="rows", title="balanced error in %")
    right.set(xscale="log", yscale="log", xlabel="rows", title="CPU time, in k-means on a1a")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return f"Balanced error in %, mean of the sizes that each ran on: {', '.join(told)}."


FIGURES = (
    Figure(
        "iterative-figure1",
        (turns(COST, None),),
        lambda figure, store: _draw_turns(figure, store, {"IterSVM": turns(COST, None)}),
        (7.0, 2.6),
        (turns(COST, None),),
    ),
    _margins("iterative-figure2", {f"C = {C:g}": turns(C, None) for C in COSTS}, {"hinge": _hinge}, (-2, 40)),
    _margins("iterative-figure4", {f"C = {C:g}": turns(C, 0.0) for C in COSTS}, {"Laplacian": _tube(0)}, (-0.5, 2.5)),
    Figure(
        "iterative-figure5",
        tuple(BY_TUBE.values()),
        lambda figure, store: _draw_turns(figure, store, BY_TUBE),
    ),
    _margins(
        "iterative-figure6",
        {f"epsilon = {e:g}": turns(COST, e) for e in TUBES},
        {f"epsilon = {e:g}": _tube(e) for e in TUBES},
        (-0.5, 2.5),
    ),
    Figure("iterative-figure7", tuple(STARTED.values()), _draw_figure7, (7.5, 2.6)),
    Figure("iterative-figure8", ALL_ADULT, _draw_figure8, (7.5, 3.6)),
)
EXPERIMENTS = (*FIGURES, TABLE8)
