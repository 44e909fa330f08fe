"""Fits of a workspace: a model on the rows, its clusters at every number that it can be cut at, and who they are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from widegap import describe
from widegap._types import Floats, Ints, Mask
from widegap.base._numbered_clusters import numbers_of, places_of
from widegap.corrections._stored_log import rows_of_fit
from widegap.explorer._identity import KEY_SPAN, MOST_EARLIER, CutKeys, NewKeys, WholeNumbers, matched_keys, with_keys

if TYPE_CHECKING:
    from widegap.forest._kept_search import KeptSearch

# Rows of each cluster that keep their cluster in a fit with known labels, so that keys stay with their clusters; not
# tuned: a few more hold rows back that should follow the corrections.
TYPICAL = 20
SURE_STEPS = 255  # between not sure at all and sure, at numbers other than the fit's own: more nobody sees


_Value = TypeVar("_Value", bound=np.number[Any])


class PageModel(Protocol):
    """What the page asks of an estimator; methods beyond scikit-learn's are asked for by name first."""

    def get_params(self, deep: bool = True) -> dict[str, object]: ...

    def set_params(self, **parameters: object) -> "PageModel": ...

    def fit(self, X: object, **arguments: object) -> "PageModel": ...

    def refit(self, **arguments: object) -> "PageModel": ...

    def with_clusters(self, k: int) -> "PageModel": ...

    def top_terms(self, n: int) -> dict[int, list[str]]: ...


class ShownFit:
    """A fitted model on the rows of a workspace.

    Attributes
    ----------
    model : estimator
        The model, which is not changed.
    own : int
        Its number of clusters.
    classes : ndarray of shape (own,)
        What the model itself calls its clusters.
    active : ndarray of bool of shape (n,) or None
        Which rows were fitted, None for all: junk rows of tables are left out, and X are the rows that remain.
    generation : int
        How many fits there were before it: each has new keys of its own.
    earlier : tuple of ndarray of shape (n,)
        Keys of the rows in partitions before this fit, the latest first.
    """

    def __init__(
        self,
        model: PageModel,
        X: object,
        *,
        active: Mask | None = None,
        before: "Before | None" = None,
        fixed: dict[int, int] | None = None,
    ):
        self.model, self.active = model, active
        self.generation = 0 if before is None else before.generation
        self.earlier = () if before is None else before.earlier
        found = np.asarray(describe.labels(model, X))
        self.classes = numbers_of(model, found)
        self.own = len(self.classes)
        self._cuts = {self.own: self._spread(places_of(self.classes, found), -1)}
        self._models = {self.own: model}
        sure = _sure(model, X)
        self._sure = None if sure is None else self._spread(sure, 0.0)
        self._bytes: dict[int, npt.NDArray[np.uint8]] = {}  # the same at other numbers, one byte per row
        # Least keys are left for the clusters of the first fit and for those that corrections make.
        start = KEY_SPAN * (self.generation + 1)
        if before is None:
            keys = self.classes.astype(np.int64)
        else:
            keys = matched_keys(
                before.keys, self._cuts[self.own], self.own, fixed, new_keys=NewKeys(start, self.earlier)
            )
        own = with_keys(keys, self._cuts[self.own]).astype(np.int32)
        self._keys = CutKeys(self.cut, self.own, keys, NewKeys(start, (own, *self.earlier)))

    @property
    def numbers(self) -> range:
        """Numbers of clusters that need no new fit."""
        model: Any = self.model
        kept: KeptSearch | None = getattr(model, "_kept", None)
        if kept is None or self.own not in range(1, kept.forest.most_clusters + 1):
            return range(self.own, self.own + 1)
        if kept.n_own not in (None, len(model.labels_)):  # an update that searched a sample of its rows
            return range(self.own, self.own + 1)
        # Every label that is known needs a cluster.
        least = min(self.own, max(2, kept.constraints.fewest_clusters))
        found: range = model._with_room(range(least, kept.forest.most_clusters + 1))
        return found

    def cut(self, k: int) -> WholeNumbers:
        """Clusters of all rows at k, numbered from 0; -1 for rows in none."""
        if k not in self._cuts:
            self._recut(k)
        return self._cuts[k]

    def _recut(self, k: int) -> None:
        """Find clusters and how sure they are in one cut of the search, which takes nearly all of the time."""
        model: Any = self.model
        kept: KeptSearch = model._kept.at(k)
        labels = np.asarray(kept.label_all(model.labels_, model._size_bounds))
        sure = kept.own(np.asarray(kept.agreement_of_all(labels, has_outliers=bool(model.outliers))))
        labels = kept.own(labels)  # without rows that an updated model remembers
        self._bytes[k] = self._spread(np.rint(SURE_STEPS * sure).astype(np.uint8), 0)
        self._cuts[k] = self._spread(labels.astype(np.int8 if k < 128 else np.int32), -1)

    def _spread(self, values: npt.NDArray[_Value], fill: float) -> npt.NDArray[_Value]:
        """Values of the rows that were fitted as values of all rows."""
        if self.active is None:
            return values
        found = np.full(len(self.active), fill, values.dtype)
        found[self.active] = values
        return found

    def sure_at(self, k: int) -> Floats | None:
        """How sure the cluster of each row at k is, where the model measures it."""
        if k == self.own or self._sure is None:
            return self._sure
        self.cut(k)
        return self._bytes[k].astype(np.float32) / SURE_STEPS

    def keys(self, k: int) -> Ints:
        """Key of each cluster at k."""
        return self._keys.at(k)

    def classes_at(self, k: int) -> WholeNumbers:
        """What the model for k calls its clusters: the numbers that people see, and that files hold."""
        if k == self.own:
            return self.classes
        # An updated model may number them with gaps.
        return np.arange(k) if getattr(self.model, "_numbers", None) is None else numbers_of(self.model_at(k), -1)

    def before_next(self, k: int) -> "Before":
        """What the next fit has to know of this one, which was shown at k."""
        shown, own = (self.row_keys(number).astype(np.int32) for number in (k, self.own))
        earlier = (shown, *(() if k == self.own else (own,)), *self.earlier)
        return Before(shown, earlier[:MOST_EARLIER], self.generation + 1)

    def row_keys(self, k: int) -> WholeNumbers:
        """Key of the cluster of each row at k, -1 for rows in none."""
        return with_keys(self.keys(k), self.cut(k))

    def anchors(self, k: int) -> dict[int, int]:
        """Typical rows of every cluster at k, and their keys."""
        of_rows = self.row_keys(k)
        rows = {int(key): typical(np.flatnonzero(of_rows == key), self.sure_at(k)) for key in self.keys(k)}
        return {row: key for key, chosen in rows.items() for row in chosen}

    def model_at(self, k: int) -> PageModel:
        """The model for k clusters, which predicts new rows."""
        if k not in self._models:
            self._models[k] = self.model.with_clusters(k)
        return self._models[k]

    def labels_at(self, k: int) -> WholeNumbers:
        """Clusters of all rows as the model for k numbers them."""
        return with_keys(self.classes_at(k), self.cut(k))


