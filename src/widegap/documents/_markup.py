"""The text of an HTML document: without tags, comments, scripts and styles, and with entities decoded.

Block tags end a line, so that words of two paragraphs, list items or cells stay apart; tags inside a line, such as
those of bold letters, join what they divide. The document is read from left to right, and every search for the end of
a comment or a script that fails is the last of its kind, so that the time is linear in the length whatever the markup.
The standard library's ``html.parser`` is not: 20,000 tags that are never closed take it half a minute.
"""

import html
import re
from collections.abc import Iterator

_HTML = re.compile(
    r"<!doctype\s+html|<html\b|</(?:a|b|body|div|h[1-6]|head|i|li|p|span|td|title|ul)\s*>", re.IGNORECASE
)
# A comment, a tag whose quoted attributes may hold ">", or a tag with a stray quote or a declaration. Nothing goes
# beyond the next "<", so that what is not closed costs no more than its own length.
_MARKUP = re.compile(
    r"""(?P<comment><!--)|<(?P<end>/?)(?P<name>[a-zA-Z][^\s/<>]*)(?:[^<>"']|"[^"<]*"|'[^'<]*')*>|<[!?/a-zA-Z][^<>]*>"""
)
_CODE_END = {name: re.compile(rf"</{name}\b[^<>]*>?", re.IGNORECASE) for name in ("script", "style")}
_WITHIN_A_LINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong sub "
    "sup time tt u var wbr".split()
)


def plain_text(document: str) -> str:
    """The document without markup if it looks like HTML, else as it is."""
    return html_text(document) if _HTML.search(document) else document


def html_text(document: str) -> str:
    """The text of an HTML document, one line a block."""
    lines = html.unescape("".join(_pieces(document))).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def _pieces(document: str) -> Iterator[str]:
    """Texts between the markup, and what the markup leaves in their place."""
    place, comments_end, last = 0, True, None
    while found := _MARKUP.search(document, place):
        yield document[place : found.start()]
        adjoins, place = found.start() == place, found.end()
        name, closes = (found["name"] or "").lower(), bool(found["end"])
        if found["comment"]:
            end = document.find("-->", place) if comments_end else -1
            comments_end, place = end >= 0, place if end < 0 else end + 3
        elif name in _CODE_END and not closes:
            code_end = _CODE_END[name].search(document, place)
            if code_end is None:
                return
            place = code_end.end()
            yield "\n"
        elif name not in _WITHIN_A_LINE:
            yield "\n"
        elif name == "a" and not closes and adjoins and last == "/a":  # two links in a row, as in menus
            yield " "
        last = f"/{name}" if closes else name
    yield document[place:]
