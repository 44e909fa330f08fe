"""Long fits: what a terminal shows, and what Ctrl-C leaves."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import make_blobs

from widegap import CPM3C, MaxMarginClustering
from widegap.cli import _fitting, _interrupts
from widegap.cli._fitting import Watch, time_left
from widegap.cli._main import main
from widegap.forest._merge_search import n_members
from widegap.selection import compare_cluster_numbers

CENTRES = [[0, 0, 0], [8, 0, 4], [0, 8, -4]]
TEXTS = ["bread with flour and yeast", "flour and yeast for bread", "a late goal in the match", "the match had a goal"]


@pytest.fixture
def blobs():
    return make_blobs(60, centers=CENTRES, cluster_std=0.5, random_state=0)[0]


@pytest.fixture
def table(tmp_path, blobs):
    path = tmp_path / "table.csv"
    pd.DataFrame(blobs, columns=["width", "height", "depth"]).to_csv(path, index=False)
    return path


def press_at(monkeypatch, step, times=1):
    """Let Ctrl-C be pressed when a fit makes its call number ``step``."""

    class Pressed(Watch):
        def __call__(self, record):
            if self.steps == step:
                for _ in range(times):
                    os.kill(os.getpid(), signal.SIGINT)
            return super().__call__(record)

    monkeypatch.setattr(_fitting, "Watch", Pressed)
    monkeypatch.setattr(_interrupts, "GRACE", 60)  # however slow the machine, it is not the test that ends


def test_ctrl_c_keeps_the_best_so_far_and_says_where(table, tmp_path, capsys, monkeypatch):
    press_at(monkeypatch, 1)
    arguments = ["cluster", str(table), "-k", "3", "-o", str(tmp_path / "out.csv")]
    assert main([*arguments, "--report", str(tmp_path / "r.html")]) == 130
    said = capsys.readouterr()
    assert "Stopping with the best result so far (Ctrl-C again to stop at once) ..." in said.err
    assert f"Interrupted: this is the best result so far (rows: {tmp_path / 'out.partial.csv'}" in said.err
    assert sorted(os.listdir(tmp_path)) == ["out.partial.csv", "r.partial.html", "table.csv"]
    with (tmp_path / "out.partial.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 60
    assert "The search stopped before it converged" in " ".join(said.out.split())


def test_ctrl_c_twice_leaves_nothing_behind(table, tmp_path, capsys, monkeypatch):
    press_at(monkeypatch, 1, times=2)
    arguments = ["cluster", str(table), "-k", "3", "-o", str(tmp_path / "out.csv")]
    assert main([*arguments, "--report", str(tmp_path / "r.html")]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == "Interrupted; no file was left half written."
    assert os.listdir(tmp_path) == ["table.csv"]


def test_ctrl_c_while_a_file_is_written_leaves_nothing_behind(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *paths: os.kill(os.getpid(), signal.SIGINT))
    assert main(["cluster", str(table), "-k", "3", "-o", str(tmp_path / "out.csv")]) == 130
    assert capsys.readouterr().err.endswith(" ...\nInterrupted; no file was left half written.\n")
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("at_once", [True, False])
def test_ctrl_c_before_the_bar_is_shown_is_an_interrupt(at_once, monkeypatch):
    def pressed(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_fitting, "_bar", pressed)
    with pytest.raises(KeyboardInterrupt), _fitting.watching("Fitting", None, True, at_once=at_once):
        pass


def test_ctrl_c_as_soon_as_a_file_is_made_leaves_nothing_behind(table, tmp_path, capsys, monkeypatch):
    made = os.close

    def pressed(file):
        made(file)
        if any(path.name.startswith(".out") for path in tmp_path.iterdir()):
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", pressed)
    assert main(["cluster", str(table), "-k", "3", "-o", str(tmp_path / "out.csv")]) == 130
    assert capsys.readouterr().err.endswith(" ...\nInterrupted; no file was left half written.\n")
    assert os.listdir(tmp_path) == ["table.csv"]


def test_ctrl_c_has_its_old_meaning_after_a_fit(table):
    before = signal.getsignal(signal.SIGINT)
    assert main(["cluster", str(table), "-k", "3", "-q"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


COMPILED = """
import hashlib, os, signal, threading
from widegap.cli._interrupts import Interrupts, listening
heard = threading.Event()
def press():
    os.kill(os.getpid(), signal.SIGINT)
    heard.wait()
    os.kill(os.getpid(), signal.SIGINT)
with listening(Interrupts(99, lambda: (print("heard", flush=True), heard.set()))):
    threading.Thread(target=press, daemon=True).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # minutes, and no handler of Python's would end it
