"""Side-by-side timing: the two candidates take turns, so that a busy machine slows both."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np


@dataclass(frozen=True)
class Row:
    """One line of the report: what was measured, the ratio, and the target it is held against (None: no target)."""

    name: str
    value: float
    target: float | None
    detail: str = ""

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        return "met" if self.value <= self.target else "missed"


def time_once(function: Callable[[], object]) -> float:
    began = perf_counter()
    function()
    return perf_counter() - began


def best_ratio(ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 15) -> tuple[float, float]:
    """Ratio of the best times of both, and their best time in seconds; one warm-up call each."""
    ours(), theirs()
    pairs = np.array([(time_once(ours), time_once(theirs)) for _ in range(repeats)])
    best = pairs.min(axis=0)
    return float(best[0] / best[1]), float(best[1])


def best_cpu_times(*functions: Callable[[], object], repeats: int = 1) -> list[float]:
    """The least processor seconds of each function; they take turns."""
    return [float(best) for best in np.min([[_cpu_once(f) for f in functions] for _ in range(repeats)], axis=0)]


def _cpu_once(function: Callable[[], object]) -> float:
    began = process_time()
    function()
    return process_time() - began


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
