"""One palette: what Python defines, the report's page and the explorer's script show."""

import re
from pathlib import Path

from widegap import explorer
from widegap.report._html import _sheet
from widegap.results._palette import DARK, LIGHT, NO_CLUSTER, light_colour


def test_the_explorer_has_the_same_colours():
    script = (Path(explorer.__file__).parent / "page" / "palette.js").read_text(encoding="utf-8")
    found = {name: re.findall(r"#[0-9a-f]{6}", line) for name, line in re.findall(r"const (\w+) = (.*);", script)}
    assert found["LIGHT"] == list(LIGHT)
    assert found["DARK"] == list(DARK)
    assert found["NONE"] == [NO_CLUSTER]


def test_the_report_has_the_same_colours():
    light, dark = _sheet().split("@media screen and (prefers-color-scheme:dark)", 1)
    for sheet, colours in ((light, LIGHT), (dark, DARK)):
        found = re.findall(r"--k(\d|x):(#[0-9a-f]{6})", sheet.split("}")[0])
        assert found == [*((str(i), colour) for i, colour in enumerate(colours)), ("x", NO_CLUSTER)]


def test_colours_differ_and_repeat_after_ten_clusters():
    assert len({*LIGHT, NO_CLUSTER}) == len({*DARK, NO_CLUSTER}) == 11
    assert light_colour(13) == light_colour(3) == LIGHT[3]
    assert light_colour(-1) == NO_CLUSTER
