"""What an update of topics is made of, by hand: which topics go on, what holds of remembered documents, growth."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from widegap.constraints._side_information import RowConstraints
from widegap.constraints._units import Units, read_constraints
from widegap.documents._corpus import Corpus, cosines_to_means, has_terms, presence
from widegap.documents._topic_memory import remember
from widegap.documents._updatable_topics import JointDocuments, RememberedPart, _joint_constraints, _labelled_first
from widegap.documents._vocabulary import RawDocuments


def test_topics_with_known_labels_come_first_and_forgotten_ones_go():
    topics, remembered = np.array([0, 2, 5, 7], np.int32), np.array([5, 0, 7, 7, -1])
    assert _labelled_first(topics, remembered, None).tolist() == [0, 2, 3]
    anchors = np.array([-1, 3, -1])
    units = Units(np.arange(3), np.ones(3, int), anchors, np.empty((0, 2), int))
    assert _labelled_first(topics, remembered, units).tolist() == [3, 0, 2]


def test_labels_of_remembered_documents_move_with_their_topics():
    assert _joint_constraints(None, np.array([0, 1]), ["a", "b"], 3).units is None
    units = Units(np.arange(3), np.ones(3, int), np.array([2, -1, 0]), np.array([[0, 1]]))
    found = _joint_constraints(units, np.array([2, 0, 1]), ["a", "b", "c"], 2)
    assert found.classes == ["c", "a"]
    assert found.units.anchors[found.units.of_row].tolist() == [-1, -1, 0, -1, 1]
    assert found.units.apart.tolist() == [[2, 3]]


def test_constraints_of_new_documents_come_before_those_of_remembered_ones():
    read = read_constraints(2, None, known=["b", -1])
    part = RememberedPart(np.array([0, 1]), RowConstraints(), np.arange(4.0))
    found = part.after(RowConstraints(read.units, read.classes), 2)
    assert found.units.anchors[found.units.of_row].tolist() == [0, -1, -1, -1] and found.classes == ["b"]
    assert found.weights.tolist() == [0, 1, 2, 3]
    assert part.after(RowConstraints(), 2).units is None
    later = read_constraints(2, None, known=["a", "b"])
    part = RememberedPart(np.array([0, 1]), RowConstraints(later.units, later.classes), np.ones(4))
    found = part.after(RowConstraints(read.units, read.classes), 2)
    assert found.units.anchors[found.units.of_row].tolist() == [1, -1, 0, 1] and found.classes == ["a", "b"]


@pytest.mark.parametrize("seed", [44, 67, 88])
def test_new_topics_grow_in_five_steps(seed):
    rng = np.random.default_rng(seed)
    n, n_new, k = 120, 90, 2
    angles = np.sort(rng.uniform(0, 1.4, n))
    coordinates = np.column_stack([np.cos(angles), np.sin(angles)]) * rng.uniform(0.5, 2, n)[:, None]
    rows = SimpleNamespace(
        before=np.where(rng.random(n) < 0.1, -1, rng.integers(0, k, n) * (angles < 0.5)),
        numbers=[3, 4],
        counts=rng.choice([0.5, 1.0, 4.0], n),
        is_new=rng.permutation(n) < n_new,
    )
    fresh = np.where(angles > 1.38, 0, -1)
    labels, steps = np.where(fresh >= 0, k + fresh, rows.before), []
    for _ in range(8):
        centres = []
        for p in range(k + 1):
            total = sum((rows.counts[i] * coordinates[i] for i in range(n) if labels[i] == p), np.zeros(2))
            centres.append(total / max(np.linalg.norm(total), 1e-300))
        nearest = np.array([int(np.argmax([x @ centre for centre in centres])) for x in coordinates])
        labels = np.array(
            [nearest[i] if labels[i] < 0 or (rows.is_new[i] and nearest[i] == k) else labels[i] for i in range(n)]
        )
        steps.append(labels)
    found = JointDocuments.start(SimpleNamespace(rows=rows), coordinates, fresh)
    np.testing.assert_array_equal(found, steps[4])
    assert found.dtype == np.int32
    assert (steps[3] != steps[4]).any() and (steps[4] != steps[5]).any()


def test_memory_keeps_the_universum_and_the_words_that_occur():
    words = np.array(["apple", "fig", "pear", "plum"], object)
    documents = RawDocuments(sp.csr_array(np.array([[1.0, 0, 2, 0], [0, 0, 1, 0], [3, 0, 0, 0]])), words)
    outside = RawDocuments(sp.csr_array(np.array([[0.0, 0, 0, 5]])), words)
    found = remember(documents, np.array([4, -1, 0]), np.array([1.0, 1, 2]), None, 50, 9, [outside], 3)
    assert found.words.tolist() == ["apple", "pear", "plum"]
    assert found.documents.rows.toarray().tolist() == [[1, 2, 0], [3, 0, 0]]
    assert found.documents.labels.tolist() == [4, 0] and found.documents.places.tolist() == [0, 2]
    assert found.documents.next_number == 9 and found.documents.n_new == 3
    assert found.universum.toarray().tolist() == [[0, 0, 5]]
    assert [part.rows.shape for part in found.raw_universum] == [(1, 3)]
    marked = np.array([False, False, True])
    moved = found.refitted(np.array([4, -1, -1]), np.array([4]), None, marked, [], 50)
    assert moved.documents.rows.shape[0] == 1 and moved.documents.labels.tolist() == [4]
    assert sorted(moved.universum.sum(axis=1).tolist()) == [3, 5]
    more = found.refitted(np.array([4, -1, 0]), np.array([0, 4]), None, np.zeros(3, bool), [outside], 50)
    assert more.universum.sum(axis=1).tolist() == [5, 5] and more.documents.labels.tolist() == [4, 0]
    none = remember(documents, np.array([4, -1, 0]), np.ones(3), None, 50, 9, [], 3)
    assert none.universum is None and none.raw_universum == []
    many = RawDocuments(sp.csr_array(np.ones((9, 4))), words)
    assert remember(documents, np.zeros(3, int), np.ones(3), None, 4, 9, [many], 3).universum.shape[0] == 4


def test_parts_of_a_corpus():
    terms = sp.csr_array(np.array([[1.0, 0], [0, 0], [0.6, 0.8]]))
    corpus = Corpus(terms, terms, has_terms(terms))
    assert corpus.known.tolist() == [True, False, True] and corpus.in_terms
    some = corpus.take(np.array([True, False, True]))
    assert some.in_terms and some.terms.toarray().tolist() == [[1, 0], [0.6, 0.8]]
    joined = Corpus.joined([some, corpus])
    assert joined.in_terms and joined.terms.shape == (5, 2) and joined.known.tolist() == [1, 1, 1, 0, 1]
    other = Corpus(terms, np.eye(3), has_terms(terms))
    both = Corpus.joined([other, other])
    assert not both.in_terms and both.features.shape == (6, 3) and both.terms.shape == (6, 2)
    dense = Corpus(None, np.eye(3), np.ones(3, bool))
    assert Corpus.joined([dense, dense]).terms is None and not dense.take(np.array([1, 0, 1], bool)).in_terms
    assert presence(terms).toarray().tolist() == [[1, 0], [0, 0], [1, 1]] and terms.data.tolist() == [1, 0.6, 0.8]
    rows, labels = np.array([[3.0, 4], [0, 0], [4, 3], [1, 0]]), np.array([0, 0, 1, 1])
    for kind in (np.asarray, sp.csr_array):
        found = cosines_to_means(kind(rows), labels, 2)
        expected = [1, 0, 29 / (5 * 34**0.5), 5 / 34**0.5]
        np.testing.assert_allclose(found, expected)
