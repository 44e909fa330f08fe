"""What the scores of numbers of clusters mean, in words."""

import pytest

from widegap.results._how_many import what_scores_mean


@pytest.mark.parametrize(
    ("chosen", "excess", "sure", "said"),
    [
        (1, {}, "clear", "all rows are equal"),
        (1, {2: -1.0, 3: 0.5}, "clear", "the clearest, into 3, stands out by 0.5 standard errors, and 3.5 are needed"),
        (1, {2: -3.0}, "clear", "stands out by 0.0 standard errors"),
        (1, {2: 2.0}, "likely", "One cluster, most likely"),
        (1, {2: 1.0, 3: 3.0}, "close", "Look at 3 clusters as well"),
        (3, {2: 9.0, 3: 12.0, 4: 0.0}, "clear", "3 clusters, clearly so"),
        (3, {2: 9.0, 3: 6.0, 4: 0.0}, "likely", "the least clear of them stands out by 6.0 standard errors"),
        (3, {2: 9.0, 3: 4.2, 4: 0.0}, "close", "Look at 2 clusters as well"),
        (3, {2: 3.0, 3: 4.2, 4: 0.0}, "close", "Look at a single cluster as well"),
        (3, {2: 9.0, 3: 12.0, 4: 0.0, 5: 3.4}, "close", "Look at 5 clusters as well"),
        (4, {2: 9.0, 3: 12.0, 4: 30.0}, "clear", "4 clusters"),
    ],
)
def test_words(chosen, excess, sure, said):
    found, words = what_scores_mean(chosen, excess)
    assert found == sure
    assert said in words
