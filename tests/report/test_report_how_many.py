"""What the strengths of numbers of clusters mean, in words."""

import pytest

from widegap.forest._cluster_number import ClusterNumberChoice
from widegap.forest._number_search import ClusterNumberScore
from widegap.results._how_many import EQUAL_ROWS, LEAST_ROWS, choice_among, explained_choice, number_found


@pytest.mark.parametrize(
    ("strengths", "chosen", "sure", "said"),
    [
        ({}, 1, "clear", "1 cluster: no number stands out."),
        ({2: -1.0, 3: 0.1}, 1, "clear", "(best 3, strength 0.1). The number is clear. There are no separate groups"),
        ({2: -3.0}, 1, "clear", "(best 2, strength 0.0)"),
        ({2: 0.5}, 1, "likely", "(best 2, strength 0.5). The number is likely."),
        ({2: 0.3, 3: 0.9}, 1, "close", "the data may vary continuously. If you expect groups"),
        ({2: 0.3, 3: 0.9}, 1, "close", "Look at 3 clusters before relying on it."),
        ({2: 1.5, 3: 3.0, 4: 0.1}, 3, "clear", "3 clusters (strength 3.0; a single cloud reaches 1 about once in 50)."),
        ({2: 1.5, 3: 1.5, 4: 0.1}, 3, "likely", "The number is likely."),
        ({2: 0.5, 3: 1.1, 4: 0.1}, 3, "close", "It is a close call. Look at a single cluster before relying on it."),
        ({2: 1.5, 3: 3.0, 4: 0.1, 5: 0.9}, 3, "close", "Nearly: 5 (strength 0.9). It is a close call. Look at 5"),
        ({2: 1.5, 3: 2.0, 4: 5.0}, 4, "clear", "4 clusters"),
    ],
)  # fmt: skip
def test_words(strengths, chosen, sure, said):
    choice = choice_among(strengths)
    found = explained_choice(choice)
    assert (choice.n_clusters, found["sure"]) == (chosen, sure)
    assert said in found["words"]
    assert found["choice"]["sentence"] == choice.sentence() and found["words"].startswith(choice.sentence())


def test_a_coarser_number_is_named_where_the_last_step_is_weak():
    found = explained_choice(ClusterNumberChoice(9, 1.1, [2, 4], None, 0.0, False))
    assert found["words"].endswith("Look at 4 clusters before relying on it.")


def test_constraints_that_ask_for_more_clusters_are_named():
    words = explained_choice(choice_among({2: 0.1}), chosen=3)["words"]
    assert words.startswith("3 clusters, as known labels, links or sizes ask for. By the rows alone: 1 cluster:")


class Stub:
    """A fitted model of an older version, or of equal rows."""

    def __init__(self, **attributes):
        vars(self).update({"n_clusters": "auto", "n_clusters_": 1, "labels_": [0] * LEAST_ROWS, **attributes})


def test_nothing_is_claimed_of_few_rows():
    found = number_found(Stub(labels_=[0] * (LEAST_ROWS - 1)))
    assert found["words"] == "1 cluster: 9 rows are too few to tell how many there are; at least 10 are needed."
    assert found["sure"] is None
    assert number_found(Stub(n_clusters=3, labels_=[0, 1, 2])) is None


def test_models_without_a_choice():
    assert number_found(Stub())["words"] == EQUAL_ROWS
    assert number_found(Stub(n_clusters=3)) is None
    score = ClusterNumberScore(2, 8.0, 7.0, 1.0)
    found = number_found(Stub(n_clusters_=2, n_clusters_scores_=[score]))
    assert found["words"].startswith("2 clusters. An older version chose it")
    assert found["scores"][0]["strength"] is None
