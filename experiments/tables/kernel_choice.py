"""Kernels of MKC chosen without labels: does a criterion that half of the sets prefers help on the other half?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.store import Store
from experiments.tables._table import ACCURACY, FREE, TUNED, Measured, Score, Table, listed, markdown
from widegap.selection._kernel_lists import CRITERIA, KERNEL_LISTS

SEEDS = 3
ROWS = 300


def _column(title: str, of: Callable[[dict[str, Any]], float], kind: str = FREE) -> Measured:
    """A figure from the accuracies of the candidates and of what the criteria choose, which one method notes."""
    score = Score(title, lambda record: [of(extra) for extra in record.extra])
    return Measured(title, "MKC chosen", kind=kind, seeds=SEEDS, score=score)


DEFAULT = _column("default kernels", lambda extra: extra["candidates"][0])
BY = [_column(f"by {criterion}", lambda extra, c=criterion: extra["chosen"][c]) for criterion in CRITERIA]
COLUMNS = (
    DEFAULT,
    *BY,
    _column("mean of candidates", lambda extra: float(np.mean(extra["candidates"]))),
    _column("best candidate", lambda extra: max(extra["candidates"]), TUNED),
)


def verdict(table: Table, store: Store) -> str:
    """Mean gains over the default kernels on both halves, and what the criterion that A prefers does on B."""
    means = table.by_title(store)
    if np.isnan(means[DEFAULT.title]).any():
        return "Not complete: no verdict."
    halves = [np.array([row.label.endswith(f"({name})") for row in table.rows]) for name in "AB"]
    gains = {title: [(found - means[DEFAULT.title])[half] for half in halves] for title, found in means.items()}
    others = [title for title in gains if title != DEFAULT.title]
    lines = markdown(
        others,
        ["half A", "half B"],
        [map(_counted, gains[title]) for title in others],
        corner=" mean gain over the default kernels",
    )
    best = max((column.title for column in BY), key=lambda title: gains[title][0].mean())
    on_a, on_b = gains[best]
    error = float(np.std(on_b, ddof=1) / np.sqrt(len(on_b)))
    evidence = "evidence" if np.mean(on_b) > 2 * error else "no evidence"
    return (
        f"{lines}\n\nHalf A prefers the choice *{best}*: {np.mean(on_a):+.1f} points there, "
        f"{np.mean(np.sort(on_a)[:-1]):+.1f} without the set that gains most. On half B it gives {np.mean(on_b):+.1f} "
        f"with a standard error over sets of {error:.1f}, so there is {evidence} that choosing kernels without labels "
        "helps."
    )


def _counted(gains: Any) -> str:
    return f"{gains.mean():+.1f} ({(gains > 0.5).sum()} better, {(gains < -0.5).sum()} worse by 0.5)"


TOLD = {"ROWS": ROWS, "lists": len(KERNEL_LISTS)}
EXPERIMENTS = (Table("mkc-choice", listed("mkc-choice"), COLUMNS, ACCURACY, ("iris (A)",), verdict, TOLD),)
