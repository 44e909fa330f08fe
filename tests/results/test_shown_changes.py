"""What an update changed, in the words and units of the table."""

import numpy as np
import pytest

from _updated import rows_of
from widegap import MaxMarginClustering
from widegap.report import render, summarize
from widegap.report._flow_chart import FLOW_HEIGHT, Band, bands, flow
from widegap.results import PlainRows, Result
from widegap.results._profile import Feature
from widegap.results._shown_changes import shown_changes
from widegap.updating._changes import Change, ColumnChange
from widegap.updating._drift import Drift


class Told:
    """What ``shown_changes`` reads of an estimator."""

    n_features_in_ = 2
    changes_ = [
        Change("kept", 0, 0.5, 0.5, 1.0),
        Change("shrunk", 3, 0.12, 0.07, 1e-4, columns=(ColumnChange("column 0", 4.1, 3.65, 1e-3),)),
        Change("moved", 4, 0.3, 0.3, 1e-4, columns=(ColumnChange("column 1", 0.8, 0.6, 1e-3),)),
        Change("merged", 5, 0.0, 0.0, 1.0, related=(0,)),
    ]
    drift_ = Drift(0.0025, (ColumnChange("column 0", 4.1, 3.65, 0.0025), ColumnChange("column 1", 0.5, 0.5, 0.9)))


FEATURES = [Feature("spend", "spend", 0), Feature("city = Bonn", "city", 1, "share", "Bonn")]


def test_sentences_have_names_and_the_units_of_the_table():
    found = shown_changes(Told(), FEATURES, {3: "loyal", 5: "guests"}, np.array([0.01, 1.0]))
    texts = [record["text"] for record in found["clusters"]]
    assert texts == [
        "Cluster 3, loyal: 12 % → 7 % of rows, average spend 410 → 365.",
        "Cluster 4: 30 % → 30 % of rows, city = Bonn 80 % → 60 %.",
        "Cluster 5, guests: merged into cluster 0.",
        "Cluster 0: kept, 50 % → 50 % of rows.",
    ]
    assert found["words"] == "3 of 4 clusters changed: 1 shrunk, 1 moved, 1 merged."
    assert found["drift"]["words"] == "The new rows differ from those before (p = 0.0025)."
    assert [column["text"] for column in found["drift"]["columns"]] == ["average spend 410 → 365"]


def test_without_an_update_there_is_nothing_to_show():
    X, _ = rows_of((0, 1))
    model = MaxMarginClustering(2, random_state=0).fit(X)
    assert shown_changes(model, [], {}, None) is None
    found = summarize(model, X)
    assert found["changes"] is None
    assert "What changed" not in render(found)


@pytest.fixture(scope="module")
def result():
    model = MaxMarginClustering(3, random_state=0).fit(rows_of((0, 1, 2))[0])
    X, _ = rows_of((0, 1, 4, 0), seed=3)
    return Result(model.update(X), PlainRows(X))


def test_the_report_begins_with_what_changed(result):
    found = result.summary()
    page = render(found)
    assert page.index("What changed") < page.index('class="cards"')
    for record in found["changes"]["clusters"]:
        assert record["text"] in page
    assert {record["kind"] for record in found["changes"]["clusters"]} >= {"new"}
    assert found["changes"]["drift"]["p_value"] < 0.05


def test_other_rows_than_those_of_the_update_have_no_changes(result):
    other = Result(result.model, PlainRows(rows_of((0, 1), seed=9)[0]))
    assert other.summary()["changes"] is None


def test_bands_lead_from_clusters_before_to_those_after():
    records = [
        {"cluster": 0, "kind": "kept", "related": [], "share_before": 0.4, "share_after": 0.5},
        {"cluster": 7, "kind": "split", "related": [0], "share_before": 0.1, "share_after": 0.1},
        {"cluster": 2, "kind": "merged", "related": [0], "share_before": 0.0, "share_after": 0.0},
        {"cluster": 8, "kind": "new", "related": [], "share_before": 0.0, "share_after": 0.4},
        {"cluster": 5, "kind": "vanished", "related": [], "share_before": 0.5, "share_after": 0.0},
    ]
    assert bands(records) == [
        Band(0, 0, 0.4, 0.5),
        Band(2, 0, 0.0, 0.0),
        Band(5, None, 0.5, 0.0),
        Band(0, 7, 0.1, 0.1),
        Band(None, 8, 0.0, 0.4),
    ]
    drawn = flow(records)
    assert drawn.count("<path") == 3  # neither for the new cluster nor for the one that vanished
    assert drawn.count("<rect") == 3 + 3
    assert "0 · 50 %" in drawn and ">2</text>" in drawn and "8 · 40 %" in drawn


def test_bars_fill_the_picture_and_stay_inside():
    records = [
        {"cluster": p, "kind": "kept", "related": [], "share_before": 0.1, "share_after": 0.1} for p in range(10)
    ]
    import re

    ends = [float(y) + float(h) for y, h in re.findall(r' y="([\d.]+)" width="\d+" height="([\d.]+)"', flow(records))]
    assert max(ends) == pytest.approx(FLOW_HEIGHT, abs=0.2)
