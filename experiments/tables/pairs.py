"""Two classes that touch, and runs with a seed and a row order of their own."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.cells import ORDERS, SEEDS, Cell
from experiments.data import drawn_letter_pairs, pairs
from experiments.store import Store
from experiments.tables._ranking import FRONT, USUAL
from experiments.tables._table import ACCURACY, BASELINE, Measured, Row, Score, Table, rows_of
from experiments.tables.panel import MOVES, SETS

LETTER_PAIRS = 30
CORNERS = 10  # draws
RUNS = SEEDS + 1  # the file's own order, then one order a seed
FAR = 3.0  # points between the mean and the worst run that are told
BELOW = 5.0  # points below the best method of the table that are told
WORST = Score("accuracy of the worst run", lambda record: [min(record.scores["accuracy"])])
SPARSE = ("w1a", "a1a", "a4a", "a9a", "cora", "rcv1", *(name for name in SETS if name.startswith("cora titles")))
DENSE = {label: name for label, name in SETS.items() if label not in SPARSE}


@dataclass(frozen=True)
class Reordered(Measured):
    """One method on rows whose order differs from run to run; in brackets the worst run, meaned over data sets."""

    seeds: int = RUNS

    def cells(self, row: Row) -> list[Cell]:
        return [replace(cell, data=cell.data + ORDERS) for cell in super().cells(row)]

    def shown(self, values: Any, row: Row, score: Score, store: Store) -> str:
        worst = self.mean(row, WORST, store)
        return f"{super().shown(values, row, score, store)} ({worst:.{score.digits}f})"


OURS = Reordered(FRONT, FRONT)


def _pair_words(table: Table, store: Store) -> str:
    """How many data sets the front door loses clearly to another column, and which it loses by most."""
    names = list(dict.fromkeys(name for row in table.rows for name in row.data))
    each = replace(table, rows=rows_of(dict(zip(names, names, strict=True))))
    scores = np.array([each.means(column, store) for column in table.columns])
    missing = np.isnan(scores).any(axis=0)
    if missing.any():
        return f"Not complete: {(~missing).sum()} of {len(missing)} data sets."
    lines = [
        f"- {FRONT} less {column.title}: {lead.mean():+.1f} points in the mean of the {len(lead)} data sets; more "
        f"than {BELOW:g} above on {np.sum(lead > BELOW)}, more than {BELOW:g} below on {np.sum(lead < -BELOW)}."
        for column, lead in zip(table.columns[1:], scores[0] - scores[1:], strict=True)
    ]
    behind = scores.max(axis=0) - scores[0]
    told = [
        f"{names[j]} ({scores[0, j]:.1f}, best {scores[:, j].max():.1f})"
        for j in np.argsort(-behind, kind="stable")[:5]
        if behind[j] > BELOW
    ]
    return "\n".join([*lines, f"- Farthest below the best of the four: {', '.join(told) or 'nowhere'}."])


PAIRS = Table(
    "pairs",
    (
        Row("letter A-B", ("letter/A-B",)),
        Row("digits 1-8", ("digits/1-8",)),
        Row("45 pairs of digits", pairs("digits")),
        Row(f"{LETTER_PAIRS} pairs of letters", drawn_letter_pairs(LETTER_PAIRS)),
        Row("15 pairs of satimage", pairs("satimage", "123457")),
        Row("halves with a corner", tuple(f"corner/{i}" for i in range(CORNERS))),
    ),
    (
        OURS,
        Reordered(MOVES.title, MOVES.method, MOVES.settings),
        Reordered("CPM3C", "CPM3C"),
        Reordered(USUAL, USUAL, kind=BASELINE),
    ),
    ACCURACY,
    ("letter A-B", "digits 1-8"),
    _pair_words,
    {"RUNS": RUNS, "LETTER_PAIRS": LETTER_PAIRS, "CORNERS": CORNERS},
)


def _order_words(table: Table, store: Store) -> str:
    """Sets with a run far below the mean, and the worst run in the file's order: seeds alone may explain it."""
    told, n_sets = [], 0
    for row in table.rows:
        mean, worst = OURS.mean(row, table.score, store), OURS.mean(row, WORST, store)
        seeds_alone = table.columns[0].mean(row, WORST, store)
        n_sets += not np.isnan([worst, seeds_alone]).any()
        if mean - worst > FAR and not np.isnan(seeds_alone):
            told.append(
                f"{row.label} (mean {mean:.1f}, worst {worst:.1f}; worst in the file's order {seeds_alone:.1f})"
            )
    found = f"A run more than {FAR:g} points below the mean, of {n_sets} sets: {', '.join(told) or 'nowhere'}."
    return found if n_sets else "Not measured yet."


ROW_ORDERS = Table(
    "row-orders",
    rows_of(DENSE | {"letter A-B": "letter/A-B"}),
    (Measured("file's own order", FRONT), replace(OURS, title="an order for each run")),
    replace(ACCURACY, better=0),
    ("sklearn iris",),
    _order_words,
    {"SEEDS": SEEDS, "RUNS": RUNS},
)

EXPERIMENTS = (PAIRS, ROW_ORDERS)
