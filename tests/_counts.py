"""Counts of what a run has tried, for docs/reliability.md: kept in the file that WIDEGAP_COUNTS names, if any."""

import json
import os
from pathlib import Path


def tried(what, number):
    """Note that ``number`` more cases of a kind were tried, and all were as promised."""
    if "WIDEGAP_COUNTS" in os.environ:
        path = Path(os.environ["WIDEGAP_COUNTS"])
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, "number": number}) + "\n")
