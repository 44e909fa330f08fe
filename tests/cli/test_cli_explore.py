"""``widegap explore`` as a program: its address on the first line, what it refuses, sessions that are resumed."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from widegap import persistence
from widegap.cli._explore import _session_place
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("uvicorn", reason="needs the extra explore")

WORDS = {"food": "bread flour yeast salt oven", "sport": "goal match late keeper ball"}


def write_table(folder):
    X, y = make_blobs(90, 3, centers=[[0, 0, 0], [8, 0, 4], [0, 8, -4]], cluster_std=0.5, random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    frame.insert(0, "who", [f"=customer {i}" for i in range(90)])
    frame.to_csv(folder / "customers.csv", index=False)
    return folder / "customers.csv"


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path)


@contextmanager
def running(*arguments):
    """The program and its address; it is ended by Ctrl-C."""
    command = [sys.executable, "-m", "widegap", "explore", *map(str, arguments), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        with httpx.Client(base_url=address, timeout=60) as browser:
            yield browser, process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        finally:
            process.kill()  # nothing is left behind if it did not listen


def state_after_fit(browser):
    """The state once nothing is running any more."""
    with browser.stream("GET", "api/events") as stream:
        for line in stream.iter_lines():
            news = json.loads(line[6:]) if line.startswith("data:") else None
            if news and news["number"] and not news["progress"]["running"]:
                break
    return browser.get("api/state").json()


def act(browser, kind, data):
    number = browser.get("api/state").json()["number"]
    answer = browser.post("api/act", json={"kind": kind, "data": data, "base": number})
    assert answer.status_code == 200, answer.text
    return answer.json()


def clusters_of(browser):
    """The cluster of every row as the page exports it."""
    lines = browser.get("api/export/assignments.jsonl").text.splitlines()
    return [json.loads(line)["cluster"] for line in lines]


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A table, a model that the page gave, and the clusters it showed, of a program that was killed then."""
    folder = tmp_path_factory.mktemp("killed")
    path, model = write_table(folder), folder / "model.widegap"
    with running(path) as (browser, process):
        state = state_after_fit(browser)
        assert state["k"] == 3 and state["n_rows"] == 90 and state["columns"] == ["width", "height", "depth"]
        act(browser, "rename", {"cluster": 0, "name": "small ones"})
        act(browser, "k", {"k": 2})
        clusters = clusters_of(browser)
        key = browser.get("api/state").json()["clusters"][1]["key"]
        act(browser, "rename", {"cluster": key, "name": "loyal <ones>"})
        model.write_bytes(browser.get("api/export/model.widegap").content)
        process.kill()
    assert len(set(clusters)) == 2
    return path, model, clusters


def test_a_killed_program_goes_on_where_it_was(killed):
    with running(killed[0], "--resume") as (browser, _):
        state = browser.get("api/state").json()
        assert state["k"] == 2 and state["number"] == 4
        assert "loyal <ones>" in [cluster["name"] for cluster in state["clusters"]]
        act(browser, "undo", {})
        state = act(browser, "undo", {})
        assert state["k"] == 3 and "small ones" in [cluster["name"] for cluster in state["clusters"]]
        row = browser.get("api/row?row=5").json()
        assert ["who", "=customer 5"] in row["cells"]


def test_a_model_from_the_page_serves_the_other_commands(killed, tmp_path):
    table, model, clusters = killed
    out = tmp_path / "out.jsonl"
    assert main(["predict", str(model), str(table), "-o", str(out), "-q"]) == 0
    assert [json.loads(line)["cluster"] for line in out.read_text(encoding="utf-8").splitlines()] == clusters
    assert main(["report", str(model), str(table), "--report", str(tmp_path / "report.html"), "-q"]) == 0
    assert "loyal &lt;ones&gt;" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with running(model, table) as (browser, _):
        state = browser.get("api/state").json()
        assert state["k"] == 2
        assert "loyal <ones>" in [cluster["name"] for cluster in state["clusters"]]
        assert clusters_of(browser) == clusters
        again = browser.get("api/export/model.widegap").content
    assert again[:2] == b"PK"
    (tmp_path / "again.widegap").write_bytes(again)
    assert "loyal <ones>" in persistence.load(tmp_path / "again.widegap")[1]["names"].values()
    assert main(["predict", str(tmp_path / "again.widegap"), str(table), "-o", str(out), "-q"]) == 0
    assert [json.loads(line)["cluster"] for line in out.read_text(encoding="utf-8").splitlines()] == clusters


