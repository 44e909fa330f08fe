"""``widegap cluster`` and ``widegap predict`` of files that are not read whole."""

from pathlib import Path
from typing import Any

from widegap.cli._errors import CommandError
from widegap.cli._large_files import (
    LargeFile,
    labels_beside,
    large_file,
    position_bar,
    stored_columns,
    stored_file,
    with_scale,
    without_row_numbers,
)
from widegap.cli._large_results import count_rows, summarize_file, write_rows

SCALES = ("auto", "none", "standard")


def large_job(data: Path, columns: tuple[str, ...], scale: str, whole: bool) -> LargeFile | None:
    """The file, ready to be clustered, if it is to be streamed; ``whole`` if an option needs all of it at once."""
    file = None if whole or scale not in SCALES else large_file(data, columns)
    if file is None:
        return None
    return with_scale(file if columns else without_row_numbers(file), scale)


def cluster_large(file: LargeFile, estimator: Any, targets: Any, title: str, *, quiet: bool, json: bool) -> None:
    """Fit, write and show, as ``cluster`` does with tables in memory."""
    from widegap import persistence
    from widegap._wording import counted
    from widegap.cli import _fitting as fitting
    from widegap.cli._cluster import end_interrupted
    from widegap.cli._output import show, write_report
    from widegap.rows._collections import count_labels

    if "labels_out" not in estimator.get_params():
        raise CommandError(
            f"{file.path} is too large to be read whole, which {type(estimator).__name__} needs; use --method "
            "max-margin, cpm3c or mkc."
        )
    notes, written = list(file.notes), []
    with labels_beside(targets.output) as place:
        label = f"Clustering {counted(file.n_rows, 'row')}"
        with fitting.watching(label, None, quiet=True) as watch, position_bar(label, file.n_rows, quiet) as position:
            watch.advance = position.record
            with fitting.gathering_warnings(notes):
                estimator.set_params(callback=watch, labels_out=place).fit(file.rows(position))
        estimator.set_params(callback=None, labels_out=None)
        if watch.interrupted:
            targets = targets.partial()
        sizes = count_labels(estimator.labels_, estimator.n_clusters_)
        summary = summarize_file(file, estimator, sizes, estimator.labels_, title, notes)
        if targets.output is not None:
            write_rows(targets.output, file, estimator, estimator.labels_)
            written.append(f"rows: {targets.output}")
        if targets.model is not None:
            persistence.save(estimator, targets.model, extra={"large": stored_columns(file), "title": title})
            written.append(f"model: {targets.model}")
        if targets.report is not None:
            write_report(targets.report, summary)
            written.append(f"report: {targets.report}")
    show(summary, written, quiet=quiet, json=json, to_stderr=targets.to_stdout)
    if watch.interrupted:
        end_interrupted(written)


def describe_large(estimator: Any, extra: Any, data: Path, title: str) -> tuple[Any, Any]:
    """Functions that summarize other rows by a model that was fitted on a large file, and that write them."""
    file = stored_file(data, extra["large"])
    sizes: list[Any] = []  # known where the rows were written

    def write(path: Path) -> None:
        sizes.append(write_rows(path, file, estimator))

    def summary() -> dict[str, Any]:
        counts = sizes[-1] if sizes else count_rows(file, estimator)
        return summarize_file(file, estimator, counts, None, title, [])

    return summary, write
