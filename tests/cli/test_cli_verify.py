"""``widegap verify``: the same labels, other labels, other rows, and models that cannot be verified."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from _model_files import edited, forge, parts_of
from widegap import persistence
from widegap.cli._main import main
from widegap.exceptions import InvalidDataError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Wines with a category and weights, and their model."""
    folder = tmp_path_factory.mktemp("wines")
    frame = load_wine(as_frame=True).data.iloc[:, :6].assign(kind=["red", "white"] * 89)
    frame.to_csv(folder / "wine.csv", index=False)
    frame.assign(bottles=1 + np.arange(178) % 3).to_csv(folder / "bottles.csv", index=False)
    assert main(["cluster", str(folder / "wine.csv"), "-k", "3", "--model", str(folder / "m.widegap"), "-q"]) == 0
    return folder


def verify(model, data, *options):
    return main(["verify", str(model), str(data), *options])


def relabelled(folder, tmp_path, change, *, honest):
    """A model file with other labels; an honest one says of them that the fit gave them."""
    model, extra = persistence.load(folder / "m.widegap")
    estimator = model[-1]
    estimator.labels_ = change(estimator.labels_.copy()).astype(np.int32)
    if honest:
        from widegap.base._fit_fingerprint import label_digest

        object.__setattr__(estimator._fingerprint, "labels", label_digest(estimator))
    persistence.save(model, tmp_path / "other.widegap", extra=extra)
    return tmp_path / "other.widegap"


def with_row_0_elsewhere(labels):
    labels[0] = (labels[0] + 1) % 3
    return labels


def test_the_rows_of_the_fit_get_the_same_labels(folder, capsys):
    assert verify(folder / "m.widegap", folder / "wine.csv") == 0
    assert "The same labels: 178 rows" in capsys.readouterr().out
    assert verify(folder / "m.widegap", folder / "wine.csv", "--json", "-q") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"verdict": "identical", "n_rows": 178, "n_different": 0, "ari": 1.0, "changed": {}}


def test_other_labels_are_counted(folder, tmp_path, capsys):
    model = relabelled(folder, tmp_path, with_row_0_elsewhere, honest=True)
    assert verify(model, folder / "wine.csv", "-q", "--json") == 3
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "different" and found["n_different"] == 1 and 0.9 < found["ari"] < 1
    assert verify(model, folder / "wine.csv") == 3
    assert "1 of 178 rows are in another cluster" in capsys.readouterr().out


def test_other_numbers_of_the_same_clusters_are_told_apart(folder, tmp_path, capsys):
    model = relabelled(folder, tmp_path, lambda labels: (labels + 1) % 3, honest=True)
    assert verify(model, folder / "wine.csv") == 3
    assert "other numbers" in capsys.readouterr().out


def test_other_rows_are_recognised(folder, tmp_path, capsys):
    frame = pd.read_csv(folder / "wine.csv")
    frame[::-1].to_csv(tmp_path / "reversed.csv", index=False)
    frame[:100].to_csv(tmp_path / "few.csv", index=False)
    for name, words in (("reversed.csv", "their values differ"), ("few.csv", "100 rows instead of 178.")):
        assert verify(folder / "m.widegap", tmp_path / name) == 4
        assert words in capsys.readouterr().out


def test_versions_and_processors_that_differ_are_listed(folder, tmp_path, capsys):
    model, extra = persistence.load(folder / "m.widegap")
    made = model[-1]._fingerprint
    assert {"numba", "numba CPU"} <= {*made.versions, *made.processor}
    for name in made.versions:
        made.versions[name] = "0.01"
    made.processor["BLAS 1"] = "abacus"
    persistence.save(model, tmp_path / "m.widegap", extra=extra)
    assert verify(tmp_path / "m.widegap", folder / "wine.csv") == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: 0.01 at the fit" in shown for name in made.versions) and "BLAS 1: abacus at the fit" in shown


def test_weights_are_read_again(folder, tmp_path):
    data, model = folder / "bottles.csv", tmp_path / "m.widegap"
    command = ["cluster", str(data), "-k", "3", "--weight-column", "bottles", "--model", str(model), "-q"]
    assert main(command) == 0
    assert verify(model, data, "-q") == 0


@pytest.mark.parametrize("method", ["cpm3c", "mkc", "iter-svr"])
def test_other_methods(folder, tmp_path, method):
    data, model = folder / "wine.csv", tmp_path / "m.widegap"
    assert main(["cluster", str(data), "-k", "2", "--method", method, "--model", str(model), "-q"]) == 0
    assert verify(model, data, "-q") == 0


def test_documents(tmp_path):
    (tmp_path / "texts").mkdir()
    words = ("flour yeast bread oven dough".split(), "goal match late team ball".split())
    rng = np.random.default_rng(0)
    for i in range(40):
        (tmp_path / "texts" / f"{i}.txt").write_text(" ".join(rng.choice(words[i % 2], 12)))
    model = tmp_path / "m.widegap"
    assert main(["documents", str(tmp_path / "texts"), "-k", "2", "--model", str(model), "-q"]) == 0
    assert verify(model, tmp_path / "texts", "-q") == 0


def test_models_whose_labels_follow_from_more_than_rows_are_refused(folder, tmp_path, capsys):
    data = folder / "wine.csv"
    corrected = relabelled(folder, tmp_path, with_row_0_elsewhere, honest=False)
    assert verify(corrected, data) == 2
    assert "not those of its fit" in capsys.readouterr().err
    for command, words in ((["refine", "--merge", "0,1"], "fitted with known"), (["update"], "was updated")):
        model = tmp_path / f"{command[0]}.widegap"
        first, *rest = command
        assert main([first, str(folder / "m.widegap"), str(data), *rest, "--model", str(model), "-q"]) == 0
        assert verify(model, data) == 2
        assert words in capsys.readouterr().err


def test_a_file_of_an_older_version_has_no_fingerprint(folder, tmp_path, capsys):
    parts = parts_of(folder / "m.widegap")
    old = edited(parts, lambda document: document["model"]["state"].pop("_fingerprint"))
    model = forge(tmp_path / "old.widegap", parts, **{"model.json": old})
    assert persistence.load(model)[0][-1]._fingerprint is None
    assert verify(model, folder / "wine.csv") == 2
    assert "no fingerprint" in capsys.readouterr().err


FORGED = {
    "long": lambda state: state["versions"]["items"].append(["x" * 200, "1"]),
    "many": lambda state: state["processor"]["items"].extend([[f"BLAS {i}", "a"] for i in range(50)]),
    "control": lambda state: state["arguments"].append("\x1b[31mred"),
    "number": lambda state: state.update(rows=5),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_fingerprints_are_refused(folder, tmp_path, what):
    parts = parts_of(folder / "m.widegap")
    forged = edited(parts, lambda document: FORGED[what](document["model"]["state"]["_fingerprint"]["state"]))
    with pytest.raises(InvalidDataError, match="damaged"):
        persistence.load(forge(tmp_path / "forged.widegap", parts, **{"model.json": forged}))


def test_the_report_shows_the_fingerprint(folder, tmp_path):
    page = tmp_path / "page.html"
    assert main(["report", str(folder / "m.widegap"), str(folder / "wine.csv"), "--report", str(page), "-q"]) == 0
    made = persistence.load(folder / "m.widegap")[0][-1]._fingerprint
    assert made.rows in page.read_text() and made.labels in page.read_text()
    assert made.versions["numba"] in page.read_text()
