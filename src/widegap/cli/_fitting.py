"""A fit that a person watches: progress, notes instead of warnings, and Ctrl-C that keeps the best result so far."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from widegap._catalogue import command_class
from widegap.cli._errors import CommandError, in_options, one_line, tell
from widegap.cli._interrupts import Interrupts, listening
from widegap.cli._phases import tell_phase

WIDE_SPARSE = 1000  # columns of a sparse matrix above which "auto" takes the linear method: texts have more; not tuned
REFRESH = 0.1  # seconds between two pictures of the bar
LONG_WAIT = 2.0  # seconds; shorter waits are not announced
EXPLAIN_AFTER = 0.5  # seconds until a wait is explained


def choose_method(method: str, X: Any, *, find_number: bool = False) -> str:
    """The method by name; "auto" looks at the rows. Only one method finds the number of clusters itself."""
    if find_number:
        if method not in ("auto", "max-margin"):
            raise CommandError(
                f"--method {method} needs a number of clusters: pass one such as -k 3, compare some with -k 2-8, or "
                "use --method max-margin, which finds it (-k auto)."
            )
        return "max-margin"
    if method != "auto":
        return method
    from widegap.rows._matrices import storage

    return "cpm3c" if storage(X) == "sparse" and X.shape[1] > WIDE_SPARSE else "max-margin"


def make_estimator(method: str, k: int | str, seed: int, *, scales: bool = True) -> Any:
    """The estimator of a method; it must not scale rows once more (``scales``) where the user chose how."""
    estimator = command_class(method)(n_clusters=k, random_state=seed)
    if not scales and "standardize" in estimator.get_params():
        estimator.set_params(standardize=False)
    return estimator


def check_count(k: int, n_rows: int) -> None:
    """Refuse more clusters than rows before anything else happens."""
    if k > n_rows:
        raise CommandError(f"-k {k} asks for more clusters than there are rows ({n_rows}); ask for fewer.")


def check_variety(k: int, X: Any, notes: list[str]) -> None:
    """Note more clusters than there are different rows."""
    from widegap.rows._matrices import count_distinct_rows

    n = count_distinct_rows(X, k)
    if n < k:
        notes.append(
            f"-k {k} asks for more clusters than there are different rows ({n}), so equal rows are in different "
            f"clusters; ask for {n} or fewer."
        )


class Watch:
    """Callback of a fit: moves the progress bar, and ends the fit when the user has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.interrupts: Interrupts | None = None
        self.advance: Callable[[Any], None] = lambda record: None
        self.steps = 0
        self.began = self.last = monotonic()
        self._longest = 0.0

    def __call__(self, record: Any) -> bool:
        now = monotonic()
        self._longest, self.last = max(self._longest, now - self.last), now
        self.steps += 1
        self.advance(record)
        return self.interrupted

    @property
    def interrupted(self) -> bool:
        """Whether the user has pressed Ctrl-C."""
        return self.interrupts is not None and self.interrupts.pressed > 0

    @property
    def longest(self) -> float:
        """Longest time between two calls, in seconds."""
        return max(self._longest, monotonic() - self.last)


@contextmanager
def watching(label: str, total: int | None, quiet: bool, *, at_once: bool = False) -> Iterator[Watch]:
    """Progress on a terminal, and what Ctrl-C does.

    A first Ctrl-C lets the fit continue until it can end with its best result; a second ends the program. With
    ``at_once`` the first ends the block, for work whose results are kept as they come.
    """
    watch = Watch()

    def answer() -> None:
        if at_once:
            if not interrupts.over.wait(EXPLAIN_AFTER):
                tell("Stopping as soon as the step under way allows (Ctrl-C again to stop at once) ...")
            return
        wait = f"; a step took up to {watch.longest:.0f} s so far" if watch.longest > LONG_WAIT else ""
        tell(f"Stopping with the best result so far (Ctrl-C again to stop at once{wait}) ...")

    watch.interrupts = interrupts = Interrupts(1 if at_once else 2, answer)
    has_begun = False
    try:
        with listening(interrupts), _bar(label, total, quiet, watch) as interrupts.clean:
            has_begun = True
            yield watch
    except KeyboardInterrupt:
        if not at_once or not has_begun:
            raise
        interrupts.pressed = max(1, interrupts.pressed)


@contextmanager
def _bar(label: str, total: int | None, quiet: bool, watch: Watch) -> Iterator[Callable[[], None]]:
    """A bar with the share that is done and the time left; steps and time so far where the number is not known."""
    if quiet or not sys.stderr.isatty():
        tell_phase(label, quiet=quiet)
        yield lambda: None
        return
    from rich import progress as bars
    from rich.console import Console

    class Remaining(bars.ProgressColumn):
        def render(self, task: bars.Task) -> Any:
            return bars.Text(f"ETA {_clock(time_left(watch, task.total))}", style="progress.remaining")

    known = (bars.TaskProgressColumn(), bars.TimeElapsedColumn(), Remaining())
    unknown = (bars.TimeElapsedColumn(), bars.TextColumn("{task.fields[step]}"))
    columns = (bars.TextColumn("{task.description}", markup=False), bars.BarColumn(20), *(known if total else unknown))
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total, step="")
        last = 0.0

        def advance(record: Any) -> None:
            nonlocal last
            objective = getattr(record, "objective", None)
            text = label if objective is None else f"{label}, objective {objective:.5g}"
            due = monotonic() - last > REFRESH
            last = monotonic() if due else last
            shown.update(task, advance=1, description=text, step=f"step {watch.steps}", refresh=due)

        watch.advance = advance
        yield shown.stop


def time_left(watch: Watch, total: float | None) -> float | None:
    """Seconds until the last step at the pace of those that are done; None before there is any."""
    if not watch.steps or total is None:
        return None
    pace = (watch.last - watch.began) / watch.steps
    return max(0.0, pace * (total - watch.steps) - (monotonic() - watch.last))


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-:--:--"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


@contextmanager
def gathering_warnings(notes: list[str]) -> Iterator[None]:
    """Append the library's warnings to the notes, each once, in the words of the command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for warning in caught:
                text = in_options(one_line(warning.message))
                if text not in notes and not issubclass(warning.category, DeprecationWarning | FutureWarning):
                    notes.append(text)
