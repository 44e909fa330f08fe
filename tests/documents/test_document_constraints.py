"""Known labels, links and sizes of documents: kept exactly by every way to topics, or refused with the reason."""

import inspect

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from widegap import CPM3C, DocumentClustering, MaxMarginClustering, datasets, persistence
from widegap.exceptions import InactiveUniversumWarning, InfeasibleBalanceError, InvalidDataError, NotSupportedError
from widegap.metrics import clustering_accuracy

WORDS = {
    "food": "bread flour yeast oven dough salt butter sugar".split(),
    "music": "violin concert melody piano rhythm chorus tempo harp".split(),
    "sport": "goal match referee striker league keeper penalty stadium".split(),
}


def written(n=60, seed=0, shared=0):
    """Documents of three subjects in turn, each of six words of its own and some that all share."""
    rng = np.random.default_rng(seed)
    subjects = np.array(sorted(WORDS))[np.arange(n) % 3]
    common = ["today", "people", "world", "street", "house", "evening"]
    texts = [" ".join([*rng.choice(WORDS[name], 6), *rng.choice(common, shared)]) for name in subjects]
    return subjects, texts


def partly(subjects, rows):
    """The subjects of some documents, None elsewhere."""
    known = np.full(len(subjects), None)
    known[rows] = subjects[rows]
    return known


class Embed(FunctionTransformer):
    """Lengths of words and a hash of letters: features that are not terms."""

    def __init__(self):
        super().__init__(
            lambda texts: np.array([[text.count(sign) for sign in "aeioulmnrst"] for text in texts], float)
        )


WAYS = {
    "lsa": DocumentClustering(3, random_state=0),
    "tfidf": DocumentClustering(3, features="tfidf", random_state=0),
    "transformer": DocumentClustering(3, features=Embed(), random_state=0),
    "max-margin": DocumentClustering(3, method=MaxMarginClustering(), random_state=0),
    "cpm3c": DocumentClustering(3, method=CPM3C(), random_state=0),
}
each_way = pytest.mark.parametrize("model", WAYS.values(), ids=WAYS)


def test_the_signature_is_that_of_the_others_without_weights():
    for method in (DocumentClustering.fit, DocumentClustering.fit_predict):
        said = [name for name in inspect.signature(method).parameters if name not in ("self", "X", "y")]
        assert said == ["universum", "feature_names", "known", "must_link", "cannot_link"]
    with pytest.raises(TypeError, match="sample_weight"):
        DocumentClustering().fit(["a"], sample_weight=[1])
    with sklearn.config_context(enable_metadata_routing=True):
        requests = DocumentClustering().get_metadata_routing().fit.requests
    assert set(requests) == {"universum", "feature_names", "known", "must_link", "cannot_link"}


@each_way
def test_known_labels_are_kept_and_named(model):
    subjects, texts = written()
    known = partly(subjects, np.arange(9))
    known[0] = "sport"  # against its words: it must hold all the same
    model = clone(model).fit(texts, known=known)
    assert model.classes_ == ["food", "music", "sport"]
    assert [model.classes_[label] for label in model.labels_[:9]] == known[:9].tolist()
    assert model.labels_.dtype == np.int32 and model.labels_.min() == 0


@each_way
def test_links_are_kept(model):
    _, texts = written()
    together, apart = [[0, 1], [1, 5], [7, 8]], [[0, 3], [6, 9], [8, 10]]
    z = clone(model).fit_predict(texts, must_link=together, cannot_link=apart)
    assert all(z[a] == z[b] for a, b in together) and all(z[a] != z[b] for a, b in apart)


@pytest.mark.parametrize("features", ["lsa", "tfidf", Embed()], ids=["lsa", "tfidf", "transformer"])
@pytest.mark.parametrize(
    ("size_min", "size_max", "lower", "upper"),
    [(20, 20, 20, 20), (None, 0.4, 1, 24), (18, None, 18, 60), ([10, 20, 25], [15, 30, 60], None, None)],
)
def test_sizes_are_exact(features, size_min, size_max, lower, upper):
    subjects, texts = written()
    texts = [text if subject != "sport" else texts[1] for text, subject in zip(texts, subjects, strict=True)]
    sizes = {"size_min": size_min, "size_max": size_max}
    model = DocumentClustering(3, features=features, max_df=1.0, **sizes, random_state=0)
    counts = np.bincount(model.fit(texts).labels_, minlength=3)
    assert (counts >= (size_min if lower is None else lower)).all()
    assert (counts <= (size_max if upper is None else upper)).all()


