"""What a fitted document clustering tells about its topics."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap.documents._reader import DocumentReader
from widegap.documents._vocabulary import is_finite
from widegap.exceptions import NotSupportedError

NAME_TERMS = 3


class TopicViews:
    """Terms, exemplary documents and tables of topics.

    They follow from what a fit stores of its documents and topics.
    """

    _reader: DocumentReader
    topics_: np.ndarray[Any, Any]
    labels_: np.ndarray[Any, Any]
    margins_: np.ndarray[Any, Any]
    centrality_: np.ndarray[Any, Any]
    term_weights_: np.ndarray[Any, Any] | None
    coef_: np.ndarray[Any, Any]
    intercept_: np.ndarray[Any, Any]
    n_clusters_: int

    def _check_stored(self) -> None:
        """Refuse topics of a model file that do not fit each other, or their documents."""
        n_topics = len(self.topics_)
        fit_each_other = {
            "topics_": self.topics_.dtype.kind == "i"
            and self.topics_.ndim == 1
            and len(np.unique(self.topics_)) == n_topics == self.n_clusters_
            and bool((self.topics_ >= 0).all()),
            "intercept_": self.intercept_.shape == (n_topics,) and is_finite(self.intercept_),
            "classes_": len(getattr(self, "classes_", self.topics_)) == n_topics,  # files of 0.1 have none
            "labels_": self.labels_.dtype.kind == "i"
            and self.labels_.ndim == 1
            and bool(np.isin(self.labels_, [-1, *self.topics_]).all()),
            "margins_": self.margins_.dtype.kind == "f" and self.margins_.shape == self.labels_.shape,
            "centrality_": self.centrality_.dtype.kind == "f" and self.centrality_.shape == self.labels_.shape,
        }
        n_terms = self._reader.check_terms()
        for name in ("coef_", "term_weights_"):
            weights = getattr(self, name)
            fit_each_other[name] = weights.shape == (n_topics, n_terms) and is_finite(weights)
        wrong = [name for name, fits in fit_each_other.items() if not fits]
        if wrong:
            raise ValueError(f"{wrong[0]} does not fit {n_topics} topics of {n_terms} terms")

    @property
    def terms_(self) -> np.ndarray[Any, Any] | None:
        """ndarray of str of shape (n_terms,), or None: the terms."""
        return self._reader.terms

    def top_terms(self, n: int = 10) -> dict[int, list[str]]:
        """Terms with the largest weights for each topic.

        Parameters
        ----------
        n : int, default=10
            Most terms a topic; only terms that speak for the topic count.

        Returns
        -------
        dict of int to list of str
            Terms by topic, the strongest first. With a stemmer, a stem is shown as its most frequent word.
        """
        check_is_fitted(self)
        terms, weights = self.terms_, self.term_weights_
        if terms is None or weights is None:
            raise NotSupportedError(
                "top_terms needs terms, but fit got a dense array of embeddings; fit documents or a sparse matrix of "
                "counts instead, or documents with features=<the transformer that makes the embeddings>."
            )
        strongest = np.argsort(-weights, axis=1, kind="stable")[:, :n]
        return {
            int(topic): [str(terms[j]) for j in order if own[j] > 0]
            for topic, order, own in zip(self.topics_, strongest, weights, strict=True)
        }

    @property
    def topic_names_(self) -> dict[int, str]:
        """dict of int to str: the known label of each topic, or its first three terms, or its number without any."""
        check_is_fitted(self)
        if self.terms_ is None:
            names = {int(topic): f"topic {topic}" for topic in self.topics_}
        else:
            names = {topic: ", ".join(terms) for topic, terms in self.top_terms(NAME_TERMS).items()}
        labels = zip(names, getattr(self, "classes_", []), strict=False)  # model files of 0.1 have none
        return names | {topic: str(label) for topic, label in labels if label is not None}

    def representatives(self, n: int = 3) -> dict[int, list[int]]:
        """Most central documents of each topic: those with the largest cosine to the mean of their topic.

        Parameters
        ----------
        n : int, default=3
            Most documents a topic.

        Returns
        -------
        dict of int to list of int
            Positions of the documents in what was fitted, by topic, the most central first.
        """
        return self._first_documents(lambda: -self.centrality_, n)

    def borderline(self, n: int = 3) -> dict[int, list[int]]:
        """Documents of each topic with the smallest lead over another topic.

        Parameters
        ----------
        n : int, default=3
            Most documents a topic.

        Returns
        -------
        dict of int to list of int
            Positions of the documents in what was fitted, by topic, the least certain first.
        """
        return self._first_documents(lambda: self.margins_, n)

    def _first_documents(self, key: Callable[[], np.ndarray[Any, Any]], n: int) -> dict[int, list[int]]:
        check_is_fitted(self)
        order = np.argsort(key(), kind="stable")
        labels = self.labels_[order]
        return {int(topic): order[labels == topic][:n].tolist() for topic in self.topics_}

    def to_frame(self, of: str = "topics", *, n_terms: int = 10, n_documents: int = 3) -> Any:
        """The result as a pandas DataFrame.

        Parameters
        ----------
        of : {"topics", "documents"}, default="topics"
            One row a topic (topic, size, name, top_terms, representatives), or one row a document (topic, name,
            margin, centrality). Documents without a topic have topic -1.
        n_terms, n_documents : int, default=10 and 3
            Length of the lists of terms and of representative documents.

        Returns
        -------
        pandas.DataFrame
        """
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            raise NotSupportedError("to_frame needs pandas, which is not installed: pip install pandas.") from error
        if of not in ("topics", "documents"):
            raise ValueError(f"of={of!r:.60} is not a kind of table; choose 'topics' or 'documents'.")
        names = self.topic_names_
        if of == "documents":
            shown = [names.get(int(topic), "") for topic in self.labels_]
            columns = {"topic": self.labels_, "name": shown, "margin": self.margins_, "centrality": self.centrality_}
            return pd.DataFrame(columns).rename_axis("document")
        terms = self.top_terms(n_terms) if self.terms_ is not None else dict.fromkeys(names, [])
        representatives = self.representatives(n_documents)
        rows = [
            (topic, int((self.labels_ == topic).sum()), name, terms[topic], representatives[topic])
            for topic, name in names.items()
        ]
        return pd.DataFrame(rows, columns=["topic", "size", "name", "top_terms", "representatives"])
