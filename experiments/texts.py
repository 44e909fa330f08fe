"""The document collections of the M2DCU paper as (targets, their classes, rest), and a space to cluster them in."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from widegap import datasets

SUPER_GROUPS = ("comp.", "rec.", "sci.", "talk.")
WEBKB_CLASSES = ("course", "faculty", "project", "student")
MOST = 6000  # documents drawn from larger collections
MOST_REST = 3000


@dataclass(frozen=True)
class Collection:
    """Documents to cluster (texts, or rows of weights), their classes for scoring, and documents of other classes."""

    documents: Any
    classes: np.ndarray[Any, Any]
    rest: Any

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.classes))


def split(documents: Any, classes: Any, chosen: Any, others: Any, most: int = MOST) -> Collection:
    """Keep chosen and other documents, each thinned by a fixed draw."""
    rng = np.random.default_rng(0)
    chosen, others = (thin(np.flatnonzero(mask), size, rng) for mask, size in ((chosen, most), (others, MOST_REST)))
    return Collection([documents[i] for i in chosen], np.asarray(classes)[chosen], [documents[i] for i in others])


def thin(rows: Any, most: int, rng: np.random.Generator) -> Any:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def rec4() -> Collection:
    data = datasets.load_20news(headers=False)
    chosen = np.char.startswith(data.target, "rec.")
    return split(data.data, data.target, chosen, ~chosen)


def news4(most: int = MOST) -> Collection:
    data = datasets.load_20news(headers=False)
    groups = np.array([next((s for s in SUPER_GROUPS if name.startswith(s)), "") for name in data.target])
    return split(data.data, groups, groups != "", groups == "", most)


def webkb4(most: int = MOST) -> Collection:
    data = datasets.load_webkb()
    pages = [page.split("\n\n", 1)[-1] for page in data.data]  # without the HTTP header
    chosen = np.isin(data.target, WEBKB_CLASSES)
    return split(pages, data.target, chosen, np.isin(data.target, ("other", "staff")), most)


def reuters(n_topics: int, most: int = MOST) -> Collection:
    """Documents with exactly one topic, of the largest topics."""
    data = datasets.load_reuters()
    counts = Counter(data.target[data.target != ""].tolist())
    largest = [topic for topic, _ in counts.most_common(n_topics)]
    chosen = np.isin(data.target, largest)
    return split(data.data, data.target, chosen, ~chosen & (data.target != ""), most)


def rcv1() -> Collection:
    data = datasets.load_rcv1()
    rows = thin(np.arange(len(data.target)), MOST, np.random.default_rng(0))
    return Collection(data.data[rows], data.target[rows], None)


COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "rec4": rec4,
    "20news-4": news4,
    "WebKB-4": webkb4,
    "Reuters-6": lambda: reuters(6),
    "Reuters-10": lambda: reuters(10),
    "RCV1-4": rcv1,
}


def latent_rows(collection: Collection, rank: int = 100) -> tuple[Any, Any]:
    """Targets and rest by latent semantic analysis of the targets' tf-idf, rows of length one."""
    reduce = make_pipeline(TruncatedSVD(rank, random_state=0), Normalizer())
    if not isinstance(collection.documents, list):
        return reduce.fit_transform(collection.documents), None
    vectorizer = TfidfVectorizer(
        token_pattern=r"[^\W\d_]{2,}",
        stop_words="english",
        min_df=3,
        max_df=0.5,
        max_features=10_000,
        sublinear_tf=True,
    )
    space = make_pipeline(vectorizer, reduce)
    return space.fit_transform(collection.documents), space.transform(collection.rest)
