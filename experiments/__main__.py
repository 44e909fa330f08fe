"""``python -m experiments list | run [NAME ...] [--rows A,B] [--quick] | suite | confirm [NAME ...] | page | tidy``."""

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from experiments import catalogue, page, runner
from experiments.advice import with_advice
from experiments.cells import Cell
from experiments.confirm import confirm, groups
from experiments.store import PATH, Store
from experiments.tables import EXPERIMENTS
from experiments.tables.suite import SUITE

QUICK = Path("build/experiments-quick.jsonl")
MACHINE = PATH.with_name("machine.json")


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    if options.command == "list":
        _list(Store())
    elif options.command == "page":
        _write_pages()
    elif options.command == "tidy":
        Store().tidy(cell for experiment in EXPERIMENTS.values() for cell in experiment.cells())
    elif options.command == "confirm":
        _confirm(options)
    elif options.command == "suite":
        _suite(options)
    else:
        _run(options)


def _list(store: Store) -> None:
    """Every table and figure with the number of its cells and of those to measure, and what that took the last time."""
    for name, experiment in EXPERIMENTS.items():
        waiting = runner.pending(experiment.cells(), store)
        print(f"{name:24} {len(experiment.cells()):5} cells, {len(waiting):5} to measure  {experiment.title}")
    everything = {cell for experiment in EXPERIMENTS.values() for cell in experiment.cells()}
    print(_effort(runner.pending(everything, store), len(everything), store))


def _effort(waiting: list[Cell], total: int, store: Store) -> str:
    known = [sum(store.records[cell].seconds) for cell in waiting if cell in store.records]
    return (
        f"{len(waiting)} of {total} cells to measure; {len(known)} of them took {sum(known) / 60:.0f} minutes of CPU "
        "time when they were last measured"
    )


def _chosen(names: list[str]) -> list[Any]:
    """The experiments of these names, all if there are none, where the data is at hand."""
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        raise SystemExit(f"no experiment {', '.join(unknown)}: choose from {', '.join(EXPERIMENTS)}")
    if "WIDEGAP_DATA" not in os.environ:
        raise SystemExit("WIDEGAP_DATA is not set: let it name the folder with the data sets of the papers")
    return [EXPERIMENTS[name] for name in names or EXPERIMENTS]


def _confirm(options: argparse.Namespace) -> None:
    store = Store()
    found = groups({experiment.name: experiment.cells() for experiment in _chosen(options.names)}, store)
    sampled = sum(len(group.sample) for group in found)
    print(f"{sum(len(group.cells) for group in found)} cells by a sample of {sampled}", file=sys.stderr)
    confirm(found, store, partial(runner.run, jobs=options.jobs, limit=options.limit))
    _write_pages()


def _run(options: argparse.Namespace) -> None:
    chosen = _chosen(options.names)
    rows = options.rows.split(",") if options.rows else None
    if options.quick:
        QUICK.parent.mkdir(exist_ok=True)
        store, cells = Store(QUICK), [cell for experiment in chosen for cell in experiment.quick_cells(rows)]
    else:
        store, cells = Store(), [cell for experiment in chosen for cell in experiment.cells(rows)]
    if options.method:
        cells = _of_methods(cells, options.method)
    waiting = runner.pending(cells, store, retry=options.retry)
    print(_effort(waiting, len(set(cells)), store), file=sys.stderr)
    runner.run(waiting, store, jobs=options.jobs, limit=options.limit)
    if not options.quick:
        MACHINE.write_text(json.dumps(runner.described_machine(), indent=1) + "\n")
        _write_pages()
    if options.quick and any(store.records[cell].status == "failed" for cell in set(cells)):
        raise SystemExit("some cells failed")


def _suite(options: argparse.Namespace) -> None:
    """Measure the public suite, write the pages and show the ranking."""
    _chosen([SUITE.name])
    store = Store()
    waiting = runner.pending(SUITE.cells(), store)
    print(_effort(waiting, len(SUITE.cells()), store), file=sys.stderr)
    runner.run(waiting, store, jobs=options.jobs, limit=options.limit)
    SUITE.compare(store)
    _write_pages()
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
    commands.add_parser("tidy", help="drop results that no table uses any more; not while a run goes on")
    sample = commands.add_parser("confirm", help="measure a sample of what older code measured; carry over what agrees")
    run = commands.add_parser("run", help="measure what is missing, then write the page")
    for command in (sample, run):
        command.add_argument("names", nargs="*", help="tables and figures, all by default")
    suite = commands.add_parser("suite", help="measure what is missing of the public suite, and show the ranking")
    for command in (sample, run, suite):
        command.add_argument("--jobs", type=int, default=2, help="processes (2)")
        command.add_argument(
            "--limit", type=float, default=runner.TIME_LIMIT, help="seconds of CPU time a cell may take (600)"
        )
    run.add_argument("--rows", help="rows of a table, separated by commas")
    run.add_argument("--method", action="append", help="a method, may be given more than once; all by default")
    run.add_argument("--quick", action="store_true", help="a few small cells, kept apart from the results")
    run.add_argument("--retry", action="store_true", help="also what failed or ran out of time before")
    return parser


if __name__ == "__main__":
    assert catalogue
    main()
