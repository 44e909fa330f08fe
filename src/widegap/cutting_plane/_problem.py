"""What is optimised: the maths of the master problem, and the pieces that problems and solvers hand to each other.

For scores ``s_i = W x_i + b`` (rows centred and rescaled, see ``rows/_centred.py``) and a few *losses* L_g,

    minimise   F(W, b) = beta/2 |W|^2 + sum_g cap_g L_g(W, b)     over W (k, d) and b (k,)
    subject to max_p m_p - min_p m_p <= balance,  m_p the mean score of cluster p.

With several kernels |W| is another norm, see ``cutting_plane/_norms.py``. Rows being centred, ``m_p = b_p``: the
papers' balance constraint is a box on the bias, ``t <= b_p <= t + balance`` for some t, and balance = 0 is the same as
no bias at all.

Each is, for fixed labels z, a mean over rows of convex functions of the scores, and known to the solver only through
*planes* that touch it from below:

    L(W, b) >= offset - <normal, W> - <bias, b>     for all W, b, with equality where the plane was taken.

========  ==========================================================================================
symbol    meaning
========  ==========================================================================================
n, d, k   rows, features, clusters
W, b      weights (k, d) and bias (k,) for centred, rescaled rows
z         labels at which the concave part is linearised; for fixed z every loss is convex
c         a cut: for each row what fixes a plane below its loss (``codes``), such as its active rivals
beta      weight of the regulariser, 1 / C in rescaled units
========  ==========================================================================================

A cut stays a valid plane for *any* labels and any beta: only its offset and normal depend on z, and they change
through the rows whose label changed alone. This is what lets cuts survive relabelling and annealing.

Nothing here is of length n but labels and codes, and these are states of the rows (``rows/_protocols.py``), which a
solver hands on without looking inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from widegap._types import Doubles, Floats, Ints
from widegap.base._records import Point
from widegap.constraints._label_rules import Rules
from widegap.cutting_plane._norms import Norm, Ridge
from widegap.rows._centred import CentredRows
from widegap.rows._protocols import State


@dataclass(frozen=True)
class Plane:
    """A plane below one loss, as a mean over rows; ``loss`` is the loss's value where the plane was taken.

    ``codes`` is what the loss needs to move the plane to other labels, one entry a row, or None if it has no labels.
    """

    loss: float
    offset: float
    normal: Floats
    bias: Floats
    codes: State | None


@dataclass(frozen=True)
class PlaneShift:
    """By how much planes move when labels change: offsets (m,), normals (m, k, d), biases (m, k)."""

    offset: Floats
    normal: Floats
    bias: Floats

    def __add__(self, other: "PlaneShift") -> "PlaneShift":
        return PlaneShift(self.offset + other.offset, self.normal + other.normal, self.bias + other.bias)

    def __iadd__(self, other: "PlaneShift") -> "PlaneShift":
        for own, more in zip(vars(self).values(), vars(other).values(), strict=True):
            own += more
        return self


@dataclass(frozen=True)
class LabelStep:
    """New labels at some weights, the planes of all losses there, and whether the count bound moved a row.

    ``flips`` rows have another label than before; None where that was not counted.
    """

    labels: State
    planes: list[Plane]
    bound_active: bool
    flips: int | None


class Loss(Protocol):
    """One summand of the objective with its own slack in the master."""

    cap: float

    def plane(self, W: Floats, b: Floats, labels: State) -> Plane:
        """The plane that touches the loss at (W, b) for fixed labels: one read of its rows."""


class LabelledLoss(Loss, Protocol):
    """The loss whose labels are the clustering itself. ``_score_loss.py`` makes one of three functions."""

    rows: CentredRows

    def shift(self, codes: Sequence[State], old: State, new: State) -> PlaneShift | None:
        """How planes with these codes move under new labels; touches the moved rows only. None if there are none."""

    def best_labels(self, W: Floats, b: Floats, held: State | None = None) -> tuple[State, Plane]:
        """The labels of least loss at (W, b), but for those that are held, and the plane there: one read.

        ``held`` is -1 where a label is free; bounds on sizes and links are not regarded.
        """

    def label_costs(self, W: Floats, b: Floats) -> State:
        """Loss of every row under every label, shape (n, k): one read."""


@dataclass
class Problem:
    """Losses with their caps, the balance of mean scores, and the rules for labels.

    ``target`` carries the labels; ``extra_losses`` are those over rows of their own (a universum). ``rules`` bound
    cluster sizes, hold labels and link rows, and solve the label step where these decide.
    """

    target: LabelledLoss
    n_rows: int
    n_clusters: int
    n_features: int
    beta: float
    rules: Rules
    balance: float = 0.0
    extra_losses: Sequence[Loss] = ()
    norm: Norm = Ridge()

    @property
    def losses(self) -> list[Loss]:
        return [self.target, *self.extra_losses]

    @property
    def caps(self) -> Doubles:
        return np.array([loss.cap for loss in self.losses])

    def planes(self, W: Floats, b: Floats, labels: State) -> list[Plane]:
        """One plane a loss at (W, b), labels held fixed."""
        return [loss.plane(W, b, labels) for loss in self.losses]

    def relabel(self, W: Floats, b: Floats, warm_start: State | None = None) -> LabelStep:
        """Labels of least loss at (W, b) among those that keep the rules, and the planes there.

        One read of the data where every row is free or held, three where bounds decide, two where rows are linked.
        Then the labels cost no more than those of ``warm_start``, if these keep the rules.
        """
        labels, bound_active, flips, allowed = None, False, None, False
        if not self.rules.linked:
            labels, plane = self.target.best_labels(W, b, self.rules.held)
            counts, flips = self.target.rows.label_counts_and_flips(labels, warm_start, self.n_clusters)
            allowed = self.rules.allow(counts)
        if labels is None or not allowed:
            found = self.rules.label(self._label_costs(W, b), warm_start)
            labels, bound_active, flips = found.labels, found.bound_active, None
            plane = self.target.plane(W, b, labels)
        planes = [plane, *(loss.plane(W, b, labels) for loss in self.extra_losses)]
        return LabelStep(labels, planes, bound_active, flips)

    def _label_costs(self, W: Floats, b: Floats) -> State:
        """Weighted loss of every row under every label."""
        costs, weights = self.target.label_costs(W, b), self.target.rows.weights
        if weights is None:
            return costs
        return self.target.rows.blocks.fold(lambda c, w: ((c * w[:, None],), 0), costs, weights)[0][0]

    def admits(self, labels: State) -> bool:
        """Whether labels keep all rules."""
        return self.rules.allow(self.label_counts(labels)) and self.rules.keeps(labels)

    def starved(self, point: Point) -> bool:
        """Whether a bound decides labels of a point, or a cluster is as small as it may get."""
        return bool(point.bound_active or self.rules.at_minimum(self.label_counts(point.labels)))

    def target_shift(self, codes: Sequence[State], old: State, new: State) -> PlaneShift:
        """How the target's planes with these codes move when labels go from old to new."""
        shift = self.target.shift(codes, old, new) if codes else None
        if shift is not None:
            return shift
        m, k = len(codes), self.n_clusters
        return PlaneShift(np.zeros(m), np.zeros((m, k, self.n_features)), np.zeros((m, k)))

    def label_counts(self, labels: State) -> Ints:
        """Number of rows of each cluster."""
        return self.target.rows.label_counts(labels, self.n_clusters)

    def count_flips(self, old: State, new: State) -> int:
        """In how many rows two labelings differ."""
        return self.target.rows.count_flips(old, new)

    def objective(self, W: Floats, planes: Sequence[Plane]) -> float:
        """F at the weights where the planes were taken."""
        total = sum(loss.cap * plane.loss for loss, plane in zip(self.losses, planes, strict=True))
        return float(self.beta / 2 * self.norm.value(W) + total)

    def weights_of(self, labels: State) -> Doubles:
        """Weights that start the search from labels: the cluster means, scaled to a mean margin of about one.

        W = 0 would be a fixed point (all scores tie); the means are the direction in which the labels pull.
        """
        k, rows = self.n_clusters, self.target.rows
        sums = np.asarray(rows.class_sums(labels, k) / rows.total, np.float64)
        shares = rows.label_weights(labels, k) / rows.total
        means = np.divide(sums, shares[:, None], out=np.zeros_like(sums), where=shares[:, None] > 0)
        between = float(np.vdot(sums, means))
        # Rows have variance 1 in all: below this the means differ by rounding only, and scaling would blow that up.
        return means * ((k - 1) / (k * between)) if between > 1e-12 else np.zeros_like(means)
