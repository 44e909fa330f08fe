"""Results that a change of code should have left as they are: a sample is measured again, the rest carried over.

A *group* are the cells of one table and one method that were measured with other code than the present one. Of each, a
twentieth but at least three cells, and one of every family of data sets, is measured again. If every score and every
further figure of the sample is what it was (times aside, which no two runs share), the group is carried over: its
records name the present version as theirs, the version they were measured with, and the size of the sample. If one
differs, what the sample measured is kept and the rest of the group waits for ``run``.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments import runner
from experiments.cells import Cell, code_version, family
from experiments.store import Record, Store

SHARE, LEAST = 0.05, 3
TOLERANCE = 1e-9
DRAWN_WITH = 0


@dataclass(frozen=True)
class Group:
    """Cells of a table and a method that older code measured, and those of them that are measured again."""

    name: str
    cells: tuple[Cell, ...]
    sample: tuple[Cell, ...]
    seconds: float  # that the sample took before


Measure = Callable[[list[Cell], Store, Callable[[Record], None]], None]


def groups(tables: Mapping[str, Iterable[Cell]], store: Store) -> list[Group]:
    """The groups of stale cells in the order of the tables, the cheap ones of a table first.

    A cell belongs to the first table that has it. Only what has a figure can be compared: cells that failed or ran out
    of time are left to ``run``.
    """
    seen: set[Cell] = set()
    ordered = []
    for table, cells in tables.items():
        found: dict[str, list[Cell]] = {}
        for cell in runner.pending([cell for cell in cells if cell not in seen], store):
            seen.add(cell)
            record = store.records.get(cell)
            if record is not None and record.status == "ok":
                found.setdefault(cell.method, []).append(cell)
        made = [_group(f"{table}, {method}", tuple(members), store) for method, members in found.items()]
        ordered += sorted(made, key=lambda group: group.seconds)
    return ordered


def _group(name: str, cells: tuple[Cell, ...], store: Store) -> Group:
    """With a sample at even steps through the sorted cells, and one cell of every family of data sets it would miss.

    A change of code may show in some kinds of data alone, as in wide or sparse rows.
    """
    size = min(len(cells), max(LEAST, math.ceil(SHARE * len(cells))))
    rng = np.random.default_rng(DRAWN_WITH)
    begin = rng.random()
    sample = [cells[int((begin + i) * len(cells) / size)] for i in range(size)]
    met = {family(cell) for cell in sample}
    for missed in sorted({family(cell) for cell in cells} - met):
        members = [cell for cell in cells if family(cell) == missed]
        sample.append(members[rng.integers(len(members))])
    return Group(name, cells, tuple(sample), sum(sum(store.records[cell].seconds) for cell in sample))


def confirm(found: list[Group], store: Store, measure: Measure) -> None:
    """Measure the sample of every group, and carry a group over as soon as its sample gives what it gave."""
    before, home = dict(store.records), {cell: group for group in found for cell in group.sample}
    left = {group: set(group.sample) for group in found}

    def heard(record: Record) -> None:
        group = home[record.cell]
        left[group].discard(record.cell)
        if not left[group]:
            print(
                f"{group.name}: {len(group.cells)} cells, {_settle(group, before, store)}", file=sys.stderr, flush=True
            )

    measure(list(home), store, heard)


def _settle(group: Group, before: Mapping[Cell, Record], store: Store) -> str:
    """Carry a group over unless its sample differs; what was decided, in words."""
    differing = [cell for cell in group.sample if not same(before[cell], store.records[cell])]
    if differing:
        return f"to be measured: {differing[0].data} is another"
    for cell in group.cells:  # the sample, too: times of two versions would not belong into one table
        store.add(carried(before[cell], code_version(cell), len(group.sample)))
    return "carried over"


def carried(record: Record, code: str, sampled: int) -> Record:
    """The record as one of the present version; it remembers the version that it was measured with."""
    return replace(record, code=code, measured_with=record.measured_with or record.code, sampled=sampled)


def same(old: Record, new: Record) -> bool:
    """Whether two measurements of a cell agree in all but their times."""
    old, new = (Record.parse(record.line()) for record in (old, new))  # as the file has them
    told = [(record.status, record.reason, record.scores, record.extra) for record in (old, new)]
    return _agree(*told)


def _agree(old: Any, new: Any) -> bool:
    """Equal, numbers up to rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_agree(old[key], new[key]) for key in old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(_agree(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, float | int) and isinstance(new, float | int):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(old == new)
