"""What goes wrong around a fit or a command: memory, clocks, folders and files that change under way.

Where the system gives no more memory, a program of its own has a limit on its address space: at thirty levels it either
does its work or raises a MemoryError, and goes on afterwards.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

from _counts import tried
from widegap import CPM3C, persistence
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError
from widegap.rows import shards

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits on the address space")
X = np.random.default_rng(0).normal(size=(200, 3)) + 9 * (np.arange(200) % 2)[:, None]

LIMITED = """
import faulthandler, gc, json, os, resource, sys
import numpy as np
from widegap import CPM3C, DocumentClustering, MaxMarginClustering, persistence
from widegap.cli._main import main

task, levels, mebibytes = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 8)) + 9 * (np.arange(100_000) % 2)[:, None]
model = CPM3C(2, random_state=0, memory=50_000).fit(X)
persistence.save(model, "m.widegap")
expected = model.labels_.copy()
np.save("small.npy", X[:4000])
words = [["bread", "flour", "oven"], ["goal", "match", "team"]]
texts = [" ".join(rng.choice(words[i % 2], 8)) for i in range(4000)]
found_before = {}

def same(found):
    assert (found.labels_ == found_before.setdefault(task, found.labels_)).all()

def forest():
    same(MaxMarginClustering(2, random_state=0).fit(X[:4000]))

def documents():
    same(DocumentClustering(2, random_state=0).fit(texts))

def fit():
    assert (CPM3C(2, random_state=0).fit(X).labels_ == expected).all()

def predict():
    assert (model.predict(X) == expected).all()

def save():
    persistence.save(model, "out.widegap")

def load():
    assert (persistence.load("m.widegap")[0].labels_ == expected).all()

def command():
    code = main(["cluster", "small.npy", "-k", "2", "--method", "cpm3c", "-q", "-o", "out.csv"])
    if code:
        raise MemoryError("the command ended with code %d" % code)

run = globals()[task]
run()
right = {name: os.path.getsize(name) for name in os.listdir()}
found = []
for level in range(levels):
    gc.collect()
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit = used + int(mebibytes * 2**20 * (level / levels) ** 2)
    faulthandler.dump_traceback_later(60, exit=True)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        run()
        found.append("right")
    except MemoryError as error:
        found.append(" ".join([str(error), *getattr(error, "__notes__", [])]))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert {name: os.path.getsize(name) for name in os.listdir()} == right, os.listdir()
faulthandler.cancel_dump_traceback_later()
run()
print(json.dumps(found))
"""


def limited(task, levels, folder, mebibytes=40):
    """What a task came to at each level."""
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, json.dumps([task, levels, mebibytes])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == levels
    tried("runs with little memory", levels)
    return found, done.stderr


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("task", ["fit", "forest", "documents", "predict", "save", "load", "command"])
def test_thirty_levels_of_memory(task, tmp_path):
    found, told = limited(task, 30, tmp_path)
    assert "right" in found
    if task in ("fit", "forest", "documents"):
        assert all(answer == "right" or "pass rows as float32" in answer for answer in found)
    if task == "command":
        assert all(line.startswith("error: ") for line in told.splitlines() if line)


TABLES = """
import json, os, resource, sys
from widegap.cli._main import main