def test_bounds_that_decide_move_the_borders_of_new_documents():
    _, texts = written()
    model = DocumentClustering(3, size_min=20, size_max=20, random_state=0).fit(texts[:30] + texts[:30:3] * 3)
    assert np.bincount(model.labels_).tolist() == [20, 20, 20]
    assert np.mean(model.predict(texts[:30]) == model.labels_[:30]) > 0.9  # equal documents are split by the bound


def test_more_topics_than_labels_finds_new_ones():
    subjects, texts = written()
    model = DocumentClustering(3, random_state=0).fit(texts, known=partly(subjects, [1, 4]))
    assert model.classes_ == ["music", None, None]
    assert clustering_accuracy(subjects, model.labels_) == 1
    assert set(subjects[model.labels_ == 0]) == {"music"}
    assert model.topic_names_[0] == "music" and len(model.topic_names_[1].split(", ")) == 3


def test_all_known_is_the_classifier_of_these_labels():
    subjects, texts = written(shared=2)
    model = DocumentClustering(3, random_state=0).fit(texts, known=subjects)
    assert [model.classes_[label] for label in model.labels_] == subjects.tolist()
    fresh = written(seed=1, shared=2)
    assert [model.classes_[label] for label in model.predict(fresh[1])] == fresh[0].tolist()
    odd = np.random.default_rng(0).permutation(subjects)  # labels without sense hold, too
    model.fit(texts, known=odd)
    assert [model.classes_[label] for label in model.labels_] == odd.tolist()


