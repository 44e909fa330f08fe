"""The page as one JavaScript module for notebooks: a function that begins a page, and may be called for several.

In a document of its own the page is made of modules, each with its state; a document has every module once. Here each
module becomes the body of a function, and all of them one function of the host, so that every call has a state of its
own, and it is freed with the page. The modules keep to a few forms of ``import`` and ``export``; others are refused.
"""

import json
import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parent / "page"
IMPORT = re.compile(
    r'^import (?:(?P<names>\{[^}]+\})|\* as (?P<whole>\w+)) from "\./(?P<module>\w+)\.js";$', re.MULTILINE
)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (?P<name>\w+))", re.MULTILINE)
OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
MAIN, HOST, NOTEBOOK = "main", "host", "notebook"


@cache
def bundled() -> str:
    """The module of the widget: markup, style, the page as a function, and what shows it in a notebook."""
    markup, style = (json.dumps((PAGE / name).read_text(encoding="utf-8")) for name in ("index.html", "style.css"))
    parts = [_as_function(name) for name in _in_order(MAIN, [])]
    page = "\n".join(["function openPage(host) {", f"const {_variable(HOST)} = {{ host }};", *parts, "}"])
    shown = f"{_as_function(NOTEBOOK)}\nexport default {_variable(NOTEBOOK)}.widget(openPage, {markup}, {style});\n"
    return f"{page}\n{shown}"


def _source(name: str) -> str:
    return (PAGE / f"{name}.js").read_text(encoding="utf-8")


def _variable(name: str) -> str:
    return f"${name}"


def _in_order(name: str, before: list[str]) -> list[str]:
    """The modules that one needs, each after those that it imports, and itself at the end."""
    for imported in IMPORT.finditer(_source(name)):
        if imported["module"] not in (HOST, *before):
            _in_order(imported["module"], before)
    before.append(name)
    return before


def _as_function(name: str) -> str:
    """A module as a variable that holds what it exports."""
    text = _source(name)
    names = [found["name"] for found in EXPORT.finditer(text)]
    body = EXPORT.sub(
        "", IMPORT.sub(lambda found: f"const {found['names'] or found['whole']} = ${found['module']};", text)
    )
    left = OTHER.search(body)
    if left is not None:
        raise ValueError(f"page/{name}.js: {left[0]!r} is a form of import or export that _bundle.py does not know.")
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {', '.join(names)} }};\n}})();"