def test_rows_are_exported_in_the_dialect_that_was_read_and_ctrl_c_ends_it_while_a_page_is_open(table):
    frame = pd.read_csv(table)
    frame.to_csv(table, index=False, sep=";", decimal=",")
    with running(table) as (browser, process):
        state_after_fit(browser)
        lines = browser.get("api/export/assignments.csv").text.splitlines()
        first = json.loads(browser.get("api/export/assignments.jsonl").text.splitlines()[0])
        with browser.stream("GET", "api/events") as stream:
            next(stream.iter_lines())
            process.send_signal(signal.SIGINT)
            process.wait(30)
        said = process.stderr.read()
    assert lines[0] == "who;width;height;depth;cluster;cluster_name;sure;margin"
    cells = lines[1].split(";")
    assert cells[0] == "'=customer 0"  # no spreadsheet runs it
    assert float(cells[1].replace(",", ".")) == frame["width"][0] == first["width"]
    assert "Every action is saved to" in said
    assert "Traceback" not in said and "ERROR" not in said


def test_a_new_session_leaves_the_old_one_alone(tmp_path):
    place = tmp_path / "x.csv.explore.jsonl"
    for i in (1, 2):
        place.write_text("old")
        with _session_place(place, True):
            assert place.exists()
        with _session_place(place, False):
            assert not place.exists()
        assert (tmp_path / f"x.csv.explore.{i}.jsonl").read_text() == "old"


def test_a_refused_start_leaves_the_session_that_another_began_meanwhile(tmp_path):
    place = tmp_path / "x.csv.explore.jsonl"
    place.write_text("old")
    with pytest.raises(InvalidDataError), _session_place(place, False):
        place.write_text("of another explorer")
        raise InvalidDataError("exists already")
    assert place.read_text() == "of another explorer"
    assert (tmp_path / "x.csv.explore.1.jsonl").read_text() == "old"


def test_documents_and_junk(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(24):
        words = rng.choice(WORDS["food" if i % 2 else "sport"].split(), 12)
        (folder / f"note{i:02}.txt").write_text(" ".join(words), encoding="utf-8")
    with running(folder, "-k", 2) as (browser, _):
        state = state_after_fit(browser)
        assert state["unit"] == "document" and state["k"] == 2 and state["supported"] == ["junk"]
        assert {len(cluster["apart"]) > 2 for cluster in state["clusters"]} == {True}
        act(browser, "junk", {"rows": [0, 1]})
        number = browser.get("api/state").json()["number"]
        assert browser.post("api/again", json={"base": number}).status_code == 200
        state = wait_for(browser, number + 1)
        assert [cluster["size"] for cluster in state["clusters"] if cluster["key"] == -1] == [2]
        assert len(browser.get("api/points?layout=neighbours").content) == 24 * 12
        assert len(browser.get("api/points?layout=scores").content) == 24 * 12


def wait_for(browser, number):
    with browser.stream("GET", "api/events") as stream:
        for line in stream.iter_lines():
            if line.startswith("data:") and json.loads(line[6:])["number"] >= number:
                break
    return browser.get("api/state").json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "no such file"),
        (["customers.csv", "--host", "0.0.0.0"], "add --expose"),
        (["customers.csv", "--resume"], "no such session"),
        (["none.widegap", "customers.csv"], "no such file"),
        (["customers.csv", "--method", "cpm3c"], "needs a fixed k"),
        (["customers.csv", "-k", "zero"], "is not a number of clusters"),
    ],
)
def test_what_it_refuses(table, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(table.parent)
    assert main(["explore", *arguments, "--no-browser"]) == 2
    assert message in capsys.readouterr().err


def test_columns_that_are_left_out_are_shown_and_not_used(table):
    with running(table, "-k", "2", "--drop", "depth", "--label-column", "height") as (browser, _):
        state = state_after_fit(browser)
        assert state["columns"] == ["width"]
        cells = browser.get("api/row", params={"row": 0}).json()["cells"]
        assert {"depth", "height"} <= {name for name, *_ in cells}


def test_columns_are_for_tables_that_are_clustered(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("bread flour", encoding="utf-8")
    assert main(["explore", str(tmp_path), "--drop", "x", "--no-browser"]) == 2
    assert "are for a table that is clustered" in capsys.readouterr().err


def test_a_page_that_cannot_be_opened_leaves_the_sessions_as_they_were(tmp_path, capsys):
    table = write_table(tmp_path)
    session = tmp_path / f"{table.name}.explore.jsonl"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        call = ["explore", str(table), "-k", "2", "--no-browser", "--port", str(taken.getsockname()[1])]
        assert main(call) == 2 and not session.exists()
        session.write_text("an earlier session", encoding="utf-8")
        assert main(call) == 2
    assert session.read_text(encoding="utf-8") == "an earlier session"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([table.name, session.name])
