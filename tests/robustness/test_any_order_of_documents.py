"""DocumentClustering under any order of its calls: topics, the universum, labels and links, updates, files, copies."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from test_any_order import OPTIONS, UpdatableWalk, walk

from _walk_sides import LINKS, Side, sides
from _walk_tables import SEEDS
from _walk_tables import SIZES as ROWS
from widegap import DocumentClustering

WORDS = [
    "bread flour yeast oven dough salt butter sugar".split(),
    "violin concert melody piano rhythm chorus tempo harp".split(),
    "goal match referee striker league keeper penalty stadium".split(),
    "rain cloud storm wind thunder frost snow hail".split(),
]
OPTIONS[DocumentClustering] = {
    "n_clusters": [3, 3, 4, 2, 1],
    "features": ["lsa", "lsa", "tfidf"],
    "size_min": [None, None, 2],
    "size_max": [None, None, 0.9],
    "memory": [5000, 5000, 20, 0],
    "stemmer": [None, "porter"],
}


@dataclass(frozen=True)
class Corpus:
    """Documents of three subjects; every ninth has no word that is known."""

    seed: int
    n: int
    of_groups: tuple[int, ...] = (0, 1, 2)
    has_empty: bool = False
    groups: np.ndarray = field(init=False, repr=False, compare=False)
    X: list = field(init=False, repr=False, compare=False)

    in_process, is_separated, container, shape = True, False, "texts", "texts"

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        groups = rng.permutation(np.resize(self.of_groups, self.n))
        texts = [" ".join(rng.choice(WORDS[group], 6)) for group in groups]
        if self.has_empty:
            texts[4::9] = ["the"] * len(texts[4::9])
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "X", texts)

    def later(self, container=None, **changes):
        return replace(self, **changes)


class DocumentWalk(UpdatableWalk):
    """Documents, some of which may be moved into the universum."""

    cls = DocumentClustering

    @staticmethod
    def drawn_tables():
        return st.builds(Corpus, SEEDS, ROWS, has_empty=st.booleans())

    def drawn_sides(self):
        return sides(("known", *LINKS))

    def remembered(self, model):
        return model._memory.documents

    @precondition(lambda self: self.is_fitted)
    @rule(spec=sides(("known", *LINKS)))
    def refit(self, spec):
        later = spec.of(self.table.groups)
        self.changed(lambda: self.model.refit(**later.arguments), self.side.replaced(later))

    @precondition(lambda self: self.is_fitted and self.table.n > 3)
    @rule(seed=SEEDS)
    def drop_documents(self, seed):
        gone = np.random.default_rng(seed).choice(self.table.n, 3, replace=False)
        if self.changed(lambda: self.model.refit(universum_documents=gone), self.side):
            self.dropped[gone] = True
            assert (self.model.labels_[self.dropped] == -1).all(), "a document of the universum has a topic"

    @precondition(lambda self: self.is_fitted)
    @rule(place=st.integers(0, 3))
    def drop_a_topic(self, place):
        topic = int(self.model.topics_[place % len(self.model.topics_)])
        gone = self.model.labels_ == topic
        if self.changed(lambda: self.model.refit(universum_labels=[topic]), self.side):
            self.dropped |= gone
            assert topic not in self.model.topics_ and (self.model.labels_[self.dropped] == -1).all()

    def changed(self, call, side):
        """Whether a call that changes the model in place was possible; one that is refused changes nothing."""
        before = self.model.labels_.copy()
        done = self.attempt(call) is not None
        if done:
            self.side = side
        else:
            assert np.array_equal(before, self.model.labels_), "a refit that was refused changed the labels"
        return done

    def fit_on(self, table, options, side):
        super().fit_on(table, options, side)
        self.dropped = np.zeros(table.n, bool)

    def of_new_rows(self, spec, table):
        return Side()

    def check_update(self, names, new):
        super().check_update(names, new)
        self.dropped = np.zeros(len(new.labels_), bool)

    def check_predictions(self, table):
        found, scores = self.model.predict(table.X), self.model.decision_function(table.X)
        assert found.shape == (table.n,) and np.isin(found, [-1, *self.model.topics_]).all()
        assert len(scores) == table.n and np.isfinite(scores).all()
        return found

    def exports(self):
        """Documents cannot be exported."""

    def check(self):
        model, z = self.model, self.model.labels_
        topics = model.topics_.tolist()
        assert z.shape == (self.table.n,) and z.dtype == np.int32
        assert len(model.classes_) == len(topics) == model.n_clusters_ == len(set(topics))
        assert set(z[z >= 0].tolist()) <= set(topics)
        assert set(model.top_terms()) == set(topics) == set(model.topic_names_)
        stays, names = z >= 0, dict(zip(topics, model.classes_, strict=True))
        assert not (stays & self.dropped).any()
        known = self.side.known(self.table.n)
        for row, label in known:
            assert not stays[row] or names[int(z[row])] == label, f"document {row} lost its label {label!r}"
        for name in LINKS:
            for a, b in self.side.pairs(name):
                if stays[a] and stays[b]:
                    assert (z[a] == z[b]) == (name == "must_link"), f"{name} ({a}, {b}) is broken"
        model._check_stored()


def test_any_order_of_calls_on_documents():
    walk(DocumentWalk, 3, 12)


@pytest.mark.slow
def test_any_order_of_more_calls_on_documents():
    walk(DocumentWalk, 60, 20)
