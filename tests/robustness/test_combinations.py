"""A random walk over the calls of every estimator that takes side information, with any of its options.

After every step what must always hold is checked: lengths, known labels, links, sizes, files that give back what was
saved, and nothing that an earlier fit left behind. A failure shows the seed and all calls that led to it.
"""

import pickle
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from widegap import CPM3C, M2DCU, MKC, DocumentClustering, MaxMarginClustering, persistence
from widegap.exceptions import InfeasibleBalanceError, InvalidDataError, NotSupportedError

REFUSALS = (InvalidDataError, InfeasibleBalanceError, NotSupportedError)
STEPS = 15
GROUPS = 3

COMMON = {
    "n_clusters": [3, 3, 3, 4, 5, 2, 1],
    "outliers": [0, 0, 0.15, "auto"],
    "size_min": [None, None, 2, 0.1],
    "size_max": [None, None, 0.75],
}
CUTTING = {**COMMON, "loss": ["max", "sum"], "init": ["k-means", "random", "given"], "balance": [0.03, 0.5]}
OPTIONS = {
    MaxMarginClustering: {
        **COMMON,
        "n_clusters": [*COMMON["n_clusters"], "auto", "auto", "auto"],
        "search": ["agree", "merge", "merge", "moves"],
        "kernel": ["rbf", "linear"],
        "min_cluster_fraction": ["auto", 0.2],
        "smoothing": ["auto", 1],
        "init": ["k-means", "k-means", "k-means", "given"],
    },
    CPM3C: {**CUTTING, "kernel": ["linear", "rbf"]},
    M2DCU: {**CUTTING, "C_universum": [0]},
    MKC: {**CUTTING, "kernels": [["linear"], ["linear", "cosine"]]},
}
DOCUMENT_OPTIONS = {
    "n_clusters": [3, 3, 4, 2],
    "features": ["lsa", "tfidf"],
    "size_min": [None, None, 2],
    "size_max": [None, None, 0.9],
}
WORDS = [
    "bread flour yeast oven dough salt butter sugar".split(),
    "violin concert melody piano rhythm chorus tempo harp".split(),
    "goal match referee striker league keeper penalty stadium".split(),
]


@dataclass
class Said:
    """Labels, links and weights of n rows; ``can_be_kept`` if labels in ``GROUPS`` clusters keep them all."""

    arguments: dict = field(default_factory=dict)
    can_be_kept: bool = True

    @classmethod
    def drawn(cls, rng, groups, names):
        """Some of it, mostly true of the groups."""
        n, found, can = len(groups), {}, True
        if "known" in names and rng.random() < 0.6:
            shown = rng.choice(n, rng.integers(1, 8), replace=False)
            known = np.array([None] * n)
            known[shown] = np.array(["a", "b", "c"])[groups[shown]]
            found["known"] = known
        truly = rng.random() < 0.8
        for name, alike in (("must_link", True), ("cannot_link", False)):
            if name in names and rng.random() < 0.5:
                pairs = [rng.choice(n, 2, replace=False).tolist() for _ in range(rng.integers(1, 10))]
                if truly:
                    pairs = [pair for pair in pairs if (groups[pair[0]] == groups[pair[1]]) == alike]
                can = can and truly
                found[name] = np.array(pairs, np.int64).reshape(-1, 2)
        if "sample_weight" in names and rng.random() < 0.6:
            found["sample_weight"] = rng.choice([[0, 1], [0, 1, 2], [0.0, 0.3, 1.7], [1, 3]][rng.integers(4)], n)
            found["sample_weight"][rng.integers(n, size=6)] = 1
        return cls(found, can)

    def replaced(self, later):
        """What holds after a correction."""
        kept = {**self.arguments, **later.arguments}
        return Said(kept, self.can_be_kept and later.can_be_kept)

    def __str__(self):
        parts = []
        for name, value in self.arguments.items():
            if name == "known":
                shown = {int(row): value[row] for row in np.flatnonzero(value != None)}  # noqa: E711
                parts.append(f"known={shown} (row: label)")
            else:
                parts.append(f"{name}={np.asarray(value).tolist()}")
        return ", ".join(parts)


