"""Zhao, Kwok, Zhang: Multiple kernel clustering (SDM 2009)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from experiments.store import Store
from experiments.tables import mkc_figures
from experiments.tables._compare import shortfalls, told_by_objective
from experiments.tables._table import (
    MAJORITY,
    RAND,
    TUNED,
    Measured,
    Printed,
    Row,
    Table,
    Tuned,
    listed,
    other,
    ours,
    printed,
)

SUBSETS = {"letterAvB": 500, "satellite": 500, "letterABCD": 500, "mnist01234": 1000}
BINARY = ("IterSVR", "IterSVR tuned")
EVERYWHERE = (
    *("K1", "K2", "K3", "MKC tuned", "MKC of three", "MKC", "MKC from the classes", "MaxMarginClustering"),
    *("KMeans(1)", "KMeans(10)", "NCut"),
)


def _only(row: Row) -> tuple[str, ...]:
    """IterSVR has the rows of two clusters, as in the paper."""
    name = row.data[0]
    return EVERYWHERE if name.count("-") > 1 or name.startswith("mnist") else EVERYWHERE + BINARY


ROWS = tuple(replace(row, only=_only(row)) for row in listed("mkc-table2"))
FROM_CLASSES = Measured("MKC from the classes", "MKC from classes", kind=TUNED, seeds=1)
WIDTHS = tuple({"width": round(0.1 * i, 1)} for i in range(1, 11))
GRID: dict[str, Sequence[Any]] = {"C": (10.0, 100.0), "balance": (0.0, 0.3)}
DEGREES, MEDIANS = {"degree": (2, 3)}, {"width": (0.75, 1.5, 3.0)}


def _tuned(title: str, kernels: tuple[str, ...], axes: dict[str, Sequence[Any]]) -> Tuned:
    settings = [{"kernels": kernels, **dict(zip(axes, values, strict=True))} for values in product(*axes.values())]
    return Tuned(title, "MKC kernels", settings, seeds=1)


def _columns(name: str) -> tuple[Any, ...]:
    """The paper's columns, MKC first, each followed by ours of the same method."""
    paper = printed(name)
    return (
        Printed("MKC, paper's", paper["MKC"]),
        _tuned("MKC tuned", ("linear", "poly", "rbf"), GRID | DEGREES | MEDIANS),
        Measured("MKC of three", "MKC kernels"),
        ours("MKC"),
        FROM_CLASSES,
        ours("MaxMarginClustering"),
        Printed("K1, paper's", paper["K1"]),
        _tuned("K1", ("linear",), GRID),
        Printed("K2, paper's", paper["K2"]),
        _tuned("K2", ("poly",), GRID | DEGREES),
        Printed("K3, paper's", paper["K3"]),
        _tuned("K3", ("rbf",), GRID | MEDIANS),
        Printed("KM", paper["KM"]),
        other("KMeans(1)"),
        other("KMeans(10)"),
        Printed("NC", paper["NC"]),
        Tuned("NCut", "NCut", WIDTHS, seeds=1),
        Printed("SVR", paper["SVR"]),
        ours("IterSVR"),
        Tuned("IterSVR tuned", "IterSVR width", WIDTHS, seeds=3),
    )


def _words(margin: float) -> Callable[[Table, Store], str]:
    def sentences(table: Table, store: Store) -> str:
        theirs, titles = table.column("MKC, paper's"), ("MKC", "MKC tuned", "MaxMarginClustering")

        def why(row: Row) -> str:
            return told_by_objective(row, store, FROM_CLASSES)

        return shortfalls(table, store, theirs, titles, margin, why, "mkc-table2")

    return sentences


PART = Measured("MKC subset", "MKC subset")
EXPERIMENTS = (
    Table("mkc-table2", ROWS, _columns("mkc-table2"), MAJORITY, ("digits2v7",), _words(1.0)),
    Table("mkc-table2-rand", ROWS, _columns("mkc-table2-rand"), RAND, after=_words(0.02)),
    Table(
        "mkc-table3",
        tuple(
            replace(row, only=None, own={"MKC subset": {"size": SUBSETS[row.label]}})
            for row in ROWS
            if row.label in SUBSETS
        ),
        (
            Printed("rows of the subset", SUBSETS),
            *(
                column
                for title, figures in printed("mkc-table3").items()
                for column in (
                    Printed(title, figures),
                    replace(
                        ours("MKC") if title.startswith("all") else PART,
                        title=title,
                        score=RAND if title.endswith("Rand") else MAJORITY,
                    ),
                )
            ),
        ),
        MAJORITY,
        ("letterAvB",),
    ),
    *mkc_figures.EXPERIMENTS,
)
