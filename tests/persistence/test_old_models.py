"""Model files of this format stay readable: each stored model loads and says what it said when it was saved.

Those of releases were written by the commands of that release, with the rows and the labels of the fit beside them.
"""

import numpy as np
import pandas as pd
import pytest

from tests._old_models import FOLDER, file_of, makers, rows_of, scores
from widegap import persistence
from widegap._catalogue import ESTIMATORS
from widegap.cli._main import main
from widegap.results._how_many import number_found

FILES = sorted(FOLDER.glob("format-*.widegap"))
RELEASED = sorted(FOLDER.glob("release-*.widegap"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_of_old_say_what_they_said(path):
    model, extra = persistence.load(path)
    rows = rows_of(extra["rows"])
    assert model.predict(rows).tolist() == extra["labels"]
    assert len(set(extra["labels"])) > 1
    if "scores" in extra:
        then = np.array(extra["scores"])
        np.testing.assert_allclose(scores(model, rows), then, rtol=0, atol=1e-6 * np.abs(then).max())


def test_what_came_later_is_unknown_in_models_of_old():
    model, _ = persistence.load(file_of("MaxMarginClustering-auto"))
    assert model.n_clusters_ == 3 and not hasattr(model, "n_clusters_choice_")
    assert all(score.strength is None and score.agreement > 0 for score in model.n_clusters_scores_)
    assert set(model.tree_.words()) == {""}
    assert number_found(model)["words"].startswith("3 clusters. An older version chose it")


def test_every_kind_of_model_has_a_file():
    names = {path.name for path in FILES}
    assert {file_of(name).name for name in makers()} <= names
    assert {file_of(name).name for name in [*ESTIMATORS, "TableEncoder"]} <= names


@pytest.fixture
def fitted(tmp_path):
    """Writes the rows of a released model without what its fit added; returns their place and the labels of the fit."""

    def write(path):
        rows = pd.read_csv(path.with_suffix(".csv"))
        label = "topic" if "topic" in rows else "cluster"
        place = tmp_path / "rows.csv"
        rows.drop(columns=["cluster", "margin", "topic", "topic_name"], errors="ignore").to_csv(place, index=False)
        return str(place), rows[label].tolist(), label

    return write


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_commands_take_the_model_files_of_a_release(path, fitted, tmp_path, capsys):
    place, labels, label = fitted(path)
    assert main(["predict", str(path), place, "-o", str(tmp_path / "again.csv"), "-q"]) == 0
    assert pd.read_csv(tmp_path / "again.csv")[label].tolist() == labels
    assert main(["report", str(path), place, "--report", str(tmp_path / "page.html"), "-q"]) == 0
    assert main(["update", str(path), place, "--model", str(tmp_path / "later.widegap")]) == 2
    assert "or by an earlier version. Fit the rows again" in " ".join(capsys.readouterr().err.split())
    assert main(["verify", str(path), place]) == 2
    assert "has no fingerprint: it was made by an older version" in " ".join(capsys.readouterr().err.split())


def test_a_release_has_a_table_and_texts():
    assert {path.name for path in RELEASED} >= {f"release-0.1.0-{kind}.widegap" for kind in ("table", "texts")}


def test_a_file_saved_again_says_the_same(tmp_path):
    for path in FILES:
        model, extra = persistence.load(path)
        persistence.save(model, tmp_path / path.name)
        again, _ = persistence.load(tmp_path / path.name)
        assert again.predict(rows_of(extra["rows"])).tolist() == extra["labels"]