class Walk:
    """One estimator, what was said to it last, and all calls so far."""

    steps = ("fit", "fit", "fit", "predict", "file", "copy", "clone")
    later_steps = ("refit", "refit", "cut", "cut", "with_clusters", "questions")  # of a search that was kept

    def __init__(self, cls, seed, tmp_path):
        self.rng, self.path = np.random.default_rng(seed), tmp_path / "model.wgp"
        self.n = int(self.rng.integers(30, 61))
        self.calls = [f"seed {seed}, {self.n} rows"]
        self.groups = self.rng.integers(0, GROUPS, self.n)
        self.X = self.rng.normal(size=(self.n, 3)) + self.rng.choice([0, 2, 5]) * np.eye(3)[self.groups]
        self.model, self.said, self.is_fitted = cls(random_state=0), Said(), False
        if hasattr(cls, "refit"):
            self.steps += self.later_steps

    def run(self):
        for _ in range(STEPS):
            name = str(self.rng.choice(self.steps)) if self.is_fitted else "fit"
            try:
                getattr(self, f"_{name}")()
            except REFUSALS as refusal:
                self.calls[-1] += f"   -> {type(refusal).__name__}: {refusal}"
                assert not self._must_go_well(name), self._story("A call was refused that can be done")
            except AssertionError:
                raise
            except Exception as error:
                raise AssertionError(self._story(f"{type(error).__name__}: {error}")) from error

    def _story(self, what):
        return f"{what}, after\n  " + "\n  ".join(self.calls)

    def _hold(self, condition, what):
        assert condition, self._story(what)

    # Steps

    def _fit(self):
        options = {name: values[self.rng.integers(len(values))] for name, values in OPTIONS[type(self.model)].items()}
        if isinstance(options.get("init"), str) and options["init"] == "given":
            options["init"] = "k-means" if options["n_clusters"] == "auto" else self.groups % options["n_clusters"]
        self.model.set_params(**options)
        said = Said.drawn(self.rng, self.groups, ("known", "must_link", "cannot_link", "sample_weight"))
        X = sp.csr_array(self.X) if self.rng.random() < 0.2 else self.X
        shown = ", ".join(f"{name}={value!r}" for name, value in options.items() if np.ndim(value) == 0)
        given = ", init=<labels>" if np.ndim(options.get("init", "")) else ""
        self.calls.append(f"{type(self.model).__name__}({shown}{given}).fit({type(X).__name__}, {said})")
        self.said, fresh = said, clone(self.model)
        self.is_fitted = False
        self.model.fit(X, **said.arguments)
        self.is_fitted, self.X_fitted = True, X
        self._check(self.model)
        fresh.fit(X, **said.arguments)
        left = set(vars(self.model)) ^ set(vars(fresh))
        self._hold(not left, f"A fresh estimator has other attributes: {sorted(left)}")
        self._hold(np.array_equal(fresh.labels_, self.model.labels_), "A fresh estimator has other labels")
        self._hold(self.model.classes_ == fresh.classes_, "A fresh estimator has other classes_")

    def _refit(self):
        later = Said.drawn(self.rng, self.groups, ("known", "must_link", "cannot_link"))
        self._correct(later)

    def _correct(self, later):
        self.calls.append(f"refit({later})")
        before = self.model.labels_.copy()
        self.later = self.said.replaced(later)
        found = self.model.refit(**later.arguments)
        self._hold(np.array_equal(self.model.labels_, before), "refit changed the model that it was called of")
        self.model, self.said = found, self.later
        self._check(self.model)

    def _cut(self):
        k = int(self.rng.integers(1, 7))
        self.calls.append(f"cut({k})")
        self._check_labels(self.model.cut(k), k)

    def _with_clusters(self):
        k = int(self.rng.integers(1, 7))
        self.calls.append(f"with_clusters({k})")
        labels, found = self.model.cut(k), self.model.with_clusters(k)
        self._hold(np.array_equal(found.labels_, labels), "with_clusters(k).labels_ are not cut(k)")
        self.model = found
        self._check(found)

    def _questions(self):
        self.calls.append("questions(8)")
        questions = self.model.questions(8)
        asked = [question.row for question in questions]
        self._hold(len(asked) == len(set(asked)), f"A row is asked for twice: {asked}")
        self._hold(all(self._takes_part()[asked]), f"A row is asked for that took no part: {asked}")
        known = self.said.arguments.get("known", np.array([None] * self.n))
        self._hold(all(known[row] is None for row in asked), f"A row is asked for that is known: {asked}")
        answers = [["a", "b", "c"][self.groups[row]] for row in asked]
        found = self.model.answered(questions, answers)
        self._hold(all(found[row] == answer for row, answer in zip(asked, answers, strict=True)), "Answers are lost")
        self._correct(Said({"known": found}))

    def _predict(self):
        self.calls.append("predict")
        found = self.model.predict(self.X_fitted)
        self._hold(found.shape == (self.n,) and found.min() >= 0, "predict has no cluster for some row")
        self._hold(found.max() < self.model.n_clusters_, "predict has numbers of clusters that there are not")

    def _file(self):
        self.calls.append("save and load")
        persistence.save(self.model, self.path)
        self._same(persistence.load(self.path)[0])

    def _copy(self):
        self.calls.append("pickle")
        self.model = self._same(pickle.loads(pickle.dumps(self.model)))

    def _same(self, other):
        for name in ("labels_", "agreement_", "coef_"):
            one, two = (getattr(model, name, None) for model in (self.model, other))
            self._hold(np.array_equal(one, two), f"{name} is another")
        self._hold(list(self.model.classes_) == list(other.classes_), "classes_ are others")
        predicted = [model.predict(self.X_fitted) for model in (self.model, other)]
        self._hold(np.array_equal(*predicted), "predict has other labels")
        return other

    def _clone(self):
        self.calls.append("clone")
        other = clone(self.model)
        self._hold(set(vars(other)) == set(other.get_params(deep=False)), "A clone has more than its parameters")

    # What must hold

    def _must_go_well(self, name):
        """Whether a refusal is an error: what was said is true of the groups, and there are clusters enough."""
        options = self.model.get_params()
        said = {"fit": self.said, "refit": getattr(self, "later", None)}.get(name)
        k = options["n_clusters"]
        roomy = k == "auto" or k >= GROUPS
        sized = options.get("size_min") is not None or options.get("size_max") is not None
        # Moves and starting labels go neither with "auto" nor with outliers, and leave nothing to correct.
        plain = options.get("search") != "moves" and isinstance(options["init"], str)
        kept = name == "fit" or getattr(self.model, "_forest", None) is not None  # one cluster needs no search
        return bool(said and said.can_be_kept and roomy and not sized and plain and kept)

    def _takes_part(self):
        weights = self.said.arguments.get("sample_weight")
        return np.ones(self.n, bool) if weights is None else np.asarray(weights) > 0

    def _constrained(self):
        rows = [np.asarray(self.said.arguments.get(name, ()), int).ravel() for name in ("must_link", "cannot_link")]
        known = self.said.arguments.get("known", np.array([None] * self.n))
        return np.unique(np.concatenate([*rows, np.flatnonzero([label is not None for label in known])])).astype(int)

    def _check(self, model):
        k = model.n_clusters_
        self._hold(len(model.classes_) == k, f"{len(model.classes_)} classes_ for {k} clusters")
        if hasattr(model, "agreement_"):
            self._hold(model.agreement_.shape == (self.n,), f"agreement_ has shape {model.agreement_.shape}")
        self._check_labels(model.labels_, k)
        for label in set(self.said.arguments.get("known", ())) - {None}:
            self._hold(label in model.classes_, f"{label!r} is not in classes_ = {model.classes_}")

    def _check_labels(self, labels, k):
        self._hold(labels.shape == (self.n,) and labels.dtype == np.int32, f"labels have shape {labels.shape}")
        self._hold(labels.min() >= -1 and labels.max() < k, f"labels from {labels.min()} to {labels.max()} of {k}")
        if not self.model.get_params().get("outliers"):
            self._hold(labels.min() >= 0, "Rows are set aside though outliers=0")
        self._hold((labels[self._constrained()] >= 0).all(), "A row of which something is known was set aside")
        known = self.said.arguments.get("known", np.array([None] * self.n))
        classes = sorted(set(known) - {None})
        for row in np.flatnonzero([label is not None for label in known]):
            self._hold(labels[row] == classes.index(known[row]), f"Row {row} is known as {known[row]!r}, not kept")
        for a, b in np.asarray(self.said.arguments.get("must_link", np.empty((0, 2), int))):
            self._hold(labels[a] == labels[b], f"must_link ({a}, {b}) is broken")
        for a, b in np.asarray(self.said.arguments.get("cannot_link", np.empty((0, 2), int))):
            self._hold(labels[a] != labels[b], f"cannot_link ({a}, {b}) is broken")
        self._check_sizes(labels, k)

    def _check_sizes(self, labels, k):
        inside = labels[self._takes_part() & (labels >= 0)]
        sizes, options = np.bincount(inside, minlength=k), self.model.get_params()
        least, most = options.get("size_min"), options.get("size_max")
        if least is not None:
            least = int(least * len(inside) + 1e-9) if isinstance(least, float) else least
            self._hold(sizes.min() >= least, f"sizes {sizes} fall below {least}")
        if most is not None:
            most = int(np.ceil(most * len(inside) - 1e-9))
            self._hold(sizes.max() <= most, f"sizes {sizes} exceed {most}")


