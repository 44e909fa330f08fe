"""A fit under the eyes of a person: progress, notes instead of warnings, and Ctrl-C that keeps the best so far."""

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from widegap.cli._errors import CommandError, one_line, tell

METHODS = {
    "max-margin": "MaxMarginClustering",
    "cpm3c": "CPM3C",
    "mkc": "MKC",
    "iter-svr": "IterSVR",
    "iter-lssvm": "IterLSSVM",
    "iter-svm": "IterSVM",
}
WIDE = 1000  # columns of a sparse matrix above which "auto" takes the linear method
KMEANS_STARTS, TWO_CLUSTER_STARTS = 10, 28  # of MaxMarginClustering by default


def choose_method(method: str, X: Any) -> str:
    """The method by name; "auto" looks at the rows."""
    if method != "auto":
        return method
    sparse = not hasattr(X, "__array_interface__")
    return "cpm3c" if sparse and X.shape[1] > WIDE else "max-margin"


def make_estimator(method: str, k: int, seed: int | None, callback: Callable[[Any], Any] | None = None) -> Any:
    """The estimator of a method."""
    import widegap

    return getattr(widegap, METHODS[method])(n_clusters=k, random_state=seed, callback=callback)


def check_count(k: int, n_rows: int) -> None:
    """Refuse more clusters than rows before anything else happens."""
    if k > n_rows:
        raise CommandError(f"-k {k} asks for more clusters than there are rows ({n_rows}); ask for fewer.")


class Watch:
    """Callback of a fit: moves the progress bar, and ends the fit when the user has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.interrupted = False
        self.advance: Callable[[Any], None] = lambda record: None

    def __call__(self, record: Any) -> bool:
        self.advance(record)
        return self.interrupted


@contextmanager
def watching(label: str, total: int | None, quiet: bool) -> Iterator[Watch]:
    """Progress on a terminal, and a first Ctrl-C that stops the fit with its best result; a second ends at once."""
    watch = Watch()

    def on_signal(number: int, frame: Any) -> None:
        if watch.interrupted:
            raise KeyboardInterrupt
        watch.interrupted = True
        tell("Stopping with the best result so far (Ctrl-C again to stop at once) ...")

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, on_signal) if main else None
    try:
        with _bar(label, total, quiet, watch):
            yield watch
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _bar(label: str, total: int | None, quiet: bool, watch: Watch) -> Iterator[None]:
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)

        def advance(record: Any) -> None:
            objective = getattr(record, "objective", None)
            said = label if objective is None else f"{label}, objective {objective:.5g}"
            progress.update(task, advance=1, description=said)

        watch.advance = advance
        yield


@contextmanager
def gathering_warnings(notes: list[str]) -> Iterator[None]:
    """Append the library's warnings to the notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = one_line(warning.message)
        if text not in notes and not issubclass(warning.category, DeprecationWarning | FutureWarning):
            notes.append(text)


def expected_records(method: str, k: int) -> int | None:
    """How many records a default fit makes, where that is known."""
    if method != "max-margin":
        return None
    return TWO_CLUSTER_STARTS if k == 2 else KMEANS_STARTS
