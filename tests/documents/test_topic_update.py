"""``update`` of topics: numbers stay, terms are added, what changed is told, and files alone can be updated."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from _data import requires_data
from experiments.loaders import load_20news
from widegap import DocumentClustering
from widegap.documents._topic_search import TopicSearch
from widegap.documents._updatable_topics import JointDocuments
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.persistence import load, save

SUBJECTS = {
    "bread": "flour yeast dough oven crust knead bake salt loaf",
    "football": "goal match keeper referee league striker penalty corner coach",
    "space": "orbit rocket launch moon astronaut satellite shuttle telescope planet",
    "garden": "soil seed plant water rose prune compost weed shovel",
}


def documents(subjects, n, seed):
    """n documents of each subject, six of its words and two of the language each, and their subjects."""
    rng = np.random.default_rng(seed)
    language = "people make good time year work day part place thing".split()
    y = np.repeat(subjects, n)
    texts = [" ".join([*rng.choice(SUBJECTS[s].split(), 6), *rng.choice(language, 2)]) for s in y]
    order = rng.permutation(len(y))
    return [texts[i] for i in order], y[order]


def majority(labels, y):
    """The subject that most documents of each topic have."""
    return {int(p): max(set(y[labels == p]), key=list(y[labels == p]).count) for p in np.unique(labels[labels >= 0])}


@pytest.fixture(scope="module")
def first():
    texts, y = documents(["bread", "football", "garden"], 60, 0)
    return DocumentClustering(3, random_state=0).fit(texts), texts, y


@pytest.fixture(scope="module")
def updated(first):
    texts, y = documents(["bread", "football", "space"], 60, 1)
    return first[0].update(texts), texts, y


def test_topics_keep_their_numbers_and_a_new_one_gets_the_next(first, updated):
    model, _, y = first
    later, _, y_later = updated
    before, after = majority(model.labels_, y), majority(later.labels_, y_later)
    assert after[3] == "space" and later.topics_.tolist() == [0, 1, 2, 3] and later.n_clusters_ == 4
    assert all(after[p] == before[p] for p in after if p in before)
    assert model.n_clusters_ == 3 and len(model.labels_) == len(y)  # the old one is as it was


def test_what_changed_is_told_in_words_of_documents(first, updated):
    kinds = {change.cluster: change for change in updated[0].changes_}
    gone = next(p for p, subject in majority(first[0].labels_, first[2]).items() if subject == "garden")
    assert kinds[3].kind == "new" and kinds[gone].kind == "vanished"
    assert kinds[gone].text.startswith(f"Topic {gone}, {first[0].topic_names_[gone]}: vanished, 33 % of documents")
    assert updated[0].drift_.p_value < 0.05


def test_terms_keep_their_columns_and_new_ones_follow(first, updated):
    old, new = first[0].terms_, updated[0].terms_
    np.testing.assert_array_equal(new[: len(old)], old)
    assert {"orbit", "rocket"} <= set(new[len(old) :])
    assert updated[0].coef_.shape == (4, len(new))


def test_topics_keep_their_names(first, updated):
    assert {p: updated[0].topic_names_[p] for p in first[0].topics_} == first[0].topic_names_


@pytest.mark.parametrize("seed", range(5))
def test_documents_of_the_same_source_change_nothing(seed):
    subjects = list(SUBJECTS)
    model = DocumentClustering(4, random_state=0).fit(documents(subjects, 50, seed)[0])
    later = model.update(documents(subjects, 50, 100 + seed)[0])
    assert {change.kind for change in later.changes_} <= {"kept", "moved"}
    assert later.n_clusters_ == 4


def test_a_word_becomes_a_term_by_remembered_and_new_documents_together():
    texts, _ = documents(["bread", "football"], 110, 0)
    texts[:2] = [text + " baguette" for text in texts[:2]]
    model = DocumentClustering(2, random_state=0).fit(texts)
    assert "baguette" not in model.terms_  # in two documents, and 220 ask for three
    more, _ = documents(["bread", "football"], 20, 1)
    assert "baguette" not in model.update(more).terms_
    more[0] += " baguette"
    assert "baguette" in model.update(more).terms_


def test_a_saved_model_is_updated_like_the_model(first, tmp_path):
    texts, _ = documents(["bread", "space"], 40, 2)
    save(first[0], tmp_path / "model")
    expected, found = first[0].update(texts), load(tmp_path / "model")[0].update(texts)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.coef_, expected.coef_)
    assert found.changes_ == expected.changes_ and found.drift_ == expected.drift_
    save(found, tmp_path / "later")
    assert load(tmp_path / "later")[0].changes_ == expected.changes_


def test_a_number_is_never_used_twice(first, updated):
    texts, _ = documents(["bread", "football"], 60, 3)
    model = updated[0]
    for _ in range(12):
        model = model.update(texts, forget=0.9)
    assert 3 not in model.topics_ and model._memory.documents.next_number == 4


def test_known_labels_are_kept():
    texts, y = documents(["bread", "football", "garden"], 60, 0)
    known = np.array([s if s != "garden" and i < 30 else None for i, s in enumerate(y)], dtype=object)
    model = DocumentClustering(3, random_state=0).fit(texts, known=known)
    more, y_more = documents(["bread", "football", "space"], 60, 1)
    later = model.update(more).update(more)
    assert later.classes_[:2] == ["bread", "football"] and later.topic_names_[0] == "bread"
    assert majority(later.labels_, y_more)[0] == "bread" and majority(later.labels_, y_more)[1] == "football"


def test_partial_fit_is_a_fit_and_then_an_update(first, updated):
    model = DocumentClustering(3, random_state=0).partial_fit(first[1])
    np.testing.assert_array_equal(model.labels_, first[0].labels_)
    np.testing.assert_array_equal(model.partial_fit(updated[1]).labels_, updated[0].labels_)


@pytest.mark.filterwarnings("ignore::widegap.exceptions.InactiveUniversumWarning")
def test_refit_changes_what_is_remembered(first):
    model = DocumentClustering(3, random_state=0).fit(first[1])
    model.refit(universum_labels=[1])
    assert 1 not in model._memory.documents.labels and model._memory.universum is not None
    later = model.update(documents(["bread", "space"], 40, 2)[0])
    assert 1 not in later.topics_ and 3 in later.topics_


@pytest.mark.filterwarnings("ignore::widegap.exceptions.InactiveUniversumWarning")
def test_a_refit_keeps_a_universum_of_more_documents_than_there_are():
    texts, universum = documents(["bread", "football"], 10, 0)[0], documents(["space"], 60, 1)[0]
    model = DocumentClustering(2, random_state=0).fit(texts, universum=universum)
    assert model._memory.universum.shape[0] == 60
    model.refit(known=[0] + [-1] * 19)
    assert model._memory.universum.shape[0] == 60


@pytest.mark.filterwarnings("ignore::widegap.exceptions.InactiveUniversumWarning")
def test_refit_after_an_update_sees_new_and_remembered_documents(first, updated):
    texts, y = updated[1], updated[2]
    garden = next(p for p, subject in majority(first[0].labels_, first[2]).items() if subject == "garden")
    later = copy.deepcopy(updated[0])
    assert garden in later.topics_ and not (later.labels_ == garden).sum() > 5  # of remembered documents alone
    known = np.array(["cosmos" if s == "space" and i < 60 else None for i, s in enumerate(y)], dtype=object)
    later.refit(known=known)
    assert later.topics_.tolist() == [0, 1, 2, 3] and len(later.labels_) == len(later.margins_) == len(texts)
    assert majority(later.labels_, y) == majority(updated[0].labels_, y)
    assert later.classes_[int(np.flatnonzero(later.topics_ == 3)[0])] == "cosmos"
    later.refit(universum_labels=[garden])
    assert garden not in later.topics_ and garden not in later._memory.documents.labels
    assert majority(later.update(texts).labels_, y) == majority(updated[0].labels_, y)


def test_known_labels_of_remembered_documents_hold_in_a_refit():
    texts, y = documents(["bread", "football", "garden"], 60, 0)
    known = np.array([s if s != "garden" and i < 30 else None for i, s in enumerate(y)], dtype=object)
    model = DocumentClustering(3, random_state=0).fit(texts, known=known)
    more, y_more = documents(["bread", "football", "space"], 60, 1)
    later = model.update(more)
    later.refit(known=[s if s == "space" and i < 30 else None for i, s in enumerate(y_more)])
    assert {"bread", "football", "space"} <= set(later.classes_)
    found = dict(zip(later.topics_.tolist(), later.classes_, strict=True))
    assert all(found[p] in (None, subject) for p, subject in majority(later.labels_, y_more).items())


def test_topics_that_self_training_would_swap_stay_what_they_are(first, updated, monkeypatch):
    def swapped(self, rows, start):
        found = onwards(self, rows, start)
        swap = np.array([1, 0, *range(2, self.k)], np.int32)
        is_free = self.rules.constraints.units is None
        return replace(found, scores=found.scores.reordered(swap)) if is_free else found

    onwards = TopicSearch.onwards
    monkeypatch.setattr(TopicSearch, "onwards", swapped)
    later = first[0].update(updated[1])
    assert majority(later.labels_, updated[2]) == majority(updated[0].labels_, updated[2])


def test_matrices_and_embeddings_are_updated():
    rng = np.random.default_rng(0)
    counts = sp.csr_array(rng.poisson(np.repeat(np.eye(3) * 3 + 0.1, 40, axis=0).repeat(5, axis=1)).astype(float))
    model = DocumentClustering(3, random_state=0).fit(counts)
    np.testing.assert_array_equal(model.update(counts).labels_, model.labels_)
    dense = np.repeat(np.eye(3) * 9, 40, axis=0) + rng.normal(size=(120, 3))
    model = DocumentClustering(3, random_state=0).fit(dense)
    np.testing.assert_array_equal(model.update(dense).labels_, model.labels_)


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (lambda memory: replace(memory, words=memory.words[:-1]), "words have no column each"),
        (lambda memory: replace(memory, words=np.full_like(memory.words, "same")), "words have no column each"),
        (lambda memory: with_rows(memory, memory.documents.rows * 0.5), "a number of times that is not possible"),
        (lambda memory: with_rows(memory, -memory.documents.rows), "a number of times that is not possible"),
        (lambda memory: replace(memory, documents=replace(memory.documents, next_number=1)), "clusters that it does"),
        (lambda memory: replace(memory, universum=memory.documents.rows[:, :3]), "words have no column each"),
    ],
)
def test_forged_memory_is_refused(first, tmp_path, forge, message):
    model = copy.copy(first[0])
    model._memory = forge(model._memory)
    save(model, tmp_path / "model")
    with pytest.raises(InvalidDataError, match=message):
        load(tmp_path / "model")


def with_rows(memory, rows):
    return replace(memory, documents=replace(memory.documents, rows=sp.csr_array(rows)))


@requires_data
def test_newsgroups_keep_their_numbers():
    names = ["rec.autos", "sci.space", "talk.politics.mideast", "rec.sport.hockey", "sci.med"]
    texts, y = load_20news(categories=names, headers=False, return_X_y=True)
    y = np.asarray(y).astype(str)
    order = np.random.default_rng(0).permutation(len(y))
    space, med = (next(group for group in np.unique(y) if name in group) for name in ("sci.space", "sci.med"))
    old = [i for i in order[:1200] if y[i] != space]
    new = [i for i in order[1200:2400] if y[i] != med]
    model = DocumentClustering(4, random_state=0).fit([texts[i] for i in old])
    later = model.update([texts[i] for i in new])
    before, after = majority(model.labels_, y[old]), majority(later.labels_, y[new])
    kinds = {change.cluster: change.kind for change in later.changes_}
    fresh = [p for p, kind in kinds.items() if kind == "new"]
    assert fresh and {after[p] for p in fresh} == {space}
    assert all(before[p] == after[p] for p in before if before[p] != med)
    assert all(kinds[p] in ("vanished", "shrunk") for p in before if before[p] == med)


def test_what_cannot_be_updated_says_why(first, tmp_path):
    from sklearn.cluster import KMeans

    texts = first[1]
    with pytest.raises(NotSupportedError, match="remembers no documents.*memory=0"):
        DocumentClustering(3, memory=0, random_state=0).fit(texts).update(texts)
    with pytest.raises(NotSupportedError, match="another estimator does not begin"):
        DocumentClustering(3, method=KMeans(), random_state=0).fit(texts).update(texts)
    save(first[0], tmp_path / "model", rows=False)
    with pytest.raises(NotSupportedError, match="its model file holds none"):
        load(tmp_path / "model")[0].update(texts)
    with pytest.raises(InvalidDataError, match="X holds no documents"):
        first[0].update([])
    with pytest.raises(InvalidDataError, match="forget=1"):
        first[0].update(texts, forget=1)
    with pytest.raises(InvalidDataError, match="of the kind 'embeddings'"):
        first[0].update(np.eye(3))


def test_new_documents_join_the_new_topic_that_they_are_nearest_to():
    angles = np.array(
        [0.0, 0.1, 1.5, 1.4, 1.3, 0.2]
    )  # a new topic's core is the third row; the last two are remembered
    rows = SimpleNamespace(
        before=np.zeros(6, int), numbers=[7], counts=np.ones(6), is_new=np.array([True, True, True, True, False, False])
    )
    fresh = np.array([-1, -1, 0, -1, -1, -1])
    coordinates = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = JointDocuments.start(SimpleNamespace(rows=rows), coordinates, fresh)
    assert labels.tolist() == [0, 0, 1, 1, 0, 0]
