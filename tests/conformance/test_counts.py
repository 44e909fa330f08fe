"""The page on reliability gives the counts that are stored, and names tests that exist."""

import json
import re
from pathlib import Path

from _counts import PAGE, STORED, add_up, counts_text, page_with, tried

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_counts_of_the_stored_run():
    page = PAGE.read_text(encoding="utf-8")
    assert page_with(counts_text(), page) == page, "call python tests/_counts.py"


def test_every_stored_count_is_still_counted_by_a_test():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    counted = {what for text in texts for what in re.findall(r'\btried\(f?"([^"{]*)', text)}
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert [what for what in stored if what not in counted and not what.startswith("steps with ")] == []


def test_the_page_names_tests_that_exist():
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_page_on_the_explorer_names_tests_that_exist():
    text = PAGE.with_name("explorer-security.md").read_text(encoding="utf-8")
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(test_\w+\.py)`", text))
    assert len(named) > 4 and named <= there


def test_counts_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEGAP_COUNTS", str(tmp_path / "counts"))
    for number in (2, 3):
        tried("cases", number)
    assert add_up(tmp_path / "counts") == {"cases": 5}
