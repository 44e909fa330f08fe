"""The branches that tests take, by slice of the package: ``python tests/branches.py FILE``, of ``coverage json``.

It prints the share of every slice that was measured and what its files lack, and fails if a slice has less than
``LEAST``.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

LEAST = 0.95


def shares(report):
    """Branches taken and there, by slice, and the branches that each file lacks."""
    counts, lacking = defaultdict(lambda: [0, 0]), defaultdict(dict)
    for name, file in report["files"].items():
        part = name.partition("widegap/")[2].partition("/")[0]
        counts[part][0] += file["summary"]["covered_branches"]
        counts[part][1] += file["summary"]["num_branches"]
        if file["missing_branches"]:
            lacking[part][name] = [f"{start}->{end}" for start, end in file["missing_branches"]]
    return counts, lacking


def main(path):
    counts, lacking = shares(json.loads(Path(path).read_text(encoding="utf-8")))
    for part in sorted(counts):
        taken, there = counts[part]
        print(f"{part}: {taken} of {there} branches, {taken / there:.1%}")
        for name, missing in lacking[part].items():
            print(f"    {name}: {', '.join(missing)}")
    return min(taken / there for taken, there in counts.values()) < LEAST


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