"""


def test_compiled_code_does_not_hold_up_a_second_ctrl_c():
    command = [sys.executable, "-c", COMPILED]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 130
    assert run.stdout == "heard\n"
    assert run.stderr == "Interrupted at once; no result was kept, and no file was left half written.\n"


FITS = 7  # a number takes all rows, five subsamples, and shuffled columns


def test_ctrl_c_shows_the_numbers_that_were_compared(table, capsys, monkeypatch):
    press_at(monkeypatch, 2 * FITS + 2)  # while 4 clusters are tried
    assert main(["cluster", str(table), "-k", "2..5", "--method", "cpm3c"]) == 130
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()[:3]] == ["k", "2", "3"]
    last = said.err.splitlines()[-1]
    assert (
        last == "Interrupted: of the numbers of clusters 2 to 3 are compared, 4 to 5 are missing; nothing was written."
    )


def test_numbers_compared_before_ctrl_c_are_those_of_a_whole_run(table, blobs, capsys, monkeypatch):
    press_at(monkeypatch, FITS + 1)
    assert main(["cluster", str(table), "-k", "2..3", "--scale", "none", "--json", "--method", "cpm3c"]) == 130
    found = json.loads(capsys.readouterr().out)["recommendation"]
    assert found["missing"] == [3]
    whole = compare_cluster_numbers(_fitting.make_estimator("cpm3c", 2, 0), blobs, [2, 3], random_state=0)
    (record,) = found["numbers"]
    assert record == pytest.approx(vars(whole[0]))


def test_ctrl_c_before_any_number_is_compared(table, capsys, monkeypatch):
    press_at(monkeypatch, 0)
    assert main(["cluster", str(table), "-k", "2..3"]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("none was compared, 2 to 3 are missing; nothing was written.\n")


def test_ctrl_c_after_the_last_number_was_compared(table, capsys, monkeypatch):
    @contextmanager
    def pressed(notes):
        yield
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_fitting, "gathering_warnings", pressed)
    assert main(["cluster", str(table), "-k", "2..3", "--method", "cpm3c"]) == 130
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()[:3]] == ["k", "2", "3"]
    assert said.err.endswith("Interrupted: of the numbers of clusters 2 to 3 are compared; nothing was written.\n")


def test_ctrl_c_among_documents_keeps_the_best_so_far(tmp_path, capsys, monkeypatch):
    path = tmp_path / "d.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    press_at(monkeypatch, 1)
    places = {"-o": "out.csv", "--report": "r.html", "--model": "m.widegap"}
    options = [part for option, name in places.items() for part in (option, str(tmp_path / name))]
    assert main(["documents", str(path), "-k", "2", *options]) == 130
    said = capsys.readouterr()
    assert f"Interrupted: this is the best result so far (documents: {tmp_path / 'out.partial.csv'}" in said.err
    assert "The search stopped before it converged" in " ".join(said.out.split())
    assert sorted(os.listdir(tmp_path)) == ["d.txt", "m.partial.widegap", "out.partial.csv", "r.partial.html"]
    with (tmp_path / "out.partial.csv").open(encoding="utf-8", newline="") as file:
        assert len({row["topic"] for row in csv.DictReader(file)}) == 2


class Terminal:
    """A pseudo terminal as standard error; ``text`` is what it has shown, without colours."""

    def __init__(self, monkeypatch):
        pty = pytest.importorskip("pty")
        self._parent, child = pty.openpty()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.delenv("NO_COLOR", raising=False)
        self._stream = os.fdopen(child, "w")
        monkeypatch.setattr(sys, "stderr", self._stream)
        self._shown = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        try:
            while part := os.read(self._parent, 4096):
                self._shown += part
        except OSError:  # how a terminal ends
            pass

    def close(self):
        self._stream.close()
        self._reader.join()
        os.close(self._parent)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._shown.decode())


@pytest.fixture
def run_on_terminal(monkeypatch):
    """Runs a command on a terminal, by a clock on which every step takes five seconds; returns what it shows."""
    clock = [0.0]

    class Timed(Watch):
        def __call__(self, record):
            clock[0] += 5.0
            return super().__call__(record)

    def run(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(_fitting, "monotonic", lambda: clock[0])
            patch.setattr(_fitting, "Watch", Timed)
            terminal = Terminal(patch)
            try:
                code = main([str(argument) for argument in arguments])
            finally:
                shown = terminal.close()
        assert code == 0
        return shown

    return run


def shares_and_times(shown, label):
    """Percent and ETA in seconds, in the order in which they were shown."""
    found = re.findall(rf"{label}[^%\r\n]* (\d+)% \d:\d\d:\d\d ETA (\d):(\d\d):(\d\d)", shown)
    return [(int(share), 3600 * int(h) + 60 * int(m) + int(s)) for share, h, m, s in found]


def check_countdown(steps, total):
    """Five seconds are left for every step that is missing; the bar may be drawn while a step is being counted."""
    exact = {(round(100 * n / total), 5 * (total - n)) for n in range(1, total + 1)}
    late = {(round(100 * n / total), 5 * (total - n - 1)) for n in range(total)}
    assert set(steps) <= exact | late
    assert len(set(steps) & exact) > 2 * total / 3


def test_a_fit_shows_percent_and_eta_on_a_terminal_only(table, run_on_terminal, capsys):
    shown = run_on_terminal("cluster", table, "-k", "3")
    check_countdown(
        shares_and_times(shown, r"Searching for clusters in 60 rows, objective [\d.]+"), total=n_members(60)
    )
    assert "Searching for clusters" not in capsys.readouterr().out
    assert "Searching for clusters" not in run_on_terminal("cluster", table, "-k", "3", "--quiet")
    assert main(["cluster", str(table), "-k", "3"]) == 0
    assert "%" not in capsys.readouterr().err


@pytest.mark.parametrize(("method", "total"), [("cpm3c", 3 * FITS), ("max-margin", FITS)])
def test_a_range_shows_percent_and_eta(method, total, table, run_on_terminal):
    shown = run_on_terminal("cluster", table, "-k", "2..4", "--method", method)
    check_countdown(shares_and_times(shown, "Comparing 3 numbers of clusters"), total=total)


def test_splits_show_percent_and_eta(tmp_path, run_on_terminal):
    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    shown = run_on_terminal("segment", tmp_path / "p.png", "-k", "4", "--method", "max-margin")
    check_countdown(shares_and_times(shown, "Segmenting p.png"), total=3)


def test_fits_of_unknown_length_show_steps_and_time(table, run_on_terminal):
    shown = run_on_terminal("cluster", table, "-k", "3", "--method", "cpm3c")
    assert re.search(r"Searching for clusters in 60 rows, objective [\d.]+ .* 0:00:\d\d step [1-9]", shown)
    assert "ETA" not in shown


def test_time_left_is_at_the_pace_so_far(monkeypatch):
    monkeypatch.setattr(_fitting, "monotonic", lambda: 110.0)
    watch = Watch()
    watch.began = 50.0
    assert time_left(watch, 10) is None
    watch.steps, watch.last = 4, 90.0  # ten seconds a step, the fifth since twenty
    assert time_left(watch, 10) == 40.0
    assert time_left(watch, 5) == 0.0
    assert time_left(watch, None) is None


@pytest.mark.parametrize(
    ("search", "init"),
    [("agree", "k-means"), ("merge", "k-means"), ("agree", np.arange(60) % 2)]
    + [("moves", init) for init in ("k-means", "random", "spectral")],
)
@pytest.mark.parametrize("k", [2, 3])
def test_the_number_of_steps_is_known_before_the_fit(k, search, init, blobs):
    steps = []
    model = MaxMarginClustering(k, search=search, init=init, n_init=3, random_state=0, callback=steps.append)
    model.fit(blobs)
    assert model._expected_records(len(blobs)) == len(steps)
    assert set(model.history_) <= set(steps)
    assert CPM3C(k)._expected_records(len(blobs)) is None


def test_communities_are_counted_among_the_steps(blobs, monkeypatch):
    monkeypatch.setattr("widegap.forest._forest_search.COMMUNITY_ROWS", len(blobs))
    steps = []
    model = MaxMarginClustering(3, random_state=0, callback=steps.append).fit(blobs)
    assert model._expected_records(len(blobs)) == len(steps)
    assert model._expected_records(len(blobs) - 1) < len(steps)


def test_a_pipe_says_what_the_command_is_doing_once_a_phase(table, tmp_path, capsys):
    targets = ["-o", str(tmp_path / "out.csv"), "--report", str(tmp_path / "r.html"), "--model", str(tmp_path / "m")]
    assert main(["cluster", str(table), "-k", "3", *targets]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "Reading table.csv ...",
        "Encoding 3 columns ...",
        "Searching for clusters in 60 rows ...",
        "Writing out.csv ...",
        "Writing m ...",
        "Writing r.html ...",
    ]
    assert " ...\n" not in said.out
    assert main(["predict", str(tmp_path / "m"), str(table)]) == 0
    assert capsys.readouterr().err == "Reading table.csv ...\n"
    assert main(["cluster", str(table), "-k", "3", "-q", *targets]) == 0
    assert main(["predict", "-q", str(tmp_path / "m"), str(table)]) == 0
    assert capsys.readouterr().err == ""
