"""Windows and macOS, as far as they can be faked on another system: docs/platforms.md says what stays unproven.

A walk through the package runs where the names of Unix are missing and the platform says win32; in another one every
file that is opened without an encoding is an error, as it would be read differently elsewhere.
"""

import errno
import io
import os
import re
import socket
import subprocess
import sys
import types
from pathlib import Path

import pytest

from widegap import _atomic
from widegap.cli import _errors, _main, _places
from widegap.exceptions import InvalidDataError
from widegap.explorer import _addresses, _autosave

ROOT = Path(__file__).parents[2]
# Names of os and signal, and modules, that Windows lacks; macOS lacks posix_fallocate.
OF_UNIX = (
    "fork",
    "register_at_fork",
    "posix_fallocate",
    "fchmod",
    "geteuid",
    "getuid",
    "posix_spawn",
    "wait4",
    "killpg",
)
OF_SIGNALS = ("SIGKILL", "SIGPIPE", "SIGHUP", "SIGALRM", "SIGUSR1", "pthread_sigmask", "setitimer")
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "pty")

# Other packages are imported first: they are built for this system.
BEFORE = """
import os, signal, sys, types, warnings
import numpy, scipy.sparse.linalg, scipy.optimize, sklearn.cluster, sklearn.neighbors, sklearn.pipeline, numba, joblib
import pandas, pyarrow.parquet, pyarrow.csv, rich.progress, rich.table, rich.text, typer.testing, uvicorn, starlette
import starlette.testclient, jinja2, threadpoolctl, webbrowser, tempfile, subprocess, multiprocessing, daqp, piqp
import sklearn.mixture, sklearn.decomposition, PIL.Image, httpx, dask.array, dask.dataframe, distributed, onnx, scs
import python_calamine, olefile, pypdf, docx, charset_normalizer, zstandard, stop_words
"""
AS_WINDOWS = """
sys.platform = "win32"
for name in {os}:
    if hasattr(os, name): delattr(os, name)
for name in {signals}:
    if hasattr(signal, name): delattr(signal, name)
for name in {modules}:
    sys.modules[name] = None
locked = []
sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda *call: locked.append(call), LK_NBLCK=2)
import socket
socket.SO_EXCLUSIVEADDRUSE = socket.SO_REUSEADDR
"""
NO_DEFAULT_ENCODING = """
warnings.filterwarnings("error", category=EncodingWarning, module=r"widegap\\b")
"""
WALK = """
import pkgutil
from importlib import import_module
import widegap
for module in pkgutil.walk_packages(widegap.__path__, "widegap."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
from pathlib import Path
import numpy as np
from widegap import CPM3C, MaxMarginClustering, explore, export, persistence
from widegap.cli._main import main

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(30, 3)), 7 + rng.normal(size=(30, 3))])
model = MaxMarginClustering(2, random_state=0, n_jobs=2).fit(X)
assert sorted(np.bincount(model.labels_)) == [30, 30]
stored = CPM3C(2, random_state=0, labels_out="labels.npy", checkpoint="checkpoint").fit(X)
assert (np.load("labels.npy") == stored.labels_).all()
persistence.save(model, "m.widegap")
assert (persistence.load("m.widegap")[0].predict(X) == model.labels_).all()
export(model, "m.sql"); export(model, "m.py")
names = ["Größe", "naïve", "数"]
rows = "\\n".join(",".join(f"{value:.3f}" for value in row) for row in X)
Path("t.csv").write_text(",".join(names) + "\\n" + rows + "\\n", encoding="utf-8")
assert main(["cluster", "t.csv", "-k", "2", "-o", "out.csv", "--report", "r.html", "--model", "t.widegap"]) == 0
assert main(["predict", "t.widegap", "t.csv", "-o", "-"]) == 0
assert b"\\r" not in Path("out.csv").read_bytes() and "Größe" in Path("out.csv").read_text(encoding="utf-8")
page = explore(model, X, session="s.jsonl")
page.close()
"""


def walked(tmp_path, *parts, flags=(), **environment):
    names = {"os": OF_UNIX, "signals": OF_SIGNALS, "modules": MODULES}
    code = "\n".join([BEFORE, *(part.format(**names) if part is AS_WINDOWS else part for part in parts)])
    environment = {**os.environ, "PYTHONPATH": "", "COLUMNS": "100", **environment}
    command = [sys.executable, "-W", "ignore", *flags, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="fakes what is true there")
def test_the_package_works_without_the_names_of_unix(tmp_path):
    output = walked(tmp_path, AS_WINDOWS, WALK, "print(locked[0][1:])", PYTHONUTF8="0", LC_ALL="C.UTF-8")
    assert output.rstrip().endswith(b"(2, 1)")  # the session of the explorer is locked by one byte


