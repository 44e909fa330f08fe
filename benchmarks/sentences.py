"""Figures of time and memory inside the sentences of pages, from ``results.md`` and ``scale.json``: none is typed.

``<!-- timed: NAME -->0.7 s<!-- end of timed -->`` is filled in its place, as ``experiments/sentences.py`` fills figures
of the experiments.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scale import POINTS
from benchmarks.scale_plots import predicted, predicted_cluster
from experiments.sentences import filled, pages

ROOT = Path(__file__).parent.parent
PAGES = pages(ROOT / "docs")
MILLION, TEN_MILLION = 1_000_000, 10_000_000
OUT_OF_CORE = "exponent in rows, 1M to 10M x 20 from a file, within 1.5 GB, {}"
ON_DASK = "fit, {} x 50 float32 on 2 workers of Dask, against memory"
PASS = "one pass, MNIST float32, k = {}, {} thread(s), against X.sum()"

MASTER = "master: 60 cuts, 3 kernels of 300 features, 5 classes, against Clarabel"
NEIGHBOURS = "30 neighbours of MNIST, 10000 rows, all pairs against pynndescent"
REFIT = "refit of {} with 3 labels of each class, against the fit"


@dataclass(frozen=True)
class Speed:
    """What the benchmarks measured: ratio and detail of every row of the page, and the points of the scale suite."""

    rows: dict[str, tuple[float, str]]
    scale: dict[str, Any]

    @classmethod
    def stored(cls) -> "Speed":
        page = Path(__file__).with_name("results.md").read_text(encoding="utf-8")
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
        measured = [line for line in lines if len(line) == 5 and re.fullmatch(r"-?[0-9.]+", line[1])]
        rows = {name: (float(ratio), rest[-1]) for name, ratio, *rest in measured}
        return cls(rows, json.loads(POINTS.read_text(encoding="utf-8")))

    def ratio(self, name: str) -> float:
        return self.rows[name][0]

    def figure(self, name: str, pattern: str) -> float:
        """A figure in the detail of a row."""
        found = re.search(pattern, self.rows[name][1])
        if found is None:
            raise KeyError(f"The row {name!r} of the benchmarks has no {pattern!r} in its detail.")
        return float(found[1])

    def ratios(self, begin: str) -> list[float]:
        """Of all rows whose names begin so."""
        found = [ratio for name, (ratio, _) in self.rows.items() if name.startswith(begin)]
        if not found:
            raise KeyError(f"The page of benchmarks has no row that begins with {begin!r}.")
        return found

    def out_of_core(self, name: str, rows: int) -> dict[str, float]:
        return next(point for point in self.scale["out of core"][name] if point["size"] == rows)


def with_figures(text: str, speed: Speed) -> str:
    """A page with its marks of times filled."""
    return filled(text, "timed", FIGURES, speed)


def _seconds(name: str, rows: int) -> Callable[[Speed], str]:
    return lambda speed: f"{speed.out_of_core(name, rows)['seconds']:.1f} s"


def _passes(rows: int) -> Callable[[Speed], str]:
    def told(speed: Speed) -> str:
        point = speed.out_of_core("CPM3C", rows)
        return f"{point['seconds']:.1f} s of CPU time in {point['passes']:.0f} passes"

    return told


def _threads(speed: Speed) -> str:
    ten, two = (speed.ratio(PASS.format(k, 2)) / speed.ratio(PASS.format(k, 1)) for k in (10, 2))
    return f"{ten:.2f} times as long with 10 clusters and {two:.2f} times with 2"


def dask_ratios(speed: Speed) -> tuple[float, float]:
    """A fit on two workers in units of one on two threads, for one and for five million rows."""
    return speed.ratio(ON_DASK.format("1,000,000")), speed.ratio(ON_DASK.format("5,000,000"))


def _dask(speed: Speed) -> str:
    one, five = dask_ratios(speed)
    return f"{one:.1f} times as long for a million rows of 50 columns and {five:.1f} times for five million"


def _dask_pass(speed: Speed) -> str:
    """What a pass on Dask takes besides the arithmetic, of the fit in which it matters."""
    name = ON_DASK.format("1,000,000")
    seconds, passes = speed.figure(name, r"in memory ([\d.]+) s"), speed.figure(name, r"(\d+) and \d+ passes")
    return f"{(speed.ratio(name) - 1) * seconds / passes:.2f} s"


def _model(speed: Speed) -> str:
    """By how much the cost model is off."""
    constants = speed.scale["model"]["constants"]
    points = [*speed.scale["growth"]["rows"], speed.out_of_core("CPM3C", TEN_MILLION)]
    shares = [predicted(constants, point["size"], point["passes"]) / point["seconds"] for point in points]
    return f"{min(shares):.2f} to {max(shares):.2f} times"


def _constants(speed: Speed) -> str:
    found = speed.scale["model"]["constants"]
    return (
        f"start {found['start']:.2f} s, {1000 * found['pass']:.2f} ms per pass, {MILLION * found['row']:.2f} s for a "
        "million rows on one thread"
    )


def _bandwidth(speed: Speed) -> str:
    return f"{speed.scale['model']['constants']['wide_bytes_a_second'] / 1e9:.1f} GB"


def _cluster(speed: Speed) -> str:
    constants = speed.scale["model"]["constants"]
    one, twenty, forty = (predicted_cluster(constants, passes) for passes in (1, 20, 40))
    return f"{one:.1f} s per pass: {twenty / 60:.1f} minutes for 20 passes, {forty / 60:.1f} for 40"


def _range(numbers: list[float], unit: str, digits: int) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f} {unit}"


def _first_predictions(speed: Speed) -> str:
    found = [detail for name, (_, detail) in speed.rows.items() if name.startswith("seconds, first predict")]
    return f"{max(int(detail.split()[0]) for detail in found)} ms at most"


def _refits(speed: Speed) -> str:
    return _range([100 * speed.ratio(REFIT.format(name)) for name in ("optdigits", "satimage")], "%", 0)


def _numbers(speed: Speed) -> str:
    small, large, real = (
        speed.ratio(f"n_clusters='auto' against the number it finds, {of}")
        for of in ("2000 x 10", "4000 x 10", "satimage")
    )
    return f"{small:.1f} at 2000 rows of 10 columns, {large:.1f} at 4000, and {real:.1f} on satimage"


def _sparse_predictions(speed: Speed) -> str:
    return f"{max(speed.ratios('rows that predict moves, cora')):.0f} %"


def _kernel_master(speed: Speed) -> str:
    theirs, ours = speed.figure(MASTER, r"Clarabel ([0-9.]+) ms"), speed.figure(MASTER, r"ours ([0-9.]+) ms")
    return f"{ours:.0f} ms, and a general cone solver {theirs:.0f} ms"


def _neighbours(speed: Speed) -> str:
    return f"{speed.figure(NEIGHBOURS, r'^([0-9.]+) s'):.1f} s"


FIGURES: dict[str, Callable[[Speed], str]] = {
    "a_million": _seconds("CPM3C", MILLION),
    "ten_million": _seconds("CPM3C", TEN_MILLION),
    "passes_of_a_million": _passes(MILLION),
    "passes_of_ten_million": _passes(TEN_MILLION),
    "default_a_million": _seconds("MaxMarginClustering", MILLION),
    "default_ten_million": _seconds("MaxMarginClustering", TEN_MILLION),
    "default_memory": lambda speed: f"{speed.ratio('peak memory of that fit against X itself'):.2f} times",
    "threads": _threads,
    "dask": _dask,
    "dask_pass": _dask_pass,
    "model": _model,
    "constants": _constants,
    "bandwidth": _bandwidth,
    "cluster": _cluster,
    "imports": lambda speed: _range(speed.ratios("processor seconds, from widegap import"), "s", 2),
    "first_predictions": _first_predictions,
    "refits": _refits,
    "numbers": _numbers,
    "sparse_predictions": _sparse_predictions,
    "pass_of_ten": lambda speed: f"{speed.ratio(PASS.format(10, 1)):.1f} times",
    "neighbours": _neighbours,
    "kernel_master": _kernel_master,
}
