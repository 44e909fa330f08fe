"""Means and shares of the summary are those of the file: filled cells do not count."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from widegap import MaxMarginClustering, TableEncoder, describe
from widegap.cli._main import main
from widegap.report import render, summarize
from widegap.results._profile import Contrasts, features_of


@pytest.fixture
def people():
    """Two groups; the young lack every income, some ages and some answers are missing."""
    rng = np.random.default_rng(0)
    old = np.repeat([False, True], 40)
    frame = pd.DataFrame({"age": np.where(old, 60, 20) + rng.integers(0, 5, 80)}).astype(float)
    frame["height"] = np.where(old, 150.0, 190.0) + rng.normal(size=80)
    frame["income"] = np.where(old, 1000.0 + np.arange(80), np.nan)
    frame["smoker"] = np.where(np.arange(80) % 4 == 0, "yes", "no")
    frame["city"] = np.where(old, "Bonn", "Ulm")
    frame.loc[::5, "age"] = np.nan
    frame.loc[::3, "smoker"] = None
    frame.loc[::7, "city"] = None
    return frame


def expected(frame, rows):
    """Means by hand: of the cells that have a value; of a category the share of all rows."""
    answers = frame["smoker"][rows].dropna()
    return {
        "age": frame["age"][rows].mean(),
        "height": frame["height"][rows].mean(),
        "income": frame["income"][rows].mean(),
        "smoker": (answers == "yes").mean(),
        "city = Bonn": (frame["city"][rows] == "Bonn").mean(),
        "city = Ulm": (frame["city"][rows] == "Ulm").mean(),
    }


def check_profile(summary, frame, labels):
    by_name = {line["feature"]: line for line in summary["profile"]["lines"]}
    assert {"age", "height"} <= set(by_name)
    for name, line in by_name.items():
        if name not in expected(frame, labels >= 0):
            continue
        assert line["value"] == pytest.approx(expected(frame, labels >= 0)[name])
        for label, cell in enumerate(line["cells"]):
            by_hand = expected(frame, labels == label)[name]
            if np.isnan(by_hand):
                assert cell["value"] is None and cell["text"] == "–" and cell["mark"] == 0
            else:
                assert cell["value"] == pytest.approx(by_hand)
    return by_name


def test_the_command_averages_the_cells_of_the_file(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    page = tmp_path / "page.json"
    assert main(["cluster", str(tmp_path / "people.csv"), "-k", "2", "--report", str(page), "--quiet"]) == 0
    summary = json.loads(page.read_text(encoding="utf-8"))
    ages = np.array([line["cells"] for line in summary["profile"]["lines"] if line["feature"] == "age"][0])
    labels = (people["height"] < 170).to_numpy().astype(int)
    labels = labels if ages[1]["value"] > ages[0]["value"] else 1 - labels
    by_name = check_profile(summary, people, labels)
    assert by_name["age"]["kind"] == "count"  # whole numbers, also with gaps


def test_a_pipeline_and_a_frame_average_the_same_and_as_centers_do(people):
    model = make_pipeline(TableEncoder(), MaxMarginClustering(2, random_state=0)).fit(people)
    labels = model[-1].labels_
    summary = summarize(model, people)
    by_name = check_profile(summary, people, labels)
    centers = describe.centers(model, people)
    for name, line in by_name.items():
        found = [np.nan if cell["value"] is None else cell["value"] for cell in line["cells"]]
        np.testing.assert_allclose(found, centers[name], equal_nan=True)
    assert "nan" not in render(summary).lower().replace("nano", "")
    X = people[["age", "height"]].fillna(people[["age", "height"]].median()).to_numpy()
    plain = MaxMarginClustering(2, random_state=0).fit(X)
    check_profile(summarize(plain, X, frame=people), people, plain.labels_)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.9))
def test_gaps_change_neither_the_kind_of_a_column_nor_count(seed, share):
    rng = np.random.default_rng(seed)
    n = 60
    values = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 50, n), rng.integers(0, 2, n), rng.integers(1950, 2000, n)]
    )
    values[:2] = [[0, 0, 0, 1950], [1.5, 49, 1, 1999]]
    values[2:][rng.random((n - 2, 4)) < share] = np.nan
    features = features_of(["a", "b", "c", "born"], values)
    assert [feature.kind for feature in features] == ["number", "count", "share", "year"]
    labels = rng.integers(-1, 3, n)
    found = Contrasts(values, labels, features, 4)
    for label in range(4):
        for j in range(4):
            own = values[labels == label, j]
            own = own[~np.isnan(own)]
            assert np.isnan(found.means[label, j]) if not len(own) else np.isclose(found.means[label, j], own.mean())
    np.testing.assert_allclose(found.everywhere, np.nanmean(values, axis=0))


def test_a_column_without_any_value_has_no_mean():
    values = np.array([[0.0, np.nan, 1], [1, np.nan, 2], [8, np.nan, np.nan], [9, np.nan, np.nan]])
    found = Contrasts(values, np.array([0, 0, 1, 1]), features_of(["a", "b", "c"], values), 2)
    assert found.everywhere[0] == 4.5 and np.isnan(found.everywhere[1]) and found.everywhere[2] == 1.5
    assert np.isnan(found.means[:, 1]).all() and np.isnan(found.means[1, 2]) and np.isnan(found.rest[0, 2])
    assert (found.differences[:, 1:] == 0).all()
