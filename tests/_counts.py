"""Counts of what a run has tried, for docs/reliability.md.

Tests note what they tried in the file that WIDEGAP_COUNTS names, if any. ``python tests/_counts.py FILE`` adds such a
file up into ``tests/counts.json`` and writes the part of the page on counts anew, from it and from the last draw of
``tests/mutants.json``.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from textwrap import fill

from mutants import UNSEEN

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reliability.md"
STORED = HERE / "counts.json"
MUTANTS = HERE / "mutants.json"
WIDTH = 120  # of the lines of a page
PARTS = ("noticed", "added", "missed")
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
    cases = "; ".join(f"{number:,} {what}" for what, number in counts.items()) + "."
    last = max(mutants, key=int)
    return "\n\n".join(fill(text, WIDTH) for text in (cases, score(last, mutants[last]))) + "\n"


def score(draw, modules):
    """A sentence on a draw: what had no effect counts as missed at first, and not at all later."""
    noticed, added, missed = ([x for found in modules.values() for x in found[part]] for part in PARTS)
    same = [name for name in missed if name in UNSEEN]
    total, first, now = len(noticed + added + missed), len(noticed), len(noticed + added)
    changed = total - len(same)
    return (
        f"Of {total} mutants of solvers and losses (draw {draw}, in {len(modules)} modules), the tests of their module "
        f"detected {first} at first ({first / total:.0%}), and {now} of {changed} ({now / changed:.0%}) with the tests "
        "added since. The others have no effect."
    )


def page_with(text, page):
    """The page with ``text`` in the place of what stood between its marks."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        STORED.write_text(json.dumps(add_up(sys.argv[1]), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_with(counts_text(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
