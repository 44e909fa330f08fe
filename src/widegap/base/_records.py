"""What a solver returns: a point, the records of the way to it, and how the search ended."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from widegap._types import Doubles
from widegap.rows._protocols import State


@dataclass(frozen=True)
class Point:
    """Weights, labels, and the true objective F(W, b; labels)."""

    W: Doubles
    b: Doubles
    labels: State
    objective: float
    bound_active: bool = False


@dataclass(frozen=True)
class IterationRecord:
    """One iteration: a master problem, and the true objective at its solution.

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
        Time since the start of the search.
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

    def line(self) -> str:
        """The iteration as one line of the log."""
        return (
            f"start {self.start}, iteration {self.iteration}: objective {self.objective:.6g}, gap {self.gap:.2g}, "
            f"{self.cuts} cuts, {self.flips} flips, {self.passes} passes, {self.seconds:.2f} s"
        )


class StopFit(Exception):  # noqa: N818 - control flow of the callback, not an error
    """Raised inside a search when the callback asked to stop; the best point so far is kept.

    ``point`` is that point if the search does not know it yet.
    """

    def __init__(self, point: Point | None = None):
        super().__init__()
        self.point = point


def asks_to_stop(answer: object) -> bool:
    """Whether a callback returned True, Python's or NumPy's; other truthy values do not count."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


class Record(Protocol):
    """An entry of ``history_``: a dataclass with a field ``seconds``, the time since the start."""

    @property
    def seconds(self) -> float: ...


class LoggedRecord(Record, Protocol):
    """An entry that a recorder makes; it fills in ``seconds``."""

    def line(self) -> str:
        """The entry as one line of the log."""


AnyRecord = TypeVar("AnyRecord", bound=LoggedRecord)


class Recorder(Generic[AnyRecord]):
    """Collects the records of a fit, logs them and asks the callback whether to stop.

    Parameters
    ----------
    kind : type
        Dataclass of the records.
    callback : callable, optional
        Gets every record; returning True stops the fit.
    log : callable, optional
        Gets the line of every record.
    """

    def __init__(
        self,
        kind: Callable[..., AnyRecord],
        callback: Callable[[AnyRecord], object] | None = None,
        log: Callable[[str], None] | None = None,
    ):
        self.records: list[AnyRecord] = []
        self.stopped = False
        self._kind, self._callback, self._log = kind, callback, log
        self._began = perf_counter()

    def add(self, **values: Any) -> bool:
        """Record one step by the fields of its record; returns whether the callback has asked to stop."""
        record = self._kind(**values, seconds=perf_counter() - self._began)
        self.records.append(record)
        if self._log is not None:
            self._log(record.line())
        if self._callback is not None and asks_to_stop(self._callback(record)):
            self.stopped = True
        return self.stopped


class SearchRecorder(Recorder[IterationRecord]):
    """Recorder of a cutting-plane search: it counts the iterations of every start, and stops by StopFit.

    ``count_passes`` returns the reads of the data so far. ``residual`` is the largest residual of any master.
    """

    def __init__(
        self,
        count_passes: Callable[[], int],
        callback: Callable[[IterationRecord], object] | None = None,
        log: Callable[[str], None] | None = None,
    ):
        super().__init__(IterationRecord, callback, log)
        self.start = 0
        self.residual = 0.0
        self._count_passes = count_passes
        self._iteration = 0

    def begin(self, start: int) -> None:
        """Begin the next start."""
        self.start, self._iteration = start, 0

    def note_residual(self, residual: float) -> None:
        """Keep the largest distance of a master's solution from its optimality conditions."""
        self.residual = max(self.residual, residual)

    def add(self, **values: Any) -> bool:
        """Record one iteration; raises StopFit if the callback returns True."""
        iteration, self._iteration = self._iteration, self._iteration + 1
        if super().add(start=self.start, iteration=iteration, passes=self._count_passes(), **values):
            raise StopFit
        return False


@dataclass(frozen=True)
class SolverResult:
    """The best point of a search, how many iterations it took and whether it met its tolerance."""

    point: Point
    n_iter: int
    converged: bool
