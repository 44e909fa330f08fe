"""A figure of the page: cells, and a function that draws them; its bytes depend on the results (and matplotlib)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
SEEDS = 3
Lines = Mapping[str, Mapping[Any, Cell]]  # cells by label and abscissa
Curves = Mapping[str, tuple[Any, Any]]  # abscissae and values by label
STEPS = ((4.0, (1, 1.5, 2, 3, 4, 5, 7)), (30.0, (1, 2, 5)), (np.inf, (1,)))  # ratio of an axis' ends: marks a decade


NEAR, DOT = 8.0, 5.0  # points between a dot and its name without a line, and half the pixels that a dot takes
OFFSETS = [  # of names, the nearest first: above, below, right, left, and between these
    (distance * x, distance * y)
    for distance in (6.0, 12.0, 18.0, 26.0, 36.0, 48.0, 60.0)
    for x, y in ((0, 1), (0, -1), (1, 0), (-1, 0), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))
]


class MissingError(Exception):
    """Cells of a figure that the results file has not."""


@dataclass(frozen=True)
class Figure:
    """``draw(figure, store)`` fills a matplotlib figure and returns what it shows in words, from measured values.

    It may raise ``MissingError`` where cells were not measured. Cells may be nested in mappings and sequences.
    """

    name: str
    all_cells: Any
    draw: Callable[[Any, Store], str]
    size: tuple[float, float] = (7.0, 3.2)

    @property
    def title(self) -> str:
        return notes()[self.name][0]

    def cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        if rows is not None:
            raise SystemExit(f"{self.name} is a figure and has no rows: leave out --rows, or name tables only")
        return list(dict.fromkeys(_flat(self.all_cells)))

    def quick_cells(self, rows: Iterable[str] | None = None) -> list[Cell]:
        """One seed of the first cell."""
        return [replace(self.cells(rows)[0], seeds=1)]

    def section(self, store: Store, folder: Path) -> str:
        """Markdown with the picture, which is written to the folder."""
        import matplotlib
        from cycler import cycler

        matplotlib.use("svg")
        from matplotlib.figure import Figure as Canvas

        title, note = notes()[self.name]
        head, picture = f"### {title}\n\n`{self.name}`:", f"{self.name}.svg"
        with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
            canvas = Canvas(figsize=self.size)
            try:
                caption = self.draw(canvas, store)
            except MissingError as missing:
                return f"{head} not run: {missing}\n"
            canvas.savefig(folder / picture, format="svg", metadata={"Date": None})
        return f"{head} {note}\n\n![{title}]({picture})\n\n{caption}\n"


def _flat(cells: Any) -> Iterator[Cell]:
    if isinstance(cells, Cell):
        yield cells
    else:
        for part in cells.values() if isinstance(cells, Mapping) else cells:
            yield from _flat(part)


def by_size(sets: Mapping[str, tuple[str, Sequence[int]]], method: str, **settings: Any) -> Lines:
    """Cells on random subsets of several sizes, by the label of a data set."""
    return {
        label: {size: Cell.of(f"{data}@{size}", method, SEEDS, **settings) for size in sizes}
        for label, (data, sizes) in sets.items()
    }


def by_setting(sets: Mapping[str, str], method: str, name: str, values: Sequence[Any]) -> Lines:
    """Cells under several values of a setting, by the label of a data set."""
    return {
        label: {value: Cell.of(data, method, SEEDS, **{name: value}) for value in values}
        for label, data in sets.items()
    }


def measured(store: Store, cell: Cell) -> Any:
    if found := store.ok([cell]):
        return found[0]
    record = store.records.get(cell)
    raise MissingError(f"{cell.method} on {cell.data}{f': {record.reason}' if record else ''}")


def least_seconds(record: Record) -> float:
    """CPU seconds of the fastest seed: the others may hold what a process does only once."""
    return min(record.seconds)


def score_of(name: str) -> Callable[[Record], float]:
    return lambda record: float(np.mean(record.scores[name]))


def series(
    store: Store, cells: Mapping[Any, Cell], value: Callable[[Record], float] = least_seconds
) -> tuple[Any, Any]:
    """Abscissae and values of the cells that were measured; ``MissingError`` if none was."""
    found = [(at, value(record)) for at, cell in cells.items() for record in store.ok([cell])]
    if not found:
        measured(store, [*cells.values()][-1])
    return tuple(np.array(found, dtype=float).T)


def growth(at: Any, values: Any) -> float:
    """The exponent d of the power law at^d that fits best, a line in a log-log plot."""
    return float(np.polyfit(np.log(at), np.log(values), 1)[0]) if len(at) > 1 else float("nan")


def draw(axes: Any, at: Any, values: Any, place: int, label: str = "") -> None:
    """A curve with a mark of its own: colours alone are hard to tell apart."""
    axes.plot(at, values, f"{MARKERS[place]}-", color=f"C{place}", markersize=4, linewidth=1.2, label=label)


def curves(
    axes: Any, store: Store, lines: Lines, value: Callable[[Record], float] = least_seconds, symbol: str = ""
) -> Curves:
    """Draw a curve for every line, by default of time.

    With a symbol labels tell the fitted growth, "Letter, n^0.9"; n is followed by a dotted line of linear growth.
    """
    found = {}
    for place, (label, cells) in enumerate(lines.items()):
        at, values = found[label] = series(store, cells, value)
        draw(axes, at, values, place, f"{label}, {symbol}^{growth(at, values):.2f}" if symbol else label)
    if symbol == "n":
        axes.plot(at, 2 * values[-1] * (at / at[-1]), ":", color="#555555", linewidth=1, label="linear")
    return found


def name_points(axes: Any, names: Sequence[str], at: Any, styles: Sequence[Mapping[str, Any]]) -> None:
    """Names near points, where they hide neither a point nor another name; a line leads to those that lie farther off.

    The first name has the first choice. Limits and scales of the axes must be set before.
    """
    from matplotlib.transforms import Bbox

    axes.figure.draw_without_rendering()  # places the axes
    room = axes.get_window_extent()
    taken = [Bbox.from_bounds(x - DOT, y - DOT, 2 * DOT, 2 * DOT) for x, y in axes.transData.transform(at)]
    for name, point, style in zip(names, at, styles, strict=True):
        for offset in OFFSETS:
            x, y = (int(np.sign(part)) for part in offset)
            sides = {"ha": ("center", "left", "right")[x], "va": ("center", "bottom", "top")[y]}
            label = axes.annotate(name, point, offset, textcoords="offset points", **sides, **style)
            label.set_in_layout(False)  # or the axes would move again
            box = label.get_window_extent()
            inside = room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1
            if (inside and not box.count_overlaps(taken)) or offset == OFFSETS[-1]:
                break
            label.remove()
        taken.append(box)
        if max(map(abs, offset)) > NEAR:
            line = {"arrowstyle": "-", "color": style["color"], "lw": 0.5, "shrinkA": 0, "shrinkB": 3}
            axes.annotate("", point, offset, textcoords="offset points", arrowprops=line).set_in_layout(False)


def growths(found: Curves, symbol: str) -> str:
    """From the least to the largest growth of some curves."""
    exponents = [growth(*curve) for curve in found.values()]
    return f"{symbol}^{min(exponents):.2f} to {symbol}^{max(exponents):.2f}"


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
