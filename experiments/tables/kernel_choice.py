"""Kernels of MKC chosen without labels: does a criterion that half of the sets prefers help on the other half?"""

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.store import Record, Store
from experiments.tables._table import ACCURACY, FREE, TUNED, Measured, Score, Table, rows_of
from widegap.selection._kernel_lists import CRITERIA, KERNEL_LISTS

SEEDS = 3
ROWS = 300
HALVES = {
    "A": {
        "optdigits 3 8": f"optdigits/3-8@{ROWS}",
        "letters A B": f"letter/A-B@{ROWS}",
        "MNIST 4 9": f"mnist/4-9@{ROWS}",
        "ringnorm": f"ringnorm@{ROWS}",
        "ionosphere": "ionosphere",
        "breast cancer": f"sklearn/breast_cancer@{ROWS}",
        "optdigits 0 6 8 9": f"optdigits/0-6-8-9@{ROWS}",
        "iris": "sklearn/iris",
        "satimage 1 2 3": f"satimage/1-2-3@{ROWS}",
    },
    "B": {
        "optdigits 1 7": f"optdigits/1-7@{ROWS}",
        "letters E F": f"letter/E-F@{ROWS}",
        "MNIST 3 5": f"mnist/3-5@{ROWS}",
        "satimage 1 2": f"satimage/1-2@{ROWS}",
        "svmguide1": f"svmguide1@{ROWS}",
        "image": f"image/all@{ROWS}",
        "letters A B C D": f"letter/A-B-C-D@{ROWS}",
        "wine": "sklearn/wine",
        "segment 1 2 3": f"segment/1-2-3@{ROWS}",
    },
}


def _column(title: str, of: Callable[[dict[str, Any]], float], kind: str = FREE) -> Measured:
    """A figure from the accuracies of the candidates and of what the criteria choose, which one method notes."""

    def score(record: Record) -> list[float]:
        return [of(extra) for extra in record.extra]

    return Measured(title, "MKC chosen", kind=kind, seeds=SEEDS, score=Score(title, score))


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
    half = {name: np.array([row.label.endswith(f"({name})") for row in table.rows]) for name in HALVES}
    gains = {title: found - means[DEFAULT.title] for title, found in means.items()}
    lines = ["| mean gain over the default kernels | half A | half B |", "|---|---|---|"]
    for title in list(gains)[1:]:
        lines.append(f"| {title} | " + " | ".join(_counted(gains[title][half[name]]) for name in HALVES) + " |")
    best = max((column.title for column in BY), key=lambda title: gains[title][half["A"]].mean())
    on_a, on_b = (gains[best][half[name]] for name in HALVES)
    error = float(np.std(on_b, ddof=1) / np.sqrt(len(on_b)))
    evidence = "evidence" if np.mean(on_b) > 2 * error else "no evidence"
    words = (
        f"Half A prefers the choice *{best}*: {np.mean(on_a):+.1f} points there, {np.mean(np.sort(on_a)[:-1]):+.1f} "
        f"without the set that gains most. On half B it gives {np.mean(on_b):+.1f} with a standard error over sets of "
        f"{error:.1f}, so there is {evidence} that choosing kernels without labels helps."
    )
    return "\n".join(lines) + "\n\n" + words


def _counted(gains: Any) -> str:
    return f"{gains.mean():+.1f} ({(gains > 0.5).sum()} better, {(gains < -0.5).sum()} worse by 0.5)"


SETS = {f"{label} ({half})": name for half, sets in HALVES.items() for label, name in sets.items()}
EXPERIMENTS = (
    Table(
        "mkc-choice",
        rows_of(SETS),
        COLUMNS,
        ACCURACY,
        ("iris (A)",),
        verdict,
        {"ROWS": ROWS, "lists": len(KERNEL_LISTS)},
    ),
)
