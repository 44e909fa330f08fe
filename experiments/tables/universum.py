"""Zhang, Wang, Si: Document clustering with universum (SIGIR 2011)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Store
from experiments.tables._compare import Columns, chance_of, paper_table, shortfalls, time_table, together
from experiments.tables._figure import Figure, measured
from experiments.tables._table import ACCURACY, NMI, RAND, Measured, Row, Score, Table, listed, other, ours, tuned

C_TARGET = tuple(2**power for power in range(1, 7))
C_UNIVERSUM = (0.001, 0.01, 0.1, 1, 10)
BOUNDS = (0.001, 0.01, 0.1, 1, 10)
PER_DOCUMENT = 1 / 3000  # balance bounds mean scores, the paper's l their sums over 3000 documents
LEAST_BALANCE = BOUNDS[0] * PER_DOCUMENT
GRID: dict[str, Sequence[Any]] = {"C": C_TARGET, "balance": (LEAST_BALANCE,)}
COLUMNS: Columns = {
    "M2DCU, paper's": (ours("M2DCU"), tuned("M2DCU tuned", "M2DCU", by=ACCURACY, **GRID, C_universum=C_UNIVERSUM)),
    "M2DCU-0, paper's": (ours("M2DCU-0"), tuned("M2DCU-0 tuned", "M2DCU-0", by=ACCURACY, **GRID)),
    "CPM3C, paper's": (
        ours("CPM3C"),
        tuned("CPM3C tuned", "CPM3C", by=ACCURACY, **GRID),
        ours("DocumentClustering"),
        ours("MaxMarginClustering"),
    ),
    "KMeans, paper's": (other("KMeans(1)"), other("KMeans(10)")),
    "NMF, paper's": (other("NMF"),),
    "Ncut, paper's": (other("NCut", local=True), other("SpectralClustering")),
    **{f"{name}, paper's": (other(name),) for name in ("GMM", "CLGR", "PLSA")},
}
TIMED = {title: [one for one in found if not one.title.endswith(" tuned")] for title, found in COLUMNS.items()}


def _idle(table: Table, store: Store) -> str:
    """How often the universum had no effect, in all runs of the label-free and the tuned column."""
    found = []
    for title in ("M2DCU", "M2DCU tuned"):
        cells = [cell for row in table.rows for cell in table.column(title).cells(row)]
        active = [extra["active"] for record in store.ok(cells) for extra in record.extra]
        if active:
            found.append(f"{title} {len(active) - sum(active)} of {len(active)}")
    told = f"- Runs in which all universum rows lay within the tolerance anyway: {', '.join(found)}."
    return told if found else ""


RUNS = 50  # of k-means and the mixture in the paper


def _in_one_kmeans(title: str, ratio: float, _: str) -> str:
    """As multiples of one of the paper's k-means runs; of the mixture, too, one run."""
    return f"{ratio if title.startswith(('KMeans', 'GMM')) else RUNS * ratio:.1f}"


ROWS = listed("m2dcu-table3")
SAME_ROWS = tuple(replace(row, note="") for row in ROWS)
MISSED = shortfalls(("M2DCU, paper's", "M2DCU", "M2DCU tuned", "DocumentClustering"))
TABLES = (
    paper_table("m2dcu-table3", ROWS, COLUMNS, ACCURACY, together(MISSED, _idle)),
    paper_table("m2dcu-table4", SAME_ROWS, COLUMNS, NMI, MISSED),
    paper_table("m2dcu-table5", SAME_ROWS, COLUMNS, RAND, MISSED),
    time_table("m2dcu-table6", SAME_ROWS, TIMED, "KMeans", _in_one_kmeans),
)


def _cell(C: float, C_universum: float, balance: float = LEAST_BALANCE) -> Cell:
    """A cell of the tuned grids, or near them."""
    if C_universum == 0:
        return Cell.of("m2dcu/20news", "M2DCU-0", C=C, balance=balance)
    return Cell.of("m2dcu/20news", "M2DCU", C=C, C_universum=C_universum, balance=balance)


WEIGHTS = (0, *C_UNIVERSUM)
BY_UNIVERSUM = {f"$C_l$ = {C}": [_cell(C, weight) for weight in WEIGHTS] for C in (4, 16, 64)}
BY_TARGET = {f"$C_u$ = {weight:g}": [_cell(C, weight) for C in C_TARGET] for weight in (0, 1, 10)}
BY_BOUND = {
    "l as printed, on sums of scores": [_cell(64, 1, bound * PER_DOCUMENT) for bound in BOUNDS],
    "l on mean scores": [_cell(64, 1, bound) for bound in BOUNDS],
}


