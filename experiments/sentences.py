"""Figures inside the sentences of pages: a function of the stored results gives what stands between two marks.

``<!-- measured: NAME -->22.4 %<!-- end of measured -->`` is filled in its place, and the page keeps its words. A mark
at the end of a line begins a block instead, which is set apart by empty lines. A mark in a sentence must not begin its
line: Markdown would take the rest of the line for HTML.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cells import Cell
from experiments.means import GAP, grid, mean_of, number, value_of, values_of
from experiments.store import Store
from experiments.tables import EXPERIMENTS
from experiments.tables._figure import MissingError, growth, measured, series
from experiments.tables._ranking import FRONT, USUAL
from experiments.tables._table import ERROR, Row
from experiments.tables.cluster_numbers import ON_SETS, ON_SHAPES, hits
from experiments.tables.iterative import ITER_SVR, START
from experiments.tables.iterative_figures import BY_TUBE, GROWTHS
from experiments.tables.kernel_choice import BY, DEFAULT
from experiments.tables.known_topics import BUDGETS, by_name
from experiments.tables.mkc import BY_NUMBER
from experiments.tables.panel import MOVES
from experiments.tables.universum import GAIN, PERCENT_NMI

MARK = re.compile(r"(<!-- (measured|timed): (\w+) -->)(\n?).*?(<!-- end of \2 -->)", re.DOTALL)
HINGE, ABSOLUTE, WIDE = BY_TUBE["IterSVM"], BY_TUBE["IterSVR, epsilon = 0"], BY_TUBE["IterSVR, epsilon = 0.5"]
TWICE = 2.0  # the margin, in units of y f


def filled(page: str, kind: str, functions: Mapping[str, Callable[[Any], str]], source: Any) -> str:
    """The page with all its marks of a kind ("measured", "timed") filled, whether in a sentence or around a block."""

    def fill(found: re.Match[str]) -> str:
        begin, of, name, line, end = found.groups()
        if of != kind:
            return found[0]
        text = functions[name](source)
        return f"{begin}\n\n{text}\n\n{end}" if line else f"{begin}{text}{end}"

    return MARK.sub(fill, page)


def pages(docs: Path) -> tuple[Path, ...]:
    """Every page with marks that is not a page of the results: README and all below docs."""
    found = (path for path in docs.rglob("*.md") if docs / "results" not in path.parents)
    return tuple(path for path in (docs.parent / "README.md", *sorted(found)) if MARK.search(path.read_text("utf-8")))


def _or_gap(figure: Callable[[Store], str]) -> Callable[[Store], str]:
    """A figure, or a dash where its cells were not measured."""

    def shown(store: Store) -> str:
        try:
            return figure(store)
        except MissingError:
            return GAP

    return shown


def _percent(value: float, digits: int = 0) -> str:
    return f"{number(value, digits)} %"


def pair_1_8(title: str, store: Store) -> float:
    """Accuracy of a method on the digits 1 and 8."""
    return value_of("pairs", title, "digits 1-8", store)


def _pair_1_8(store: Store) -> str:
    linear, usual, ours, moves = (_percent(pair_1_8(title, store)) for title in ("CPM3C", USUAL, FRONT, MOVES.title))
    return f'CPM3C finds {linear}, k-means {usual}, `{FRONT}` {ours} and its `search="moves"` {moves}'


def turns(cell: Cell, store: Store) -> list[float]:
    """Errors of the start and after every turn."""
    return list(measured(store, cell).extra[0]["errors"])


def beyond(cell: Cell, store: Store) -> float:
    """Rows beyond twice the margin after the last turn, in %."""
    noted = measured(store, cell).extra[0]
    edges, counts = np.array(noted["margins"]), np.array(noted["counts"])
    return float(100 * counts[(edges[:-1] + edges[1:]) / 2 > TWICE].sum() / counts.sum())


def _from_to(store: Store) -> str:
    errors = turns(HINGE, store)
    return f"from an error of {errors[0]:.1f} % to {errors[-1]:.1f} % in {len(errors) - 1} iterations"


def _ends(store: Store) -> str:
    errors = turns(ABSOLUTE, store)
    return f"to {errors[-1]:.1f} % in {len(errors) - 1}"


def pair_errors(start: str, store: Store) -> tuple[float, float]:
    """Mean and worst error of IterSVR over the 45 pairs of UCI digits, with its own starts or one of the paper's."""
    table, label = EXPERIMENTS["iterative-slides-pairs"], "UCI"
    column: Any = ITER_SVR
    if start != "auto":
        table, label = EXPERIMENTS["iterative-table2"], start
        column = next(one for one in table.columns if getattr(one, "method", "") == START)
    row = next(row for row in table.rows if row.label == label)
    errors = [column.mean(part, ERROR, store) for part in row.parts()]
    return float(np.mean(errors)), float(np.max(errors))


