"""Whether what a model file holds of topics fits together."""

from typing import Any

import numpy as np

from widegap.documents._vocabulary import is_finite


def check_stored_topics(model: Any) -> None:
    """Refuse topics of a model file that do not fit each other, or their documents."""
    n_topics = len(model.topics_)
    fit_each_other = {
        "topics_": model.topics_.dtype.kind == "i"
        and model.topics_.ndim == 1
        and len(np.unique(model.topics_)) == n_topics == model.n_clusters_
        and bool((model.topics_ >= 0).all()),
        "intercept_": model.intercept_.shape == (n_topics,) and is_finite(model.intercept_),
        "classes_": len(getattr(model, "classes_", model.topics_)) == n_topics,  # files of 0.1 have none
        "labels_": model.labels_.dtype.kind == "i"
        and model.labels_.ndim == 1
        and bool(np.isin(model.labels_, [-1, *model.topics_]).all()),
        "margins_": model.margins_.dtype.kind == "f" and model.margins_.shape == model.labels_.shape,
        "centrality_": model.centrality_.dtype.kind == "f" and model.centrality_.shape == model.labels_.shape,
    }
    n_terms = model._reader.check_terms()
    for name in ("coef_", "term_weights_"):
        weights = getattr(model, name)
        fit_each_other[name] = weights.shape == (n_topics, n_terms) and is_finite(weights)
    wrong = [name for name, fits in fit_each_other.items() if not fits]
    if wrong:
        raise ValueError(f"{wrong[0]} does not fit {n_topics} topics of {n_terms} terms")
