"""Which rows are asked about: clusters without a name first, then each row for what its answer adds to those before."""

from dataclasses import replace

import numpy as np
import pytest

from widegap.constraints._questions import Doubts, choose_questions

BLOCKS = np.repeat(np.arange(6), 5)  # a label of a row reaches the rows of its block alone


class Blocks:
    """Stands in for the spread of labels over a graph of six parts."""

    def reach(self, rows):
        return (BLOCKS[rows][:, None] == BLOCKS).astype(float)

    def spread_values(self, values):
        return np.bincount(BLOCKS, values)[BLOCKS]


def doubts(doubt_of_block, settled=(), named=(True, True)):
    lead = 1 - np.asarray(doubt_of_block, float)[BLOCKS]
    belief = np.column_stack([(1 + lead) / 2, (1 - lead) / 2])
    belief[BLOCKS >= 3] = belief[BLOCKS >= 3, ::-1]
    return Doubts(
        belief=belief,
        labels=(BLOCKS >= 3).astype(np.int32),
        settled=np.isin(np.arange(30), settled),
        named=named,
        centrality=np.ones(30),
        groupings=[np.arange(30) // 2, BLOCKS],
        spread=Blocks(),
        first_copy=np.arange(30),
    )


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_every_question_is_about_another_part_the_most_doubtful_first(n):
    found = choose_questions(n, doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2]))
    assert [BLOCKS[question.row] for question in found] == [1, 4, 3, 0, 5, 2][:n]


def test_what_known_rows_tell_is_not_asked_again():
    found = choose_questions(2, doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2], settled=[5, 22]))
    assert [BLOCKS[question.row] for question in found] == [3, 0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_clusters_without_a_name_come_first_and_n_is_kept(n):
    found = choose_questions(n, doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2], named=(False, False)))
    assert [question.candidates for question in found[:2]] == [(0,), (1,)][:n]
    assert len(found) == n
    assert len({question.row for question in found}) == n


def test_a_cluster_gets_its_name_where_it_is_least_certain():
    found = choose_questions(2, doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2], named=(False, False)))
    assert [BLOCKS[question.row] for question in found] == [1, 4]
    assert [question.examples for question in found] == [(10,), (25,)]  # the first of the most certain rows


def test_known_rows_are_never_asked():
    settled = list(range(29))
    assert [question.row for question in choose_questions(5, doubts([0.5] * 6, settled=settled))] == [29]


def test_a_hub_is_asked_about_only_where_nobody_else_tells_as_much():
    given = doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2])
    crowded = np.ones(30)
    crowded[5:10] = 60.0  # all rows of the most doubtful block
    (first,) = choose_questions(1, replace(given, centrality=crowded))
    assert BLOCKS[first.row] == 4
    crowded[6:10] = 1.0
    (first,) = choose_questions(1, replace(given, centrality=crowded))
    assert BLOCKS[first.row] == 1 and first.row != 5


def test_a_small_cluster_is_not_named_for_its_own_sake():
    given = doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.0], named=(True, False))
    labels = np.zeros(30, np.int32)
    labels[26:] = 1
    assert replace(given, labels=labels).unnamed == []  # 4 rows; the mean is 15
    labels[25] = 1
    assert replace(given, labels=labels).unnamed == [1]


def test_copies_of_a_row_are_one_question():
    several = replace(doubts([0.5] * 6), first_copy=np.arange(30) // 5 * 5)
    assert sorted(question.row for question in choose_questions(30, several)) == [0, 5, 10, 15, 20, 25]