def _pair_errors(start: str, words: str, store: Store) -> str:
    mean, worst = pair_errors(start, store)
    return words.format(f"{number(mean)} %", _percent(worst))


def objective_of_classes(label: str, store: Store) -> float:
    """By how much the objective of the classes exceeds that of the labels found by IterSVR at sigma = 4 D, in %."""
    row = next(row for row in EXPERIMENTS["iterative-table4-tuned"].rows if row.label == label)
    own = row.own.get("IterSVR by width", {})
    cell = Cell.of(row.data[0], "IterSVR by width", 2, width=4.0, **own)
    ends = measured(store, cell).extra
    classes, found = (float(np.mean([end[name] for end in ends])) for name in ("of_classes", "objective"))
    return 100 * (classes / found - 1)


def _objectives(store: Store) -> str:
    return " and ".join(_percent(objective_of_classes(label, store)) for label in ("ionosphere", "image"))


def _gmmc_times(store: Store) -> str:
    sizes = GROWTHS["GMMC"].by_size()
    least, *_, most = sizes
    first, last = (number(min(measured(store, sizes[rows]).seconds)) for rows in (least, most))
    return f"{first} s for {least} rows of adult and {last} s for {most}"


def _kernel_growths(store: Store) -> str:
    found = [growth(*series(store, cells)) for cells in BY_NUMBER.values()]
    return f"{min(found):.2f} and {max(found):.2f}"


def kernel_choice(store: Store) -> tuple[float, float]:
    """What the criterion that half A prefers gains on half B over the default kernels, and its standard error."""
    table = EXPERIMENTS["mkc-choice"]
    halves = {name: np.array([row.label.endswith(f"({name})") for row in table.rows]) for name in "AB"}
    gains = [table.means(column, store) - table.means(DEFAULT, store) for column in BY]
    best = max(gains, key=lambda gain: gain[halves["A"]].mean())[halves["B"]]
    return float(best.mean()), float(np.std(best, ddof=1) / np.sqrt(len(best)))


def _kernel_choice(store: Store) -> str:
    gain, error = kernel_choice(store)
    return f"{gain:+.1f} points on the other half (standard error {error:.1f})"


def _ionosphere(store: Store) -> str:
    ours = value_of("mkc-table2", "MKC", "ionosphere", store)
    theirs = EXPERIMENTS["mkc-table2"].column("MKC, paper's").figures["ionosphere"]
    return f"{number(ours)} %, the paper's {float(theirs):.1f} %"


def ratio_from_classes(store: Store) -> float:
    """The objective on ionosphere that MKC reaches from the classes, over the one it finds."""
    found = measured(store, Cell.of("ionosphere", "MKC from classes", 1)).extra
    return float(np.mean([end["from_classes"] / end["found"] for end in found]))


def lost_classes(store: Store) -> tuple[int, int]:
    """Runs of CPM3C as published that lose a class, and all on more than two; its bound on sizes keeps all classes."""
    table, lost, total = EXPERIMENTS["cpm3c-table2"], 0, 0
    ours, published = table.column("CPM3C"), table.column("CPM3C as published")
    for part in (part for row in table.rows for part in row.parts()):
        classes = max((max(found.scores["clusters"]) for found in store.ok(ours.cells(part))), default=0)
        runs = [n for found in store.ok(published.cells(part)) for n in found.scores["clusters"]]
        if classes > 2:
            lost, total = lost + sum(n < classes for n in runs), total + len(runs)
    return lost, total


def _lost_classes(store: Store) -> str:
    lost, total = lost_classes(store)
    return f"{lost} of {total} runs"


def _spherical(store: Store) -> str:
    ours, theirs = (mean_of("documents", title, store) for title in ("spherical k-means", USUAL))
    return f"{number(ours)} %, and scikit-learn's `KMeans` {number(theirs)} %"


def universum_cost(store: Store) -> float:
    """The most mutual information that the paper's universum costs at full weight, in points."""
    column = GAIN.column("select 10 %, 1")
    return float(-np.nanmin([column.mean(row, PERCENT_NMI, store) for row in GAIN.rows]))