def _draw(canvas: Any, store: Store, lines: Mapping[str, Sequence[Cell]], ticks: Sequence[float], label: str) -> str:
    """Accuracy and NMI beside each other; tells how far each line moves."""
    moves = []
    for axes, score in zip(canvas.subplots(1, 2), ("accuracy", "nmi"), strict=True):
        for (name, cells), marker in zip(lines.items(), "osD", strict=False):
            values = np.array([measured(store, cell).scores[score] for cell in cells])
            mean, spread = values.mean(axis=1), values.std(axis=1)
            at = np.arange(len(mean))
            (line,) = axes.plot(at, mean, marker=marker, markersize=3.5, linewidth=1.3, label=name)
            axes.fill_between(at, mean - spread, mean + spread, alpha=0.15, color=line.get_color(), linewidth=0)
            if score == "accuracy":
                moves.append(f"{name.replace('$', '')}: {mean[0]:.1f} at the left, {mean[-1]:.1f} at the right")
        axes.set_xticks(at, [f"{tick:g}" for tick in ticks])
        axes.set(xlabel=f"${label}$", ylabel="accuracy in %" if score == "accuracy" else "NMI in %")
    canvas.legend(*canvas.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return f"Bands of one standard deviation. Accuracy of {'; '.join(moves)}."


FIGURES = tuple(
    Figure(f"m2dcu-figure{number}", lines, partial(_draw, lines=lines, ticks=ticks, label=label))
    for number, lines, ticks, label in (
        (2, BY_UNIVERSUM, WEIGHTS, "C_u"),
        (3, BY_TARGET, C_TARGET, "C_l"),
        (4, BY_BOUND, BOUNDS, "l"),
    )
)

BOTH = Score("accuracy / NMI in %; other columns: difference to M2DCU-0", lambda r: r.scores["accuracy"], better=0)
PERCENT_NMI = Score("NMI in %", lambda r: r.scores["nmi"])


class Gain(Measured):
    """What M2DCU scores above M2DCU-0 of the same seed, by accuracy and NMI; the scores of M2DCU-0 themselves."""

    def cells(self, row: Row) -> list[Cell]:
        found = super().cells(row)
        return found if self.method == "M2DCU-0" else [*ours("M2DCU-0").cells(row), *found]

    @staticmethod
    def meaned(found: Sequence[Any]) -> Any:
        return found[-1] - sum(found[:-1])

    def shown(self, values: Any, row: Row, score: Score, store: Store) -> str:
        found = values, self.values(row, PERCENT_NMI, store)
        sign = "" if self.method == "M2DCU-0" else "+"
        return " / ".join(f"{np.mean(values):{sign}.1f} ± {np.std(values):.1f}" for values in found)


def _overall(table: Table, store: Store) -> str:
    """Mean over the collections, and a test over them."""
    found = []
    for column in table.columns[1:]:
        gains = table.means(column, store)
        if not np.isnan(gains).any():
            above, chance = (gains > 0).sum(), chance_of(gains)
            told = f"{gains.mean():+.1f} points of accuracy, above 0 on {above}, p = {chance:.2f}"
            found.append(f"{column.title}: {told}")
    test = f"(Wilcoxon's signed-rank test, p not corrected for {len(found)} tests)"
    return f"Means over the {len(table.rows)} collections {test}: {'; '.join(found)}." if found else ""


GAIN = Table(
    "universum-gain",
    listed("universum-gain"),
    (
        Gain("M2DCU-0", "M2DCU-0"),
        Gain("select 10 %, 0.3", "M2DCU"),
        Gain("select 10 %, 1", "M2DCU", {"share": 1.0}),
        Gain("all, 0.3", "M2DCU", {"rows": "all"}),
        Gain("boundary 30 %, 0.3", "M2DCU", {"rows": "boundary"}),
        Gain("boundary 30 %, 1", "M2DCU", {"rows": "boundary", "share": 1.0}),
    ),
    BOTH,
    after=_overall,
)

EXPERIMENTS = (*TABLES, *FIGURES, GAIN)
