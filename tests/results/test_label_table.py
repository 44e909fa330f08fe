"""Clusters against true classes, counted; pandas' crosstab is the referee."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from widegap.results._label_table import NO_CLASS, OTHER_CLASSES, SHOWN_CLASSES, label_table


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-1, 3), st.sampled_from(["a", "b", "c", None, ""])), min_size=1, max_size=40)
)
def test_counts_are_those_of_a_crosstab(rows):
    labels, classes = np.array([label for label, _ in rows]), [name for _, name in rows]
    found = label_table(labels, classes, "kind", range(4))
    truth = pd.crosstab(labels, np.array([name or NO_CLASS for name in classes]))
    assert [line["cluster"] for line in found["lines"]] == [0, 1, 2, 3, *([-1] if -1 in labels else [])]
    assert sorted(found["classes"]) == sorted(truth.columns)
    for line in found["lines"]:
        for name, count in zip(found["classes"], line["counts"], strict=True):
            assert count == (truth.loc[line["cluster"], name] if line["cluster"] in truth.index else 0)


def test_classes_are_sorted():
    labels = np.array([0] * 6 + [1] * 4 + [2] * 5)
    classes = ["z"] * 5 + ["a"] + ["y"] * 4 + ["x"] * 5
    found = label_table(labels, classes, "kind", range(3))
    assert found["classes"] == ["a", "x", "y", "z"]
    assert [line["counts"] for line in found["lines"]] == [[1, 0, 0, 5], [0, 0, 4, 0], [0, 5, 0, 0]]
    assert found["words"].startswith("93.3 % of the rows are in a cluster whose majority has their class;")


def test_numbers_are_sorted_by_value_before_words():
    classes = [10, 9.5, "Zoo", "-1", "ant", 2, 10]
    found = label_table(np.zeros(7, int), classes, "kind", [0])
    assert found["classes"] == ["-1", "2", "9.5", "10", "ant", "Zoo"]
    assert found["lines"][0]["counts"] == [1, 1, 1, 2, 1, 1]


def test_rare_classes_share_a_column():
    classes = [f"class {i:02d}" for i in range(20) for _ in range(20 - i)]
    found = label_table(np.zeros(len(classes), int), classes, "kind", [0])
    assert len(found["classes"]) == SHOWN_CLASSES + 1 and found["classes"][-1] == OTHER_CLASSES
    assert sum(found["lines"][0]["counts"]) == len(classes) and found["lines"][0]["counts"][-1] == 36


def test_no_row_with_both():
    assert label_table(np.array([-1, 0]), ["a", None], "kind", [0])["words"] == "No row has both a cluster and a class."
