"""Collections of documents, by name: "news/rec4", "webkb/texas", "m2dcu/20news".

"news" and "webkb" are the texts of the CPM3C paper as rows of tf-idf, "m2dcu" those of the M2DCU paper in a reduced
space. Which words stay follows the papers: the most frequent ones, as many as they say.
"""

from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from experiments import texts
from experiments.cells import Task, task
from experiments.texts import Collection
from widegap import datasets
from widegap.data._terms import DocumentTerms, TermChoice, TermMatrix

NEWS_GROUPS = {
    "text-1": ("rec.autos", "rec.motorcycles"),
    "text-2": ("rec.sport.baseball", "rec.sport.hockey"),
    "rec4": ("rec.",),
}
NEWS_TERMS, WEBKB_TERMS = 8014, 4134  # of the CPM3C paper
MOST = 3000  # documents of a collection of the M2DCU paper
RANK = 100
TERMS = {"20news": 6600, "webkb": 4560, "rcv1": 8625, "reuters-1": 927, "reuters-2": 927}  # of the M2DCU paper


def _choice(n_terms: int) -> TermChoice:
    return TermChoice(min_df=3, max_df=0.5, max_features=n_terms)


def _without_header(pages: Any) -> list[str]:
    """Web pages without what the server said before the first blank line."""
    return [page.split("\n\n", 1)[-1] for page in pages]


@task("news")
def news(name: str) -> Task:
    """Two or four news groups on cars and sports."""
    data = datasets.load_20news(categories=list(NEWS_GROUPS[name]), headers=False)
    X = DocumentTerms(_choice(NEWS_TERMS), "english", None).fit_transform(data.data)
    return Task(X, data.target, counts=X, documents=data.data)


@task("webkb")
def webkb(university: str) -> Task:
    """All pages of a university, seven classes."""
    data = datasets.load_webkb()
    rows = np.flatnonzero(np.asarray(data.university) == university)
    pages = _without_header(data.data[i] for i in rows)
    X = DocumentTerms(_choice(WEBKB_TERMS), "english", None).fit_transform(pages)
    return Task(X, data.target[rows], counts=X, documents=pages)


@task("m2dcu")
def m2dcu(name: str) -> Task:
    """At most 3000 documents: tf-idf of stems, reduced by LSA of rank 100 to rows of length one, as is the rest."""
    found = _collection(name)
    choice = _choice(TERMS.get(name, 10_000))
    reduce = make_pipeline(TruncatedSVD(RANK, random_state=0), Normalizer())
    if isinstance(found.documents, list):
        terms: Any = DocumentTerms(choice, "english", "porter")
    else:
        terms = TermMatrix(choice)
    weights = terms.fit_transform(found.documents)
    X = reduce.fit_transform(weights)
    rest = None if found.rest is None else reduce.transform(terms.transform(found.rest))
    documents = found.documents if isinstance(found.documents, list) else None
    return Task(X, found.classes, weights, rest, documents)


@lru_cache(maxsize=1)
def _collection(name: str) -> Collection:
    if name == "20news":
        return texts.news4(MOST)
    if name == "webkb":
        return texts.webkb4(MOST)
    if name == "rcv1":
        return _three_topics()
    if name == "reuters-1":
        return _reuters(slice(0, 6))
    if name == "reuters-2":
        return _reuters(slice(6, 16))
    raise KeyError(name)


def _three_topics() -> Collection:
    """The parents of the topics ECAT, C151 and M14 of the paper; the fourth topic is the rest."""
    data = datasets.load_rcv1()
    rng = np.random.default_rng(0)
    chosen = texts.thin(np.flatnonzero(data.target != "GCAT"), MOST, rng)
    others = texts.thin(np.flatnonzero(data.target == "GCAT"), texts.MOST_REST, rng)
    return Collection(data.data[chosen], data.target[chosen], data.data[others])


def _reuters(ranks: slice) -> Collection:
    """Documents with exactly one of some topics, given by rank; the rest are those with other topics alone."""
    data = datasets.load_reuters()
    counts = Counter(topic for topics in data.topics for topic in topics)
    names = {topic for topic, _ in counts.most_common(ranks.stop)[ranks]}
    inside = [[topic for topic in topics if topic in names] for topics in data.topics]
    n_inside = np.array([len(found) for found in inside])
    classes = np.array([found[0] if found else "" for found in inside])
    n_topics = np.array([len(topics) for topics in data.topics])
    return texts.split(data.data, classes, n_inside == 1, (n_inside == 0) & (n_topics > 0), MOST)