class DocumentWalk(Walk):
    """The same for documents, some of which may be moved into the universum."""

    later_steps = ("refit", "refit", "refit", "drop")

    def __init__(self, seed, tmp_path):
        super().__init__(DocumentClustering, seed, tmp_path)
        self.X = [" ".join(self.rng.choice(WORDS[group], 6)) for group in self.groups]
        self.X_fitted, self.dropped = self.X, np.zeros(self.n, bool)

    def _fit(self):
        options = {name: values[self.rng.integers(len(values))] for name, values in DOCUMENT_OPTIONS.items()}
        self.model.set_params(**options)
        self.said = Said.drawn(self.rng, self.groups, ("known", "must_link", "cannot_link"))
        self.calls.append(f"DocumentClustering({options}).fit(<documents>, {self.said})")
        self.is_fitted, self.dropped = False, np.zeros(self.n, bool)
        fresh = clone(self.model)
        self.model.fit(self.X, **self.said.arguments)
        self.is_fitted = True
        self._check(self.model)
        fresh.fit(self.X, **self.said.arguments)
        self._hold(set(vars(self.model)) == set(vars(fresh)), "A fresh estimator has other attributes")
        self._hold(np.array_equal(fresh.labels_, self.model.labels_), "A fresh estimator has other labels")

    def _refit(self):
        later = Said.drawn(self.rng, self.groups, ("known", "must_link", "cannot_link"))
        self.calls.append(f"refit({later})")
        before, self.later = self.model.labels_.copy(), self.said.replaced(later)
        try:
            self.model.refit(**later.arguments)
        except REFUSALS:
            self._hold(np.array_equal(self.model.labels_, before), "A refit that was refused changed the labels")
            raise
        self.said = self.later
        self._check(self.model)

    def _drop(self):
        gone = self.rng.choice(self.n, 3, replace=False)
        self.calls.append(f"refit(universum_documents={gone.tolist()})")
        self.model.refit(universum_documents=gone)
        self.dropped[gone] = True
        self._check(self.model)
        self._hold((self.model.labels_[self.dropped] == -1).all(), "A document of the universum has a topic")

    def _must_go_well(self, name):
        return False  # every topic needs a document, which links may leave it without

    def _check(self, model):
        z, topics = model.labels_, model.topics_.tolist()
        self._hold(z.shape == (self.n,) and z.dtype == np.int32, f"labels_ have shape {z.shape}")
        self._hold(len(model.classes_) == len(topics) == model.n_clusters_, "classes_ do not fit topics_")
        self._hold(set(z[z >= 0].tolist()) == set(topics), "A topic is empty, or unknown")
        said, stays, names = self.said.arguments, ~self.dropped, dict(zip(topics, model.classes_, strict=True))
        for row in np.flatnonzero([label is not None for label in said.get("known", ())]):
            if stays[row]:
                self._hold(names[z[row]] == said["known"][row], f"Document {row} lost its label")
        for name, alike in (("must_link", True), ("cannot_link", False)):
            for a, b in said.get(name, ()):
                if stays[a] and stays[b]:
                    self._hold((z[a] == z[b]) == alike, f"{name} ({a}, {b}) is broken")

    def _predict(self):
        self.calls.append("predict")
        found = self.model.predict(self.X)
        self._hold(np.isin(found, self.model.topics_).all(), "predict has topics that there are not")


def walk_on(walk):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of clusters without structure, slow searches and small topics
        walk.run()


WALKS = [
    (cls, seed) for cls, count in ((MaxMarginClustering, 8), (CPM3C, 4), (M2DCU, 3), (MKC, 3)) for seed in range(count)
]


@pytest.mark.parametrize(("cls", "seed"), WALKS, ids=lambda part: getattr(part, "__name__", part))
def test_any_sequence_of_calls(cls, seed, tmp_path):
    walk_on(Walk(cls, seed, tmp_path))


@pytest.mark.parametrize("seed", range(2))
def test_any_sequence_of_calls_on_documents(seed, tmp_path):
    walk_on(DocumentWalk(seed, tmp_path))
