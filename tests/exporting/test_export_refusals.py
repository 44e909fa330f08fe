"""What cannot be exported is refused with the reason and the remedy; the command line does the same."""

import sys

import numpy as np
import pandas as pd
import pytest
from _exported import blobs, fitted, run_here
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

import widegap
from widegap import CPM3C, MKC, DocumentClustering, MaxMarginClustering, TableEncoder, persistence
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError, NotSupportedError


def precomputed():
    X = blobs(80)
    return MaxMarginClustering(3, kernel="precomputed", random_state=0).fit(rbf_kernel(X, gamma=0.1))


def of_function():
    return MaxMarginClustering(3, kernel=lambda X, Y: rbf_kernel(X, Y, gamma=0.1), random_state=0).fit(blobs(80))


REFUSED = {
    "precomputed": (precomputed, "is 'precomputed'.*Fit with 'linear'"),
    "function": (of_function, "function of your own.*use 'linear'"),
    "documents": (
        lambda: DocumentClustering(2, random_state=0).fit(["brot mehl teig", "tor spiel ball"] * 10),
        "DocumentClustering reads texts.*persistence.save",
    ),
    "other packages": (lambda: KMeans(2, n_init=1).fit(blobs(20)), "KMeans cannot be exported; pass"),
    "other pipelines": (
        lambda: make_pipeline(PCA(2), CPM3C(2, random_state=0)).fit(blobs(60)),
        "pipeline of PCA and CPM3C.*pass its last step",
    ),
    "transformers": (
        lambda: MKC(2, kernels=["linear", PCA(1)], random_state=0).fit(blobs(60)),
        "begins with a transformer, PCA.*transform the table before the fit",
    ),
    "scaled matrix": (
        lambda: make_pipeline(TableEncoder(scale="standard"), CPM3C(2, random_state=0)).fit(blobs(60)),
        "matrix without names.*data frame",
    ),
}


@pytest.mark.parametrize("ending", ["py", "onnx", "sql"])
@pytest.mark.parametrize("name", REFUSED)
def test_models_that_need_more_than_one_table_are_refused(name, ending, tmp_path):
    make, message = REFUSED[name]
    with pytest.raises(NotSupportedError, match=message):
        widegap.export(make(), tmp_path / f"m.{ending}")
    assert not list(tmp_path.iterdir())


def test_models_of_views_are_refused(tmp_path):
    rows = {"left": blobs(60), "right": blobs(60, seed=1)}
    model = MKC(2, random_state=0).fit(rows)
    with pytest.raises(NotSupportedError, match="several views.*side by side"):
        widegap.export(model, tmp_path / "m.py")


def test_texts_and_times_are_refused_by_name(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=60) + 9 * (np.arange(60) % 2),
            "note": [f"{'late parcel' if i % 2 else 'new shop'} wrong {i % 7}" for i in range(60)],
            "opened": [f"{hour:02d}:30" for hour in rng.integers(6, 22, 60)],
            "day": [f"{day:02d}.03.2021" for day in rng.integers(1, 28, 60)],
        }
    )
    for drop, texts, message in (
        (["opened", "day"], ["note"], "'note' is read as the topics of a text.*drop="),
        (["note", "day"], [], "'opened' is read as a time.*drop="),
        (["note", "opened"], [], "'day' has dates in the format.*ISO 8601"),
    ):
        model = make_pipeline(TableEncoder(drop=drop, text_columns=texts), CPM3C(2, random_state=0)).fit(frame)
        with pytest.raises(NotSupportedError, match=message):
            widegap.export(model, tmp_path / "m.py")


