"""Interrupts and faults while files are written: the old file or the new one, never a part, and no odd errors.

Each case is a process of its own that is stopped, killed or refused at a drawn moment.
"""

import os
import random
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from _counts import tried
from widegap import CPM3C, _jit, persistence
from widegap._jit import jit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")

SAVES = """
import sys
from widegap import persistence
model, _ = persistence.load("old.widegap")
model.coef_ = __import__("numpy").asfortranarray(model.coef_)
print("ready", flush=True)
while True:
    persistence.save(model, "m.widegap", extra={"padding": ["x" * 50] * 2000})
"""


@pytest.fixture
def folder(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    persistence.save(CPM3C(2, random_state=0).fit(X), tmp_path / "old.widegap")
    return tmp_path


def started(script, folder):
    """A process that has said that it is ready."""
    command = [sys.executable, "-W", "ignore", "-c", script]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready", process.stderr.read()
    return process


def kill_a_writer(folder, delay):
    process = started(SAVES, folder)
    time.sleep(delay)
    process.kill()
    process.communicate()


def test_a_killed_writer_leaves_a_whole_file(folder):
    kill_a_writer(folder, 1)
    _, extra = persistence.load(folder / "m.widegap")
    assert len(extra["padding"]) == 2000


@pytest.mark.slow
def test_many_killed_writers_leave_whole_files(folder):
    draws = random.Random(0)
    for _ in range(50):
        kill_a_writer(folder, draws.random() / 2)
        if (folder / "m.widegap").exists():
            assert len(persistence.load(folder / "m.widegap")[1]["padding"]) == 2000


FULL = """
import resource, signal
from widegap.cli._main import main
call = ["cluster", "t.csv", "-k", "2", "--method", "cpm3c", "--quiet"]
assert main([*call, "--model", "m", "--report", "r.html"]) == 0  # loops are compiled, and kept, before the limit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
files = {"-o": "out.csv", "--report": "out.html", "--model": "out.csv"}
print([main([*call, option, name]) for option, name in files.items()])
"""


def test_files_that_may_not_grow_are_not_written_at_all(tmp_path):
    # A limit on the size of files stops writes in the middle, as a full disk does.
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i % 2 * 9},{i / 2}\n" for i in range(60)), encoding="utf-8")
    for name in ("out.csv", "out.html"):
        (tmp_path / name).write_text("the old content", encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", FULL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[2, 2, 2]"], done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert [line.partition(": ")[2][:8] for line in lines] == ["out.csv:", "out.html", "out.csv:"], lines
    for name in ("out.csv", "out.html"):
        assert (tmp_path / name).read_bytes() == b"the old content"
    assert sorted(os.listdir(tmp_path)) == ["m", "out.csv", "out.html", "r.html", "t.csv"]


def test_a_folder_that_is_gone(folder):
    model, _ = persistence.load(folder / "old.widegap")
    with pytest.raises(FileNotFoundError, match="m.widegap"):
        persistence.save(model, folder / "gone" / "m.widegap")


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_may_not_be_written(folder):
    model, _ = persistence.load(folder / "old.widegap")
    folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="m.widegap"):
            persistence.save(model, folder / "m.widegap")
    finally:
        folder.chmod(0o700)
    assert os.listdir(folder) == ["old.widegap"]


def test_a_folder_that_vanishes_during_a_write(folder, monkeypatch):
    model, _ = persistence.load(folder / "old.widegap")
    away = folder / "away"
    away.mkdir()

    def vanish(path, *arguments):
        path.unlink()
        away.rmdir()
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(persistence, "write_archive", vanish)
    with pytest.raises(FileNotFoundError, match=r"m\.widegap"):
        persistence.save(model, away / "m.widegap")


@jit
def inner(x):
    return x + 1


@jit
def outer(x):
    return 2 * inner(x)


def test_a_disk_without_room_for_compiled_loops(monkeypatch):
    from numba.core import caching

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.Cache, "save_overload", full)
    monkeypatch.setattr(_jit, "_kept_on_disk", True)
    monkeypatch.setattr(_jit, "_loops", [inner, outer])
    try:
        found = outer(3)
    except OSError as error:
        pytest.fail(f"a full disk ended a call: {error}")
    assert found == 8 and not _jit._kept_on_disk


INTERRUPTED = """
import warnings
import numpy as np
from widegap import CPM3C, MaxMarginClustering
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(300, 5))
models = [MaxMarginClustering(3, random_state=0), CPM3C(3, random_state=0)]
expected = [model.fit(X).labels_ for model in models]
print("ready", flush=True)
heard = 0
while heard < 20:
    try:
        for model, labels in zip(models, expected):
            assert (model.fit(X).labels_ == labels).all()
    except KeyboardInterrupt:
        heard += 1
        print("heard", flush=True)
"""


@pytest.mark.slow
def test_interrupts_at_drawn_moments_are_heard_and_the_next_fit_is_as_before(tmp_path):
    # Python drops an interrupt that falls into a callback of C code; then it is sent again, and the test cannot hang.
    draws, process = random.Random(0), started(INTERRUPTED, tmp_path)
    try:
        for _ in range(20):
            for _ in range(5):
                time.sleep(draws.random())
                process.send_signal(signal.SIGINT)
                if select.select([process.stdout], [], [], 30)[0]:
                    break
            assert process.stdout.readline() == "heard\n", process.communicate(timeout=30)[1]
        assert process.wait(timeout=60) == 0
        tried("interrupts at drawn moments", 20)
    finally:
        process.kill()
        process.communicate()


def test_an_interrupt_inside_numba_stays_an_interrupt():
    @jit
    def loop(x):
        return x

    def interrupted(x):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    def broken(x):
        raise SystemError("something else")

    loop._compiled = interrupted
    with pytest.raises(KeyboardInterrupt):
        loop(1)
    loop._compiled = broken
    with pytest.raises(SystemError, match="something else"):
        loop(1)
