"""A figure of the page: cells, and a function that draws them with matplotlib."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.cells import Cell
from experiments.store import Store


@dataclass(frozen=True)
class Figure:
    """``draw(figure, store)`` fills a matplotlib figure and returns what it shows in words, from measured values.

    It may raise ``MissingError`` where cells were not measured.
    """

    name: str
    title: str
    all_cells: tuple[Cell, ...]
    draw: Callable[[Any, Store], str]
    note: str = ""
    size: tuple[float, float] = (7.0, 3.2)
    quick: tuple[Cell, ...] = ()

    def cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        self._refuse(rows)
        return list(self.all_cells)

    def quick_cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        self._refuse(rows)
        return [replace(cell, seeds=1) for cell in self.quick]

    def _refuse(self, rows: Iterable[str] | None) -> None:
        if rows is not None:
            raise SystemExit(f"{self.name} is a figure and has no rows: leave out --rows, or name tables only")

    def section(self, store: Store, folder: Path) -> str:
        """Markdown with the picture, which is written to the folder."""
        from experiments.plots import saved

        try:
            caption = saved(self, store, folder / f"{self.name}.svg")
        except MissingError as missing:
            return f"### {self.title}\n\n`{self.name}`: not run: {missing}\n"
        picture = f"![{self.title}]({self.name}.svg)"
        return f"### {self.title}\n\n`{self.name}`: {self.note}\n\n{picture}\n\n{caption}\n"


class MissingError(Exception):
    """Cells of a figure that the results file has not."""


def measured(store: Store, cell: Cell) -> Any:
    """The record of a cell that went well."""
    record = store.records.get(cell)
    if record is None:
        raise MissingError(f"{cell.method} on {cell.data}")
    if record.status != "ok":
        raise MissingError(f"{cell.method} on {cell.data}: {record.reason}")
    return record
