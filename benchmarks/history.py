"""What the benchmarks measured: ``history.jsonl`` has one line a row and commit, ``history.md`` the curves.

Rows that are seconds are left out: both sides of a ratio ran on the same machine in the same minute, while the seconds
of two commits did not.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from benchmarks._measure import Row

FILE = Path(__file__).with_name("history.jsonl")
PAGE = Path(__file__).with_name("history.md")
CURVES = Path(__file__).with_name("history.svg")
SLOWER = 1.1  # times the older figure: below it two runs of one commit differ as well
WIDTH, HEIGHT, LEFT, LINE = 260, 44, 470, 56  # of a curve, and of the words before it, in pixels
TEXT = """# Measured speed over time

Written by `python -m benchmarks history` from `history.jsonl`. A point is a commit at which the row was measured, from
the oldest to the newest; the dashed line is the target. Lower is better. `python -m benchmarks compare A B` lists the
rows that got slower by more than 10 % between two commits.

![Curves of all rows that were measured at two commits or more](history.svg)
"""


@dataclass(frozen=True)
class Entry:
    """A row as it was measured at a commit."""

    commit: str
    suite: str
    name: str
    value: float
    target: float | None


def current_commit() -> str:
    """The commit that is checked out."""
    done = subprocess.run(["git", "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def record(commit: str, suite: str, rows: Iterable[Row], file: Path = FILE) -> None:
    """Keep what a suite measured; of a row that is measured again at the same commit the last figure."""
    ratios = [row for row in rows if "seconds" not in row.name]
    new = [Entry(commit, suite, row.name, round(row.value, 4), row.target) for row in ratios]
    names = {entry.name for entry in new}
    kept = [e for e in read(file) if (e.commit, e.suite) != (commit, suite) or e.name not in names]
    lines = (json.dumps(asdict(entry), ensure_ascii=False) for entry in (*kept, *new))
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read(file: Path = FILE) -> list[Entry]:
    """All entries, the oldest first."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [Entry(**json.loads(line)) for line in lines]


def compare(entries: Iterable[Entry], older: str, newer: str) -> Iterator[str]:
    """A line for every row that got slower by more than a tenth between two commits."""
    entries = list(entries)
    before, after = (_measured_at(entries, commit) for commit in (older, newer))
    both = [key for key in before if key in after]
    if not both:
        raise ValueError(f"No row was measured at both {older} and {newer}; run the same suites at both.")
    for key in both:
        if after[key].value > SLOWER * before[key].value > 0:
            yield f"{': '.join(key)}: {before[key].value:.2f} -> {after[key].value:.2f}"


def _measured_at(entries: list[Entry], commit: str) -> dict[tuple[str, str], Entry]:
    found = {(e.suite, e.name): e for e in entries if e.commit.startswith(commit)}
    if not found:
        commits = list(dict.fromkeys(entry.commit for entry in entries))
        raise ValueError(f"Nothing was measured at {commit!r}; these commits have figures: {', '.join(commits)}.")
    return found


def write_page(entries: Iterable[Entry]) -> None:
    """The page, and its picture."""
    PAGE.write_text(TEXT, encoding="utf-8")
    CURVES.write_text(picture(entries), encoding="utf-8")


def picture(entries: Iterable[Entry]) -> str:
    """The curves of all rows that were measured more than once, as SVG."""
    rows: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        rows.setdefault((entry.suite, entry.name), []).append(entry)
    shown = [(key, found) for key, found in rows.items() if len(found) > 1]
    size = f'width="{LEFT + WIDTH + 130}" height="{LINE * len(shown) + 10}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#333">']
    parts += ['<rect width="100%" height="100%" fill="white"/>']
    for place, ((suite, name), found) in enumerate(shown):
        parts += _curve(LINE * place + 8, f"{suite}: {name}", found)
    return "\n".join([*parts, "</svg>\n"])


def _curve(top: float, title: str, found: list[Entry]) -> Iterator[str]:
    """One row: its name, its curve from 0 to the largest figure, and the last figure."""
    values, target = [entry.value for entry in found], found[-1].target
    most = max(*values, target or 0.0) or 1.0
    heights = [top + HEIGHT * (1 - max(value, 0.0) / most) for value in values]
    across = [LEFT + WIDTH * i / (len(values) - 1) for i in range(len(values))]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
    yield f'<text x="8" y="{top + HEIGHT / 2 + 4}">{escape(title if len(title) < 78 else title[:75] + "...")}</text>'
    yield f'<path d="M{LEFT} {top + HEIGHT}h{WIDTH}" stroke="#ccc"/>'
    if target is not None:
        height = top + HEIGHT * (1 - target / most)
        yield f'<path d="M{LEFT} {height:.1f}h{WIDTH}" stroke="#999" stroke-dasharray="4 3"/>'
    yield f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="2"/>'
    yield f'<circle cx="{across[-1]:.1f}" cy="{heights[-1]:.1f}" r="3" fill="#1f5fa8"/>'
    words = f"{values[-1]:.2f}" + (f" (target {target:g})" if target is not None else "")
    yield f'<text x="{LEFT + WIDTH + 10}" y="{top + HEIGHT / 2 + 4}">{words}</text>'
