"""``python -m experiments list | run [NAME ...] [--rows A,B] [--quick] | suite | page | check | tidy``."""

import argparse
import json
import os
import sys
from pathlib import Path

from experiments import catalogue, page, runner
from experiments.advice import with_advice
from experiments.cells import Cell
from experiments.store import PATH, Store
from experiments.story import unexplained
from experiments.tables import EXPERIMENTS
from experiments.tables.suite import SUITE

QUICK = Path("build/experiments-quick.jsonl")
MACHINE = PATH.with_name("machine.json")


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    everything = list(dict.fromkeys(cell for experiment in EXPERIMENTS.values() for cell in experiment.cells()))
    if options.command == "list":
        store = Store()
        for name, experiment in EXPERIMENTS.items():
            waiting = runner.pending(experiment.cells(), store)
            print(f"{name:24} {len(experiment.cells()):5} cells, {len(waiting):5} to measure  {experiment.title}")
        unknown = ", ".join(unexplained(store)) or "none"
        print(f"Missed figures of papers without a reason in tables/missed.csv: {unknown}")
        print(_effort(runner.pending(everything, store), everything, store))
    elif options.command == "page":
        _write_pages()
    elif options.command == "tidy":
        Store().tidy(everything)
    elif options.command == "check":
        _check(everything)
    else:
        _run(options)


def _effort(waiting: list[Cell], cells: list[Cell], store: Store) -> str:
    known = [sum(store.records[cell].seconds) for cell in waiting if cell in store.records]
    return (
        f"{len(waiting)} of {len(set(cells))} cells to measure; {len(known)} of them took {sum(known) / 60:.0f} "
        "minutes of CPU time when they were last measured"
    )


def _check(cells: list[Cell]) -> None:
    """Refuse a record with a cell that other code measured, or nothing: before a release."""
    store = Store()
    waiting = runner.pending(cells, store)
    waiting += [cell for cell in set(cells).difference(waiting) if "/" not in store.records[cell].code]
    if waiting:
        some = ", ".join(f"{cell.method} on {cell.data}" for cell in waiting[:3])
        raise SystemExit(
            f"docs/results.md is not of this code: {_effort(waiting, cells, store)} ({some}, ...). Measure them with "
            "`python -m experiments run`."
        )


def _run(options: argparse.Namespace) -> None:
    """Measure what is missing and write the pages; for the suite, also show the ranking."""
    is_suite, quick = options.command == "suite", getattr(options, "quick", False)
    names = [SUITE.name] if is_suite else options.names
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        raise SystemExit(f"no experiment {', '.join(unknown)}: choose from {', '.join(EXPERIMENTS)}")
    if "WIDEGAP_DATA" not in os.environ:
        raise SystemExit("WIDEGAP_DATA is not set: let it name the folder with the data sets of the papers")
    chosen = [EXPERIMENTS[name] for name in names or EXPERIMENTS]
    rows = options.rows.split(",") if options.rows else None
    if quick:
        QUICK.parent.mkdir(exist_ok=True)
    store = Store(QUICK) if quick else Store()
    cells = [cell for one in chosen for cell in (one.quick_cells(rows) if quick else one.cells(rows))]
    if options.method:
        cells = _of_methods(cells, options.method)
    waiting = runner.pending(cells, store, retry=options.retry)
    print(_effort(waiting, cells, store), file=sys.stderr)
    try:
        runner.run(waiting, store, jobs=options.jobs, limit=options.limit)
    except KeyboardInterrupt:
        raise SystemExit("stopped: all but the cells at work is stored, the same command goes on") from None
    if quick:
        if any(store.records[cell].status == "failed" for cell in cells):
            raise SystemExit("some cells failed")
        return
    if SUITE in chosen:
        SUITE.compare(store)
    MACHINE.write_text(json.dumps(runner.described_machine(), indent=1) + "\n")
    _write_pages()
    if is_suite:
        print(SUITE.words(store))


def _of_methods(cells: list[Cell], names: list[str]) -> list[Cell]:
    """The cells of some methods: what is to be measured again after a change of one."""
    present = {cell.method for cell in cells}
    if unknown := [name for name in names if name not in present]:
        raise SystemExit(f"no method {', '.join(unknown)} there: choose from {'; '.join(sorted(present))}")
    return [cell for cell in cells if cell.method in names]


def _write_pages() -> None:
    store = Store()
    page.write(store, json.loads(MACHINE.read_text()))
    for path, filled in ((page.README, page.with_panel), *((path, with_advice) for path in page.WITH_BLOCKS)):
        path.write_text(filled(path.read_text(encoding="utf-8"), store), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="all tables and figures, and what there is to measure")
    commands.add_parser("page", help="write docs/results.md and its pages from the stored results")
    commands.add_parser("check", help="refuse stored results of other code than this")
    commands.add_parser("tidy", help="drop results that no table uses any more; not while a run goes on")
    run = commands.add_parser("run", help="measure what is missing, then write the page; can be stopped at any time")
    run.add_argument("names", nargs="*", help="tables and figures, all by default")
    run.add_argument("--quick", action="store_true", help="a few small cells, kept apart from the results")
    suite = commands.add_parser("suite", help="measure what is missing of the public suite, and show the ranking")
    for command in (run, suite):
        command.add_argument("--jobs", type=int, default=2, help="processes (2)")
        command.add_argument(
            "--limit", type=float, default=runner.TIME_LIMIT, help="seconds of CPU time a cell may take (600)"
        )
        command.add_argument("--rows", help="rows of a table, separated by commas")
        command.add_argument("--method", action="append", help="a method, may be given more than once; all by default")
        command.add_argument("--retry", action="store_true", help="also what failed or ran out of time before")
    return parser


if __name__ == "__main__":
    assert catalogue
    main()
