"""Some labels, links and answers: what they are worth, beside what others make of the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.say_methods import ANSWERS, LINKS_PER_100
from experiments.store import Store
from experiments.tables._table import ACCURACY, FREE, TOLD, TOLD_BASELINE, Measured, Row, Score, Shown, Table

ROWS = 1500
DRAWS = 5  # of labels and links
SETS = {
    "digits": f"digits/all@{ROWS}",
    "optdigits": f"optdigits/all@{ROWS}",
    "MNIST, test part": f"mnist-test/all@{ROWS}",
    "satimage": f"satimage/all@{ROWS}",
    "segment": f"segment/all@{ROWS}",
    "letter A-D": f"letter/A-B-C-D@{ROWS}",
    "rec4": f"documents/rec4@{ROWS}",
    "WebKB": f"documents/webkb-4@{ROWS}",
}
BUDGETS = (1, 2, 5, 10)
RIVALS = ("LabelSpreading", "linear self-training", "RBF self-training")
KMEANS = ("COP-k-means", "PCK-means")
ENOUGH = 6  # of the sets, by the aims for labels and questions
LINKS_ENOUGH = 7
MOST_LOST = 1.0  # points that labels may cost
QUICK = ("digits",)
TOLD_SCORE = Score("accuracy in %", ACCURACY.of, better=0)
SHARED = (
    f"Every method gets the same {ROWS} rows of a set. Other methods get dense rows: sparse rows, and those with more "
    "than 100 columns, are reduced to 50 by a singular value decomposition; columns are standardised if units differ. "
    "LabelSpreading has the seven neighbours of scikit-learn; self-training adds a tenth of the rows in each of ten "
    "rounds of logistic regression."
)


def means(column: Measured, table: Table, store: Store) -> list[float | None]:
    """Mean of a column in every row of a table; None where it was not measured."""
    found = [column.values(row, table.score, store) for row in table.rows]
    return [None if isinstance(values, str) else float(np.mean(values)) for values in found]


def count(reached: Sequence[bool | None]) -> str:
    """ "5 of 8 sets", of those that were measured."""
    judged = [one for one in reached if one is not None]
    if not judged:
        return "no set (none was measured)"
    return f"{sum(judged)} of {len(judged)} sets"


def compared(ours: Sequence[float | None], theirs: Sequence[float | None], give: float = 0.0) -> list[bool | None]:
    """Where ours is no more than ``give`` below theirs, as figures are printed; None where either is missing."""
    return [
        None if a is None or b is None else round(a, 1) >= round(b - give, 1) for a, b in zip(ours, theirs, strict=True)
    ]


def verdict(reached: Sequence[bool | None], enough: int) -> str:
    """Whether an aim is met; nothing is said of a table with gaps."""
    if any(one is None for one in reached):
        return "aim not judged: some sets were not run"
    return "aim met" if sum(map(bool, reached)) >= enough else "aim missed"


def _best(columns: Sequence[Measured], table: Table, store: Store) -> list[float | None]:
    """The highest mean of several columns in every row; None where one is missing."""
    found = zip(*(means(column, table, store) for column in columns), strict=True)
    return [None if None in row else max(value for value in row if value is not None) for row in found]


def _missed(table: Table, reached: Sequence[bool | None]) -> str:
    names = [row.label for row, one in zip(table.rows, reached, strict=True) if one is False]
    return f" (not on {', '.join(names)})" if names else ""


def label_columns(budget: int) -> tuple[Shown, ...]:
    settings = {"budget": budget}
    ours = "known labels"
    return (
        Shown("without labels", ours, settings, FREE, DRAWS, of="free"),
        Shown("with labels, matched", ours, settings, TOLD, DRAWS, of="matched"),
        Shown("with labels, by name", ours, settings, TOLD, DRAWS, of="named"),
        *(Shown(name, f"{ours}, {name}", settings, TOLD_BASELINE, DRAWS, of="named") for name in (*RIVALS, *KMEANS)),
    )


def _label_words(table: Table, store: Store) -> str:
    free, matched, named, *others = table.columns
    best = compared(means(named, table, store), _best(others[: len(RIVALS)], table, store))
    kept = compared(means(matched, table, store), means(free, table, store), MOST_LOST)
    rivals = ", ".join(RIVALS[:-1]) + f" and {RIVALS[-1]}"
    return (
        f"- At least the best of {rivals}, by name: on {count(best)}{_missed(table, best)}; asked for are {ENOUGH}: "
        f"{verdict(best, ENOUGH)}.\n"
        f"- No more than {MOST_LOST:g} point below the same model without labels, both matched: on "
        f"{count(kept)}{_missed(table, kept)}; asked for are all: {verdict(kept, len(kept))}."
    )


def _rows() -> tuple[Row, ...]:
    return tuple(Row(label, (name,)) for label, name in SETS.items())


LABELS = tuple(
    Table(
        f"labels-{budget}",
        f"Some labels: {budget} per class",
        _rows(),
        label_columns(budget),
        TOLD_SCORE,
        f"The mean of {DRAWS} draws of {budget} known label{'s' * (budget > 1)} per class, on the rows without one. "
        '"Matched" maps clusters one to one to classes by the classes themselves, with and without labels, so that '
        'these two can be compared; "by name" uses the names given by the known labels, as for all other methods. '
        f"{SHARED}",
        quick=QUICK if budget == 1 else (),
        after=_label_words,
    )
    for budget in BUDGETS
)


def _link_words(table: Table, store: Store) -> str:
    free, linked, broken = (means(column, table, store) for column in table.columns[:3])
    rises = [None if a is None or b is None else a > b for a, b in zip(linked, free, strict=True)]
    kept = [None if value is None else value == 0 for value in broken]
    beside = compared(linked, means(table.columns[3], table, store))
    return (
        f"- Every link kept: on {count(kept)}; asked for are all: {verdict(kept, len(kept))}.\n"
        f"- Accuracy rises: on {count(rises)}{_missed(table, rises)}; asked for are {LINKS_ENOUGH}: "
        f"{verdict(rises, LINKS_ENOUGH)}.\n"
        f"- At least COP-k-means: on {count(beside)}{_missed(table, beside)}."
    )


LINKS = Table(
    "links",
    "Links between rows",
    _rows(),
    (
        Shown("without links", "links", kind=FREE, seeds=DRAWS, of="free"),
        Shown("with links", "links", kind=TOLD, seeds=DRAWS, of="matched"),
        Shown("links broken", "links", kind=TOLD, seeds=DRAWS, of="broken"),
        *(
            Shown(title, f"links, {name}", kind=TOLD_BASELINE, seeds=DRAWS, of=of)
            for name in KMEANS
            for title, of in ((name, "matched"), (f"{name}, links broken", "broken"))
        ),
    ),
    TOLD_SCORE,
    f"Random pairs of rows, {LINKS_PER_100} for 100 rows: a must-link if their classes are the same, a cannot-link "
    f"otherwise; {DRAWS} draws. Accuracy of all rows, clusters mapped one to one to classes. {SHARED}",
    quick=QUICK,
    after=_link_words,
)

HALVES = tuple((n, 2 * n) for n in ANSWERS if 2 * n in ANSWERS)


def _question_words(table: Table, store: Store) -> str:
    shown: dict[str, Any] = {column.of: means(column, table, store) for column in table.columns}
    lines = []
    for few, many in HALVES:
        reached = compared(shown[f"asked {few}"], shown[f"random {many}"])
        lines.append(
            f"- {few}k answers reach what {many}k random labels reach: on {count(reached)}{_missed(table, reached)}; "
            f"asked for are {ENOUGH}: {verdict(reached, ENOUGH)}."
        )
    level = [compared(shown[f"asked {n}"], shown[f"random {n}"]) for n in ANSWERS]
    equal = ", ".join(f"{n}k: {count(reached)}" for n, reached in zip(ANSWERS, level, strict=True))
    return "\n".join([*lines, f"- At least as good as equally many random labels: {equal}."])


QUESTIONS = Table(
    "questions",
    "Answers to questions against random labels",
    _rows(),
    (
        Shown("without labels", "questions", kind=FREE, seeds=DRAWS, of="free"),
        *(
            Shown(f"{n}k {what}", "questions", kind=TOLD, seeds=DRAWS, of=f"{of} {n}")
            for n in ANSWERS
            for what, of in (("random labels", "random"), ("answers", "asked"))
        ),
    ),
    TOLD_SCORE,
    "k is the number of clusters. Questions are asked k at a time, with a `refit` after each round; random labels are "
    f"those of rows drawn at random, {DRAWS} times. Accuracy of all rows, those with a label included, clusters mapped "
    "one to one to classes; this favours random labels, because there are twice as many of them.",
    quick=QUICK,
    after=_question_words,
)

EXPERIMENTS = (*LABELS, LINKS, QUESTIONS)
