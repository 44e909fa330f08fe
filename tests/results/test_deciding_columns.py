"""How much columns decided: against R2 by brute force, and what counts as following a column."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering
from widegap.cli._main import main
from widegap.report import render, summarize
from widegap.results._deciding_columns import deciding_columns, followed_column, share_predicted
from widegap.results._profile import features_of

CITIES = ["city = Bonn", "city = Rome", "city = Oslo"]


def shares_of(values, names, labels):
    found = deciding_columns(values, features_of(names, values), labels)
    return {entry["column"]: entry["share"] for entry in found}


def adjusted(values, labels):
    """1 - (1 - R2)(n - 1)/(n - k) from the definition, row by row."""
    kinds, n = np.unique(labels), len(labels)
    within = sum(
        ((row - values[labels == label].mean(axis=0)) ** 2).sum() for row, label in zip(values, labels, strict=True)
    )
    total = ((values - values.mean(axis=0)) ** 2).sum()
    return 0.0 if total == 0 else max(0.0, 1 - within / total * (n - 1) / (n - len(kinds)))


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4))
def test_shares_are_adjusted_r2_and_a_category_counts_once(seed, k):
    rng = np.random.default_rng(seed)
    city = np.append(rng.integers(3, size=37), [0, 1, 2])
    values = np.column_stack([rng.normal(size=40), np.eye(3)[city], rng.exponential(size=40) + city])
    labels = np.append(rng.integers(k, size=40 - k), np.arange(k))
    found = shares_of(values, ["size", *CITIES, "income"], labels)
    assert found == pytest.approx(
        {
            "size": adjusted(values[:, :1], labels),
            "city": adjusted(values[:, 1:4], labels),
            "income": adjusted(values[:, 4:], labels),
        }
    )


def test_flags_need_not_be_neighbours_and_outliers_do_not_count():
    city, labels = np.tile([0, 1, 2], 20), np.repeat([0, 1, -1], 20)
    values = np.column_stack([np.eye(3)[city][:, :2], labels * 1.0, np.eye(3)[city][:, 2]])
    found = shares_of(values, [*CITIES[:2], "x", CITIES[2]], labels)
    assert found["x"] == 1 and set(found) == {"city", "x"}
    assert found["city"] == pytest.approx(adjusted(values[:40][:, [0, 1, 3]], labels[:40]))


def test_one_cluster_and_wide_tables_tell_nothing():
    values = np.random.default_rng(0).normal(size=(20, 2))
    assert deciding_columns(values, features_of(["a", "b"], values), np.zeros(20, int)) is None
    wide = np.zeros((4, 2001))
    assert deciding_columns(wide, features_of([str(j) for j in range(2001)], wide), np.array([0, 0, 1, 1])) is None


def followed(values, names, labels):
    found = followed_column(deciding_columns(values, features_of(names, values), labels))
    return None if found is None else found["column"]


def test_clusters_that_are_a_column_follow_it():
    rng = np.random.default_rng(0)
    sex, city = np.tile([0.0, 1.0], 60), rng.integers(3, size=120)
    values = np.column_stack([sex, rng.normal(size=120), np.eye(3)[city]])
    names = ["sex", "size", *CITIES]
    assert followed(values, names, sex.astype(int)) == "sex"
    assert followed(values, names, city) == "city"
    nearly = np.where(np.arange(120) < 12, 1 - sex, sex).astype(int)  # a tenth is elsewhere: a share of 0.64
    assert followed(values, names, nearly) is None
    assert followed(sex[:, None], ["sex"], sex.astype(int)) is None  # there is nothing else to follow


def test_a_column_that_one_of_many_clusters_has_is_not_followed():
    labels = np.repeat(np.arange(6), 20)
    values = np.column_stack([(labels == 0) * 1.0, labels + np.random.default_rng(0).normal(size=120)])
    assert shares_of(values, ["feathers", "x"], labels)["feathers"] == 1
    assert share_predicted(values[:, :1], labels.astype(np.int32)) < 0.3
    assert followed(values, ["feathers", "x"], labels) is None


def test_groups_that_show_in_several_columns_are_not_warned_of():
    X, y = make_blobs(300, centers=[[0, 0], [4, 0], [0, 4]], cluster_std=0.8, random_state=0)
    assert followed(X, ["a", "b"], y) is None


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)).round(2), columns=["height", "weight kg"])
    frame["weight kg"] += 20.0 * (np.arange(120) % 2)
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_command_names_the_option_that_drops_the_column(table, tmp_path, capsys, wide_screen):
    page = tmp_path / "page.html"
    assert main(["cluster", str(table), "-k", "2", "--report", str(page)]) == 0
    said = "Clusters follow 'weight kg' (99 %). Compare with --drop 'weight kg'."
    assert f"note: {said}" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "How much each column decided" in text
    assert "Clusters follow &#39;weight kg&#39; (99 %). Compare with --drop" in text
    assert main(["cluster", str(table), "-k", "2", "--json"]) == 0
    decided = json.loads(capsys.readouterr().out)["decided"]
    assert [entry["column"] for entry in decided] == ["weight kg", "height"]
    assert decided[0]["followed"] and decided[0]["share"] > 0.98 and not decided[1]["followed"]


def test_a_program_is_told_without_an_option():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), np.tile([0.0, 20.0], 40) + rng.normal(size=80)])
    summary = summarize(MaxMarginClustering(2, random_state=0).fit(X), X, feature_names=["a", "b"])
    assert "Clusters follow 'b' (99 %). Compare with a result without this column." in summary["warnings"]
    assert 'style="left:0;width:0.0%"' in render(summary)
