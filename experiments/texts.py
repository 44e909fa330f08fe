"""Collections of documents as (targets, their classes, rest): those of the M2DCU paper and some more."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments import loaders

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


def split(documents: Any, classes: Any, chosen: Any, others: Any, most: int = MOST) -> Collection:
    """Keep chosen and other documents, each thinned by a fixed draw."""
    rng = np.random.default_rng(0)
    chosen, others = (thin(np.flatnonzero(mask), size, rng) for mask, size in ((chosen, most), (others, MOST_REST)))
    return Collection([documents[i] for i in chosen], np.asarray(classes)[chosen], [documents[i] for i in others])


def thin(rows: Any, most: int, rng: np.random.Generator) -> Any:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def rec4(most: int = MOST) -> Collection:
    data = loaders.load_20news(headers=False)
    chosen = np.char.startswith(data.target, "rec.")
    return split(data.data, data.target, chosen, ~chosen, most)


def news4(most: int = MOST) -> Collection:
    data = loaders.load_20news(headers=False)
    groups = np.array([next((s for s in SUPER_GROUPS if name.startswith(s)), "") for name in data.target])
    return split(data.data, groups, groups != "", groups == "", most)


def webkb4(most: int = MOST) -> Collection:
    data = loaders.load_webkb()
    pages = [page.split("\n\n", 1)[-1] for page in data.data]  # without the HTTP header
    chosen = np.isin(data.target, WEBKB_CLASSES)
    return split(pages, data.target, chosen, np.isin(data.target, ("other", "staff")), most)


def news20() -> Collection:
    data = loaders.load_20news(headers=False)
    chosen = thin(np.arange(len(data.data)), MOST, np.random.default_rng(0))
    return Collection([data.data[i] for i in chosen], data.target[chosen], None)


def reuters_single(n_topics: int) -> Collection:
    """All documents with exactly one topic, of the largest topics."""
    data = loaders.load_reuters()
    counts = Counter(data.target[data.target != ""].tolist())
    largest = [topic for topic, _ in counts.most_common(n_topics)]
    chosen = np.isin(data.target, largest)
    return split(data.data, data.target, chosen, ~chosen & (data.target != ""), len(chosen))


def reuters_among(first: int, last: int, most: int = MOST) -> Collection:
    """Documents with exactly one of the topics of some ranks, the M2DCU paper's way; the rest have other topics."""
    data = loaders.load_reuters()
    counts = Counter(topic for topics in data.topics for topic in topics)
    names = {topic for topic, _ in counts.most_common(last)[first:]}
    among = [[topic for topic in topics if topic in names] for topics in data.topics]
    classes = np.array([found[0] if found else "" for found in among])
    n_among = np.array([len(found) for found in among])
    n_topics = np.array([len(topics) for topics in data.topics])
    return split(data.data, classes, n_among == 1, (n_among == 0) & (n_topics > 0), most)


def rcv1(most: int = MOST) -> Collection:
    data = loaders.load_rcv1()
    rows = thin(np.arange(len(data.target)), most, np.random.default_rng(0))
    return Collection(data.data[rows], data.target[rows], None)


def rcv1_three(most: int = MOST) -> Collection:
    """The topics above the paper's ECAT, C151 and M14; the rest is GCAT."""
    data = loaders.load_rcv1()
    rng = np.random.default_rng(0)
    chosen = thin(np.flatnonzero(data.target != "GCAT"), most, rng)
    others = thin(np.flatnonzero(data.target == "GCAT"), MOST_REST, rng)
    return Collection(data.data[chosen], data.target[chosen], data.data[others])
