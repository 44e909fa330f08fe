"""Options of ``widegap cluster`` that say how a table is read, and how many clusters it is asked for."""

import json

import numpy as np
import pandas as pd
import pytest

from widegap.cli._main import main


@pytest.fixture
def shop(tmp_path):
    """Two groups of 30 customers: gaps in words of their own, dates, texts, and a comma in the name of a column."""
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    spent = (100.0 + 900.0 * group + rng.normal(size=60)).round(2).astype(object)
    spent[:3] = "nothing said"
    days = pd.Timestamp("2020-03-01") + pd.to_timedelta(700 * group + rng.integers(0, 60, 60), "D")
    talk = [
        ("the parcel came late and was broken", "great shoes and a fair price")[g] + f" {i}"
        for i, g in enumerate(group)
    ]
    frame = pd.DataFrame(
        {"spent, in euros": spent, "visits": 5 + 20 * group + rng.integers(0, 4, 60), "since": days, "remarks": talk}
    )
    path = tmp_path / "shop.csv"
    frame.to_csv(path, index=False)
    return path


def read(capsys, path, *options):
    """The JSON summary of a run, and its columns by name."""
    assert main(["cluster", str(path), "--json", *map(str, options)]) == 0
    summary = json.loads(capsys.readouterr().out)
    return summary, {line["column"]: line for line in summary["columns"]}


def test_na_values_are_gaps(shop, capsys):
    _, columns = read(capsys, shop, "-k", 2)
    assert (
        "3 of 60 cells are something else ('nothing said') and are treated as missing"
        in (columns["spent, in euros"]["why"])
    )
    _, columns = read(capsys, shop, "-k", 2, "--na-values", "Nothing said,never")
    assert "something else" not in columns["spent, in euros"]["why"]
    assert "3 of 60 cells are missing" in columns["spent, in euros"]["why"]


def test_dates_become_days_or_parts(shop, capsys):
    summary, _ = read(capsys, shop, "-k", 2, "--columns", "since,visits")
    assert _features(summary) == {"visits", "since (days since 2020-03-01)"}
    summary, _ = read(capsys, shop, "-k", 2, "--columns", "since,visits", "--dates", "parts")
    assert {"visits", "since: year", "since: month", "since: weekday"} >= _features(summary) > {"since: year"}


def _features(summary):
    return {line["feature"] for line in summary["profile"]["lines"]}


def test_a_text_column_is_used_by_its_topics(shop, capsys):
    _, columns = read(capsys, shop, "-k", 2)
    assert not columns["remarks"]["used"]
    summary, columns = read(capsys, shop, "-k", 2, "--columns", "visits,remarks", "--text-column", "remarks")
    assert columns["remarks"]["used"]
    assert columns["remarks"]["why"].endswith("topics, by their words")
    assert any(name.startswith("remarks: ") for name in _features(summary))


def test_a_comma_in_the_name_of_a_column(shop, capsys):
    _, columns = read(capsys, shop, "-k", 2, "--columns", r"spent\, in euros,visits")
    assert {name for name, line in columns.items() if line["used"]} == {"spent, in euros", "visits"}
    assert main(["cluster", str(shop), "-k", "2", "--columns", "spent, in euros"]) == 2
    assert "'spent'" in capsys.readouterr().err


@pytest.mark.parametrize("content", ['{"0": "seldom", "1": "often"}', "cluster,name\n0,seldom\n1,often\n"])
def test_clusters_of_a_table_get_the_names_of_a_file(content, shop, tmp_path, capsys):
    names, page, model = tmp_path / "names.txt", tmp_path / "r.html", tmp_path / "model.widegap"
    names.write_text(content, encoding="utf-8")
    summary, _ = read(capsys, shop, "-k", 2, "--names", names, "--report", page, "--model", model)
    assert [cluster["name"] for cluster in summary["clusters"]] == ["seldom", "often"]
    assert "seldom" in page.read_text(encoding="utf-8")
    assert main(["report", str(model), str(shop), "--report", str(page), "-q"]) == 0  # the model has kept them
    assert "seldom" in page.read_text(encoding="utf-8")
    names.write_text('{"7": "x"}', encoding="utf-8")
    assert main(["cluster", str(shop), "-k", "2", "--names", str(names)]) == 2
    assert "a name for cluster '7', which does not exist" in capsys.readouterr().err


def test_noise_is_called_noise_by_a_method_without_a_tree(tmp_path, capsys):
    path = tmp_path / "noise.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc")).to_csv(path, index=False)
    summary, _ = read(capsys, path, "-k", "2-4", "--method", "cpm3c")
    assert summary["recommendation"]["is_noise"]
    assert summary["recommendation"]["words"].startswith("No separate groups; the data may vary continuously")


def test_clusters_are_not_called_noise_by_a_method_without_a_tree(shop, capsys):
    summary, _ = read(capsys, shop, "-k", "2-3", "--method", "cpm3c", "--columns", r"visits,since,spent\, in euros")
    assert not summary["recommendation"]["is_noise"]
    assert summary["recommendation"]["recommended"] == 2


@pytest.mark.parametrize("k", ["auto", "2-4"])
def test_a_number_of_topics_is_recommended(k, tmp_path, capsys):
    rng = np.random.default_rng(0)
    words = (
        "goal match team player league score coach",
        "oven flour butter sugar bake cake dough",
        "orbit rocket moon launch space crew star",
    )
    lines = [" ".join(rng.choice(words[i % 3].split(), size=12)) for i in range(60)]
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(json.dumps({"text": line}) for line in lines), encoding="utf-8")
    assert main(["documents", str(path), "-k", k, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["recommendation"]["recommended"] == summary["n_clusters"] == 3
    assert not summary["recommendation"]["is_noise"]
