"""Zhang, Wang, Si: Document clustering with universum (SIGIR 2011)."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Store
from experiments.tables import universum_figures
from experiments.tables._compare import shortfalls
from experiments.tables._table import (
    ACCURACY,
    FREE,
    LEAST_TIME,
    NMI,
    RAND,
    Column,
    Measured,
    Printed,
    Row,
    Score,
    Table,
    Tuned,
    listed,
    other,
    ours,
    printed,
)
from experiments.tables.universum_figures import C_TARGET, C_UNIVERSUM, LEAST_BALANCE

RUNS = 50  # of k-means and the mixture in the paper
SAME_METHOD = {
    "KMeans": "KMeans(1)",
    **{name: name for name in ("NMF", "GMM", "CPM3C", "CLGR", "PLSA")},
    "Ncut": "NCut",
}

ROWS = listed("m2dcu-table3")
SAME_ROWS = tuple(replace(row, note="") for row in ROWS)

GRID_0 = [{"C": C, "balance": LEAST_BALANCE} for C in C_TARGET]
GRID = [{**settings, "C_universum": C} for settings, C in product(GRID_0, C_UNIVERSUM)]


def _columns(paper: dict[str, dict[str, str]]) -> tuple[Any, ...]:
    """The paper's columns, each followed by ours of the same method."""
    measured: dict[str, tuple[Column, ...]] = {
        "M2DCU": (ours("M2DCU"), Tuned("M2DCU tuned", "M2DCU", GRID, by=ACCURACY)),
        "M2DCU-0": (ours("M2DCU-0"), Tuned("M2DCU-0 tuned", "M2DCU-0", GRID_0, by=ACCURACY)),
        "CPM3C": (
            ours("CPM3C"),
            Tuned("CPM3C tuned", "CPM3C", GRID_0, by=ACCURACY),
            ours("DocumentClustering"),
            ours("MaxMarginClustering"),
        ),
        "KMeans": (other("KMeans(1)"), other("KMeans(10)")),
        "NMF": (other("NMF"),),
        "Ncut": (replace(other("NCut"), settings={"local": True}), other("SpectralClustering")),
        **{name: (other(name),) for name in ("GMM", "CLGR", "PLSA")},
    }
    return tuple(
        column for name, found in measured.items() for column in (Printed(f"{name}, paper's", paper[name]), *found)
    )


def _gains(table: Table, store: Store) -> str:
    """What the universum brings in the paper, label-free and tuned."""
    digits, parts = table.score.digits, []
    means = table.by_title(store)
    for j, row in enumerate(table.rows):
        paper = [float(table.column(f"{method}, paper's").figures[row.label]) for method in ("M2DCU", "M2DCU-0")]
        free, tuned = ([means[f"M2DCU{suffix}"][j], means[f"M2DCU-0{suffix}"][j]] for suffix in ("", " tuned"))
        if not np.isnan(free + tuned).any():
            three = (f"{round(one - other, digits) + 0.0:+.{digits}f}" for one, other in (paper, free, tuned))
            parts.append(f"{row.label} {', '.join(three)}")
    return f"M2DCU minus M2DCU-0 (paper, label-free, tuned): {'; '.join(parts)}." if parts else ""


def _idle(table: Table, store: Store) -> str:
    """How often the universum had no effect, in all runs of the label-free and the tuned column."""
    found = []
    for title in ("M2DCU", "M2DCU tuned"):
        records = [store.records.get(cell) for row in table.rows for cell in table.column(title).cells(row)]
        active = [extra["active"] for record in records if record and record.extra for extra in record.extra]
        if active:
            found.append(f"{title} {len(active) - sum(active)} of {len(active)}")
    return f"Runs in which all universum rows lay within the tolerance anyway: {', '.join(found)}." if found else ""


def _baselines(table: Table, store: Store) -> str:
    """How our baselines stand to the paper's of the same name."""
    found = []
    for title, name in SAME_METHOD.items():
        figures = [float(table.column(f"{title}, paper's").figures[row.label]) for row in table.rows]
        above = table.means(name, store) - np.array(figures)
        if not np.isnan(above).any():
            found.append(f"{name} {np.mean(above):+.{table.score.digits}f}")
    return f"Ours minus the paper's, mean of the {len(table.rows)} rows: {', '.join(found)}." if found else ""


