"""Collections with documents of other classes: two halves of them, one to choose a rule on, the other to report it."""

import re
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from experiments import loaders
from experiments.cells import Task, task
from experiments.text_data import MOST_TERMS, RANK
from experiments.texts import WEBKB_CLASSES, Collection, reuters_among, split, thin
from widegap.documents._vocabulary import DocumentTerms, TermChoice

MOST = 1000  # documents to cluster
MOST_REST = 1000
GROUPS = {
    "comp": r"comp\.",
    "sci": r"sci\.",
    "politics": r"talk\.politics\.",
    "rec": r"rec\.",
    "religion": r"alt\.atheism|soc\.religion|talk\.religion",
}
CHOSEN_ON = ("comp", "sci", "politics", "reuters-0-6", "reuters-16-24", "webkb-cornell", "webkb-texas")
REPORTED_ON = (
    *("rec", "religion", "reuters-6-16", "reuters-24-34"),
    *("webkb-washington", "webkb-wisconsin", "webkb-misc"),
)


@task("aside")
def aside(name: str) -> Task:
    """Rows as those of "m2dcu", from at most 1000 documents; the rest begins with the shortest document."""
    found = _collection(name)
    kept = thin(np.arange(len(found.rest)), MOST_REST, np.random.default_rng(0))
    rest = sorted((found.rest[i] for i in kept), key=lambda document: len(document.split()))
    terms = DocumentTerms(TermChoice(min_df=3, max_df=0.5, max_features=MOST_TERMS), "english", "porter")
    reduce = make_pipeline(TruncatedSVD(RANK, random_state=0), Normalizer())
    weights = terms.fit_transform(found.documents)
    return Task(reduce.fit_transform(weights), found.classes, rest=reduce.transform(terms.transform(rest)))


def _collection(name: str) -> Collection:
    if name.startswith("reuters-"):
        return reuters_among(*map(int, name.split("-")[1:]), MOST)
    if name.startswith("webkb-"):
        data, university = loaders.load_webkb(), name.removeprefix("webkb-")
        documents: Any = [page.split("\n\n", 1)[-1] for page in data.data]  # without the HTTP header
        here = np.asarray(data.university) == university
        topics = np.isin(data.target, WEBKB_CLASSES)
        return split(documents, data.target, here & topics, here & ~topics, MOST)
    data = loaders.load_20news(headers=False)
    chosen = np.array([re.match(GROUPS[name], group) is not None for group in data.target])
    return split(data.data, data.target, chosen, ~chosen, MOST)