def test_labels_inform_the_topics():
    # Two ways to split the same documents: by subject, or by a word that half of each subject has.
    rng = np.random.default_rng(0)
    texts = [
        " ".join([*rng.choice(WORDS["food" if i % 2 else "music"], 4), *(["red"] * 4 if i // 2 % 2 else ["blue"] * 4)])
        for i in range(80)
    ]
    subject, colour = np.arange(80) % 2, np.arange(80) // 2 % 2
    for truth in (subject, colour):
        known = np.where(np.arange(80) < 24, truth, -1)
        model = DocumentClustering(2, max_df=1.0, random_state=0).fit(texts, known=known)
        assert np.mean(model.labels_[24:] == truth[24:]) > 0.9


def test_few_labels_make_chapters_better():
    documents, chapters = datasets.load_docstrings(return_X_y=True)
    chapters = np.asarray(chapters)
    k = len(np.unique(chapters))
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(np.flatnonzero(chapters == c), 10, replace=False) for c in np.unique(chapters)])
    others = np.setdiff1d(np.arange(len(chapters)), rows)
    plain = DocumentClustering(k, random_state=0).fit(documents)
    told = DocumentClustering(k, random_state=0).fit(documents, known=partly(chapters, rows))
    named = np.array(told.classes_, dtype=object)[told.labels_]
    before = clustering_accuracy(chapters[others], plain.labels_[others])
    assert (named[rows] == chapters[rows]).all()
    assert np.mean(named[others] == chapters[others]) > before + 0.05


def test_documents_without_terms_follow_what_is_said_of_them():
    subjects, texts = written()
    texts[0] = texts[1] = texts[2] = texts[3] = "the of"
    known = partly(subjects, [1, 4])
    model = DocumentClustering(3, random_state=0).fit(texts, known=known, must_link=[[2, 5]], cannot_link=[[3, 4]])
    z = model.labels_
    assert z[1] == z[4] == 0 and z[2] == z[5] >= 0  # a label and a link tie two of them to topics
    assert z[0] == z[3] == -1
    assert model.predict(texts[:1]) == [-1]


def test_contradictions_are_refused():
    subjects, texts = written()
    model = DocumentClustering(2, random_state=0)
    with pytest.raises(InvalidDataError, match="known holds 3 labels .* n_clusters=2"):
        model.fit(texts, known=subjects)
    with pytest.raises(InvalidDataError, match=r"cannot be together by cannot_link, but 0 - 1 \(must-link\)"):
        model.fit(texts, must_link=[[0, 1]], cannot_link=[[1, 0]])
    with pytest.raises(InvalidDataError, match="known as 'food' and 'music', but links put them together"):
        model.fit(texts, known=partly(subjects, [0, 1]), must_link=[[0, 1]])
    with pytest.raises(InvalidDataError, match=r"known has shape \(3,\), X has 60 rows"):
        model.fit(texts, known=[1, 2, 3])
    with pytest.raises(InvalidDataError, match="leave 1 groups of documents, but n_clusters=2 .* lower n_clusters"):
        model.fit(texts, must_link=np.zeros(60, int))
    with pytest.raises(InfeasibleBalanceError, match="2 x 31 = 62 rows, but there are 60"):
        clone(model).set_params(size_min=31).fit(texts)
    with pytest.raises(InfeasibleBalanceError, match=r"size_max=\[0, 60\] leaves no room for a document in topic 0"):
        clone(model).set_params(size_max=[0, 60]).fit(texts)


def test_other_methods_are_told_or_refuse():
    _, texts = written()
    with pytest.raises(NotSupportedError, match="fit of KMeans.* takes no known; use method='auto'"):
        DocumentClustering(3, method=KMeans(n_init=1)).fit(texts, known=[0] + [-1] * 59)
    with pytest.raises(NotSupportedError, match="size_min=5 and size_max=None are for method='auto'.* bounds of"):
        DocumentClustering(3, method=CPM3C(), size_min=5).fit(texts)


def test_arguments_go_through_a_pipeline():
    subjects, texts = written()
    known = partly(subjects, np.arange(12))
    known[0] = "sport"
    with sklearn.config_context(enable_metadata_routing=True):
        model = DocumentClustering(3, random_state=0).set_fit_request(known=True, must_link=True)
        clean = FunctionTransformer(lambda texts: [text.upper() for text in texts])
        pipeline = make_pipeline(clean, model).fit(texts, known=known, must_link=[[40, 44]])
    model = pipeline[-1]
    assert [model.classes_[label] for label in model.labels_[:12]] == known[:12].tolist()
    assert model.labels_[40] == model.labels_[44]


def test_counts_and_embeddings_are_told_as_well():
    subjects, texts = written()
    counts = DocumentClustering(3, random_state=0).fit(texts)._corpus.terms
    known = partly(subjects, np.arange(9))
    known[0] = "sport"
    for X in (counts, TruncatedSVD(5, random_state=0).fit_transform(counts)):
        model = DocumentClustering(3, random_state=0).fit(X, known=known, cannot_link=[[20, 23]])
        assert [model.classes_[label] for label in model.labels_[:9]] == known[:9].tolist()
        assert model.labels_[20] != model.labels_[23]


def test_a_universum_leaves_what_was_said_as_it_is():
    subjects, texts = written()
    known = partly(subjects, np.arange(6))
    known[0] = "sport"
    with pytest.warns(InactiveUniversumWarning):
        model = DocumentClustering(3, random_state=0).fit(texts, universum=["bread goal violin"] * 8, known=known)
    assert [model.classes_[label] for label in model.labels_[:6]] == known[:6].tolist()


def test_more_documents_than_are_searched_keep_what_was_said(monkeypatch):
    monkeypatch.setattr("widegap.documents._topic_search.sample_size", lambda k: 40)
    subjects, texts = written(120)
    known = partly(subjects, [0, 50, 100, 119])
    known[119] = "food"
    model = DocumentClustering(3, size_max=45, random_state=0)
    model.fit(texts, known=known, must_link=[[60, 61]], cannot_link=[[90, 93]])
    names = [model.classes_[label] for label in model.labels_]
    assert [names[row] for row in (0, 50, 100, 119)] == known[[0, 50, 100, 119]].tolist()
    assert model.labels_[60] == model.labels_[61] and model.labels_[90] != model.labels_[93]
    assert np.bincount(model.labels_).max() <= 45


def test_refit_replaces_what_is_given_and_keeps_the_rest():
    subjects, texts = written()
    known = partly(subjects, np.arange(3))
    known[0] = "sport"
    model = DocumentClustering(3, random_state=0).fit(texts, known=known)
    model.refit(must_link=[[3, 4]])
    assert model.classes_ == ["music", "sport", None] and model.labels_[3] == model.labels_[4]
    assert [model.classes_[label] for label in model.labels_[1:3]] == known[1:3].tolist()
    known[0] = "food"
    model.refit(known=known)
    labels = {int(topic): label for topic, label in zip(model.topics_, model.classes_, strict=True)}
    assert sorted(labels.values()) == ["food", "music", "sport"] and model.labels_[3] == model.labels_[4]
    assert [labels[topic] for topic in model.labels_[:3]] == known[:3].tolist()
    known[5] = "darts"
    model.refit(known=known)
    assert model.n_clusters_ == 4 and set(model.classes_) == {"food", "music", "sport", "darts"}


def test_refit_without_junk_keeps_what_was_said_of_the_rest():
    subjects, texts = written()
    known = partly(subjects, np.arange(6))
    known[3] = "music"
    model = DocumentClustering(3, random_state=0).fit(texts, known=known, cannot_link=[[10, 13]])
    sport = model.classes_.index("sport")
    model.refit(universum_labels=[sport], universum_documents=[9])
    assert model.classes_ == ["food", "music"] and model.labels_[9] == -1
    left = [row for row in range(6) if known[row] != "sport"]
    names = dict(zip(model.topics_.tolist(), model.classes_, strict=True))
    assert [names[model.labels_[row]] for row in left] == [known[row] for row in left]
    assert model.labels_[10] != model.labels_[13]
    assert set(model.labels_[subjects == "sport"]) == {-1}


def test_a_refit_refuses_links_that_known_labels_leave_no_topic_for():
    _, texts = written()
    model = DocumentClustering(2, random_state=0).fit(texts)
    with pytest.raises(InvalidDataError, match="The 3 rows 0, 1, 2 are all to be in different clusters by cannot_link"):
        model.refit(known=["a", "b"] + [None] * (len(texts) - 2), cannot_link=[[0, 2], [1, 2]])


def test_a_failed_refit_leaves_the_model_as_it_was():
    subjects, texts = written()
    model = DocumentClustering(3, random_state=0).fit(texts, known=partly(subjects, [0, 1, 2]))
    before = model.labels_.copy()
    with pytest.raises(InvalidDataError, match="cannot be together"):
        model.refit(must_link=[[0, 5]], cannot_link=[[0, 5]])
    np.testing.assert_array_equal(model.labels_, before)
    assert model.refit().classes_ == ["food", "music", "sport"]


def test_model_files_hold_labels_and_bounds(tmp_path):
    subjects, texts = written()
    model = DocumentClustering(3, size_min=5, size_max=[60, 0.5, 30], random_state=0)
    model.fit(texts, known=partly(subjects, np.arange(3)))
    persistence.save(model, tmp_path / "m.widegap")
    loaded, _ = persistence.load(tmp_path / "m.widegap")
    assert loaded.classes_ == ["food", "music", "sport"] and loaded.topic_names_ == model.topic_names_
    assert (loaded.size_min, loaded.size_max) == (5, [60, 0.5, 30])
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


def test_a_model_file_with_labels_for_other_topics_is_refused(tmp_path):
    subjects, texts = written()
    model = DocumentClustering(3, random_state=0).fit(texts, known=partly(subjects, np.arange(3)))
    model.classes_ = ["food"]
    persistence.save(model, tmp_path / "m.widegap")
    with pytest.raises(InvalidDataError, match="damaged|does not fit"):
        persistence.load(tmp_path / "m.widegap")


rows = st.integers(0, 23)
statements = st.tuples(
    st.dictionaries(rows, st.integers(0, 2), max_size=5),
    st.lists(st.tuples(rows, rows), max_size=3),
    st.integers(0, 8),
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**16), st.lists(statements, min_size=1, max_size=3), st.sampled_from(["lsa", "tfidf"]))
def test_everything_said_holds_after_any_sequence_of_refits(seed, steps, features):
    rng = np.random.default_rng(seed)
    truth, (_, texts) = rng.permutation(np.arange(24) % 3), written(24, seed, shared=2)
    model = DocumentClustering(3, features=features, size_min=1, size_max=16, random_state=0)
    known, pairs = np.full(24, -1), np.empty((0, 2), int)
    for number, (labels, links, _) in enumerate(steps):
        known[list(labels)] = truth[list(labels)]
        new = np.array([link for link in links if link[0] != link[1]], int).reshape(-1, 2)
        pairs = np.concatenate([pairs, new])
        same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
        said = {"known": known, "must_link": pairs[same], "cannot_link": pairs[~same]}
        model = model.refit(**said) if number else model.fit(texts, **said)
        z = model.labels_
        names = dict(zip(model.topics_.tolist(), model.classes_, strict=True))
        assert [names[label] for label in z[known >= 0]] == known[known >= 0].tolist()
        assert (z[pairs[same, 0]] == z[pairs[same, 1]]).all() and (z[pairs[~same, 0]] != z[pairs[~same, 1]]).all()
        counts = np.bincount(z, minlength=3)
        assert counts.min() >= 1 and counts.max() <= 16
