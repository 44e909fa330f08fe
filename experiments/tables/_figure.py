"""A figure of the page: cells, and a function that draws them; its bytes depend on the results (and matplotlib)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.store import Record, Store
from experiments.tables._table import notes

SETTINGS = {
    "svg.hashsalt": "widegap",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
}
COLOURS = ("#0b6e99", "#d1495b", "#66a182", "#edae49", "#6d597a", "#30638e", "#9c6644", "#7a7a7a")
MARKERS = "os^Dv*Xp"
STEPS = ((4.0, (1, 1.5, 2, 3, 4, 5, 7)), (30.0, (1, 2, 5)), (np.inf, (1,)))  # ratio of an axis' ends: marks a decade


class MissingError(Exception):
    """Cells of a figure that the results file has not."""


@dataclass(frozen=True)
class Figure:
    """``draw(figure, store)`` fills a matplotlib figure and returns what it shows in words, from measured values.

    It may raise ``MissingError`` where cells were not measured.
    """

    name: str
    all_cells: tuple[Cell, ...]
    draw: Callable[[Any, Store], str]
    size: tuple[float, float] = (7.0, 3.2)
    quick: tuple[Cell, ...] = ()

    @property
    def title(self) -> str:
        return notes()[self.name][0]

    def cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        if rows is not None:
            raise SystemExit(f"{self.name} is a figure and has no rows: leave out --rows, or name tables only")
        return list(dict.fromkeys(self.all_cells))

    def quick_cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        self.cells(rows)
        return [replace(cell, seeds=1) for cell in self.quick]

    def section(self, store: Store, folder: Path) -> str:
        """Markdown with the picture, which is written to the folder."""
        head = f"### {self.title}\n\n`{self.name}`:"
        try:
            caption = self._saved(store, folder / f"{self.name}.svg")
        except MissingError as missing:
            return f"{head} not run: {missing}\n"
        picture = f"![{self.title}]({self.name}.svg)"
        return f"{head} {notes()[self.name][1]}\n\n{picture}\n\n{caption}\n"

    def _saved(self, store: Store, path: Path) -> str:
        """Draw to a file; returns the caption."""
        import matplotlib
        from cycler import cycler

        matplotlib.use("svg")
        from matplotlib.figure import Figure as Canvas

        with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
            canvas = Canvas(figsize=self.size)
            caption = self.draw(canvas, store)
            path.parent.mkdir(parents=True, exist_ok=True)
            canvas.savefig(path, format="svg", metadata={"Date": None})
        return caption


def measured(store: Store, cell: Cell) -> Any:
    """The record of a cell that went well."""
    record = store.records.get(cell)
    if record is None:
        raise MissingError(f"{cell.method} on {cell.data}")
    if record.status != "ok":
        raise MissingError(f"{cell.method} on {cell.data}: {record.reason}")
    return record


def series(store: Store, cells: Mapping[Any, Cell], value: Callable[[Record], float]) -> tuple[Any, Any]:
    """Abscissae and values of the cells that were measured; ``MissingError`` if none was."""
    found, missing = [], None
    for at, cell in cells.items():
        try:
            found.append((at, value(measured(store, cell))))
        except MissingError as error:
            missing = error
    if not found:
        raise missing or MissingError("no cells")
    return tuple(np.array(found, dtype=float).T)


def least_seconds(record: Record) -> float:
    """CPU seconds of the fastest seed: the others may hold what a process does only once."""
    return min(record.seconds)


def growth(at: Any, values: Any) -> float:
    """The exponent d of the power law at^d that fits best, a line in a log-log plot."""
    return float(np.polyfit(np.log(at), np.log(values), 1)[0]) if len(at) > 1 else float("nan")


def guide(axes: Any, at: Any, values: Any, exponent: float, label: str) -> None:
    """A dotted line of known growth, above the curve it is compared with."""
    at = np.asarray(at, dtype=float)
    axes.plot(at, 2 * values[-1] * (at / at[-1]) ** exponent, ":", color="#555555", linewidth=1, label=label)


def draw(axes: Any, at: Any, values: Any, place: int, label: str = "") -> None:
    """A curve with a mark of its own: colours alone are hard to tell apart."""
    axes.plot(at, values, f"{MARKERS[place]}-", color=f"C{place}", markersize=4, linewidth=1.2, label=label)


def logarithmic(axes: Any, *names: str) -> None:
    """Make axes ("x", "y") logarithmic, with a few plain numbers, the fewer the longer the axis."""
    for name in names:
        getattr(axes, f"set_{name}scale")("log")
        low, high = getattr(axes, f"get_{name}lim")()
        steps = next(steps for ratio, steps in STEPS if high / low < ratio)
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        marks = [mark for mark in np.outer(decades, steps).ravel() if low <= mark <= high]
        getattr(axes, f"set_{name}ticks")(marks, [f"{mark:g}" for mark in marks])
        getattr(axes, f"set_{name}ticks")([], minor=True)
        getattr(axes, f"set_{name}lim")(low, high)
