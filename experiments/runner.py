"""Measuring cells: worker processes of one thread each, a time limit per cell, and every answer stored at once."""

import ctypes
import gc
import multiprocessing
import os
import platform
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from experiments import versions
from experiments.cells import METHODS, ORDERS, TASKS, Cell, Outcome, RefusedError, Task, code_version, missing_packages
from experiments.store import OUT_OF_TIME, Record, Store

TIME_LIMIT = 600.0
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
DRAWN_WITH = 0  # seed of "@n" subsets
ORDERED_WITH = 20  # begins the seeds of row orders, so that no method draws the same numbers with its own seed
GUESS = 5.0  # seconds of a cell that was never measured
OVERHEAD = 0.1  # seconds of any cell: data, scores, storing
ALSO_TIMED = 1.0  # seconds; a shorter k-means is run three times and the least time taken
WARM_ROWS = 100


def load(name: str) -> Task:
    """The data set of a name: "digits/3-8", "letter/A-B@500" for 500 rows, "digits/3-8@50each" for 50 a class.

    "letter/A-B#orders" has the file's own order here; ``measure`` changes it from run to run.
    """
    whole, _, size = name.removesuffix(ORDERS).partition("@")
    loader, _, rest = whole.partition("/")
    found = TASKS[loader](rest)
    return _taken(found, drawn_rows(found.y, size)) if size else found


def _taken(problem: Task, rows: Any) -> Task:
    """Some rows of a data set, or all in another order; texts are left out."""
    parts = {"X": problem.X, "y": problem.y, "counts": problem.counts, "scored": problem.scored}
    taken = {name: part if part is None else part[rows] for name, part in parts.items()}
    frame = None if problem.frame is None else problem.frame.iloc[rows]
    return replace(problem, **taken, documents=None, frame=frame)


def drawn_rows(y: Any, size: str) -> Any:
    """Rows of a subset; all methods and seeds get the same."""
    rng = np.random.default_rng(DRAWN_WITH)
    if not size.endswith("each"):
        return np.sort(rng.choice(len(y), int(size), replace=False))
    each = int(size.removesuffix("each"))
    return np.sort(np.concatenate([rng.choice(np.flatnonzero(y == c), each, replace=False) for c in np.unique(y)]))


def row_order(n_rows: int, run: int) -> Any:
    """The order of the rows in a run: the file's own in the first, then random ones, the same for all methods."""
    return np.random.default_rng([ORDERED_WITH, run]).permutation(n_rows) if run else np.arange(n_rows)


def measure(cell: Cell) -> Record:
    """Run a cell here and now.

    A method without a seed runs once, or once for every order of the rows. What a process does only once, such as
    compiling, is done on a few rows before.
    """
    chosen, code, reordered = METHODS[cell.method], code_version(cell), cell.data.endswith(ORDERS)
    seeds = cell.seeds if chosen.seeded or reordered else 1
    scores: dict[str, list[float]] = {}
    seconds, megabytes, extra = [], [], []
    try:
        whole = _cached_load(cell.data)
        _warm(cell, whole)
        _settle(cell.data)
        for seed in range(seeds):
            problem = _taken(whole, row_order(len(whole.y), seed)) if reordered else whole
            held, before = _memory(forget=True), time.process_time()
            outcome = chosen.run(problem, seed, **dict(cell.settings))
            seconds.append(round(time.process_time() - before, 4))
            megabytes.append(_memory() - held)
            outcome = outcome if isinstance(outcome, Outcome) else Outcome(outcome)
            for name, value in _scores(problem, outcome.labels).items():
                scores.setdefault(name, []).append(value)
            extra.append(outcome.extra)
        unit = round(_kmeans_seconds(cell.data), 5)
    except RefusedError as refusal:
        return Record(cell, code, "refused", str(refusal))
    except Exception as error:
        traceback.print_exc()
        return Record(cell, code, "failed", f"{type(error).__name__}: {error}"[:200])
    return Record(cell, code, "ok", "", scores, seconds, unit, extra, max(1, round(min(megabytes))))


_warmed: set[tuple[str, type]] = set()


def _warm(cell: Cell, whole: Task) -> None:
    """Run a method that comes with packages of its own on a few rows, the first time that this process meets it."""
    kind = cell.method, type(whole.X)  # sparse rows have compiled code of their own
    if kind in _warmed or not versions.compiling(METHODS[cell.method].run):
        return
    _warmed.add(kind)
    rows = np.arange(min(WARM_ROWS, len(whole.y)))
    few = replace(_taken(whole, rows), n_clusters=2)
    with suppress(Exception):  # too few rows for a method say nothing about all of them
        METHODS[cell.method].run(few, 0, **dict(cell.settings))


@lru_cache(maxsize=1)
def _settle(data: str) -> None:
    """With new data, free what is left of earlier ones, and spare the collector what stays; it runs for every seed."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _memory(*, forget: bool = False) -> float:
    """The most memory that this process held, in MB, and with ``forget`` from now on; 0 where /proc is missing.

    What earlier cells gave back is returned to the system first, so that no cell takes it for nothing.
    """
    try:
        if forget:
            gc.collect()
            with suppress(OSError, AttributeError):  # a C library that is not glibc
                ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _scores(problem: Task, labels: Any) -> dict[str, float]:
    """The judge's scores of one labeling, and those that come with the data set."""
    from experiments.judge import judge

    y, labels = problem.y, np.asarray(labels)
    if problem.scored is not None:
        y, labels = y[problem.scored], labels[problem.scored]
    return judge(y, labels) | (problem.further(y, labels) if problem.further else {})


