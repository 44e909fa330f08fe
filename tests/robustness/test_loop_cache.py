"""Files of compiled code in every state that a disk leaves them in: a call always ends in an answer, the right one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.codegen import CPUCodegen

import widegap
from widegap import _jit

DOUBLE = """
{imports}
from widegap._jit import jit

@jit
def double(x):
    return {factor} * x

if __name__ == "__main__":
    found = double(21), double(0.5)
    print(*found, sum(double.compiled.stats.cache_hits.values()))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(DOUBLE.format(imports="", factor=2))
    return path


def run(script, **changes):
    """What a fresh process prints: the two answers, and how often it found compiled code."""
    return finished(start(script, **changes))


def start(script, **changes):
    usual = {"NUMBA_CACHE_DIR": str(script.parent / "cache"), "PYTHONPATH": str(Path(widegap.__file__).parents[1])}
    environment = {**os.environ, **usual, **changes}
    environment = {name: value for name, value in environment.items() if value is not None}
    command = [sys.executable, str(script)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finished(process):
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.split()


def code_files(script):
    return sorted((script.parent / "cache").rglob("*.nbc"))


def test_code_is_found_again_and_damaged_code_is_compiled_again(script):
    assert run(script) == ["42", "1.0", "0"]
    assert run(script) == ["42", "1.0", "2"]
    whole, flipped = code_files(script)
    whole.write_bytes(whole.read_bytes()[:-100])
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(bytes(content))
    assert run(script) == ["42", "1.0", "0"]
    assert run(script) == ["42", "1.0", "2"]
    whole.write_bytes(b"")
    assert run(script) == ["42", "1.0", "1"]


BEYOND = """
import numpy as np
from widegap import _jit

@_jit.jit
def part(x, i):
    return x[i]

def of_entry(x, i):
    return x[i]

def entry(x, i):
    return x[i]

@_jit.jit
def caller(x, i):
    return part(x, i)

def found(loop, i):
    try:
        return loop(np.arange(9.0)[:3], i)
    except IndexError:
        return "IndexError"

if __name__ == "__main__":
    loops = part, _jit.jit_in_order(of_entry), _jit.allocating_jit(entry), caller
    print(*(found(loop, i) for i in (2, 5) for loop in loops))
    print(sum(sum(loop.compiled.stats.cache_hits.values()) for loop in loops))
"""


def test_checked_code_reports_an_index_beyond_the_end_and_never_comes_from_unchecked_files(script):
    """Three of nine numbers are passed on, so that a read beyond them finds one that is there."""
    script.write_text(BEYOND)
    unchecked, checked = {"NUMBA_BOUNDSCHECK": None}, {"NUMBA_BOUNDSCHECK": "1"}
    right, beyond, refused = ["2.0"] * 4, ["5.0"] * 4, ["IndexError"] * 4
    assert run(script, **unchecked)[:8] == right + beyond
    assert run(script, **checked)[:8] == right + refused
    assert run(script, **checked) == [*right, *refused, "4"]
    assert run(script, **unchecked) == [*right, *beyond, "4"]


def test_two_processes_at_once_and_a_changed_source(script):
    both = [start(script) for _ in range(2)]
    assert [finished(process)[:2] for process in both] == [["42", "1.0"]] * 2
    assert run(script) == ["42", "1.0", "2"]
    script.write_text(DOUBLE.format(imports="", factor=30))
    assert run(script) == ["630", "15.0", "0"]


def test_a_changed_part_reaches_the_loops_that_call_it(script, tmp_path):
    package = tmp_path / "source" / "widegap"
    shutil.copytree(Path(widegap.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    part = package / "rows" / "loops" / "_part.py"
    part.write_text("from widegap._jit import jit\n\n@jit\ndef part(x):\n    return 2 * x\n")
    script.write_text(DOUBLE.format(imports="from widegap.rows.loops._part import part", factor="part(1)"))
    assert run(script, PYTHONPATH=str(package.parent)) == ["42", "1.0", "0"]
    assert run(script, PYTHONPATH=str(package.parent)) == ["42", "1.0", "2"]
    part.write_text(part.read_text().replace("2 * x", "4 + 0 * x"))
    assert run(script, PYTHONPATH=str(package.parent)) == ["84", "2.0", "0"]


def test_code_of_another_user_and_no_home(script):
    """Files that cannot be read or replaced, and neither a home nor a folder beside the source."""
    run(script)
    for path in code_files(script):  # a folder of that name can be neither read nor replaced, whoever asks
        path.unlink()
        path.mkdir()
        (path / "kept").touch()
    assert run(script) == ["42", "1.0", "0"]
    beside = script.parent / "__pycache__"
    beside.write_text("not a folder")
    assert run(script, NUMBA_CACHE_DIR=None, HOME="/dev/null/home", XDG_CACHE_HOME=None)[:2] == ["42", "1.0"]


def test_code_beside_a_read_only_package_goes_to_the_cache_of_the_user(script, tmp_path):
    (script.parent / "__pycache__").write_text("not a folder, whoever asks")
    home = tmp_path / "home"
    home.mkdir()
    places = {"NUMBA_CACHE_DIR": None, "HOME": str(home), "XDG_CACHE_HOME": None}
    assert [run(script, **places) for _ in range(2)] == [["42", "1.0", "0"], ["42", "1.0", "2"]]
    assert list(home.rglob("*.nbc"))


@pytest.mark.skipif(not hasattr(os, "setuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("home", [str(Path.home()), None], ids=["home of root", "no home"])
def test_a_user_without_a_name_and_a_home_of_its_own(script, home):
    """As in a container that runs under any number; what compiling needs is imported before the number changes."""
    imports = "import os, numba, widegap._loop_cache\nnumba.njit(lambda x: 2 * x)(21)"
    script.write_text(DOUBLE.format(imports=imports, factor=2).replace("    found", "    os.setuid(54321)\n    found"))
    for path in (script.parent, script):
        path.chmod(0o755)
    assert run(script, NUMBA_CACHE_DIR=None, HOME=home, XDG_CACHE_HOME=None) == ["42", "1.0", "0"]
    assert not list(script.parent.rglob("*.nbc"))


def test_code_for_another_processor_is_not_used(monkeypatch, tmp_path):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    hits = []
    for processor in ("older", "newer", "newer"):
        monkeypatch.setattr(CPUCodegen, "magic_tuple", lambda self, name=processor: ("triple", name, "features"))
        double = _jit.jit(twice)
        assert double(21) == 42
        hits.append(sum(double.compiled.stats.cache_hits.values()))
    assert hits == [0, 0, 1] and len(list(tmp_path.rglob("*.nbc"))) == 2


def twice(x):
    return 2 * x
