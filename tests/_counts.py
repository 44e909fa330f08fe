"""Counts of what a run has tried, for docs/reliability.md.

Tests note what they tried in the file that WIDEGAP_COUNTS names, if any. ``python tests/_counts.py FILE`` adds such a
file up into ``tests/counts.json`` and writes the lists of the page anew from it and from ``tests/mutants.json``.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

from mutants import UNSEEN

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reliability.md"
STORED = HERE / "counts.json"
MUTANTS = HERE / "mutants.json"
PARTS = ("noticed", "added", "missed")
FIRST = {"0": "53 of 74 (72%)"}  # of the draw before which no record was kept of what was noticed at first
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"


def tried(what, number):
    """Note that ``number`` more cases of a kind were tried, and all were as promised."""
    if "WIDEGAP_COUNTS" in os.environ:
        with Path(os.environ["WIDEGAP_COUNTS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, "number": number}) + "\n")


def add_up(path):
    """The sums of a file of counts."""
    sums = Counter()
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        sums[entry["what"]] += entry["number"]
    return dict(sorted(sums.items()))


def counts_text():
    """What the page says of the last run that was counted, and of the changes that were made to solvers."""
    counts, mutants = (json.loads(path.read_text(encoding="utf-8")) for path in (STORED, MUTANTS))
    lines = ["| tried | cases |", "|---|---|", *(f"| {what} | {number:,} |" for what, number in counts.items())]
    head = [
        "Mutants of solvers and losses, drawn with a fixed seed, and how many the tests of their module detected:",
        "",
        "| draw | modules | detected at first | detected with the tests added since | without effect |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*lines, "", *head, *(score(draw, modules) for draw, modules in sorted(mutants.items())), ""])


def score(draw, modules):
    """A line on one draw: what had no effect counts as missed at first, and not at all later."""
    noticed, added, missed = ([x for found in modules.values() for x in found[part]] for part in PARTS)
    same = [name for name in missed if name in UNSEEN]
    total, first, now = len(noticed + added + missed), len(noticed), len(noticed + added)
    later = f"{now} of {total - len(same)} ({now / (total - len(same)):.0%})"
    at_first = FIRST.get(draw, f"{first} of {total} ({first / total:.0%})")
    return f"| {draw} | {len(modules)} | {at_first} | {later} | {len(same)} |"


def page_with(text, page):
    """The page with ``text`` in the place of what stood between its marks."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        STORED.write_text(json.dumps(add_up(sys.argv[1]), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_with(counts_text(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
