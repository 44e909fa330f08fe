"""What an estimator declares about itself, and what all of them share.

A new estimator is one file: a subclass of ``Clusterer`` (or of one of the bases below it) that declares

    _objective    name, direction and meaning of ``objective_``        read by report and selection
    _record       dataclass of the entries of ``history_``             read by report and persistence
    _stored       fitted attributes that it adds, with their types     read by persistence
    _command      its name for ``widegap cluster --method``, if any    read by cli

and fills in the steps of ``Clusterer._fit``. Nothing else keeps a list of estimators, except ``widegap/_catalogue.py``,
which maps public names to modules.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from importlib import import_module
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Self, get_type_hints
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from widegap._types import Array, Floats, Labels
from widegap.base._callbacks import (
    OF_CALLBACKS,
    CallbackSupportMixin,
    begin_fit_task,
    end_fit_task,
    with_callbacks,
    with_steps,
)
from widegap.base._docs import shared_docs
from widegap.base._fit_fingerprint import FitFingerprint
from widegap.base._one_fit import one_fit
from widegap.base._progress import progress_logging
from widegap.base._records import Record
from widegap.base._scored_clusterer import ScoredClusterer, explained_scatter, log_likelihoods
from widegap.base._site import HasPage
from widegap.base._validation import Interval, check_cluster_number, check_generator, check_rows, check_threads
from widegap.exceptions import InvalidDataError
from widegap.features._coded_columns import CodedColumns
from widegap.features._kernel_maps import FeatureMap, FoldedScores, KernelMap
from widegap.features._kernels import check_kernel_params
from widegap.rows._blocks import Block, RowBlocks, Scorer
from widegap.rows._collections import count_labels, is_collection, look_up, map_collection
from widegap.rows._few_rows import certain_labels, largest
from widegap.rows._known_frames import known_frame
from widegap.rows._state_files import write_labels

COMMON_CONSTRAINTS: dict[str, list[object]] = {
    "n_clusters": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "callback": [callable, None],
}
HIGHEST_NUMBER = 10**6  # of clusters that a file may name: tables of this size are made to look numbers up
OUT_OF_MEMORY = (
    "The fit needs more memory than there is: pass rows as float32, sparse or from a file, fewer of them, or lower "
    "n_components where there is a kernel."
)
LABELS_OUT: dict[str, list[object]] = {"labels_out": [str, PathLike, None]}


@dataclass(frozen=True)
class Objective:
    """What ``objective_`` is.

    Attributes
    ----------
    name : str
        A few words, as the report prints them.
    better : {"higher", "lower"}
        Which values are better.
    meaning : str
        One sentence for readers of the report.
    most : callable or None
        The largest value that k clusters can reach, where there is one.
    """

    name: str
    better: Literal["higher", "lower"]
    meaning: str
    most: Callable[[int], float] | None = None

    def gain(self, value: float, reference: float) -> float:
        """By how much a value is better than a reference, relative to the latter's size."""
        difference = value - reference if self.better == "higher" else reference - value
        return difference / abs(reference)


