"""Collections of documents, by name: "news/rec4", "webkb/texas", "m2dcu/20news".

"news" and "webkb" are the texts of the CPM3C paper as rows of tf-idf, "m2dcu" those of the M2DCU paper in a reduced
space; which words stay follows the papers: the most frequent ones, as many as they say. "documents" are larger
collections for methods that take texts, "counts" and "presence" their words as they are counted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from experiments import loaders, texts
from experiments.cells import Task, task
from experiments.texts import Collection
from widegap.documents._vocabulary import DocumentTerms, TermChoice, TermMatrix

NEWS_GROUPS = {
    "text-1": ("rec.autos", "rec.motorcycles"),
    "text-2": ("rec.sport.baseball", "rec.sport.hockey"),
    "rec4": ("rec.",),
}
NEWS_TERMS, WEBKB_TERMS = 8014, 4134  # of the CPM3C paper
MOST = 3000  # documents of a collection of the M2DCU paper
RANK = 100
COUNTED = 5000
MOST_TERMS = 10_000
TERMS = {"20news": 6600, "webkb": 4560, "rcv1": 8625, "reuters-1": 927, "reuters-2": 927}  # of the M2DCU paper

SAMPLES: dict[str, Callable[[int], Collection]] = {
    "20news": texts.news4,
    "webkb": texts.webkb4,
    "rcv1": texts.rcv1_three,
    "reuters-1": lambda most: texts.reuters_among(0, 6, most),
    "reuters-2": lambda most: texts.reuters_among(6, 16, most),
    "rec4": texts.rec4,
    "rcv1-4": texts.rcv1,
}
COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "rec4": texts.rec4,
    "20news-4": texts.news4,
    "20news-20": texts.news20,
    "webkb-4": texts.webkb4,
    "reuters-6": lambda: texts.reuters_single(6),
    "reuters-10": lambda: texts.reuters_single(10),
    "rcv1-4": texts.rcv1,
}


def _choice(n_terms: int) -> TermChoice:
    return TermChoice(min_df=3, max_df=0.5, max_features=n_terms)


def _without_header(pages: Any) -> list[str]:
    """Web pages without what the server said before the first blank line."""
    return [page.split("\n\n", 1)[-1] for page in pages]


@task("news")
def news(name: str) -> Task:
    """Two or four news groups on cars and sports."""
    data = loaders.load_20news(categories=list(NEWS_GROUPS[name]), headers=False)
    X = DocumentTerms(_choice(NEWS_TERMS), "english", None).fit_transform(data.data)
    return Task(X, data.target, counts=X, documents=data.data)


@task("webkb")
def webkb(university: str) -> Task:
    """All pages of a university, seven classes."""
    found = _pages_of(university)
    X = DocumentTerms(_choice(WEBKB_TERMS), "english", None).fit_transform(found.documents)
    return Task(X, found.classes, counts=X, documents=found.documents)


def _pages_of(university: str) -> Collection:
    data = loaders.load_webkb()
    rows = np.flatnonzero(np.asarray(data.university) == university)
    return Collection(_without_header(data.data[i] for i in rows), data.target[rows], None)


@task("counts")
def counts(name: str) -> Task:
    """How often words occur, as they are counted; documents without any of them are left out."""
    found = COLLECTIONS[name]() if name in COLLECTIONS else _pages_of(name)
    X = CountVectorizer(stop_words="english", min_df=3, max_df=0.5, max_features=COUNTED).fit_transform(found.documents)
    rows = np.flatnonzero(np.diff(X.indptr))
    return Task(X[rows].astype(float), found.classes[rows])


@task("presence")
def presence(name: str) -> Task:
    """Whether words occur: 0 or 1."""
    found = counts(name)
    return Task(found.X.sign(), found.y)


@task("m2dcu")
def m2dcu(name: str) -> Task:
    """At most 3000 documents: tf-idf of stems, reduced by LSA of rank 100 to rows of length one, as is the rest."""
    found = SAMPLES[name](MOST)
    choice = _choice(TERMS.get(name, MOST_TERMS))
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


@task("documents")
def documents(name: str) -> Task:
    """Rows of tf-idf as DocumentClustering has them, from texts or weights of terms."""
    found = COLLECTIONS[name]()
    if isinstance(found.documents, list):
        X = DocumentTerms(_choice(MOST_TERMS), "english", None).fit_transform(found.documents)
        return Task(X, found.classes, counts=X, documents=found.documents)
    X = TermMatrix(_choice(MOST_TERMS)).fit_transform(found.documents)
    return Task(X, found.classes, counts=X)