def test_no_file_is_opened_with_the_encoding_of_the_place(tmp_path):
    walked(tmp_path, NO_DEFAULT_ENCODING, WALK, flags=("-X", "warn_default_encoding"))


def test_results_on_standard_output_are_the_bytes_of_a_file(monkeypatch):
    content = io.BytesIO()
    stream = io.TextIOWrapper(content, encoding="cp1252", newline="\r\n")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    _main._write_utf8()
    stream.write("数,1\n")
    stream.flush()
    assert content.getvalue() == "数,1\n".encode()


def test_an_encoding_that_the_user_chose_stays(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    _main._write_utf8()
    assert stream.encoding == "cp1252"


def test_a_closed_pipe_is_recognised(monkeypatch):
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert _errors.is_closed_pipe(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert not _errors.is_closed_pipe(invalid)
    monkeypatch.setattr(sys, "platform", "win32")
    assert _errors.is_closed_pipe(invalid)
    assert not _errors.is_closed_pipe(OSError(errno.EINVAL, "Invalid argument", "out.csv"))


def test_a_file_that_a_spreadsheet_holds_open():
    error = PermissionError(errno.EACCES, "The process cannot access the file", "out.csv")
    assert "open in another program" not in _errors.about_os_error(error)
    error.winerror = 32
    assert _errors.about_os_error(error).startswith("out.csv: permission denied, or open in another program; close it")


def test_a_target_that_is_open_elsewhere_keeps_its_content(tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_bytes(b"old")
    (tmp_path / "out.csv").chmod(0o444)
    delete = Path.unlink

    def refused(*_):
        raise PermissionError(errno.EACCES, "Access is denied")

    def unlink(path, missing_ok=False):  # as on Windows, which does not delete what is read-only
        if not path.stat().st_mode & 0o200:
            raise PermissionError(errno.EACCES, "Access is denied", str(path))
        delete(path, missing_ok)

    monkeypatch.setattr(os, "replace", refused)
    monkeypatch.setattr(Path, "unlink", unlink)
    with (
        pytest.raises(PermissionError, match=r"Access is denied.*out\.csv"),
        _atomic.replacing(tmp_path / "out.csv") as new,
    ):
        new.write_bytes(b"new")
    assert (tmp_path / "out.csv").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize(("platform", "is_one_file"), [("linux", False), ("darwin", True), ("win32", True)])
def test_names_that_differ_in_case_alone(platform, is_one_file, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    outputs = {"-o": tmp_path / "out.csv", "--report": tmp_path / "OUT.csv"}
    if is_one_file:
        with pytest.raises(_errors.CommandError, match="given for both -o and --report"):
            _places.check_distinct(outputs)
    else:
        _places.check_distinct(outputs)


class TestLockOfASession:
    @pytest.fixture
    def windows(self, monkeypatch):
        """A Windows whose C library knows files of up to 2 GiB; the locked places, by file."""
        held = set()

        def locking(descriptor, mode, n_bytes):
            place = os.lseek(descriptor, 0, os.SEEK_CUR)
            if place + n_bytes > (1 << 31) - 1:
                raise OSError(errno.EINVAL, "Invalid argument")
            key = (os.fstat(descriptor).st_ino, place)
            if key in held:
                raise PermissionError(errno.EACCES, "Permission denied")
            held.add(key)

        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
        return held

    def test_the_second_explorer_is_refused(self, windows, tmp_path):
        first = _autosave.Autosave(tmp_path / "s.jsonl", resume=False)
        first.begin({"rows": 3, "digest": "d", "title": "t"}, [])
        assert first.trouble is None
        assert [place for _, place in windows] == [_autosave.LOCKED_BYTE]
        with pytest.raises(InvalidDataError, match="belongs to an explorer that is still running"):
            _autosave.Autosave(tmp_path / "s.jsonl", resume=True)


def test_no_other_program_shares_the_port_on_windows(monkeypatch):
    chosen = []

    class Recorded(socket.socket):
        def setsockopt(self, *option):
            chosen.append(option)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    monkeypatch.setattr(socket, "socket", Recorded)
    _addresses._bound_socket("127.0.0.1", 0).close()
    assert (socket.SOL_SOCKET, -5, 1) in chosen


def test_names_of_files_suit_every_system():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    names = [name for name in listed if name]
    if not names:
        pytest.skip("not a clone of the repository")
    assert len({name.casefold() for name in names}) == len(names)
    assert not [name for name in names if re.search(r'[<>:"|?*\\]|[. ]$|[^\x20-\x7e]', name) or len(name) > 150]
    reserved = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
    assert not [name for name in names if any(reserved.match(part) for part in Path(name).parts)]