def test_endings_and_options_are_checked(tmp_path):
    model = fitted("CPM3C")
    with pytest.raises(InvalidDataError, match="ends in '.pkl'; name a file in .py, .onnx, .sql"):
        widegap.export(model, tmp_path / "m.pkl")
    with pytest.raises(InvalidDataError, match="table and keep are for .sql files"):
        widegap.export(model, tmp_path / "m.py", table="people")
    with pytest.raises(NotFittedError):
        widegap.export(CPM3C(2), tmp_path / "m.py")
    for name in ("cluster", "SCORE_0"):
        with pytest.raises(InvalidDataError, match="several columns called.*leave them out of keep"):
            widegap.export(model, tmp_path / "m.sql", keep=[name])
    for name in ("", "a\0b", "a\rb"):
        with pytest.raises(InvalidDataError, match="cannot be a name in a .sql file"):
            widegap.export(model, tmp_path / "m.sql", table=name)


def test_an_input_of_onnx_cannot_have_the_name_of_an_output(tmp_path):
    frame = pd.DataFrame({"cluster": blobs(60)[:, 0], "other": blobs(60)[:, 1]})
    model = make_pipeline(TableEncoder(), CPM3C(2, random_state=0)).fit(frame)
    with pytest.raises(InvalidDataError, match="column is called 'cluster'.*rename it"):
        widegap.export(model, tmp_path / "m.onnx")


def test_long_statements_are_refused_with_their_size(tmp_path, monkeypatch):
    wide = CPM3C(3, kernel="rbf", n_components=300, random_state=0).fit(blobs(320, d=150))
    with pytest.raises(
        NotSupportedError, match=r"300 landmarks in 150 columns.* bytes; at most 1,000,000.*n_components"
    ):
        widegap.export(wide, tmp_path / "m.sql")
    columns = CPM3C(2, random_state=0).fit(blobs(30, d=2000))
    with pytest.raises(NotSupportedError, match="0 landmarks in 2,000 columns.*at most 1,900 columns"):
        widegap.export(columns, tmp_path / "m.sql")
    widegap.export(wide, tmp_path / "m.py")


def test_onnx_names_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(NotSupportedError, match=r"pip install 'widegap\[export\]'"):
        widegap.export(fitted("CPM3C"), tmp_path / "m.onnx")


@pytest.mark.parametrize("ending", ["py", "onnx", "sql"])
def test_the_command_writes_what_the_function_writes(ending, tmp_path, capsys):
    model, out = fitted("CPM3C"), tmp_path / f"m.{ending}"
    persistence.save(model, tmp_path / "m.widegap")
    assert main(["export", str(tmp_path / "m.widegap"), "-o", str(out)]) == 0
    assert f"exported: {out}" in capsys.readouterr().out
    widegap.export(model, tmp_path / f"other.{ending}")
    assert out.read_bytes() == (tmp_path / f"other.{ending}").read_bytes()
    if ending == "py":
        assert (run_here(out, blobs(50))["cluster"] == model.predict(blobs(50))).all()


def test_the_command_passes_table_and_columns_on(tmp_path):
    persistence.save(fitted("CPM3C"), tmp_path / "m.widegap")
    arguments = ["--table", "people", "--keep", "id", "--keep", "name", "-q"]
    assert main(["export", str(tmp_path / "m.widegap"), "-o", str(tmp_path / "m.sql"), *arguments]) == 0
    text = (tmp_path / "m.sql").read_text(encoding="utf-8")
    assert 'FROM "people" AS t' in text and 'k1 AS "name"' in text


def test_the_command_refuses_like_the_function(tmp_path, capsys):
    persistence.save(fitted("CPM3C"), tmp_path / "m.widegap")
    assert main(["export", str(tmp_path / "m.widegap"), "-o", str(tmp_path / "m.xls")]) == 2
    assert "name a file in .py, .onnx, .sql" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "none.widegap"), "-o", str(tmp_path / "m.py")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_command_refuses_models_whose_columns_stand_beside_them(tmp_path, capsys):
    stored = {"large": {"names": None, "n_features": 4, "factors": [1.0, 2.0, 1.0, 1.0]}}
    persistence.save(fitted("CPM3C"), tmp_path / "m.widegap", extra=stored)
    assert main(["export", str(tmp_path / "m.widegap"), "-o", str(tmp_path / "m.py")]) == 2
    assert "too large to be read whole" in capsys.readouterr().err
    assert not (tmp_path / "m.py").exists()
