"""What a solver hands back: a point, how it got there, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
LabelArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Point:
    """Weights, the labels they were judged with, and the true objective F(W, b; labels)."""

    W: FloatArray
    b: FloatArray
    labels: LabelArray
    objective: float
    bound_active: bool = False


@dataclass(frozen=True)
class IterationRecord:
    """One iteration, that is one master problem and one judgement of its answer.

    Attributes
    ----------
    start, iteration : int
        Which start of several, and the iteration within it, from 0.
    objective, gap : float
        True objective at the new weights, and its distance to the master's lower bound for the current labels.
    cuts, passes, flips : int
        Planes in the master, reads of the data so far, rows whose label changed in this iteration.
    beta : float
        Weight of the regulariser, in rescaled units; changes only while annealing.
    seconds : float
        Since the start of the search.
    """

    start: int
    iteration: int
    objective: float
    gap: float
    cuts: int
    passes: int
    flips: int
    beta: float
    seconds: float


class StopFit(Exception):  # noqa: N818 - control flow of the callback, not an error
    """Raised inside a search when the callback asked to stop; the best point so far is kept.

    ``point`` is that point if the search does not know it yet.
    """

    def __init__(self, point: Point | None = None):
        super().__init__()
        self.point = point


def asks_to_stop(answer: Any) -> bool:
    """Whether a callback's answer is True; NumPy's counts too, anything that is merely truthy does not."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


@dataclass
class Recorder:
    """Collects records, tells the callback, and stops the search when it says so.

    ``callback(record)`` returning True stops. ``count_passes`` reports the reads of the data so far. ``residual`` is
    the worst that any master was left with.
    """

    count_passes: Callable[[], int]
    callback: Callable[[IterationRecord], Any] | None = None
    log: Callable[[IterationRecord], None] | None = None
    start: int = 0
    stopped: bool = False
    residual: float = 0.0
    records: list[IterationRecord] = field(default_factory=list)
    _began: float = field(default_factory=perf_counter)
    _iteration: int = 0

    def begin(self, start: int) -> None:
        """Announce the next start."""
        self.start, self._iteration = start, 0

    def note_residual(self, residual: float) -> None:
        """Remember how far a master's answer is from its optimality conditions."""
        self.residual = max(self.residual, residual)

    def add(self, *, objective: float, gap: float, cuts: int, flips: int, beta: float) -> None:
        """Record one iteration; raises StopFit if the callback returns True."""
        record = IterationRecord(
            start=self.start,
            iteration=self._iteration,
            objective=objective,
            gap=gap,
            cuts=cuts,
            passes=self.count_passes(),
            flips=flips,
            beta=beta,
            seconds=perf_counter() - self._began,
        )
        self._iteration += 1
        self.records.append(record)
        if self.log is not None:
            self.log(record)
        if self.callback is not None and asks_to_stop(self.callback(record)):
            self.stopped = True
            raise StopFit


@dataclass(frozen=True)
class Result:
    """The best point of a search, how many iterations it took and whether it met its tolerance."""

    point: Point
    n_iter: int
    converged: bool
