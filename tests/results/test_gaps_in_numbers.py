"""Numbers of clusters with gaps, as updates leave them, in everything that people look at."""

import json

import numpy as np
import pytest

from _updated import rows_of, updated
from widegap import describe, persistence
from widegap.report import render, summarize
from widegap.results import PlainRows, Result

METHODS = ["forest", "cpm3c"]


@pytest.mark.parametrize("method", METHODS)
def test_the_models_have_gaps(method):
    model, _, _ = updated(method)
    assert model.cluster_numbers_.max() >= model.n_clusters_


@pytest.mark.parametrize("method", METHODS)
def test_the_summary_tells_clusters_by_number(method):
    model, X, _ = updated(method)
    found = summarize(model, X)
    numbers = sorted(model.cluster_numbers_.tolist())
    assert [cluster["label"] for cluster in found["clusters"]] == numbers
    sizes = {cluster["label"]: cluster["size"] for cluster in found["clusters"]}
    assert sizes == {p: int((model.labels_ == p).sum()) for p in numbers}
    for cluster in found["clusters"]:
        inside = model.labels_ == cluster["label"]
        for item in cluster["separates"]:
            j = int(item["feature"].split()[-1]) - 1
            assert item["mean"] == pytest.approx(X[inside, j].mean(), rel=1e-6)
            assert item["rest_mean"] == pytest.approx(X[~inside, j].mean(), rel=1e-6)
        assert cluster["margin"]["median"] > 0
    assert {point["cluster"] for point in found["map"]["points"]} == set(numbers)
    assert render(json.loads(json.dumps(found)))


@pytest.mark.parametrize("method", METHODS)
def test_the_table_has_numbers_and_margins_of_the_own_cluster(method):
    model, X, _ = updated(method)
    new, _ = rows_of((0, 2, 3), seed=5)
    for rows in (X, new):
        frame = Result(model, PlainRows(rows)).frame()
        assert set(frame["cluster"]) <= set(model.cluster_numbers_.tolist())
        assert (frame["margin"] > 0).all()
    assert (frame["cluster"] == model.predict(new)).all()
    if hasattr(model, "predict_proba"):
        best = model.predict_proba(new).max(axis=1)
        np.testing.assert_allclose(frame["sure"], best, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_centres_are_by_number(method):
    model, X, _ = updated(method)
    found = describe.centers(model, X)
    assert found.index.tolist() == sorted(model.cluster_numbers_.tolist())
    for p in found.index:
        np.testing.assert_allclose(found.loc[p], X[model.labels_ == p].mean(axis=0), rtol=1e-6)


def test_names_belong_to_numbers_and_unknown_ones_are_refused(tmp_path):
    model, X, _ = updated()
    numbers = sorted(model.cluster_numbers_.tolist())
    result = Result(model, PlainRows(X), names={str(numbers[-1]): "latest"})
    names = {cluster["label"]: cluster["name"] for cluster in result.summary()["clusters"]}
    assert names[numbers[-1]] == "latest"
    result.save(tmp_path / "model.widegap")
    again, extra = persistence.load(tmp_path / "model.widegap")
    assert extra["names"] == {str(numbers[-1]): "latest"}
    np.testing.assert_array_equal(again.cluster_numbers_, model.cluster_numbers_)
    with pytest.raises(ValueError, match="which does not exist"):
        Result(model, PlainRows(X), names={"99": "nobody"}).summary()


def test_a_notebook_shows_an_updated_model():
    model, _, _ = updated()
    page = model._repr_html_()
    assert all(f"Cluster {p}" in page for p in model.cluster_numbers_.tolist())