@dataclass(frozen=True)
class Before:
    """Keys of the rows before a fit, in partitions before that, and how many fits there were."""

    keys: WholeNumbers
    earlier: tuple[WholeNumbers, ...]
    generation: int


class NotFitted:
    """Rows before their first fit: one group, and the estimator that will cluster them."""

    active = None
    own = 1
    numbers = range(1, 2)
    classes = np.zeros(1, np.int64)

    def __init__(self, model: PageModel, n_rows: int):
        self.model, self._labels = model, np.zeros(n_rows, np.int8)

    def cut(self, k: int) -> WholeNumbers:
        return self._labels

    row_keys = labels_at = cut

    def sure_at(self, k: int) -> None:
        return None

    def keys(self, k: int) -> Ints:
        return self.classes

    def classes_at(self, k: int) -> WholeNumbers:
        return self.classes

    def model_at(self, k: int) -> PageModel:
        return self.model


def open_fit(model: PageModel, X: Any, n_rows: int, junk: set[int]) -> ShownFit | NotFitted:
    """The fit that a workspace begins with; ``junk`` may have been left out of it."""
    if not hasattr(model, "labels_") and not hasattr(model, "coef_"):
        return NotFitted(model, n_rows)
    active = rows_of_fit(model, X, junk)
    return ShownFit(model, X if active is None else X[active], active=active)


def typical(rows: WholeNumbers, sure: Floats | None) -> list[int]:
    """A few typical rows: of the surer half if that is known, evenly spaced."""
    if sure is not None:
        rows = np.sort(rows[np.argsort(-sure[rows], kind="stable")[: max(1, (len(rows) + 1) // 2)]])
    places = np.linspace(0, len(rows) - 1, min(TYPICAL, len(rows))).round().astype(int)
    return [int(row) for row in rows[places]]


def _sure(model: PageModel, X: object) -> Floats | None:
    """Agreement of the rows; a single member agrees with itself, and other rows than those of the fit have none."""
    agreement = getattr(model, "agreement_", None)
    if agreement is None or len(getattr(model, "history_", ())) < 2 or not describe.is_fitted_on(model, X):
        return None
    return np.asarray(agreement)
