"""Files that are not read whole, on the command line: the rows of the usual way, within a limit on memory."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from widegap import persistence
from widegap.cli._large import Position
from widegap.cli._main import main
from widegap.results import _large_files

N = 4000


def values(n=N, d=4):
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(3, d))
    return (centres[rng.integers(0, 3, n)] + rng.standard_normal((n, d))).astype(np.float32)


def written(folder, ending, X):
    path = folder / f"X{ending}"
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    if ending == ".npy":
        np.save(path, X)
    elif ending == ".parquet":
        frame.to_parquet(path, row_group_size=700)
    else:
        frame.to_feather(path, chunksize=700)
    return path


def read(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".xlsx":
        return pd.read_excel(path, engine="calamine")
    if path.suffix == ".jsonl":
        return pd.read_json(path, lines=True)
    return pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


def run(*arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code


@pytest.fixture
def streamed(monkeypatch):
    monkeypatch.setattr(_large_files, "LARGE", 1000)


@pytest.mark.parametrize("method", ["cpm3c", "max-margin"])
@pytest.mark.parametrize("ending", [".npy", ".parquet"])
def test_clusters_are_those_of_the_usual_way(ending, method, tmp_path, monkeypatch):
    path = written(tmp_path, ending, values() * [1, 1, 1, 1000])  # scaled, as units differ
    for large, out in ((1 << 30, "usual.csv"), (1000, "streamed.csv")):
        monkeypatch.setattr(_large_files, "LARGE", large)
        run("cluster", path, "-k", 3, "--method", method, "-o", tmp_path / out, "-q")
    usual, found = read(tmp_path / "usual.csv"), read(tmp_path / "streamed.csv")
    assert list(found.columns) == list(usual.columns)
    assert_array_equal(found["cluster"], usual["cluster"])
    np.testing.assert_allclose(found, usual, rtol=1e-4, atol=1e-4)
    assert not [child for child in tmp_path.iterdir() if child.name.startswith(".")]


@pytest.mark.parametrize("command", ["cluster", "predict"])
def test_a_large_table_is_written_without_a_report(command, streamed, tmp_path, monkeypatch):
    path, model = written(tmp_path, ".npy", values()), tmp_path / "m.widegap"
    run("cluster", path, "-k", 3, "--method", "cpm3c", "-o", tmp_path / "expected.csv", "--model", model)
    monkeypatch.setattr("widegap.results.Result.summary", lambda *args: pytest.fail("a report was made"))
    arguments = [path, "-k", 3, "--method", "cpm3c"] if command == "cluster" else [model, path]
    run(command, *arguments, "-o", tmp_path / "found.csv", "-q")
    assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".xlsx", ".parquet", ".jsonl"])
def test_outputs(ending, streamed, tmp_path):
    X = values()
    out = tmp_path / f"out{ending}"
    run("cluster", written(tmp_path, ".feather", X), "-k", 3, "--method", "cpm3c", "-o", out, "-q")
    found = read(out)
    assert list(found.columns) == ["c0", "c1", "c2", "c3", "cluster", "margin"]
    assert_array_equal(found.iloc[:, :4].to_numpy(np.float32), X)
    assert found["cluster"].nunique() == 3


def test_new_rows_get_the_clusters_of_the_model(streamed, tmp_path, capsys):
    X = values(2 * N)
    path = written(tmp_path, ".parquet", X[:N])
    model = tmp_path / "model.widegap"
    run("cluster", path, "-k", 3, "--method", "cpm3c", "--model", model, "-q")
    other = tmp_path / "other.parquet"
    pd.DataFrame(X[N:, ::-1], columns=["c3", "c2", "c1", "c0"]).assign(name="a").to_parquet(other)
    capsys.readouterr()
    run("predict", model, other, "-o", tmp_path / "out.csv", "--json")
    summary = json.loads(capsys.readouterr().out)
    expected = persistence.load(model)[0].predict(X[N:])
    assert_array_equal(read(tmp_path / "out.csv")["cluster"], expected)
    assert [cluster["size"] for cluster in summary["clusters"]] == np.bincount(expected).tolist()
    run("predict", model, written(tmp_path, ".npy", X), code=2)
    assert "fitted on a large file of .parquet or .feather" in capsys.readouterr().err
    written(tmp_path, ".parquet", X[:, :3])
    run("predict", model, path, code=2)
    assert "lacks the column 'c3' of the model" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".npy", ".parquet"])
def test_new_rows_have_their_largest_probability(ending, streamed, tmp_path):
    X = values(2 * N) * np.float32([1, 1, 1, 1000])  # scaled, as units differ
    model, out = tmp_path / "model.widegap", tmp_path / "out.csv"
    run("cluster", written(tmp_path, ending, X[:N]), "-k", 4, "--model", model, "-q")
    run("predict", model, written(tmp_path, ending, X[N:]), "-o", out, "-q")
    estimator, extra = persistence.load(model)
    largest = estimator.predict_proba(X[N:] * np.float32(extra["large"]["factors"])).max(axis=1)
    assert largest.min() < 0.9  # of four clusters, two share a group
    found = read(out)
    assert list(found.columns)[-3:] == ["cluster", "sure", "margin"]
    np.testing.assert_allclose(
        found["sure"], largest, atol=5e-4
    )  # single precision: 1.7e-4 on one processor, below 1e-4 on another


def test_numbers_of_rows_are_left_out_and_sizes_count_all(streamed, tmp_path, capsys):
    frame = pd.DataFrame(values(6000), columns=list("abcd"))
    frame.insert(0, "id", np.arange(6000))
    frame.to_parquet(tmp_path / "X.parquet")
    run("cluster", tmp_path / "X.parquet", "-k", 3, "--method", "cpm3c", "--json", "--report", tmp_path / "r.html")
    summary = json.loads(capsys.readouterr().out)
    assert summary["n_rows"] == sum(cluster["size"] for cluster in summary["clusters"]) == 6000
    assert summary["n_features"] == 4
    assert any("left out: 'id'" in note for note in summary["warnings"])
    assert any("Sizes count all 6,000 rows" in note for note in summary["warnings"])
    assert max(example["row"] for cluster in summary["clusters"] for example in cluster["borderline"]) > 5000


def test_how_sure_clusters_are_is_told_by_all_rows(streamed, tmp_path, capsys):
    run("cluster", written(tmp_path, ".npy", values(N)), "-k", 3, "--json")
    summary = json.loads(capsys.readouterr().out)
    assert all(0.9 < cluster["agreement"] <= 1 for cluster in summary["clusters"])
    assert summary["clusters"][0]["separates"][0]["feature"] in {f"column {j}" for j in range(4)}


def test_what_cannot_be_streamed_goes_the_usual_way(streamed, tmp_path, capsys):
    frame = pd.DataFrame(values(), columns=list("abcd")).assign(kind=["x", "y"] * (N // 2))
    frame.to_parquet(tmp_path / "X.parquet")
    run("cluster", tmp_path / "X.parquet", "-k", 3, "--method", "cpm3c", "--json")
    assert not any("Sizes count" in note for note in json.loads(capsys.readouterr().out)["warnings"])
    run("cluster", tmp_path / "X.parquet", "-k", 3, "--method", "cpm3c", "--json", "--columns", "a,b")
    assert any("Sizes count" in note for note in json.loads(capsys.readouterr().out)["warnings"])


def test_gaps_are_refused(streamed, tmp_path, capsys):
    X = values()
    X[7, 1] = np.nan
    run("cluster", written(tmp_path, ".npy", X), "-k", 3, code=2)
    assert "contain NaN" in capsys.readouterr().err


def test_the_position_is_that_in_the_file():
    shown = []
    position = Position(100, lambda rows, said: shown.append((rows, said)))
    for start in (0, 25, 75, 50):  # two threads
        position(start, start + 25)
    position(25, 50)  # a pass that begins where it has to
    position.record(type("Record", (), {"objective": 0.5})())
    position(75, 100)
    assert shown == [
        (25, "pass 1"),
        (50, "pass 1"),
        (100, "pass 1"),
        (100, "pass 1"),
        (50, "pass 2"),
        (50, "pass 2, objective 0.5"),
        (100, "pass 2, objective 0.5"),
    ]


COMMAND = """
import re, resource, sys
from widegap import CPM3C
import numpy as np, pandas, rich, pyarrow.parquet, sklearn.cluster
import widegap.report
from widegap.cli import _app
CPM3C(3, random_state=0, max_iter=3).fit(np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32))
used = 1024 * int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
resource.setrlimit(resource.RLIMIT_DATA, (used + (200 << 20),) * 2)
from widegap.cli._main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by RLIMIT_DATA of Linux")
def test_400_mb_within_200(tmp_path):
    path, out = tmp_path / "X.npy", tmp_path / "out.csv"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (500_000, 200))
    for start in range(0, len(X), 50_000):
        X[start : start + 50_000] = values(50_000, 200)
    del X
    arguments = ["cluster", str(path), "-k", "3", "--method", "cpm3c", "-o", str(out)]
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True)
    path.unlink()
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"500,000 rows, 3 clusters", done.stdout)
    assert len(read(out)) == 500_000
