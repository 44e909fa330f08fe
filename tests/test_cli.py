"""The command line: what the demo prints, and how wrong calls end."""

import re

import pytest

from widegap import __version__
from widegap.cli import _demo
from widegap.cli._main import main


def test_the_demo_prints_accuracy_and_time_side_by_side(monkeypatch, capsys):
    monkeypatch.setattr(_demo, "TASKS", ((1, 7), (0, 6, 8, 9)))
    monkeypatch.setattr(_demo, "SEEDS", range(1))
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"digits +rows +KMeans\(n_init=10\) +CPM3C", lines[2])
    measured = [re.fullmatch(r"[\d ]+? +(\d+) +([\d.]+) +[\d.]+ s +([\d.]+) +[\d.]+ s", line) for line in lines[3:]]
    assert [int(match[1]) for match in measured] == [361, 713]
    assert [float(match[3]) > limit for match, limit in zip(measured, (99.5, 94.5), strict=True)] == [True, True]


def test_version(capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"widegap {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"]])
def test_wrong_calls_exit_with_2_and_say_what_is_possible(arguments, capsys):
    with pytest.raises(SystemExit, match="^2$"):
        main(arguments)
    assert "usage: widegap" in capsys.readouterr().err
