"""Rules of topics at both sides of every threshold."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans

from widegap.constraints._side_information import RowConstraints
from widegap.constraints._units import read_constraints
from widegap.documents._topic_rules import (
    TopicRules,
    check_positions,
    check_topics,
    of_documents,
    refuse_for_method,
    taking_part,
    warn_of_starved,
)
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError, NotSupportedError, StarvedClusterWarning


def said(n, k, weights=None, **given):
    found = read_constraints(n, k, **given)
    return RowConstraints(found.units, found.classes, weights)


def known(n, k, count, weights=None):
    return said(n, k, weights, known=[0] * count + [-1] * (n - count))


def rules(n, k, size_min=None, size_max=None, constraints=None, **floor):
    return TopicRules(constraints or RowConstraints(), size_min, size_max, n, k, **floor)


@pytest.mark.parametrize(
    ("n", "k", "floor", "least"),
    [
        (100, 4, 0.1, 2),
        (119, 4, 0.1, 2),
        (120, 4, 0.1, 3),
        (79, 4, 0.1, 1),
        (80, 4, 0.1, 2),
        (10, 4, 0.1, 1),
        (400, 4, 0.0, 1),
    ],
)
def test_a_topic_keeps_its_share_and_never_less_than_a_document(n, k, floor, least):
    found = rules(n, k, floor=floor)
    assert found.lower.tolist() == [least] * k and found.upper.tolist() == [n] * k
    assert not found.is_sized
    assert found.sizes() == {"size_min": [least] * k, "size_max": [n] * k}


def test_the_share_is_a_tenth_unless_sizes_are_given():
    assert rules(100, 5).lower.tolist() == [2] * 5
    assert rules(100, 5, size_min=0).lower.tolist() == [1] * 5 and rules(100, 5, size_min=0).is_sized
    assert rules(100, 5, size_max=30).is_sized
    assert rules(100, 2, constraints=known(100, 2, 3), size_min=0).lower.tolist() == [0, 1]  # three are in topic 0


def test_a_topic_without_room_is_refused():
    assert rules(10, 2, size_max=[1, 9]).lower.tolist() == [1, 1]
    with pytest.raises(InfeasibleBalanceError, match=r"size_max=\[10, 0\] leaves no room for a document in topic 1"):
        rules(10, 2, size_max=[10, 0])


def test_as_many_groups_as_topics_are_needed():
    assert rules(4, 2, constraints=said(4, 2, must_link=[(0, 1), (2, 3)])).lower.tolist() == [1, 1]
    with pytest.raises(InvalidDataError, match=r"leave 1 groups of documents, but n_clusters=2"):
        rules(4, 2, constraints=said(4, 2, must_link=[(0, 1), (1, 2), (2, 3)]))


def test_a_sample_has_bounds_in_proportion():
    whole = rules(100, 2, 0.3, 60)
    assert whole.of_rows(np.arange(100)) is whole
    sample = whole.of_rows(np.arange(50))
    assert sample.n == 50 and sample.k == 2
    assert sample.lower.tolist() == [15, 15] and sample.upper.tolist() == [30, 30]
    assert rules(400, 2, floor=0.5).of_rows(np.arange(40)).lower.tolist() == [10, 10]


@pytest.mark.parametrize(
    ("n", "small", "starved"),
    [(40, 2, True), (40, 3, False), (59, 2, True), (60, 3, True), (60, 4, False), (38, 1, False)],
)
def test_a_topic_at_its_least_size_is_starved_unless_that_is_one_document(n, small, starved):
    scores = np.zeros((n, 2))
    scores[np.arange(n), (np.arange(n) >= small).astype(int)] = 1
    step = rules(n, 2).label(scores)
    assert np.bincount(step.labels).tolist() == [small, n - small]
    assert step.starved is starved
    assert not step.prices.any()


def test_a_topic_of_known_documents_alone_is_not_starved():
    scores = np.zeros((60, 2))
    scores[:, 1] = 1
    step = rules(60, 2, constraints=known(60, 2, 3)).label(scores)
    assert np.bincount(step.labels).tolist() == [3, 57] and not step.starved
    step = rules(60, 2, constraints=known(60, 2, 2)).label(scores)
    assert np.bincount(step.labels).tolist() == [3, 57] and step.starved


def test_largest_sizes_have_prices():
    scores = np.column_stack([np.linspace(1, 2, 10), np.zeros(10)])
    step = rules(10, 2, size_max=6).label(scores)
    assert step.labels.tolist() == [1] * 4 + [0] * 6 and step.prices[0] < step.prices[1]
    assert step.starved


@pytest.mark.parametrize(
    ("n", "k", "count", "weight"),
    [(100, 2, 1, 2.5), (100, 2, 16, 2.5), (100, 2, 20, 2.0), (99, 2, 33, None), (99, 2, 32, 67 / 64),
     (100, 2, 50, None), (40, 2, 1, None), (42, 2, 1, 1.05)],
)  # fmt: skip
def test_known_documents_weigh_half_of_the_others_and_at_most_a_twentieth_of_a_topic(n, k, count, weight):
    found = rules(n, k, constraints=known(n, k, count)).weights
    if weight is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, [weight] * count + [1] * (n - count))


def test_weights_of_the_user_are_kept_where_they_are_larger():
    own = np.r_[8.0, 1.0, np.full(98, 2.0)]
    found = rules(100, 2, constraints=known(100, 2, 2, own)).weights
    np.testing.assert_allclose(found, np.r_[8 / own.mean(), 2.5, np.full(98, 2 / own.mean())])
    assert rules(100, 2).weights is None
    alone = rules(100, 2, constraints=known(100, 2, 2)).alone()
    assert alone.weights[0] == 2.5 and alone.n_sampled_from is None


def test_arguments_for_another_estimator():
    assert rules(6, 2).arguments() == {}
    given = said(6, 3, known=[4, -1, -1, 2, -1, -1], must_link=[(1, 2), (3, 4)], cannot_link=[(0, 5), (2, 5)])
    found = rules(6, 3, constraints=given).arguments()
    assert found["known"].tolist() == [1, -1, -1, 0, 0, -1]
    assert found["must_link"].tolist() == [-1, 1, 1, -1, -1, -1]
    assert sorted(map(sorted, found["cannot_link"].tolist())) == [[0, 5], [1, 5]]
    assert set(rules(6, 2, constraints=said(6, 2, known=[0, -1, -1, -1, -1, -1])).arguments()) == {"known"}
    assert set(rules(6, 2, constraints=said(6, 2, must_link=[(0, 1)])).arguments()) == {"must_link"}


def test_who_takes_part():
    has_terms, marked = np.array([1, 0, 1, 0, 0, 1], bool), np.array([0, 0, 0, 0, 0, 1], bool)
    assert taking_part(has_terms, None, marked).tolist() == [True, False, True, False, False, False]
    units = said(6, 2, known=[-1, 3, -1, -1, -1, -1], must_link=[(2, 3), (4, 5)]).units
    assert taking_part(has_terms, units, marked).tolist() == [True, True, True, True, False, False]


def test_constraints_on_some_documents_know_their_labels_alone():
    given = said(5, 3, known=[7, -1, 8, 9, -1], weights=np.arange(1.0, 6))
    some = of_documents(given, np.array([1, 1, 0, 1, 1], bool))
    assert some.classes == [7, 9] and some.weights.tolist() == [1, 2, 4, 5]
    assert some.units.anchors[some.units.of_row].tolist() == [0, -1, 1, -1]
    none = of_documents(given, np.array([0, 1, 0, 0, 1], bool))
    assert none.units is None and none.classes == []
    assert of_documents(RowConstraints(), np.ones(5, bool)).weights is None


def test_sizes_are_refused_for_another_estimator_one_by_one():
    refuse_for_method(RowConstraints(), "auto", 3, 4)
    refuse_for_method(RowConstraints(), KMeans(), None, None)
    for sizes in ((3, None), (None, 4)):
        with pytest.raises(NotSupportedError, match=r"are for method='auto', 'cpm3c'"):
            refuse_for_method(RowConstraints(), KMeans(), *sizes)
    with pytest.raises(NotSupportedError, match=r"fit of KMeans\(\) takes no known"):
        refuse_for_method(known(4, 2, 1), KMeans(), None, None)


def test_topics_and_positions_that_are_there():
    topics = np.array([0, 2, 5], np.int32)
    assert check_topics(2, topics).tolist() == [2] and check_topics([5, 5, 0], topics).tolist() == [5, 5, 0]
    with pytest.raises(InvalidDataError, match=r"universum_labels holds \[1, 3\], but the topics are \[0, 2, 5\]"):
        check_topics([3, 0, 1], topics)
    with pytest.raises(InvalidDataError, match="would leave no topic"):
        check_topics([0, 2, 5, 5], topics)
    assert check_positions([0, 3], 4).tolist() == [0, 3]
    for wrong in ([-1, 0], [0, 4], [0.0], ["a"]):
        with pytest.raises(InvalidDataError, match="must be positions from 0 to 3 of fitted documents"):
            check_positions(wrong, 4)


@pytest.mark.parametrize(
    ("sizes", "size_max", "begin"),
    [
        ([2, 20, 20], None, "Topic 3 has 2 of 42 documents, the least that one of 3 may have"),
        ([2, 2, 38], None, "Topics 3 and 4 each have 2 of 42 documents"),
        ([2, 2, 2, 38], None, "Topics 3, 4 and 5 each have 2 of 44 documents"),
        ([2, 20, 20], 20, None),  # the floor is 1 document: the largest size decided
        ([1, 20, 21], 21, "Topic 3 has 1 of 42 documents"),
        ([2, 29, 29], 29, "Topic 3 has 2 of 60 documents"),
        ([3, 29, 28], 29, None),
        ([1, 2, 2], 2, "Topic 3 has 1 of 5 documents"),
    ],
)
def test_topics_at_their_least_size_are_named_unless_the_largest_size_decided(sizes, size_max, begin):
    topics = 3 + np.arange(len(sizes))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_starved(np.repeat(topics, sizes), topics, size_max)
    assert [entry.category for entry in caught] == ([] if begin is None else [StarvedClusterWarning])
    if begin is not None:
        message = str(caught[0].message)
        assert message.startswith(begin)
        assert message.endswith("these topics." if begin.startswith("Topics") else "rely on the topic.")
