"""Phrases that were struck do not come back: the pages, messages, docstrings and labels are plain English.

``struck_phrases.txt`` has one phrase per line, a tab, and what to write instead. Case does not matter, and a phrase may
be broken over lines, comments or adjacent strings.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("struck_phrases.txt")
LEAST_PHRASES = 100
LEAST_WORDS = 2
KINDS = (".py", ".md", ".txt", ".js", ".html", ".j2", ".css")
PLACES = ("src", "docs", "examples", *(f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")))
BUILT = ("__pycache__", "generated", "auto_examples")  # folders that programs write


def struck() -> dict[str, str]:
    """What to write instead of every phrase."""
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line.strip()]
    return dict(line.split("\t") for line in lines)


def folded(text: str) -> str:
    """The text in lower case with single spaces; marks of comments at the beginning of lines are left out."""
    return " ".join(re.sub(r"^\s*(?:#|//|\*) ?", " ", text, flags=re.MULTILINE).lower().split())


def sentences(text: str, kind: str) -> str:
    """All that a file says; adjacent strings of Python are joined, as a message is often cut into several."""
    if kind != ".py":
        return folded(text)
    strings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return folded("\n|\n".join([text, *(value for value in strings if isinstance(value, str))]))


@cache
def pages() -> dict[str, str]:
    """The folded text of every file that people read."""
    found = [path for place in PLACES for path in (ROOT / place, *(ROOT / place).rglob("*"))]
    return {
        path.relative_to(ROOT).as_posix(): sentences(path.read_text(encoding="utf-8"), path.suffix)
        for path in found
        if path.is_file() and path.suffix in KINDS and not set(path.relative_to(ROOT).parts) & set(BUILT)
    }


def test_no_struck_phrase_comes_back():
    found = [
        f"{file}: {phrase!r}; write {better!r}"
        for phrase, better in struck().items()
        for file, text in pages().items()
        if folded(phrase) in text
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_list_is_long_enough_and_each_phrase_says_what_to_write():
    phrases = struck()
    assert len({folded(phrase) for phrase in phrases}) == len(phrases) >= LEAST_PHRASES
    assert not [phrase for phrase, better in phrases.items() if len(phrase.split()) < LEAST_WORDS or not better.strip()]
    assert not [phrase for phrase, better in phrases.items() if folded(phrase) in folded(better)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Sizes Count\n  no more here.", ".md"),
        ("# sizes count\n# no more\n", ".py"),
        ('raise ValueError("sizes count " f"no {more}" "sizes count " "no more")', ".py"),
        ("// sizes count\n// no more", ".js"),
    ],
)
def test_a_phrase_is_found_over_line_breaks(text, kind):
    assert "count no more" in sentences(text, kind)
