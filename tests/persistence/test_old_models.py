"""Model files of this format stay readable: each stored model loads and says what it said when it was saved."""

import numpy as np
import pytest

from tests._old_models import FOLDER, file_of, makers, rows_of, scores
from widegap import persistence
from widegap._catalogue import ESTIMATORS
from widegap.results._how_many import number_found

FILES = sorted(FOLDER.glob("format-*.widegap"))


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


def test_a_file_saved_again_says_the_same(tmp_path):
    for path in FILES:
        model, extra = persistence.load(path)
        persistence.save(model, tmp_path / path.name)
        again, _ = persistence.load(tmp_path / path.name)
        assert again.predict(rows_of(extra["rows"])).tolist() == extra["labels"]
