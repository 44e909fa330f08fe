"""Clusters against true classes that the search did not see: one line a cluster, one column a class, counts of rows."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from widegap._types import Ints
from widegap._wording import clip
from widegap.metrics import clustering_accuracy, normalized_mutual_info

SHOWN_CLASSES = 12  # columns of the table, the most frequent classes; more fit neither a page nor a screen
OTHER_CLASSES = "other classes"
NO_CLASS = "no class"
LONGEST_CLASS = 40  # letters of a class in the head of its column


def label_table(labels: Ints, classes: Sequence[Any], column: str, kinds: Sequence[int]) -> dict[str, Any]:
    """Count the rows of every cluster in every class.

    Parameters
    ----------
    labels : ndarray of int
        The cluster of every row, -1 for none.
    classes : sequence
        The class of every row; None, NaN and empty texts are rows without one.
    column : str
        The name of the column of classes.
    kinds : sequence of int
        The clusters, in the order of the lines.

    Returns
    -------
    dict
        ``column``; ``classes``, the names of the columns, sorted, numbers by their value; ``lines``, each with its
        ``cluster`` (-1 for rows in none, a line that is there only if there are some) and its ``counts``; and
        ``words``, the agreement in a sentence.
    """
    known = [None if cell is None or cell != cell or str(cell).strip() == "" else str(cell) for cell in classes]
    counts = Counter(zip(labels.tolist(), known, strict=True))
    lines = [*map(int, kinds), *([-1] if -1 in labels else [])]
    names, merged = _columns(Counter(name for name in known if name is not None))
    shown = [*names, *([OTHER_CLASSES] if merged else []), *([NO_CLASS] if None in known else [])]
    table = []
    for label in lines:
        cells = [counts[label, name] for name in names]
        if merged:
            cells.append(sum(counts[label, name] for name in merged))
        if None in known:
            cells.append(counts[label, None])
        table.append({"cluster": label, "counts": cells})
    found = {"column": column, "classes": [clip(name, LONGEST_CLASS) for name in shown], "lines": table}
    return {**found, "words": _agreement(labels, known)}


def _columns(sizes: Counter[str]) -> tuple[list[str], list[str]]:
    """The classes that have a column each, sorted; and the others."""
    frequent = [name for name, _ in sizes.most_common()]
    shown, merged = frequent[:SHOWN_CLASSES], frequent[SHOWN_CLASSES:]
    return sorted(shown, key=_place), merged


def _place(name: str) -> tuple[bool, float, str]:
    """Numbers come first, by their value, and then words, as in a dictionary."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name.casefold()


def _agreement(labels: Ints, known: list[str | None]) -> str:
    """How well clusters and classes agree on the rows that have both."""
    both = np.array([name is not None for name in known]) & (labels >= 0)
    if not both.any():
        return "No row has both a cluster and a class."
    truth = np.array([name for name, kept in zip(known, both, strict=True) if kept])
    accuracy = clustering_accuracy(truth, labels[both], mapping="majority")
    shared = normalized_mutual_info(truth, labels[both])
    return (
        f"{100 * accuracy:.1f} % of the rows are in a cluster whose majority has their class; normalised mutual "
        f"information {shared:.2f}."
    )
