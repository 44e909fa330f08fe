"""Tables of numbers and categories: with the number of clusters, with missing cells, and how many clusters there are.

The names of the tables by turns of the alphabet are two halves: what is chosen is chosen on the first and reported on
the second.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.missing_rules import FILLED, LEVEL, RULES
from experiments.store import Record, Store
from experiments.tables._compare import chance_of
from experiments.tables._table import Measured, Row, Score, Table, lines_of, markdown, other, ours, rows_of

SEEDS = 3
LINES = lines_of("mixed.csv")  # "none" in credit_g is no gap
REAL, DRAWN = ([line["table"] for line in LINES if line["kind"] == kind] for kind in ("real", "drawn"))
NAMES, WITH_GAPS = sorted([*REAL, *DRAWN]), [line["table"] for line in LINES if line["gaps"]]
HALVES = ("first half", "second half")
CLEAR = 0.05  # of the adjusted Rand index, from which a difference on one table is told
TABLE_AXES = "KMeans(10) of table axes"
TABLES, FAMD = "TableEncoder + MaxMarginClustering", "FAMD, five axes + KMeans(10)"
ARI = Score("adjusted Rand index", lambda record: [value / 100 for value in record.scores["ari"]], 3)
Groups = Mapping[str, tuple[str, ...]]


def groups_of(names: list[str]) -> Groups:
    """All of some tables, the real and the drawn ones, and the halves."""
    parts = {"all": NAMES, "real": REAL, "drawn": DRAWN, HALVES[0]: NAMES[::2], HALVES[1]: NAMES[1::2]}
    return {label: tuple(name for name in part if name in names) for label, part in parts.items()}


@dataclass(frozen=True)
class GroupTable(Table):
    """Rows are data sets; the page has a line for each method and the means over groups of the data sets."""

    groups: Groups = field(default_factory=dict)

    def section(self, store: Store) -> str:
        parts = [f"### {self.title}", self.head, self.lines(store), self.words(store)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def lines(self, store: Store) -> str:
        """A line for each method; the best of each group is bold."""
        titles = [f"{column.title} (*{column.kind}*)" for column in self.columns]
        heads = [f"{label}<br>{len(names)} tables" for label, names in self.groups.items()]
        figures = [self.figures(_group(names), store) for names in self.groups.values()]
        return markdown(titles, heads, list(zip(*figures, strict=True)))

    def mean(self, column: Measured, names: tuple[str, ...], store: Store) -> float:
        """The score of a method over some data sets and all seeds; NaN if one was not measured."""
        return column.mean(_group(names), self.score, store)


def _group(names: tuple[str, ...]) -> Row:
    return Row("", tuple(f"mixed/{name}" for name in names))


def _rows(names: Iterable[str]) -> tuple[Row, ...]:
    return rows_of({name: f"mixed/{name}" for name in names})


def comparison(table: Table, store: Store) -> str:
    """Where the first method is clearly above and below each of the others, and which the first half would choose."""
    assert isinstance(table, GroupTable)
    names = table.groups["all"]
    scores = np.array([[table.mean(column, (name,), store) for name in names] for column in table.columns])
    if np.isnan(scores).any():
        return "Not complete."
    lines = [
        f"Mean differences, p by Wilcoxon's signed-rank test over tables, and tables with a difference of {CLEAR:g} or "
        "more, the largest first:",
        "",
    ]
    for column, lead in zip(table.columns[1:], scores[0] - scores[1:], strict=True):
        above, below = (_told(names, lead, sign) for sign in (1, -1))
        lines.append(f"- {TABLES} less {column.title}: {_tested(names, lead)}; above on {above}; below on {below}.")
    return "\n".join([*lines, "", _chosen(table, table.columns, TABLES, store)])


def _tested(names: tuple[str, ...], lead: Any) -> str:
    """The mean difference, and how often accident would give as much from table to table, of all and of real tables."""
    parts = (np.round(part, 6) for part in (lead, lead[np.isin(names, REAL)]))
    whole, real = (f"{part.mean():+.3f} (p = {chance_of(part):.2g})" for part in parts)
    return f"{whole}, on real tables {real}"


def _told(names: tuple[str, ...], lead: Any, sign: int) -> str:
    """The data sets with a clear difference of one sign, the largest first."""
    found = [j for j in np.argsort(-sign * lead, kind="stable") if round(sign * float(lead[j]), 6) >= CLEAR]
    return f"{len(found)} ({', '.join(f'{names[j]} {lead[j]:+.2f}' for j in found)})" if found else "none"


def _chosen(table: GroupTable, columns: Sequence[Measured], usual: str, store: Store) -> str:
    """The method that is best on the first half, and what it and the usual one have on the second."""
    halves = [[table.mean(column, table.groups[half], store) for column in columns] for half in HALVES]
    best, now = int(np.argmax(halves[0])), [column.title for column in columns].index(usual)
    rank = 1 + sum(value > halves[1][best] for value in halves[1])
    first, second = (f"{half[best]:.3f}" + f"; {usual} {half[now]:.3f}" * (best != now) for half in halves)
    return (
        f"The first half would choose {columns[best].title} ({first}). On the second half that is number {rank} of "
        f"{len(columns)} ({second})."
    )


def rule_words(table: Table, store: Store) -> str:
    """For each way of clustering, the rule that the first half would choose."""
    assert isinstance(table, GroupTable)
    if any(np.isnan(table.mean(column, table.groups["all"], store)) for column in table.columns):
        return "Not complete."
    ways: dict[str, list[Measured]] = {}
    for column in table.columns:
        ways.setdefault(column.title.rpartition(", ")[0], []).append(column)
    return "\n".join(f"- {_chosen(table, way, f'{title}, {FILLED}', store)}" for title, way in ways.items())


def _distance(record: Record) -> Any:
    """Of the number found from the number of classes, in doublings."""
    return np.abs([np.log2(extra["number"] / extra["classes"]) for extra in record.extra])


DOUBLINGS = Score("mean absolute log2 of the number of clusters over the number of classes", _distance, 2, better=-1)
EXACT = Score("exact", lambda record: [extra["number"] == extra["classes"] for extra in record.extra])


@dataclass(frozen=True)
class NumberTable(GroupTable):
    """Also how often the number is exact on drawn tables, and 1 on shuffled ones."""

    def lines(self, store: Store) -> str:
        head, rule, *lines = super().lines(store).splitlines()
        drawn = tuple(f"mixed/{name}" for name in DRAWN)
        shuffled = tuple(f"mixed-shuffled/{name}" for name in NAMES)
        told = [
            f"{line} {_exact(column, drawn, store)} | {_exact(column, shuffled, store)} |"
            for line, column in zip(lines, self.columns, strict=True)
        ]
        return "\n".join([f"{head} exact<br>drawn | 1 cluster<br>shuffled |", f"{rule}---|---|", *told])


def _exact(column: Measured, data: tuple[str, ...], store: Store) -> str:
    values = column.values(Row("", data), EXACT, store)
    return values if isinstance(values, str) else f"{np.mean(values) * len(data):.0f} of {len(data)}"


MIXED = GroupTable(
    "mixed",
    _rows(NAMES),
    (
        ours(TABLES, SEEDS),
        ours(TABLES, SEEDS, "the same, columns=None", columns=None),
        ours("TableEncoder + MKC", SEEDS, "MKC, a kernel for each category", apart=True),
        ours("TableEncoder + MKC", SEEDS, "MKC, a kernel for all categories", apart=False),
        other("KMeans(10)", SEEDS, "KMeans(10) of the encoded columns"),
        other("KMeans(10) of one-hot columns", SEEDS),
        other(TABLE_AXES, SEEDS, FAMD, axes=5),
        other(TABLE_AXES, SEEDS, "FAMD, eigenvalues above 1 + KMeans(10)"),
        other("k-prototypes", SEEDS),
        other("Gower + average linkage", SEEDS),
    ),
    ARI,
    ("zoo", "syn36"),
    comparison,
    {"tables": len(NAMES), "real": len(REAL), "drawn": len(DRAWN), "gaps": len(WITH_GAPS)},
    groups_of(NAMES),
)
GAPS = GroupTable(
    "mixed-gaps",
    _rows(WITH_GAPS),
    (
        ours(TABLES, SEEDS, f"{TABLES}, {FILLED}"),
        ours(f"{TABLES}, {LEVEL}", SEEDS),
        *(
            other(TABLE_AXES, SEEDS, f"{title}, {rule}", rule=rule, famd=famd)
            for title, famd in (("KMeans(10) of the encoded columns", False), ("FAMD + KMeans(10)", True))
            for rule in RULES
        ),
    ),
    ARI,
    ("penguins",),
    rule_words,
    groups=groups_of(WITH_GAPS),
)
NUMBERS = NumberTable(
    "mixed-numbers",
    (*_rows(NAMES), *rows_of({f"{name} shuffled": f"mixed-shuffled/{name}" for name in NAMES})),
    (
        ours("table number by auto", 1, "auto"),
        other("always 3"),
        other("number by silhouette", 1, "silhouette"),
        other("number by gap", 1, "gap statistic"),
    ),
    DOUBLINGS,
    ("zoo", "zoo shuffled"),
    groups=groups_of(NAMES),
)

EXPERIMENTS = (MIXED, GAPS, NUMBERS)