@lru_cache(maxsize=2)
def _cached_load(name: str) -> Task:
    return load(name)


@lru_cache(maxsize=64)
def _kmeans_seconds(name: str) -> float:
    """CPU time of one k-means on the rows: what times are compared with."""
    from sklearn.cluster import KMeans

    problem, least = _cached_load(name), float("inf")
    for _ in range(3):
        before = time.process_time()
        KMeans(problem.n_clusters, n_init=1, random_state=0).fit(problem.X)
        least = min(least, time.process_time() - before)
        if least > ALSO_TIMED:
            break
    return least


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends its workers itself
    import experiments.catalogue  # noqa: F401  (registers data sets and methods)

    warnings.simplefilter("ignore")  # convergence and starvation warnings of thousands of runs
    try:
        while True:
            connection.send(measure(connection.recv()))
    except (EOFError, BrokenPipeError):  # the run was ended
        return


class Worker:
    """A process that measures one cell after the other, and can be ended in the middle of one."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        self.cell: Cell | None = None
        self.began = 0.0

    def begin(self, cell: Cell) -> None:
        self.cell, self.began = cell, self.seconds()
        self.connection.send(cell)

    def seconds(self) -> float:
        """CPU time of the process, so that a busy machine ends nothing early; the clock's where /proc is missing."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def pending(cells: Iterable[Cell], store: Store, *, retry: bool = False) -> list[Cell]:
    """Cells that the store has not, or has from other code; ``retry`` adds those that failed or ran out of time.

    What needs a package that is not installed here keeps the result it has. All methods of a data set come by turns,
    and data sets that took less time the last time come first.
    """
    found = []
    for cell in dict.fromkeys(cells):
        record = store.records.get(cell)
        done = record is not None and (record.code == code_version(cell) or bool(missing_packages(cell)))
        if not done or (retry and record is not None and record.status in ("failed", OUT_OF_TIME)):
            found.append(cell)
    costs: dict[str, float] = {}
    for cell in found:
        costs[cell.data] = costs.get(cell.data, 0.0) + expected_seconds(cell, store)
    return sorted(found, key=lambda cell: (costs[cell.data], cell.data, cell.method, str(cell.settings)))


def expected_seconds(cell: Cell, store: Store) -> float:
    """CPU time of a cell the last time; a guess if there was none."""
    record = store.records.get(cell)
    return sum(record.seconds) if record is not None and record.seconds else GUESS


def run(cells: list[Cell], store: Store, *, jobs: int = 2, limit: float = TIME_LIMIT) -> None:
    """Measure cells on several processes; Ctrl-C or a kill loses only the cells at work."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    costs = {cell: expected_seconds(cell, store) + OVERHEAD for cell in cells}
    queue, left, began = list(reversed(cells)), sum(costs.values()), time.monotonic()
    whole = left
    workers = [Worker() for _ in range(min(jobs, len(cells)))]
    try:
        while queue or any(worker.cell for worker in workers):
            for worker in workers:
                if worker.cell is None and queue:
                    worker.begin(queue.pop())
            busy = [worker for worker in workers if worker.cell]
            wait([worker.connection for worker in busy], timeout=1.0)
            for worker in busy:
                record = _answer(worker, limit)
                if record is None:
                    continue
                store.add(record)
                if not worker.process.is_alive():
                    workers[workers.index(worker)] = Worker()
                worker.cell = None
                left -= costs[record.cell]
                n_left = len(queue) + sum(w.cell is not None for w in workers)
                minutes = (time.monotonic() - began) / 60 * left / (whole - left)
                print(f"[{n_left} left, {minutes:.0f} min] {_told(record)}", file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.end()


def _answer(worker: Worker, limit: float) -> Record | None:
    """What a worker has to say by now: a record, nothing yet, or that it ran out of time or died."""
    assert worker.cell is not None
    try:
        if worker.connection.poll():
            return worker.connection.recv()
    except (EOFError, OSError):
        worker.end()
        return Record(worker.cell, code_version(worker.cell), "failed", "the process died, as for lack of memory")
    if worker.seconds() - worker.began < limit:
        return None
    worker.end()
    return Record(worker.cell, code_version(worker.cell), OUT_OF_TIME, f"more than {limit:.0f} s of CPU time")


def _told(record: Record) -> str:
    cell, accuracies = record.cell, record.scores.get("accuracy")
    figure = f"{sum(accuracies) / len(accuracies):.1f} %" if accuracies else f"{record.status}: {record.reason}"
    return f"{cell.data} {cell.method} {dict(cell.settings) or ''} {figure}"


def described_machine() -> dict[str, Any]:
    """What the figures were measured on: processor, cores, memory, versions."""
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = told.partition("model name")[2].partition("\n")[0].strip("\t :")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model or platform.machine(),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GiB",
        "python": platform.python_version(),
        **{name: version(name) for name in ("widegap", "numpy", "scipy", "scikit-learn", "numba")},
    }
