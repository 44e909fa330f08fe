"""Which kind of labeling won, in one sentence."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from widegap import CPM3C, MaxMarginClustering
from widegap.cli._main import main
from widegap.forest._choice import Candidate
from widegap.report import render, summarize
from widegap.results._followed_kind import followed_kind


def candidate(pool, chosen, share=None, k=3):
    return Candidate(k, pool, 0.1, 0.9, 0.9, chosen, share)


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        (
            [candidate("gaps", False, 0.22), candidate("columns", True, 0.414)],
            "Clusters follow all columns evenly: they explain 41 % of the columns' variance, clusters "
            "along gaps between rows would explain 22 %.",
        ),
        (
            [candidate("columns", True, 0.41)],
            "Clusters follow all columns evenly: they explain 41 % of the columns' variance.",
        ),
        (
            [candidate("gaps", False, 0.4), candidate("columns", True, 0.39)],
            "Clusters follow all columns evenly: they explain 39 % of the columns' variance.",
        ),
        ([candidate("columns", True)], "Clusters follow all columns evenly."),
        ([candidate("gaps", True, 0.22), candidate("columns", False, 0.41)], "Clusters follow gaps between rows."),
        ([candidate("gaps", False), candidate("moves", True)], "Clusters follow gaps between rows."),
        ([candidate("columns", True, 0.4, k=2), candidate("gaps", True)], "Clusters follow gaps between rows."),
    ],
)
def test_the_sentence(candidates, words):
    assert followed_kind(SimpleNamespace(n_clusters_=3, candidates_=candidates))["words"] == words


def test_nothing_to_tell():
    assert followed_kind(SimpleNamespace(n_clusters_=3, candidates_=[candidate("gaps", True, k=2)])) is None
    assert followed_kind(SimpleNamespace(n_clusters_=1, candidates_=[candidate("gaps", True, k=1)])) is None
    X = np.repeat([[0.0], [9.0]], 10, axis=0) + np.linspace(0, 1, 20)[:, None]
    assert summarize(CPM3C(2, random_state=0).fit(X), X)["kind"] is None
    page = render(summarize(MaxMarginClustering(2, random_state=0).fit(X), X))
    assert "Clusters follow gaps between rows." in page


def test_a_table_with_categories_follows_its_columns(tmp_path, capsys, wide_screen):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 60)
    frame = pd.DataFrame({"size": rng.normal(size=120) + 3 * group})
    for name in ("kind", "plan", "city"):
        frame[name] = np.where(rng.random(120) < 0.85, group, 1 - group)
        frame[name] = frame[name].map({0: f"{name} a", 1: f"{name} b"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert main(["cluster", str(tmp_path / "t.csv"), "-k", "2"]) == 0
    said = capsys.readouterr().out
    assert "Clusters follow all columns evenly: they explain " in said
    assert "explained" not in said.splitlines()[0]  # of the columns' variance the next line says how much is
    call = ["cluster", str(tmp_path / "t.csv"), "-k", "2", "--column-weight", "size=2"]
    assert main([*call, "--report", str(tmp_path / "page.html")]) == 0
    assert "Clusters follow the columns by your weights: they explain " in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Clusters follow the columns by your weights: they explain " in page
    assert "</b> of the cluster labels explained" not in page
