"""``widegap cluster -k 3..10``: several numbers of clusters side by side, judged without labels."""

from dataclasses import asdict
from typing import Any

from widegap.cli import _fitting as fitting
from widegap.cli._errors import tell

SUBSAMPLES = 5


def compare(method: str, numbers: list[int], rows: Any, seed: int, *, quiet: bool, json: bool) -> None:
    """Fit all numbers and print a table to choose from."""
    from widegap.selection import compare_cluster_numbers

    fits = len(numbers) * (SUBSAMPLES + 2)
    notes = rows.notes
    with fitting.watching(f"Comparing {len(numbers)} numbers of clusters", fits, quiet) as watch:

        def on_fit(k: int) -> None:
            watch.advance(None)
            if watch.interrupted:
                raise KeyboardInterrupt

        with fitting.gathering_warnings(notes):
            records = compare_cluster_numbers(
                lambda k: fitting.make_estimator(method, k, seed),
                rows.X,
                numbers,
                n_subsamples=SUBSAMPLES,
                random_state=seed,
                on_fit=on_fit,
            )
    if json:
        from widegap.cli._output import print_json

        print_json({"schema": "widegap.compare/1", "method": method, "numbers": [asdict(record) for record in records]})
    elif not quiet:
        _print(records)
        for note in dict.fromkeys(notes):
            tell(f"note: {note}")


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
