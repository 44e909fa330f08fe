"""Run the benchmarks, all or those named, print them and keep them in ``results.md`` and ``history.jsonl``.

``compare A B`` lists what got slower between two commits, ``history`` draws the curves, and ``pages`` fills the figures
of other pages from what is stored.
"""

import os
import platform
import sys
from pathlib import Path

import numba
import numpy
import scipy
import sklearn

from benchmarks import (
    command_line,
    cpm3c,
    documents,
    explorer,
    first_call,
    history,
    installed,
    iterative,
    max_margin,
    mkc,
    on_dask,
    others,
    reads,
    scale,
    sizes,
    table,
    updates,
)
from benchmarks.readme import SHOWING, with_speed
from benchmarks.sentences import PAGES, Speed, with_figures

SUITES = {
    "cpm3c": cpm3c.rows,
    "cpm3c_text": cpm3c.text,
    "others": others.rows,
    "max_margin": max_margin.rows,
    "max_margin_large": max_margin.large,
    "max_margin_samples": max_margin.sample_sizes,
    "max_margin_neighbours": max_margin.neighbours,
    "max_margin_predictions": max_margin.predictions,
    "iterative": iterative.rows,
    "documents": documents.rows,
    "mkc": mkc.rows,
    "first_call": first_call.rows,
    "installed": installed.rows,
    "scale": scale.rows,
    "on_dask": on_dask.rows,
    "explorer": explorer.rows,
    "table": table.rows,
    "command_line": command_line.rows,
    "reads": reads.rows,
    "sizes": sizes.rows,
    "updates": updates.rows,
}
PAGE = Path(__file__).with_name("results.md")
INTRODUCTION = """# Measured speed

Written by `make bench`. Every number is a ratio of times measured side by side in one run (below 1: we are faster),
unless it is an exponent, a per cent, or seconds. A target is what we want to reach; missed ones stay on the page.
"""


def main() -> int:
    if sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        try:
            slower = list(history.compare(history.read(), *sys.argv[2:]))
        except ValueError as error:  # nothing to compare
            sys.exit(str(error))
        print("\n".join(slower) or "No row got slower by more than 10 %.")
        return 0
    if sys.argv[1:] == ["history"]:
        history.write_page(history.read())
        return 0
    if sys.argv[1:] == ["pages"]:
        _write_pages()
        return 0
    if not os.environ.get("WIDEGAP_DATA"):
        print("The benchmarks need the data sets: set WIDEGAP_DATA to their folder.", file=sys.stderr)
        return 2
    chosen = sys.argv[1:] or list(SUITES)
    found, commit = _kept_parts(), history.current_commit()
    for suite in chosen:
        lines = ["", "| measured | ratio | target | | detail |", "|---|---|---|---|---|"]
        for row in SUITES[suite]():
            history.record(commit, suite, [row])
            target = "" if row.target is None else f"<= {row.target}"
            lines.append(f"| {row.name} | {row.value:.2f} | {target} | {row.verdict} | {row.detail} |")
            print(lines[-1], flush=True)
        found[suite] = "\n".join(lines[1:]) + "\n"
        parts = [f"## {name}\n\n{found[name]}" for name in SUITES if name in found]
        PAGE.write_text("\n".join([INTRODUCTION, _machine(), *parts]), encoding="utf-8")
    _write_pages()
    history.write_page(history.read())
    return 0


def _write_pages() -> None:
    """The figures of README and documentation, from those that are stored."""
    measured, speed = PAGE.read_text(encoding="utf-8"), Speed.stored()
    for path in SHOWING:
        path.write_text(with_speed(path.read_text(encoding="utf-8"), measured), encoding="utf-8")
    for path in PAGES:
        path.write_text(with_figures(path.read_text(encoding="utf-8"), speed), encoding="utf-8")


def _kept_parts() -> dict[str, str]:
    """The tables of the page as it is, by suite."""
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:] if PAGE.exists() else []
    return {name: table.lstrip("\n").rstrip("\n") + "\n" for name, _, table in (s.partition("\n") for s in sections)}


def _machine() -> str:
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in (numpy, scipy, sklearn, numba))
    return f"Machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {versions}.\n"


if __name__ == "__main__":
    sys.exit(main())
