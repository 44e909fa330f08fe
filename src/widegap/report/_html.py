"""The page: the dict of ``summarize`` through a template that escapes every word."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from widegap._wording import number, percent, row_number
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.results._palette import DARK, LIGHT, NO_CLUSTER
from widegap.results._summary import SCHEMA

TEMPLATES = Path(__file__).parent / "templates"


def render(summary: dict[str, Any]) -> str:
    """One HTML page that holds everything it needs: no network, no other files.

    Parameters
    ----------
    summary : dict
        What ``summarize`` returned, possibly written as JSON and read again in between.

    Returns
    -------
    str
        The page; write it in UTF-8.
    """
    if not isinstance(summary, dict):
        raise InvalidDataError(f"summary is a {type(summary).__name__}; pass what report.summarize(model, X) returned.")
    found = summary.get("schema")
    if found != SCHEMA:
        raise InvalidDataError(
            f"The summary has schema {found!r}, but this version of widegap renders {SCHEMA!r}; make the summary again."
        )
    return _template().render(
        report=summary,
        sheet=_sheet(),
        script=_file("report.js"),
        script_hash=_hash(_file("report.js")),
        payload=_script_json(_payload(summary)),
    )


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise NotSupportedError(
            "Reports need jinja2, which is not installed: pip install 'widegap[report]'."
        ) from error
    from widegap.report import _charts as charts
    from widegap.report import _flow_chart as flow_chart

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["percent"] = percent
    environment.filters["row_number"] = row_number
    environment.filters["breakable"] = _breakable
    environment.globals["charts"] = charts
    environment.globals["flow_chart"] = flow_chart
    return environment.get_template("report.html.j2")


def _breakable(name: Any) -> Any:
    """A header that may be broken after each underscore: a long one must not push the next columns off the page."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(map(escape, str(name).split("_")))


@cache
def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _sheet() -> str:
    """The style sheet, and before it the colours of the clusters."""
    light, dark = (f".widegap-report{{{_variables(colours)}}}" for colours in (LIGHT, DARK))
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}\n{_file('report.css')}"


def _variables(colours: Sequence[str]) -> str:
    return ";".join([*(f"--k{i}:{colour}" for i, colour in enumerate(colours)), f"--kx:{NO_CLUSTER}"])


def _hash(script: str) -> str:
    """The script as the page's policy names it: nothing else may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _payload(summary: dict[str, Any]) -> dict[str, Any]:
    """What the script needs: the words of every point and start."""
    points = summary["map"]["points"] if summary["map"] else []
    names = {str(cluster["label"]): cluster["name"] for cluster in summary["clusters"]}
    starts = summary["search"]["starts"] if summary["search"] else []
    return {
        "unit": summary["unit"],
        "names": names,
        "points": [_point(point) for point in points],
        "starts": [[start["kind"], number(start["objective"], 6)] for start in starts],
    }


def _point(point: dict[str, Any]) -> list[str]:
    """The text of a point: number and id, title, text, how deep inside it lies, how sure its cluster is."""
    label = str(row_number(point["row"])) + ("" if point["id"] is None else f" ({point['id']})")
    return [
        label,
        point["title"],
        point["text"],
        point["depth"],
        "" if point["sure"] is None else percent(point["sure"]),
    ]


def _script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
