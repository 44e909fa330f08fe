"""The commands of README and guide, and the README's Python, run as they stand on small files of the same names."""

import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import make_blobs

from widegap.cli._main import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
STARTED, INDEX = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("get-started.md", "guide/index.md"))
GUIDE = [ROOT / "docs" / "get-started.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def blocks_of(text):
    """Pairs of language and code, one for each fenced block."""
    return re.findall(r"^```(\S*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


BLOCKS = blocks_of(TEXT)
SHELL = [
    block for text in (TEXT, *(page.read_text(encoding="utf-8") for page in GUIDE)) for _, block in blocks_of(text)
]
LINES = dict.fromkeys(line for block in SHELL for line in block.splitlines() if line.startswith("widegap "))
COMMANDS = [shlex.split(line, comments=True) for line in LINES]
PYTHON = [block for language, block in BLOCKS if language == "python"]
FOOD = ["bake bread with flour and yeast", "flour, yeast and water for bread", "bread needs salt, flour and yeast"]
SPORT = ["the goalkeeper saved a late goal", "a late goal decided the match", "the match ended without a goal"]


def test_readme_and_get_started_install_alike():
    first, second = ([block for _, block in blocks_of(text) if "pip install" in block] for text in (TEXT, STARTED))
    assert first and first == second


def test_the_guide_is_in_the_order_in_which_people_need_it():
    parts = [block.split("\n\n")[-1].split() for kind, block in blocks_of(INDEX) if kind == "{toctree}"]
    table = "choose ../tables how-many report explore correct update ../command-line trouble".split()
    assert parts[0] == table and parts[-1] == ["margin"]
    assert parts[-2][0] == "text" and "pictures" in parts[-2] and parts[-2][-1] == "../scale"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with every file that the README speaks of."""
    path = tmp_path_factory.mktemp("readme")
    X, y = make_blobs(60, 3, centers=[[0, 0, 0], [8, 0, 4], [0, 8, -4]], cluster_std=0.5, random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    frame["kind"] = np.array(["a", "b", "c"])[y]
    frame.to_csv(path / "data.csv", index=False)
    frame.iloc[:5].to_csv(path / "new.csv", index=False)
    np.save(path / "matrix.npy", X)
    for name, texts in (("notes", FOOD + SPORT), ("boilerplate", ["all rights reserved bread", "terms of goal"])):
        (path / name).mkdir()
        for i, text in enumerate(texts):
            (path / name / f"{i}.txt").write_text(text, encoding="utf-8")
    pd.DataFrame({"title": "t", "body": FOOD + SPORT}).to_csv(path / "articles.csv", index=False)
    (path / "new.jsonl").write_text('{"text": "a goal in the match"}\n', encoding="utf-8")
    pixels = np.repeat(np.repeat(np.random.default_rng(0).integers(0, 255, (4, 6, 3), dtype=np.uint8), 10, 0), 10, 1)
    Image.fromarray(pixels).save(path / "photo.jpg")
    return path


def test_every_command_of_readme_and_guide_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert {command[1] for command in COMMANDS} == {"cluster", "documents", "segment", "predict", "report", "update"}
    for command in COMMANDS:
        assert main(command[1:]) == 0, (command, capsys.readouterr().err)
        for option in {"-o", "--report", "--model"} & set(command):
            assert (folder / command[command.index(option) + 1]).stat().st_size, command


def test_readme_and_get_started_agree_on_how_to_install():
    places = [text.partition("## Install\n")[2] for text in (TEXT, GUIDE[0].read_text(encoding="utf-8"))]
    ways = [next(block for _, block in blocks_of(place)) for place in places]
    assert ways[0] == ways[1]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name for found in re.findall(r"\[([\w,]+)\]'", ways[0]) for name in found.split(",")} <= set(extras)


@pytest.mark.parametrize("name", re.findall(r"`widegap (datasets|demo)`", TEXT))
def test_commands_in_sentences_are_there(name, capsys):
    assert main([name, "--help"]) == 0  # test_cli.py runs both
    assert f"widegap {name}" in capsys.readouterr().out


@pytest.mark.parametrize("code", PYTHON, ids=[f"block {i}" for i in range(len(PYTHON))])
def test_python_of_the_readme_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})


def test_the_readme_is_short():
    assert len(TEXT.splitlines()) <= 120
