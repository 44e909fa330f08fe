"""Counts of what a run has tried, for docs/reliability.md.

Tests note what they tried in the file that WIDEGAP_COUNTS names, if any. ``python tests/_counts.py FILE`` adds such a
file up into ``tests/counts.json`` and writes the part of the page on counts anew, from it and from the draws in
``tests/mutants.json``.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from textwrap import fill

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reliability.md"
STORED = HERE / "counts.json"
MUTANTS = HERE / "mutants.json"
WIDTH = 120  # of the lines of a page
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
    """What the page says of the last run that was counted, and of the changes that were made to the core."""
    counts, record = (json.loads(path.read_text(encoding="utf-8")) for path in (STORED, MUTANTS))
    cases = "; ".join(f"{number:,} {what}" for what, number in counts.items()) + "."
    scores = "Changes of the core that the tests detected at first: " + "; ".join(map(score, record["draws"])) + "."
    return "\n\n".join(fill(text, WIDTH) for text in (cases, scores)) + "\n"


def score(draw):
    """What became of a draw: at first, what has no effect counts as missed as well."""
    tried, noticed, fates = draw["tried"], draw["noticed"], list(draw["missed"].values())
    added = fates.count("noticed since")
    same = sum(bool(fate) for fate in fates) - added
    late = f"of the others {same} have no effect, and {added} are detected now"
    return f"{noticed} of {tried} ({noticed / tried:.0%}; commit {draw['commit'][:7]}; {late})"


def page_with(text, page):
    """The page with ``text`` in the place of what stood between its marks."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        STORED.write_text(json.dumps(add_up(sys.argv[1]), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page_with(counts_text(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
