"""``widegap cluster -k 3..10``: several numbers of clusters side by side, judged without labels."""

from dataclasses import asdict
from typing import Any

import typer

from widegap.cli import _fitting as fitting
from widegap.cli._errors import INTERRUPTED, CommandError, tell

SUBSAMPLES = 5
FRACTION = 0.8  # of the rows in a subsample
MOST_NUMBERS = 100  # to compare at once: nobody reads a longer table


def compare(method: str, numbers: range, rows: Any, seed: int, *, quiet: bool, json: bool) -> None:
    """Compare all numbers and print a table to choose from; what is done is shown whatever happens to the others."""
    from widegap.exceptions import WidegapError
    from widegap.selection import compare_cluster_numbers
    from widegap.selection._cluster_numbers import one_fit_serves

    notes, records = rows.notes, []
    possible = _possible(numbers, rows.X.shape[0], notes)
    estimator = fitting.make_estimator(method, possible[-1], seed)
    # Where one number is one fit they go one at a time: the seed draws the same samples, and those done are kept.
    batches = [possible] if one_fit_serves(estimator) else [[k] for k in possible]
    failed: dict[int, str] = {}
    total = sum(_fits(batch[-1], rows.X) for batch in batches)
    label = f"Comparing {len(possible)} numbers of clusters"
    with (
        fitting.watching(label, total, quiet, at_once=True) as watch,
        fitting.gathering_warnings(notes),
    ):
        for batch in batches:
            try:
                records += compare_cluster_numbers(
                    estimator,
                    rows.X,
                    batch,
                    n_subsamples=SUBSAMPLES,
                    fraction=FRACTION,
                    random_state=seed,
                    on_fit=watch,
                )
            except (WidegapError, ValueError) as error:
                failed.update(dict.fromkeys(batch, str(error)))
    if failed and not records and not watch.interrupted:
        raise CommandError(f"None of the numbers could be compared. {next(iter(failed.values()))}")
    notes += [f"-k {k} could not be compared: {reason}" for k, reason in failed.items()]
    _show(method, numbers, records, list(dict.fromkeys(notes)), quiet=quiet, json=json)
    missing = possible[len(records) + len(failed) :]
    if watch.interrupted:
        done = f"{_listed(possible[: len(records)])} compared" if records else "none was compared"
        tell(f"Interrupted: of the numbers of clusters {done}, {_listed(missing)} missing; nothing was written.")
        raise typer.Exit(INTERRUPTED)


def _possible(numbers: range, n_rows: int, notes: list[str]) -> list[int]:
    """The numbers of clusters that random subsamples have rows for; notes what is left out."""
    from widegap.selection._trials import COMPARED_ROWS

    if len(numbers) > MOST_NUMBERS:
        raise CommandError(
            f"-k {numbers[0]}..{numbers[-1]} are {len(numbers):,} numbers to compare; ask for {MOST_NUMBERS} at most, "
            f"such as -k {numbers[0]}..{numbers[0] + 8}, or for -k auto."
        )
    most = int(FRACTION * min(n_rows, COMPARED_ROWS))
    fit, beyond = [k for k in numbers if k <= most], [k for k in numbers if k > most]
    said = f"stability is measured on random subsamples, which have {most} of the {n_rows} rows"
    if not fit:
        raise CommandError(f"-k {numbers[0]}..{numbers[-1]} cannot be compared: {said}; ask for {most} or fewer.")
    if beyond:
        notes.append(f"-k {_span(beyond)} cannot be compared: {said}.")
    return fit


def _show(method: str, numbers: range, records: list[Any], notes: list[str], *, quiet: bool, json: bool) -> None:
    if json:
        from widegap.cli._output import print_json

        done = {record.n_clusters for record in records}
        found = {"schema": "widegap.compare/1", "method": method, "numbers": [asdict(record) for record in records]}
        print_json({**found, "missing": [k for k in numbers if k not in done], "warnings": notes})
    elif records and not quiet:
        _print(records)
        for note in notes:
            tell(f"note: {note}")


def _fits(k: int, X: Any) -> int:
    """Fits that one number takes: all rows, the subsamples, and shuffled columns of a dense table."""
    from widegap.data._tables import storage

    return 1 + SUBSAMPLES + (k > 1 and storage(X) == "dense")


def _listed(numbers: list[int]) -> str:
    """ "2 is", "2 to 4 are"."""
    return f"{_span(numbers)} {'is' if len(numbers) == 1 else 'are'}"


def _span(numbers: list[int]) -> str:
    """ "2", "2 to 4"."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _print(records: list[Any]) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap.cli._output import screen

    console = screen()
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    merged = any(record.excess is not None for record in records)
    for heading in ("k", "stability", "gain over chance", "smallest", "largest", "objective", *(["excess"] * merged)):
        grid.add_column(heading, justify="right")
    best = max(record.stability for record in records)
    for record in records:
        gain = "" if record.gain is None else f"{round(100 * record.gain):+d} %"
        cells = (f"{record.stability:.2f}", gain, f"{record.smallest:.2f}", f"{record.largest:.2f}")
        style = "bold" if record.stability == best else ""
        excess = ["" if record.excess is None else f"{record.excess:.1f}"] * merged
        grid.add_row(str(record.n_clusters), *cells, f"{record.objective:.4g}", *excess, style=style)
    console.print(grid)
    console.print(Text(_verdict(records)))
    console.print(
        Text(
            "stability: 1 if random subsamples lead to the same clusters. gain: objective against shuffled columns. "
            "smallest, largest: sizes relative to equal ones. High stability and gain speak for a number."
            + " excess: above 4 the clusters are more clearly apart than parts of them."
            * merged
        )
    )


def _verdict(records: list[Any]) -> str:
    """What the table says, in words."""
    from widegap.report._numbers import CLEAR, what_scores_mean

    excess = {record.n_clusters: record.excess for record in records if record.excess is not None}
    if excess:
        return what_scores_mean(max((k for k in excess if excess[k] > CLEAR), default=1), excess)[1]
    best = max(records, key=lambda record: record.stability)
    return f"Most stable: {best.n_clusters} clusters ({best.stability:.2f})."