class Clusterer(HasPage, CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """Base of all estimators of the package: the declarations, and what follows from them."""

    _objective: ClassVar[Objective | None] = None
    _record: ClassVar[type | None] = None
    _stored: ClassVar[Mapping[str, Any]] = {
        "labels_": np.ndarray,
        "n_clusters_": int,
        "objective_": float,
        "n_iter_": int,
        "converged_": bool,
        "starved_": bool,
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "_rows_digest": str,
        "_numbers": np.ndarray | None,
        "_fingerprint": FitFingerprint | None,
    }
    # Functions, choices for one machine, and scikit-learn's routing of arguments and form of results.
    _not_stored: ClassVar[frozenset[str]] = frozenset(
        {"callback", "n_jobs", "labels_out", "_metadata_request", "_sklearn_output_config", *OF_CALLBACKS}
    )
    _command: ClassVar[str | None] = None
    _fits_collections: ClassVar[bool] = False  # of Dask

    n_clusters: int
    random_state: Any
    # What estimators without these parameters do.
    verbose: int = 0
    n_jobs: int | None = None
    labels_out: str | PathLike[str] | None = None

    labels_: np.ndarray[Any, Any]
    n_clusters_: int
    objective_: float
    _fingerprint: FitFingerprint | None = None  # None in files of older versions
    _numbers: Labels | None = None  # of the clusters, in the order of their scores; None where they count from 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, and below it what a fit has found."""
        diagram = super()._repr_html_inner()
        if not hasattr(self, "labels_"):
            return diagram
        # The report stands above this package; it is imported when a notebook asks for it.
        return diagram + import_module("widegap.report._notebook").fitted_view(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        found = super()._repr_mimebundle_(**kwargs)
        return {**found, "text/html": self._repr_html_inner()} if "text/html" in found else found

    def _expected_records(self, n_rows: int) -> int | None:
        """How many records a fit of ``n_rows`` rows makes unless it is stopped, if known: for a progress bar."""
        return None

    def _most_steps(self, rows: Any) -> int | None:
        """How many steps scikit-learn's callbacks see, at most, in a fit of what ``_read`` gave; None if not known."""
        if not hasattr(self, "callback"):
            return 0
        return self._expected_records(rows.shape[0]) if hasattr(rows, "shape") else None

    def _all_callbacks(self) -> Callable[[Any], object] | None:
        """What gets the records of a search: ``callback``, and as steps of the fit scikit-learn's callbacks."""
        return with_steps(self, self.callback)

    def _refusal_to_store(self) -> str | None:
        """Why this model cannot be saved, and what to do instead; None if it can."""
        return None

    def _check_stored(self) -> None:
        """Raise an error if what a model file holds, beyond weights, is inconsistent."""
        if self._fingerprint is not None:
            self._fingerprint.check()
        numbers = self.cluster_numbers_
        if numbers.shape != (self.n_clusters_,) or numbers.dtype.kind != "i" or numbers.min(initial=0) < 0:
            raise ValueError(f"its {self.n_clusters_} clusters have numbers of shape {numbers.shape}")
        if len(np.unique(numbers)) < len(numbers) or numbers.max(initial=0) >= HIGHEST_NUMBER:
            raise ValueError("two of its clusters have the same number, or one has a number that is far too large")
        inside = self.labels_.dtype.kind == "i" and (-1 <= self.labels_) & np.isin(self.labels_, [-1, *numbers])
        if self.labels_.ndim != 1 or not np.all(inside):
            raise ValueError(f"labels_ are not numbers of {self.n_clusters_} clusters")

    @property
    def cluster_numbers_(self) -> Labels:
        """The numbers of the clusters, in the order of the columns of ``decision_function`` and ``transform``.

        They are 0, 1, ... after ``fit``. After updates some may be missing: a number is never given twice.
        """
        check_is_fitted(self)
        return np.arange(self.n_clusters_, dtype=np.int32) if self._numbers is None else self._numbers.copy()

    def _to_numbers(self, positions: Any) -> Any:
        """Numbers of clusters by their positions among the scores; -1 stays. Lazy where the positions are."""
        if self._numbers is None:
            return positions
        return look_up(np.append(self._numbers, np.int32(-1)), positions)

    def _to_positions(self, labels: Any) -> Any:
        """The way back."""
        if self._numbers is None:
            return labels
        table = np.full(int(self._numbers.max(initial=0)) + 2, -1, np.int32)
        table[self._numbers] = np.arange(len(self._numbers))
        return look_up(table, labels)

    @property
    def _n_score_vectors(self) -> int:
        """Rows of ``coef_``."""
        return self.n_clusters_

    @shared_docs
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of the rows of X.

        Parameters
        ----------
        <rows to fit>

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._complete_fit(X)

    def _complete_fit(self, X: Any, **options: Any) -> Self:
        """What ``fit`` calls: a fit that is the only one of this object."""
        with one_fit(self):
            try:
                return self._whole_fit(X, **options)
            except MemoryError as error:
                error.add_note(OUT_OF_MEMORY)
                raise

    def _whole_fit(self, X: Any, **options: Any) -> Self:
        """A fit, and then its labels written to their file: once, when every row has one."""
        self._fit(known_frame(X), **options)
        if self.labels_out is not None:
            self.labels_ = write_labels(self.labels_, self.labels_out)
        self._fingerprint = FitFingerprint.of(self, options)
        return self

    @with_callbacks
    def _fit(self, X: Any, **options: Any) -> Self:
        """The steps of every fit; ``options`` are the arguments of a subclass's ``fit`` besides the rows."""
        self._validate_params()
        if hasattr(self, "kernel_params"):
            check_kernel_params(self.kernel, self.kernel_params)
        own = self.get_params(deep=False)
        single = {name: value.item() for name, value in own.items() if isinstance(value, np.floating)}
        if single:  # a float32 would round all that it meets, and parameters must stay as the user set them
            take_over(self, copy.copy(self).set_params(**single)._fit(X, **options))
            return self
        with progress_logging(self.verbose):
            self._fit_rows(X, check_generator(self.random_state), **options)
        end_fit_task(self, X)
        return self

    def _fit_rows(self, X: Any, rng: np.random.Generator, *args: Any, **options: Any) -> None:
        """The steps of a fit once the parameters are checked."""
        self.__dict__.pop("_numbers", None)  # of an earlier update
        read = self._read(X)
        begin_fit_task(self, X, self._most_steps(read))
        rows = self._prepare(read, rng, *args, **options)
        if self.n_clusters == 1:
            self._store_single_cluster(rows)
        else:
            self._search(rows, rng)

    def _read(self, X: Any) -> object:
        """What ``_prepare`` takes: here the rows, finite if they are in memory, at least one for every cluster."""
        blocks = check_rows(self, X, reset=True, n_threads=check_threads(self.n_jobs))
        check_cluster_number(blocks.shape[0], self.n_clusters)
        return blocks

    def _prepare(self, blocks: Any, rng: np.random.Generator, *args: Any, **options: Any) -> Any:
        """The rows as the search sees them: anything with a ``shape``."""
        return blocks

    def _search(self, rows: Any, rng: np.random.Generator) -> None:
        """Find two clusters or more and store them."""
        raise NotImplementedError

    def _store_single_cluster(self, rows: Any) -> None:
        """Store one cluster of all rows, which needs no search."""
        self.labels_ = np.zeros(rows.shape[0], np.int32)
        self.n_clusters_, self.n_iter_ = 1, 0
        self.objective_ = 0.0
        self.history_: Sequence[Record] = []
        self.converged_, self.starved_ = True, False

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray[Any, Any]:
        """Find the clusters of the rows of X and return ``labels_``.

        Parameters
        ----------
        X, y
            As for ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self.fit(X, y).labels_


def take_over(estimator: Clusterer, other: Clusterer) -> None:
    """Copy the fitted attributes of one estimator to another, and remove all others."""
    own = estimator.get_params(deep=False)
    for name in vars(estimator).keys() - vars(other).keys():
        delattr(estimator, name)  # of an earlier fit
    estimator.__dict__.update({name: value for name, value in vars(other).items() if name not in own})


def stored_attributes(cls: type) -> dict[str, Any]:
    """Attributes of a class that a model file holds, with their types; empty if the class declares none.

    For an estimator, what it and its bases list in ``_stored``; for a dataclass, its fields; else its ``_stored``.
    """
    if is_dataclass(cls):
        hints = get_type_hints(cls)
        return {field.name: hints[field.name] for field in fields(cls)}
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("_stored", {})
    if issubclass(cls, Clusterer) and cls._record is not None:
        found["history_"] = list[cls._record]  # type: ignore[name-defined]
    return found


# Beside the estimators, not in them: copies, pickles and model files do not need what follows from the weights.
_folded_scores: "WeakKeyDictionary[WeightVectorClusterer, FoldedScores]" = WeakKeyDictionary()


class WeightVectorClusterer(ScoredClusterer, Clusterer):
    """Base of clusterers that score a row by ``coef_ @ x + intercept_``, after a feature map if there is a kernel."""

    _stored = {
        "coef_": np.ndarray,
        "intercept_": np.ndarray,
        "kernel_map_": KernelMap | None,
        "_mean": np.ndarray,
        "_mean_scores": np.ndarray,
    }

    coef_: np.ndarray[Any, Any]
    intercept_: np.ndarray[Any, Any]
    kernel_map_: FeatureMap | None
    _mean: np.ndarray[Any, Any]
    _mean_scores: np.ndarray[Any, Any]

    def _store_single_cluster(self, rows: Any) -> None:
        super()._store_single_cluster(rows)
        shape = self._n_score_vectors, rows.shape[1]
        self.coef_, self.intercept_ = np.zeros(shape), np.zeros(shape[0])
        self._mean, self._mean_scores = np.zeros(shape[1]), np.zeros(shape[0])

    def _map_blocks(self, blocks: RowBlocks, function: Callable[[Floats], Array]) -> np.ndarray[Any, Any]:
        """``function`` of the scores of all rows; holds the scores and kernel values of a block at a time."""
        if self.kernel_map_ is not None:
            return blocks.collect(self._folded().map(blocks, function))
        scorer = self._scorer()
        return blocks.map(lambda block: function(block.scores(scorer)))

    def _scorer(self) -> Scorer:
        """Scores about the fitted mean: exact where the rows lie far from the origin."""
        return Scorer(self.coef_, self._mean_scores, self._mean)

    def _folded(self) -> FoldedScores:
        """The scores of the kernel's features, computed again only after the weights have changed."""
        assert self.kernel_map_ is not None
        parts = self.kernel_map_, self.coef_, self._mean_scores, self._mean
        folded = _folded_scores.get(self)
        if folded is None or not folded.is_of(*parts):
            folded = _folded_scores[self] = FoldedScores(*parts)
        return folded

    def _with_scores_as_features(self) -> Self:
        """A copy with equal scores whose kernel has no more features than there are clusters: a smaller model."""
        found = copy.copy(self)
        if isinstance(self.kernel_map_, KernelMap) and len(self.coef_) < self.coef_.shape[1]:
            found.kernel_map_ = self.kernel_map_.times(self.coef_)
            found.coef_, found._mean = np.eye(len(self.coef_)), self.coef_ @ self._mean
        return found

    def _map_scores(self, X: Any, function: Callable[[Floats], Array]) -> Any:
        """``function`` of the scores of the rows of X, a block at a time; lazy where X is."""
        check_is_fitted(self)
        if is_collection(X):
            return map_collection(X, partial(self._scores_alone()._map_scores, function=function))
        blocks = check_rows(self, X, reset=False, n_threads=check_threads(self.n_jobs))
        assert isinstance(blocks, RowBlocks)

        def checked(scores: Floats) -> Array:  # arrays were checked above, rows from files have not been
            return function(_check_scores(scores))

        if function is not largest or self.kernel_map_ is not None:
            return self._map_blocks(blocks, checked)
        scorer = self._scorer()

        def label(block: Block) -> Array:
            labels = certain_labels(block, scorer)
            return checked(block.scores(scorer)) if labels is None else labels

        return blocks.map(label)

    def _value_rule(self) -> Callable[[Floats], Floats]:
        """The rule of nearest means, whose constants are ``-|M_p|^2 / 2``; a method with a loss has its own.

        Scores of codes are logarithms of joint probabilities.
        """
        if isinstance(self.kernel_map_, CodedColumns):
            return log_likelihoods
        sizes = count_labels(self._to_positions(self.labels_[self.labels_ >= 0]), self.n_clusters_)
        at_fit = float(-self._mean_scores @ sizes / max(1, sizes.sum()))  # all rows of an update may be outliers
        return partial(explained_scatter, unit=self.objective_ / at_fit if at_fit else 0.0)

    def _map_rows(self, X: Any, function: Callable[[Floats], Array]) -> Any:
        return self._map_scores(X, function)

    def _scores_alone(self) -> Self:
        """A copy that can score rows and holds nothing of length n: it is sent to the workers."""
        alone = copy.copy(self)
        kept = {"n_features_in_", "n_clusters_", "_has_views", *WeightVectorClusterer._stored, *self.get_params()}
        alone.__dict__.clear()
        alone.__dict__.update({name: value for name, value in vars(self).items() if name in kept})
        return alone.set_params(callback=None)

    def _scores(self, X: Any) -> np.ndarray[Any, Any]:
        return self._map_scores(X, lambda scores: scores)

    def decision_function(self, X: Any) -> np.ndarray[Any, Any]:
        """Score of every row for every cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters), or (n_samples,) for two clusters
            For two clusters the lead of cluster 1 over cluster 0; its sign is the cluster, its size the margin.
        """
        return self._decision(self._scores(X))

    def _labels_and_scores(self, X: Any) -> tuple[Any, Any]:
        scores = self._scores(X)
        return self._to_numbers(largest(scores)), self._decision(scores)

    @shared_docs
    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Cluster with the largest score, for each row.

        Parameters
        ----------
        <rows to assign>

        Returns
        -------
        ndarray of shape (n_samples,), dtype int32
        """
        return self._to_numbers(self._map_scores(X, largest))


def _check_scores(scores: Floats) -> Floats:
    if not np.isfinite(scores).all():
        raise InvalidDataError(
            "X contains NaN, infinity, or values too large for its dtype; impute, drop or rescale them."
        )
    return scores
