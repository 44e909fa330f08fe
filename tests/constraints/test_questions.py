"""Which rows are asked about: clusters without a name first, then each row for what its answer adds to those before."""

from dataclasses import replace

import numpy as np
import pytest

from widegap.constraints._questions import Doubts, add_answers, choose_questions
from widegap.exceptions import InvalidDataError

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


def test_doubt_worth_and_trust_by_hand():
    given = Doubts(
        belief=np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]]),
        labels=np.array([0, 2, 1, 2], np.int32),
        settled=np.array([False, False, True, False]),
        named=(False, True, False),
        centrality=np.array([1.0, 4.0, 5.0, 30.0]),
        groupings=[np.array([0, 0, 1, 1])],
        spread=None,
        first_copy=np.arange(4),
    )
    assert given.order.tolist() == [[0, 1], [2, 0], [1, 0], [2, 0]]
    np.testing.assert_allclose(given.doubt, [0.8, 0.3, 0, 0.9])
    np.testing.assert_allclose(given.worth, [0.9, 0.4, 0, 1.0])
    np.testing.assert_allclose(given.trust, [1, 1, 1, 1])  # the mean is 10: 30 is just a hub
    hub = replace(given, centrality=np.array([1.0, 1.0, 2.0, 36.0]))
    np.testing.assert_allclose(hub.trust, [1, 1, 1, 3 / 3.6])
    assert given.typical == [0, 2, 3]  # 30 times 0.55 is more than 4 times 0.85
    assert replace(given, centrality=np.array([1.0, 4.0, 5.0, 6.0])).typical == [0, 2, 1]
    assert given.unnamed == [0, 2]
    away = replace(given, own=np.array([True, False, True, False]))
    assert away.typical == [0, 2, -1] and away.unnamed == [0] and away.at_hand.tolist() == [1, 0, 1, 0]
    one = replace(given, belief=np.ones((4, 1)), labels=np.zeros(4, np.int32), named=(True,))
    np.testing.assert_allclose(one.doubt, [0, 0, 0, 0])
    empty = replace(given, labels=np.array([0, 0, 0, 0], np.int32))
    assert empty.typical[1:] == [-1, -1]


def test_candidates_are_rows_of_the_groups_worth_most():
    given = doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2])
    # Groups of two rows are worth 2 (0.1 + doubt), those of five 5 (0.1 + doubt); a row counts with its best group.
    assert [BLOCKS[row] for row in given.candidates(6)] == [1, 4, 3, 0, 1, 1]
    assert given.candidates(2) == [5, 20]
    assert given.candidates(0) == []
    assert given.candidates(1) == [5]
    unnamed = replace(given, named=(False, True))
    assert unnamed.candidates(1) == [5, 10]
    away = replace(given, own=np.arange(30) != 5)
    assert 5 not in away.candidates(30) and away.candidates(1) == [6]


def test_answers_are_followed_evenly_up_to_three_hundred():
    asked = []

    class Listening(Blocks):
        def reach(self, rows):
            asked.append(rows)
            return np.zeros((len(rows), 700))

        def spread_values(self, values):
            return values

    def some(n_settled):
        return Doubts(
            belief=np.full((700, 2), 0.5),
            labels=np.zeros(700, np.int32),
            settled=np.arange(700) < n_settled,
            named=(True, True),
            centrality=np.ones(700),
            groupings=[np.arange(700)],
            spread=Listening(),
            first_copy=np.arange(700),
        )

    for n_settled, step in ((300, 1), (301, 2), (600, 2), (601, 3)):
        assert len(choose_questions(2, some(n_settled))) == 2
        rows = asked.pop()
        followed = rows[rows < n_settled].tolist()
        assert followed == list(range(0, n_settled, step))
        assert len(rows) - len(followed) == min(150, 700 - n_settled)
    choose_questions(50, some(300))
    assert np.count_nonzero(asked.pop() >= 300) == 150
    choose_questions(51, some(300))
    assert np.count_nonzero(asked.pop() >= 300) == 153


def test_questions_say_what_they_ask():
    (first, second) = choose_questions(2, doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2], named=(False, True)))
    assert (first.row, first.candidates, first.examples) == (5, (0,), (10,)) and first.doubt == pytest.approx(0.9)
    assert (second.row, second.candidates, second.examples) == (20, (1, 0), (25, 10))
    assert second.doubt == pytest.approx(0.8)


def test_answers_join_what_is_known():
    questions = choose_questions(2, doubts([0.3, 0.9, 0.1, 0.5, 0.8, 0.2]))
    known = ["a", None, *[None] * 28]
    found = add_answers(known, questions, ["b", None])
    assert found[0] == "a" and found[5] == "b" and found[20] is None and len(found) == 30
    assert known[5] is None
    for wrong in (["b"], ["b", None, None]):
        with pytest.raises(InvalidDataError, match=rf"{len(wrong)} answers were given to 2 questions"):
            add_answers(known, questions, wrong)