def _words(table: Table, store: Store) -> str:
    titles, margin = ("M2DCU", "M2DCU tuned", "DocumentClustering"), 1.0 if table.score is ACCURACY else 0.02
    short = shortfalls(table, store, table.columns[0], titles, margin, of="m2dcu-table3")
    further = [_gains(table, store), _baselines(table, store), _idle(table, store) if table.score is ACCURACY else ""]
    return "\n".join([short, *(f"- {sentence}" for sentence in further if sentence)])


def _ratios() -> dict[str, dict[str, str]]:
    """The paper's seconds as multiples of one of its 50 k-means runs; of the mixture, too, one run."""
    seconds = printed("m2dcu-table6")
    unit = {label: float(text) / RUNS for label, text in seconds["KMeans"].items()}
    runs = {"KMeans": RUNS, "GMM": RUNS}
    return {
        name: {label: f"{float(text) / unit[label] / runs.get(name, 1):.1f}" for label, text in column.items()}
        for name, column in seconds.items()
    }


TABLE3 = Table("m2dcu-table3", ROWS, _columns(printed("m2dcu-table3")), ACCURACY, ("Reuters21578-2",), _words)
TABLE4 = Table("m2dcu-table4", SAME_ROWS, _columns(printed("m2dcu-table4")), NMI, after=_words)
TABLE5 = Table("m2dcu-table5", SAME_ROWS, _columns(printed("m2dcu-table5")), RAND, after=_words)
TIMED = tuple(column for column in _columns(_ratios()) if not isinstance(column, Tuned))
TABLE6 = Table("m2dcu-table6", SAME_ROWS, TIMED, LEAST_TIME)

BOTH = Score("accuracy / NMI in %; other columns: difference to M2DCU-0", lambda r: r.scores["accuracy"], better=0)
PERCENT_NMI = Score("NMI in %", lambda r: r.scores["nmi"])


@dataclass(frozen=True)
class Gain(Column):
    """What a setting of M2DCU scores above M2DCU-0, seed by seed."""

    title: str
    settings: tuple[tuple[str, Any], ...] | None
    kind: str = FREE

    def cells(self, row: Row) -> list[Cell]:
        return [cell for column in self._both() for cell in column.cells(row)]

    def values(self, row: Row, score: Score, store: Store) -> Any:
        found = [column.values(row, score, store) for column in self._both()]
        if any(isinstance(values, str) for values in found):
            return next(values for values in found if isinstance(values, str))
        return found[0] if len(found) == 1 else found[1] - found[0]

    def text(self, row: Row, score: Score, store: Store) -> str:
        found = [self.values(row, of, store) for of in (ACCURACY, PERCENT_NMI)]
        if isinstance(found[0], str):
            return found[0]
        sign = "" if self.settings is None else "+"
        return " / ".join(f"{np.mean(values):{sign}.1f} ± {np.std(values):.1f}" for values in found)

    def _both(self) -> list[Measured]:
        base = ours("M2DCU-0")
        return [base] if self.settings is None else [base, Measured(self.title, "M2DCU", dict(self.settings))]


def _overall(table: Table, store: Store) -> str:
    """Mean over the collections, and a test over them."""
    from scipy.stats import wilcoxon

    found = []
    for column in table.columns[1:]:
        gains = table.means(column, store)
        if not np.isnan(gains).any():
            chance = wilcoxon(gains).pvalue
            words = f"{gains.mean():+.1f} points of accuracy, above 0 on {(gains > 0).sum()}, p = {chance:.2f}"
            found.append(f"{column.title}: {words}")
    if not found:
        return ""
    test = f"(Wilcoxon's signed-rank test, p not corrected for {len(found)} tests)"
    return f"Means over the {len(table.rows)} collections {test}: " + "; ".join(found) + "."


GAIN = Table(
    "universum-gain",
    (
        Row("rec4", ("m2dcu/rec4",), "3000 posts of the four rec groups; the rest are the other groups."),
        *SAME_ROWS,
        Row("RCV1-4", ("m2dcu/rcv1-4",), "3000 documents of all four topics; no rest, as there is no other topic."),
    ),
    (
        Gain("M2DCU-0", None),
        Gain("select 10 %, 0.3", ()),
        Gain("select 10 %, 1", (("share", 1.0),)),
        Gain("all, 0.3", (("rows", "all"),)),
        Gain("boundary 30 %, 0.3", (("rows", "boundary"),)),
        Gain("boundary 30 %, 1", (("rows", "boundary"), ("share", 1.0))),
    ),
    BOTH,
    after=_overall,
)

EXPERIMENTS = (TABLE3, TABLE4, TABLE5, TABLE6, *universum_figures.EXPERIMENTS, GAIN)
