"""How many clusters: several numbers compared without labels, a recommendation with its reasons, and a small chart.

Where the search leaves a tree of merges, the number is the largest whose clusters stand out from rows without
structure (their *strength* is above 1); elsewhere the most stable one. If none stands out, there are no separate groups
(``is_noise``); nor in a dense table in which the search that leaves a tree finds a single cluster.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import typer

from widegap.cli import _fitting as fitting
from widegap.cli._errors import INTERRUPTED, CommandError, in_options, tell

SUBSAMPLES = 5  # fits for each number of clusters; not tuned: more give a steadier figure at the same cost each
FEW_SUBSAMPLES = 3  # of documents for -k auto, and of words in any order, where a rough answer will do
FRACTION = 0.8  # of the rows in a subsample
MOST_NUMBERS = 100  # to compare at once; a longer table is not read
LEAST_SHOWN = 8  # numbers of clusters beside the one that -k auto finds
ABOVE_NULL = 0.1  # stability that documents must have above that of their words in any order
STABLE = 0.5  # stability below which clusters of another sample have little to do with these
BAR = 24  # characters


@dataclass(frozen=True)
class Recommendation:
    """A number of clusters, what was measured of it and of others, and what that means."""

    chosen: int
    records: list[Any]
    words: str
    is_noise: bool
    missing: list[int]

    def to_json(self) -> dict[str, Any]:
        """For programs, and for the chart."""
        numbers = [asdict(record) for record in self.records]
        found = {"recommended": self.chosen, "is_noise": self.is_noise, "words": self.words}
        return {**found, "numbers": numbers, "missing": self.missing}

    def for_report(self) -> dict[str, Any] | None:
        """The same as a report shows it; None without a tree of merges."""
        from widegap.results._how_many import MOST_COMPARED_CLUSTERS, NEEDED

        keys = ("n_clusters", "separation", "excess", "agreement", "strength")
        scores = [{key: getattr(record, key) for key in keys} for record in self.records if record.excess is not None]
        if not scores:
            return None
        sure = "close" if self.is_noise else "likely"
        found = {"chosen": self.chosen, "most": MOST_COMPARED_CLUSTERS, "needed": NEEDED, "sure": sure}
        return {**found, "scores": scores, "words": self.words}


@dataclass
class Comparison:
    """Rows or documents, and how to fit them."""

    make: Any  # estimator, whose n_clusters is set
    X: Any
    n_rows: int
    seed: int
    notes: list[str]
    unit: str = "cluster"

    def records(self, numbers: Sequence[int], watch: Any, n_subsamples: int) -> list[Any]:
        """Measurements of every number that need no labels."""
        from widegap.selection import compare_cluster_numbers

        return compare_cluster_numbers(
            self.make,
            self.X,
            numbers,
            n_subsamples=n_subsamples,
            fraction=FRACTION,
            random_state=self.seed,
            on_fit=watch,
        )


def recommend(
    found: Comparison, numbers: range, *, quiet: bool, json: bool, n_subsamples: int = SUBSAMPLES
) -> Recommendation:
    """Compare numbers of clusters and recommend one; those that are done are shown whatever happens to the others.

    Warnings of these fits are dropped: the records cover them, and the chosen number is fitted again.
    """
    from widegap.exceptions import WidegapError
    from widegap.selection._cluster_numbers import one_fit_serves

    possible = _possible(numbers, found)
    # Where one number is one fit they go one at a time: the seed draws the same samples, and those done are kept.
    batches = [possible] if one_fit_serves(found.make) else [[k] for k in possible]
    failed: dict[int, str] = {}
    records: list[Any] = []
    total = len(batches) * _fits(n_subsamples, found.X)
    label = f"Comparing {len(possible)} numbers of {found.unit}s"
    with fitting.watching(label, total, quiet, at_once=True) as watch, fitting.gathering_warnings([]):
        for batch in batches:
            try:
                records += found.records(batch, watch, n_subsamples)
            except (WidegapError, ValueError) as error:
                failed.update(dict.fromkeys(batch, str(error)))
    if failed and not records and not watch.interrupted:
        raise CommandError(f"None of the numbers could be compared. {in_options(next(iter(failed.values())))}")
    found.notes += [f"-k {k} could not be compared: {in_options(reason)}" for k, reason in failed.items()]
    done = {record.n_clusters for record in records}
    if watch.interrupted:
        _end_interrupted(records, [k for k in possible if k not in done and k not in failed], json)
    chosen, words, is_noise = _verdict(records, found)
    return Recommendation(chosen, records, words, is_noise, [k for k in numbers if k not in done])


def add_recommendation(summary: dict[str, Any], recommendation: Recommendation) -> None:
    """Put the reasons for a number into the summary of a result."""
    summary["recommendation"] = recommendation.to_json()
    summary["number"] = summary["number"] or recommendation.for_report()


def explain_auto(estimator: Any) -> Recommendation | None:
    """The number that ``n_clusters="auto"`` found, and its own reasons: nothing further is fitted."""
    from widegap.results._how_many import number_found

    chosen = int(estimator.n_clusters_)
    most = max(LEAST_SHOWN, chosen + 2)
    scores = [score for score in getattr(estimator, "n_clusters_scores_", ()) if score.n_clusters <= most]
    found = number_found(estimator)
    if not scores or found is None:
        return None
    return Recommendation(chosen, scores, found["words"], chosen == 1, [])


def _end_interrupted(records: list[Any], missing: list[int], json: bool) -> None:
    """Show what was compared, and end without a result."""
    from widegap.cli._output import print_json, screen

    shown = {"numbers": [asdict(record) for record in records], "recommended": None, "missing": missing}
    if json:
        print_json({"recommendation": shown})
    elif records:
        print_chart(screen(), shown)
    done = f"{_listed([record.n_clusters for record in records])} compared" if records else "none was compared"
    left = f", {_listed(missing)} missing" if missing else ""
    tell(f"Interrupted: of the numbers of clusters {done}{left}; nothing was written.")
    raise typer.Exit(INTERRUPTED)


def _most(n_rows: int) -> int:
    """The largest number of clusters that random subsamples have rows for."""
    from widegap.selection._trials import TRIAL_ROWS

    return int(FRACTION * min(n_rows, TRIAL_ROWS))


def _possible(numbers: range, found: Comparison) -> list[int]:
    """The numbers of clusters that random subsamples have rows for; notes what is left out."""
    if len(numbers) > MOST_NUMBERS:
        raise CommandError(
            f"-k {numbers[0]}..{numbers[-1]} are {len(numbers):,} numbers to compare; ask for {MOST_NUMBERS} at most, "
            f"such as -k {numbers[0]}..{numbers[0] + 8}, or for -k auto."
        )
    most = _most(found.n_rows)
    fit, beyond = [k for k in numbers if k <= most], [k for k in numbers if k > most]
    why = f"stability is measured on random subsamples, which have {most} of the {found.n_rows} rows"
    if not fit:
        raise CommandError(f"-k {numbers[0]}..{numbers[-1]} cannot be compared: {why}; ask for {most} or fewer.")
    if beyond:
        found.notes.append(f"-k {_span(beyond)} cannot be compared: {why}.")
    return fit


def _fits(n_subsamples: int, X: Any) -> int:
    """Fits that one number takes: all rows, the subsamples, and shuffled columns of a dense table."""
    from widegap.rows._matrices import storage

    return 1 + n_subsamples + (hasattr(X, "shape") and storage(X) == "dense")


def _listed(numbers: list[int]) -> str:
    """ "2 is", "2 to 4 are"."""
    return f"{_span(numbers)} {'is' if len(numbers) == 1 else 'are'}"


def _span(numbers: list[int]) -> str:
    """ "2", "2 to 4"."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _verdict(records: list[Any], found: Comparison) -> tuple[int, str, bool]:
    """The number to recommend, why, and whether the rows have no separate groups."""
    from widegap._wording import counted
    from widegap.results._how_many import choice_among, explained_choice

    unit = found.unit

    steadiest = max(records, key=lambda record: (record.stability, -record.n_clusters)).n_clusters
    judged = [record for record in records if record.strength is not None]
    by_columns = any(record.separation is None for record in judged)  # latent classes are compared by likelihood
    choice = choice_among({record.n_clusters: record.strength for record in judged}, by_columns=by_columns)
    span = _span([record.n_clusters for record in records])
    if choice.n_clusters > 1:
        return choice.n_clusters, explained_choice(choice)["words"], False
    if choice.rejected is not None or _is_one_cluster(found):
        return steadiest, _noise(span, steadiest, unit, "none is clearer than what rows without structure show"), True
    best = next(record for record in records if record.n_clusters == steadiest)
    if best.stability < max(STABLE, _null_stability(found, steadiest) + ABOVE_NULL):
        return steadiest, _noise(span, steadiest, unit, f"random subsamples lead to other {unit}s"), True
    named = f"{counted(steadiest, unit)} {'is' if steadiest == 1 else 'are'}"
    return steadiest, f"{named} the most stable (stability {best.stability:.2f} of 1).", False