def one_class(store: Store) -> tuple[int, int]:
    """Shuffled mixed tables for which "auto" finds one class, and all."""
    table = EXPERIMENTS["mixed-numbers"]
    rows: list[Row] = [row for row in table.rows if row.label.endswith(" shuffled")]
    cells = [cell for row in rows for cell in table.column("auto").cells(row)]
    found = [end["number"] == 1 for record in store.ok(cells) for end in record.extra[:1]]
    return sum(found), len(rows)


def _one_class(store: Store) -> str:
    return "{} of {}".format(*one_class(store))


def right_shapes(kind: str, store: Store) -> tuple[int, int]:
    """Drawn shapes of a kind for which "auto" finds the number, and all of the kind."""
    row = next(row for row in ON_SHAPES.rows if row.label == kind)
    share = value_of(ON_SHAPES.name, "auto", kind, store) / 100
    return (0, 0) if np.isnan(share) else (round(share * len(row.data)), len(row.data))


def _right_shapes(kind: str, store: Store) -> str:
    return "{} of {}".format(*right_shapes(kind, store))


def _number_of(label: str, store: Store) -> str:
    return number(value_of(ON_SETS.name, "auto", label, store), 0)


def most_hits(store: Store) -> tuple[int, int]:
    """How often the best way to find a number is right on all sets with classes, and how many these are."""
    found = hits(ON_SETS, store)
    found.pop("most stable", None)  # ran on the small sets alone
    return max(found.values(), default=(0, 0))


def _most_hits(store: Store) -> str:
    return "{} of the {} sets".format(*most_hits(store))


def _changed(store: Store) -> str:
    title = "equal labels, in %"
    changed = 100 - values_of("predicted-again", title, store)
    digits = 100 - value_of("predicted-again", title, "digits", store)
    return (
        f"{number(digits)} % of the rows on digits, {number(np.nanmean(changed))} % in the mean of "
        f"{np.isfinite(changed).sum()} dense sets and at most {number(np.nanmax(changed))} %"
    )


def _known_topics(store: Store) -> str:
    heads = ["none known", *(f"{budget} per class" for budget in BUDGETS)]
    lines = {label: dict(zip(heads, line, strict=True)) for label, line in by_name(store).items()}
    return f"Accuracy of the other documents in %:\n\n{grid(lines)}"


SENTENCES: dict[str, Callable[[Store], str]] = {
    "digits_1_8": _pair_1_8,
    "beyond_hinge": _or_gap(lambda store: _percent(beyond(HINGE, store))),
    "beyond_absolute": _or_gap(lambda store: _percent(beyond(ABSOLUTE, store))),
    "turns_hinge": _or_gap(_from_to),
    "turns_absolute": _or_gap(_ends),
    "wide_tube": _or_gap(lambda store: f"{turns(WIDE, store)[-1]:.1f} %"),
    "narrow_tube": _or_gap(lambda store: f"{turns(ABSOLUTE, store)[-1]:.1f} %"),
    "pairs_own_starts": lambda store: _pair_errors("auto", "{} in the mean and {} at worst", store),
    "pairs_paper_start": lambda store: _pair_errors("KM + iterSVR", "{} and {}", store),
    "objective_of_classes": _or_gap(_objectives),
    "gmmc_times": _or_gap(_gmmc_times),
    "gmmc_8_9": lambda store: f"{number(value_of('iterative-table4', 'GMMC here', 'optdigits 8-9', store))} %",
    "itersvr_8_9": lambda store: f"{number(value_of('iterative-table4', 'IterSVR', 'optdigits 8-9', store))} %",
    "kernel_growths": _or_gap(_kernel_growths),
    "kernel_choice": _kernel_choice,
    "mkc_ionosphere": _ionosphere,
    "mkc_ionosphere_classes": _or_gap(lambda store: f"{ratio_from_classes(store):.1f} times"),
    "lost_classes": _lost_classes,
    "spherical": _spherical,
    "universum_cost": lambda store: f"{universum_cost(store):.0f} points",
    "one_class": _one_class,
    "numbers_touching": lambda store: _right_shapes("touching", store),
    "numbers_arcs": lambda store: _right_shapes("arc", store),
    "number_of_letters": lambda store: _number_of("letter", store),
    "most_hits": _most_hits,
    "predict_changes": _changed,
    "known_topics": _known_topics,
}
