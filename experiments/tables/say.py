"""Some labels, links and answers: what they are worth, beside what others make of the same."""

from typing import Any

import numpy as np

from experiments.cells import SEEDS
from experiments.say_methods import ANSWERS, LINKS_PER_100
from experiments.store import Store
from experiments.tables._compare import Words
from experiments.tables._table import ACCURACY, TOLD, TOLD_BASELINE, Measured, Score, Table, listed, noting, sets_of

ROWS = 1500
DRAWS = SEEDS  # of labels and links
SETS = sets_of("labels")
BUDGETS = (1, 2, 5, 10)
RIVALS = ("LabelSpreading", "linear self-training", "RBF self-training")
KMEANS = ("COP-k-means", "PCK-means")
ENOUGH = 6  # of the sets, by the aims for labels and questions
LINKS_ENOUGH = 7
MOST_LOST = 1.0  # points that labels may cost
TOLD_SCORE = Score("accuracy in %", ACCURACY.of, better=0)
COUNTED = {"DRAWS": DRAWS, "ROWS": ROWS, "LINKS_PER_100": LINKS_PER_100}


def at_least(ours: Any, theirs: Any, give: float = 0.0) -> Any:
    """Where ours is no more than ``give`` below theirs, as figures are printed: 1 or 0; NaN where either is missing."""
    return np.where(np.isnan(ours + theirs), np.nan, np.round(ours, 1) >= np.round(theirs - give, 1))


def known(reached: Any, *figures: Any) -> Any:
    """1 or 0 where all figures were measured, else NaN."""
    return np.where(np.isnan(sum(figures)), np.nan, reached)


def count(reached: Any) -> str:
    """ "5 of 8 sets", of those that were measured."""
    judged = reached[~np.isnan(reached)]
    return f"{int(judged.sum())} of {len(judged)} sets" if len(judged) else "no set (none was measured)"


def verdict(reached: Any, enough: int) -> str:
    """Whether an aim is met; nothing is said of a table with gaps."""
    if np.isnan(reached).any():
        return "aim not judged: some sets were not run"
    return "aim met" if reached.sum() >= enough else "aim missed"


def _counted(table: Table, reached: Any) -> str:
    names = [row.label for row, one in zip(table.rows, reached, strict=True) if one == 0]
    return count(reached) + (f" (not on {', '.join(names)})" if names else "")


def _table(name: str, columns: tuple[Measured, ...], words: Words, short: bool = True, **told: Any) -> Table:
    """Of the sets of this page; ``short`` puts one of them into the short run."""
    return Table(name, listed("labels"), columns, TOLD_SCORE, ("digits",) * short, words, COUNTED | told)


def label_columns(budget: int) -> tuple[Measured, ...]:
    ours = "known labels"
    return (
        noting("free", "without labels", ours, budget=budget),
        noting("matched", "with labels, matched", ours, TOLD, budget=budget),
        noting("named", "with labels, by name", ours, TOLD, budget=budget),
        *(noting("named", name, f"{ours}, {name}", TOLD_BASELINE, budget=budget) for name in (*RIVALS, *KMEANS)),
    )


def _label_words(table: Table, store: Store) -> str:
    free, matched, named, *others = (table.means(column, store) for column in table.columns)
    best = at_least(named, np.max(others[: len(RIVALS)], axis=0))
    kept = at_least(matched, free, MOST_LOST)
    rivals = ", ".join(RIVALS[:-1]) + f" and {RIVALS[-1]}"
    return (
        f"- At least the best of {rivals}, by name: on {_counted(table, best)}; asked for are {ENOUGH}: "
        f"{verdict(best, ENOUGH)}.\n"
        f"- No more than {MOST_LOST:g} point below the same model without labels, both matched: on "
        f"{_counted(table, kept)}; asked for are all: {verdict(kept, len(kept))}."
    )


LABELS = tuple(
    _table(f"labels-{n}", label_columns(n), _label_words, n == 1, budget=n, plural="s" * (n > 1)) for n in BUDGETS
)


def _link_words(table: Table, store: Store) -> str:
    free, linked, broken, rival = (table.means(column, store) for column in table.columns[:4])
    rises, kept = known(linked > free, linked, free), known(broken == 0, broken)
    return (
        f"- Every link kept: on {count(kept)}; asked for are all: {verdict(kept, len(kept))}.\n"
        f"- Accuracy rises: on {_counted(table, rises)}; asked for are {LINKS_ENOUGH}: "
        f"{verdict(rises, LINKS_ENOUGH)}.\n"
        f"- At least COP-k-means: on {_counted(table, at_least(linked, rival))}."
    )


LINKS = _table(
    "links",
    (
        noting("free", "without links", "links"),
        noting("matched", "with links", "links", TOLD),
        noting("broken", "links broken", "links", TOLD),
        *(
            noting(of, title, f"links, {name}", TOLD_BASELINE)
            for name in KMEANS
            for title, of in ((name, "matched"), (f"{name}, links broken", "broken"))
        ),
    ),
    _link_words,
)


def _question_words(table: Table, store: Store) -> str:
    shown = {column.score.title: table.means(column, store) for column in table.columns}
    lines = []
    for few, many in ((n, 2 * n) for n in ANSWERS if 2 * n in ANSWERS):
        reached = at_least(shown[f"asked {few}"], shown[f"random {many}"])
        lines.append(
            f"- {few}k answers reach what {many}k random labels reach: on {_counted(table, reached)}; "
            f"asked for are {ENOUGH}: {verdict(reached, ENOUGH)}."
        )
    equal = ", ".join(f"{n}k: {count(at_least(shown[f'asked {n}'], shown[f'random {n}']))}" for n in ANSWERS)
    return "\n".join([*lines, f"- At least as good as equally many random labels: {equal}."])


QUESTIONS = _table(
    "questions",
    (
        noting("free", "without labels", "questions"),
        *(
            noting(f"{of} {n}", f"{n}k {what}", "questions", TOLD)
            for n in ANSWERS
            for what, of in (("random labels", "random"), ("answers", "asked"))
        ),
    ),
    _question_words,
)

EXPERIMENTS = (*LABELS, LINKS, QUESTIONS)