def _is_one_cluster(found: Comparison) -> bool:
    """Whether the search that can tell finds no clusters in a dense table, for methods that cannot tell themselves."""
    from widegap import MaxMarginClustering
    from widegap.rows._matrices import storage

    if not hasattr(found.X, "shape") or storage(found.X) != "dense":
        return False
    with fitting.gathering_warnings([]):
        return MaxMarginClustering("auto", random_state=found.seed).fit(found.X).n_clusters_ == 1


def _null_stability(found: Comparison, k: int) -> float:
    """Stability of as many topics of the same words, dealt to the documents at random; 0 for tables."""
    import numpy as np

    if hasattr(found.X, "shape"):
        return 0.0
    words = np.array([word for text in found.X for word in text.split()], dtype=object)
    ends = np.cumsum([len(text.split()) for text in found.X])[:-1]
    dealt = np.split(np.random.default_rng(found.seed).permutation(words), ends)
    shuffled = replace(found, X=[" ".join(part) for part in dealt])
    with fitting.gathering_warnings([]):
        return shuffled.records([k], None, FEW_SUBSAMPLES)[0].stability


def _noise(span: str, chosen: int, unit: str, why: str) -> str:
    from widegap._wording import counted

    return (
        f"No separate groups; the data may vary continuously: with {span} {unit}s, {why}. The result is for "
        f"{counted(chosen, unit)}, the most stable number; do not read much into it."
    )