ending, level = json.loads(sys.argv[1])
call = ["predict", "m.widegap", "t.parquet", "-q", "-o", "out" + ending]
assert main(call) == 0
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(40 * 2**20 * (level / 30) ** 2), resource.RLIM_INFINITY))
sys.exit(main(call))
"""
FOREIGN_ENDS = ("cannot allocate memory for thread-local data: ABORT", "libgcc_s.so", "pthread_create")


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".xlsx", ".jsonl"])
def test_tables_at_thirty_levels_of_memory(ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _frame(np.tile(X, (50, 1))).to_parquet("t.parquet")
    assert main(["cluster", "t.parquet", "-k", "2", "--method", "cpm3c", "-q", "--model", "m.widegap"]) == 0
    assert main(["predict", "m.widegap", "t.parquet", "-q", "-o", f"out{ending}"]) == 0
    right, codes = os.path.getsize(f"out{ending}"), []
    for level in range(30):
        command = [sys.executable, "-W", "ignore", "-c", TABLES, json.dumps([ending, level])]
        done = subprocess.run(command, capture_output=True, text=True)
        codes.append(done.returncode)
        assert os.path.getsize(f"out{ending}") == right
        if done.returncode == 1:
            assert done.stderr.startswith("error: not enough memory") and done.stderr.count("\n") == 1, done.stderr
            assert sorted(os.listdir()) == ["m.widegap", f"out{ending}", "t.parquet"]
        elif done.returncode:  # the C library, or one below Arrow, ends the program
            assert any(words in done.stderr for words in FOREIGN_ENDS), (done.returncode, done.stderr)
    assert 0 in codes and 1 in codes, codes
    tried("runs with little memory", 30)


@LINUX
def test_a_few_levels_of_memory(tmp_path):
    found, _ = limited("fit", 5, tmp_path)
    assert all(answer == "right" or "pass rows as float32" in answer for answer in found)


def test_a_fit_without_memory_says_what_to_do(monkeypatch):
    def full(*arguments, **options):
        raise MemoryError("Unable to allocate 8.00 TiB for an array")

    monkeypatch.setattr(CPM3C, "_prepare", full)
    with pytest.raises(MemoryError, match="8.00 TiB") as caught:
        CPM3C(2).fit(X)
    assert "pass rows as float32" in caught.value.__notes__[0]


def test_a_command_without_memory_says_how_much_and_what_to_do(tmp_path, monkeypatch, capsys):
    def full(*arguments, **options):
        raise MemoryError("Unable to allocate 8.00 TiB for an array")

    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="x,y,z", comments="")
    monkeypatch.setattr(CPM3C, "_prepare", full)
    (tmp_path / "m").write_text("the old content", encoding="utf-8")
    call = ["cluster", str(tmp_path / "t.csv"), "-k", "2", "--method", "cpm3c", "--model", str(tmp_path / "m")]
    assert main(call) == 1
    told = capsys.readouterr().err
    assert "not enough memory (Unable to allocate 8.00 TiB for an array); use fewer rows or columns" in told
    assert sorted(os.listdir(tmp_path)) == ["m", "t.csv"]
    assert (tmp_path / "m").read_text(encoding="utf-8") == "the old content"


# Clocks


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0, -1e9], ids=["a day back", "a day on", "years back"])
def test_a_clock_that_jumps_changes_nothing(step, tmp_path, monkeypatch, capsys):
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="x,y,z", comments="")
    call = ["cluster", str(tmp_path / "t.csv"), "-k", "2", "--method", "cpm3c"]
    assert main([*call, "-o", str(tmp_path / "before.csv")]) == 0
    real, calls = time.time, [0]

    def jumping():
        calls[0] += 1
        return real() + step * (calls[0] % 2)

    monkeypatch.setattr(time, "time", jumping)
    assert main([*call, "-o", str(tmp_path / "after.csv"), "--model", str(tmp_path / "m")]) == 0
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()
    assert len(persistence.load(tmp_path / "m")[0][-1].labels_) == 200
    assert "Traceback" not in capsys.readouterr().err
    tried("fits under a clock that jumps", 1)


# Folders and files that change


@LINUX
def test_a_working_folder_that_is_gone_is_told(tmp_path):
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="x,y,z", comments="")
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"""
import os, sys
os.rmdir(os.getcwd())
from widegap.cli._main import main
sys.exit(main(["cluster", {str(tmp_path / "t.csv")!r}, "-k", "2", "-q", "--method", "cpm3c", "-o", "o.csv"]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=gone, capture_output=True, text=True)
    told = "error: the folder in which the command was called no longer exists; change to another one (cd).\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
def test_a_file_that_is_shorter_than_it_was_is_told(share, ending, tmp_path, capsys):
    import pandas as pd

    path = tmp_path / f"t{ending}"
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    {".csv": lambda: frame.to_csv(path, index=False), ".parquet": lambda: frame.to_parquet(path),
     ".npy": lambda: np.save(path, X)}[ending]()  # fmt: skip
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    code = main(["cluster", str(path), "-k", "2", "--method", "cpm3c", "-o", str(tmp_path / "o.csv")])
    told = capsys.readouterr()
    if ending == ".csv" and share:  # a table that was cut off between two lines is a table
        rows = len(content[: int(share * len(content))].splitlines()) - 1
        assert code == 2 or f"{rows} rows" in " ".join(told.out.split())
    else:
        assert code == 2 and told.err.splitlines()[-1].startswith("error: ") and not (tmp_path / "o.csv").exists()
    tried("files cut off while they were written", 1)


_STORED = {
    ".npy": lambda path, X: np.save(path, X),
    ".npz": lambda path, X: np.savez(path, X=X),
    ".sparse.npz": lambda path, X: sp.save_npz(path, sp.csr_array(X)),
    ".parquet": lambda path, X: _frame(X).to_parquet(path),
    ".feather": lambda path, X: _frame(X).to_feather(path),
}


def _frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=["x", "y", "z"])


@pytest.mark.parametrize("change", ["shorter", "other rows", "gone"])
@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".feather"])
def test_shards_that_change_during_a_fit_are_told(change, ending, tmp_path):
    path = tmp_path / f"t{ending}"
    _STORED[ending](path, X)
    before = os.stat(path)

    def spoil(record):
        if change == "shorter":
            os.truncate(path, before.st_size // 2)
        elif change == "gone":
            path.unlink(missing_ok=True)
        else:
            _STORED[ending](path, X[::-1] + 100)
        if path.exists():
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))

    model = CPM3C(2, random_state=0, callback=spoil)
    with pytest.raises(InvalidDataError, match=r"was changed, or is gone, since it was opened; fit a copy"):
        model.fit(shards([path]))
    assert not hasattr(model, "labels_")
    tried("fits of files that change", 1)


@pytest.mark.parametrize("ending", _STORED)
def test_a_file_is_the_same_in_another_working_folder(ending, tmp_path, monkeypatch):
    _STORED[ending](tmp_path / f"t{ending}", np.eye(3))
    monkeypatch.chdir(tmp_path)
    rows = shards([f"t{ending}"])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    _STORED[ending](f"t{ending}", np.zeros((3, 3)))  # another one of the same name
    found = rows.take(np.arange(3))
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, np.eye(3))
    os.utime(tmp_path / f"t{ending}", ns=(0, 0))
    with pytest.raises(InvalidDataError, match=rf"^t{ending} was changed"):
        rows.take(np.arange(3))
