"""``widegap cluster`` of files that are not read whole."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from widegap._atomic import passing_folder
from widegap.cli._delivery import Targets, deliver
from widegap.cli._errors import CommandError
from widegap.cli._phases import tell_phase
from widegap.results._large_files import LargeFile, large_file, with_scale, without_row_numbers

STREAMED_SCALES = ("auto", "none", "standard")  # the others need the extremes or quantiles of all rows at once


def open_file(data: Path, columns: tuple[str, ...], scale: str) -> LargeFile | None:
    """The file, ready to be clustered, if it is to be streamed."""
    file = large_file(data, columns) if scale in STREAMED_SCALES else None
    if file is None:
        return None
    return with_scale(file if columns else without_row_numbers(file), scale)


def cluster_file(file: LargeFile, estimator: Any, targets: Targets, title: str, *, quiet: bool, json: bool) -> None:
    """Fit, write and show, as ``cluster`` does with tables in memory."""
    from widegap._wording import counted
    from widegap.cli import _fitting as fitting
    from widegap.results._large_result import LargeResult

    if "labels_out" not in estimator.get_params():
        raise CommandError(
            f"{file.path} is too large to be read whole, which {type(estimator).__name__} needs; use --method "
            "max-margin, cpm3c or mkc."
        )
    with labels_beside(targets.output) as place:
        label = f"Searching for clusters in {counted(file.n_rows, 'row')}"
        with fitting.watching(label, None, quiet=True) as watch, position_bar(label, file.n_rows, quiet) as position:
            watch.advance = position.record
            with fitting.gathering_warnings(file.notes):
                estimator.set_params(callback=watch, labels_out=place).fit(file.rows(position))
        estimator.set_params(callback=None, labels_out=None)
        result = LargeResult(estimator, file, labels=estimator.labels_, title=title)
        deliver(result, targets, quiet=quiet, json=json, interrupted=watch.interrupted)
        del result, estimator.labels_  # Windows deletes no file that is mapped


class Position:
    """Where in the file a fit is reading, and in which pass; shown as a bar, if there is one."""

    def __init__(self, n_rows: int, show: Callable[[int, str], None] = lambda rows, state: None):
        self.n_rows, self.show = n_rows, show
        self.passes, self.rows, self.state = 0, 0, ""
        self._lock = Lock()

    def __call__(self, start: int, stop: int) -> None:
        with self._lock:
            # Threads read in parallel, so that a small step back is not a new pass.
            if not self.passes or start == 0 or start < self.rows - self.n_rows // 2:
                self.passes, self.rows = self.passes + 1, 0
            self.rows = max(self.rows, stop)
            self.show(self.rows, f"pass {self.passes}{self.state}")

    def record(self, record: Any) -> None:
        """A step of the search was made."""
        objective = getattr(record, "objective", None)
        self.state = "" if objective is None else f", objective {objective:.5g}"
        self.show(self.rows, f"pass {self.passes}{self.state}")


@contextmanager
def position_bar(label: str, n_rows: int, quiet: bool) -> Iterator[Position]:
    """A bar on a terminal: the share of the rows that this pass has read."""
    if quiet or not sys.stderr.isatty():
        tell_phase(label, quiet=quiet)
        yield Position(n_rows)
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(20),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=n_rows)

        def show(rows: int, state: str) -> None:
            shown.update(task, completed=rows, description=f"{label}, {state}")

        yield Position(n_rows, show)


@contextmanager
def labels_beside(output: Path | None) -> Iterator[Path]:
    """A place for labels while the command runs: in the folder of the output, or among temporary files."""
    folder = None if output is None or str(output) == "-" else output.resolve().parent
    with passing_folder(".widegap.", folder) as found:
        yield found / "labels.npy"