# The chart ------------------------------------------------------------------------------------------------------------


def print_chart(console: Any, recommendation: dict[str, Any]) -> None:
    """One line a number: a bar for what decides, and the other reasons beside it."""
    from rich.table import Table as Grid
    from rich.text import Text

    records = recommendation["numbers"]
    shown = [key for key in HEADINGS if any(record.get(key) is not None for record in records)]
    decides, *beside = shown
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    grid.add_column("k", justify="right")
    grid.add_column(HEADINGS[decides])
    for key in beside:
        grid.add_column(HEADINGS[key], justify="right")
    most = max([1.0, *(record[decides] or 0.0 for record in records)])
    for record in records:
        style = "bold" if record["n_clusters"] == recommendation["recommended"] else ""
        cells = (_cell(key, record) for key in beside)
        grid.add_row(str(record["n_clusters"]), _bar(decides, record[decides], most), *cells, style=style)
    console.print(grid)
    console.print(Text("; ".join(LEGEND[key] for key in shown if key in LEGEND) + ".", style="dim"))


HEADINGS = {  # the first that is known decides
    "strength": "stands out",
    "stability": "stability",
    "agreement": "agreement",
    "gain": "gain over null",
    "smallest": "smallest",
}
LEGEND = {
    "strength": "stands out: how clearly this number stands out from the next coarser one that does; above 1 counts",
    "stability": "stability: 1 if random subsamples lead to the same clusters",
    "agreement": "agreement: share of the searches that agree on a row",
    "gain": "gain over null: objective against shuffled columns",
}


def _bar(key: str, value: float | None, most: float) -> str:
    if value is None:
        return ""
    value = max(0.0, value)
    return f"{'█' * round(BAR * value / most)} {value:.{1 if key == 'strength' else 2}f}".strip()


def _cell(key: str, record: dict[str, Any]) -> str:
    value = record[key]
    if value is None:
        return ""
    if key == "stability":
        return f"{value:.2f}"
    if key == "gain":
        return f"{round(100 * value):+d} %"
    return f"{100 * (value / record['n_clusters'] if key == 'smallest' else value):.0f} %"
