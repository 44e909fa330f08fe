"""Progress of a fit through ``logging``: the logger "widegap", level INFO."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from widegap.solvers._result import IterationRecord

logger = logging.getLogger("widegap")


@contextmanager
def progress_logging(verbose: int) -> Iterator[None]:
    """Let INFO messages of the fit through while it runs; write to stderr if the application set no handler."""
    if not verbose:
        yield
        return
    level, handler = logger.level, None if logger.hasHandlers() else logging.StreamHandler()
    if handler is not None:
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)


def log_record(record: IterationRecord) -> None:
    """One line an iteration."""
    logger.info(
        "start %d, iteration %d: objective %.6g, gap %.2g, %d cuts, %d flips, %d passes, %.2f s",
        record.start,
        record.iteration,
        record.objective,
        record.gap,
        record.cuts,
        record.flips,
        record.passes,
        record.seconds,
    )
