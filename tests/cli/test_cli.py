"""The command line as a whole: commands, what they import, and how wrong calls end."""

import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from sklearn.datasets import make_blobs

from widegap import CPM3C, __version__, _jit
from widegap.cli import _demo, _warm
from widegap.cli._main import main
from widegap.features._neighbours import EXACT_ROWS
from widegap.rows.loops import _passes


def test_the_demo_runs_its_three_parts_and_writes_what_it_names(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(_demo, "TASKS", ((1, 7), (0, 6, 8, 9)))
    monkeypatch.setattr(_demo, "SEEDS", range(1))
    assert main(["demo", "--folder", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["digits", "rows", *_demo.METHODS]
    cell = r" +([\d.]+) +[\d.]+ s"
    measured = [re.fullmatch(rf"[\d ]+? +(\d+){5 * cell}", line) for line in lines[4:6]]
    assert [int(match[1]) for match in measured] == [361, 713]
    assert [float(match[5]) > limit for match, limit in zip(measured, (99, 93), strict=True)] == [True, True]
    assert [float(match[6]) > limit for match, limit in zip(measured, (99.5, 96.5), strict=True)] == [True, True]
    agreement = next(line for line in lines if "agreement with the chapters" in line)
    assert float(agreement.split()[-2]) > 55  # measured: 71.8; a fifth of 100 by chance
    named = [Path(line.strip()) for line in lines[-4:-1]]  # the last line names the next command
    assert [path.name for path in named] == ["digits.html", "topics.html", "photo.png"]
    assert all(path.stat().st_size > 10_000 for path in named)


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"widegap {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["cluster"], ["cluster", "x.csv", "-k", "3", "--method", "?"]])
def test_wrong_calls_exit_with_2_and_show_the_usage(arguments, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert "Usage: widegap" in said.out + said.err


def test_help_lists_the_commands(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in ("cluster", "documents", "predict", "report", "datasets", "demo", "warm"):
        assert re.search(rf"\b{command}\b", shown)


@pytest.mark.parametrize("arguments", ["--help", "cluster --help", "documents --help", "predict --help"])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\nfrom widegap.cli._main import main\n"
        f"assert main({arguments.split()!r}) == 0\n"
        "print('\\nloaded:', [m for m in ('sklearn', 'numba', 'scipy', 'numpy', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "loaded: []"


def test_a_missing_package_of_the_command_line_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--help"]) == 2
    assert "needs typer: pip install 'widegap[cli]'" in capsys.readouterr().err


def test_python_dash_m_passes_the_exit_code_on():
    run = subprocess.run([sys.executable, "-m", "widegap", "nonsense"], capture_output=True, text=True, check=False)
    assert run.returncode == 2


def test_datasets_are_listed(capsys, monkeypatch):
    monkeypatch.delenv("WIDEGAP_DATA", raising=False)
    assert main(["datasets"]) == 0
    shown = capsys.readouterr().out
    assert "load_digits" in shown
    assert "load_docstrings" in shown
    assert "WIDEGAP_DATA" not in shown


def test_an_unknown_name_of_the_package_is_refused():
    import widegap

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = widegap.nonsense
    assert {"CPM3C", "report", "persistence", "selection"} <= set(dir(widegap))
    assert {name for name in dir(widegap) if name.startswith("_")} == {"__version__"}
    assert not {"Any", "TYPE_CHECKING", "import_module", "cli"} & set(dir(widegap))
    assert set(widegap.__all__) <= set(dir(widegap))


def test_warm_keeps_the_loops_of_a_fit_and_says_where(monkeypatch, capsys, tmp_path):
    X = make_blobs(60, n_features=3, centers=3, random_state=0)[0]
    monkeypatch.setattr(_warm, "_common_fits", lambda: [(CPM3C(3, random_state=0), X)])
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_jit, "_loops", [loop := _jit.jit(_passes._add_moments.__wrapped__)])
    monkeypatch.setattr(_passes, "_add_moments", loop)
    assert main(["warm"]) == 0
    folder = capsys.readouterr().out.removeprefix("Compiled code is kept in ").strip()
    assert folder.startswith(str(tmp_path)) and list(Path(folder).glob("*_add_moments*.nbc"))
    monkeypatch.setattr(_jit, "_kept_on_disk", False)
    assert main(["warm"]) == 0
    assert "set NUMBA_CACHE_DIR to one that can" in capsys.readouterr().out


def test_common_fits_are_of_all_kinds_of_rows():
    kinds = {(type(estimator).__name__, type(X).__name__, str(X.dtype)) for estimator, X in _warm._common_fits()}
    for name in ("CPM3C", "MaxMarginClustering"):
        assert {(name, "ndarray", "float64"), (name, "ndarray", "float32"), (name, "csr_array", "float64")} <= kinds
    assert max(X.shape[0] for _, X in _warm._common_fits()) > EXACT_ROWS
