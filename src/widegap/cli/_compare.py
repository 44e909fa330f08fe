"""``widegap cluster -k 3..10``: several numbers of clusters side by side, judged without labels."""

from dataclasses import asdict
from typing import Any

import typer

from widegap.cli import _fitting as fitting
from widegap.cli._errors import INTERRUPTED, tell

SUBSAMPLES = 5


def compare(method: str, numbers: list[int], rows: Any, seed: int, *, quiet: bool, json: bool) -> None:
    """Fit all numbers and print a table to choose from; after Ctrl-C, the table of those that are done."""
    from widegap.selection import compare_cluster_numbers

    notes, records = rows.notes, []
    total = sum(_fits(k, rows.X) for k in numbers)
    label = f"Comparing {len(numbers)} numbers of clusters"
    with (
        fitting.watching(label, total, quiet, at_once=True) as watch,
        fitting.gathering_warnings(notes),
    ):
        for k in numbers:  # one at a time: the same seed draws the same samples for each, and those done are kept
            records += compare_cluster_numbers(
                lambda k: fitting.make_estimator(method, k, seed),
                rows.X,
                [k],
                n_subsamples=SUBSAMPLES,
                random_state=seed,
                on_fit=watch,
            )
    missing = numbers[len(records) :]
    if json:
        from widegap.cli._output import print_json

        found = {"schema": "widegap.compare/1", "method": method, "numbers": [asdict(record) for record in records]}
        print_json({**found, "missing": missing, "warnings": list(dict.fromkeys(notes))})
    elif records and not quiet:
        _print(records)
        for note in dict.fromkeys(notes):
            tell(f"note: {note}")
    if missing:
        done = f"{_listed(numbers[: len(records)])} compared" if records else "none was compared"
        tell(f"Interrupted: of the numbers of clusters {done}, {_listed(missing)} missing; nothing was written.")
        raise typer.Exit(INTERRUPTED)


def _fits(k: int, X: Any) -> int:
    """Fits that one number takes: all rows, the subsamples, and shuffled columns of a dense table."""
    return 1 + SUBSAMPLES + (k > 1 and hasattr(X, "__array_interface__"))


def _listed(numbers: list[int]) -> str:
    """ "2 is", "2 to 4 are"."""
    return f"{numbers[0]} is" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} are"


def _print(records: list[Any]) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    from widegap.cli._output import screen

    console = screen()
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for heading in ("k", "stability", "gain over chance", "smallest", "largest", "objective"):
        grid.add_column(heading, justify="right")
    best = max(record.stability for record in records)
    for record in records:
        gain = "" if record.gain is None else f"{round(100 * record.gain):+d} %"
        cells = (f"{record.stability:.2f}", gain, f"{record.smallest:.2f}", f"{record.largest:.2f}")
        style = "bold" if record.stability == best else ""
        grid.add_row(str(record.n_clusters), *cells, f"{record.objective:.4g}", style=style)
    console.print(grid)
    console.print(
        Text(
            "stability: 1 if random subsamples lead to the same clusters. gain: objective against shuffled columns. "
            "smallest, largest: sizes relative to equal ones. High stability and gain speak for a number."
        )
    )
