"""What a fitted document clustering tells about its topics."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from widegap.exceptions import NotSupportedError

NAME_TERMS = 3


class TopicViews:
    """Terms, exemplary documents and tables of topics.

    Works on ``topics_``, ``labels_``, ``margins_``, ``centrality_``, ``term_weights_`` and ``terms_``.
    """

    def top_terms(self, n=10):
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
        if self.terms_ is None:
            raise NotSupportedError(
                "top_terms needs terms, but fit got a dense array of embeddings; fit documents or a sparse matrix of "
                "counts instead, or documents with features=<the transformer that makes the embeddings>."
            )
        strongest = np.argsort(-self.term_weights_, axis=1, kind="stable")[:, :n]
        return {
            int(topic): [str(self.terms_[j]) for j in order if weights[j] > 0]
            for topic, order, weights in zip(self.topics_, strongest, self.term_weights_, strict=True)
        }

    @property
    def topic_names_(self):
        """dict of int to str: the first three terms of each topic, or its number if there are no terms."""
        check_is_fitted(self)
        if self.terms_ is None:
            return {int(topic): f"topic {topic}" for topic in self.topics_}
        return {topic: ", ".join(terms) for topic, terms in self.top_terms(NAME_TERMS).items()}

    def representatives(self, n=3):
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

    def borderline(self, n=3):
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

    def _first_documents(self, key, n):
        check_is_fitted(self)
        order = np.argsort(key(), kind="stable")
        labels = self.labels_[order]
        return {int(topic): order[labels == topic][:n].tolist() for topic in self.topics_}

    def to_frame(self, of="topics", *, n_terms=10, n_documents=3):
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
            raise ValueError(f"of={of!r:.60} is no kind of table; choose 'topics' or 'documents'.")
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
