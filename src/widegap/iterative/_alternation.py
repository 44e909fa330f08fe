"""Maximum margin clustering by turns: a regression on the labels, then the labels that suit it best.

    minimise  |w|^2 / 2 + C sum_i loss(w' phi_i + b, y_i)   over w, b and y in {-1, +1}^n,  low <= n_plus <= high

Zhang, Tsang and Kwok, "Maximum margin clustering made practical": with y fixed this is a support vector machine
(hinge), support vector regression (epsilon-insensitive) or a least squares machine (square loss, C/2); with w fixed b
and y come from ``_threshold.best_split``. Hinge labels hardly move because rows far beyond the margin cost nothing
until they flip; the symmetric losses keep all y_i f_i near 1, where flipping is cheap.

Features are centred, so that intercept and weights separate, and rotated to their principal axes P (n, r),
P'P = diag(lam), once for all label steps. Axes that together can change the objective by no more than about
``tail_tol`` C n are left out. The square loss then costs O(n r) a step: w = (lam + 1/C)^-1 P'y.

Labels lie in a finite set, so the alternation ends in a fixed point or a cycle. A cycle is possible because the label
step judges |f + b - y| and the regression forgives epsilon; it ends the search, at its member of least objective.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from widegap._types import Doubles
from widegap.iterative._svm import Machine, WarmStart
from widegap.iterative._threshold import Bounds, LabelCut, best_split, square_losses

TAIL_TOL = 1e-5  # not tuned: one of n labels changes the objective by about C, and this is C n / 100,000
FREEDOM = (10, 18, 28, 40, 63)  # degrees of freedom of the least-squares machines in a relaxed search
MOST_FREEDOM = 1 / 6  # of the number of rows: with more the machine follows any labels
LEAST_RIDGE = 2.5e-4  # of the total scatter: with less it follows axes that rounding can change
RELAXED_TURNS = 50  # of one least-squares search; it settles in fewer, and a longer one only chooses a start
MARGIN_BINS = 40  # of the histogram in a record. Not tuned: enough to see two humps and the gap between them


@dataclass(frozen=True)
class Axes:
    """Principal axes of centred features: ``P = (Phi - mean) @ rotation``, with ``P'P = diag(lam)``."""

    P: Doubles
    lam: Doubles
    rotation: Doubles
    mean: Doubles

    def coef(self, w: Doubles) -> Doubles:
        """Weights for the features as they came."""
        return self.rotation @ w


def needed_axes(lam: Doubles, n: int, C: float, tail_tol: float = TAIL_TOL) -> npt.NDArray[np.bool_]:
    """Which axes to keep: of descending ``lam`` all but those that together hardly change the objective."""
    tail = np.cumsum(lam[::-1])[::-1]
    return tail * C > tail_tol * min(n, C * lam.sum())


def solve_least_squares(axes: Axes, y: Doubles, C: float) -> Machine:
    """Minimise |w|^2 / 2 + C/2 sum (f + b - y)^2."""
    w = (axes.P.T @ y) / (axes.lam + 1 / C)
    f, b = axes.P @ w, float(y.mean())
    residual = f + b - y
    return Machine(w, b, f, float(w @ w + C * (residual @ residual)) / 2, 0.0, 1)


@dataclass(frozen=True)
class Step:
    """One turn: the machine of the current labels, and the labels it leads to."""

    iteration: int
    machine: Machine
    split: LabelCut
    flips: int
    margin_counts: tuple[int, ...]
    margin_edges: tuple[float, ...]


@dataclass(frozen=True)
class Alternation:
    """How the turns ended: the step that is kept, and why there was no further one."""

    step: Step
    n_iter: int
    converged: bool
    cycled: bool


def alternate(
    fit: Callable[[Doubles, WarmStart | None], Machine],
    relabel: Callable[[Doubles], LabelCut],
    y: Doubles,
    *,
    max_iter: int,
    record: Callable[[Step], bool],
) -> Alternation:
    """Turns from the labels y until they stay, repeat, ``record`` returns True or ``max_iter`` turns are done.

    ``fit`` may start from the machine of the turn before. Labelings seen so far are kept as n bits each. Of a cycle the
    labeling with the least objective is fitted again.
    """
    warm: WarmStart | None = None
    seen: dict[bytes, int] = {}
    objectives: list[float] = []
    for iteration in range(max_iter):
        seen[_packed(y)] = iteration
        machine = fit(y, warm)
        objectives.append(machine.objective)
        split = relabel(machine.f)
        step = _step(iteration, machine, split, y)
        if record(step) or not step.flips:
            return Alternation(step, iteration + 1, converged=not step.flips, cycled=False)
        first = seen.get(_packed(split.y))
        if first is not None:
            best = first + int(np.argmin(objectives[first:]))
            if best < iteration:
                y = _unpacked(next(key for key, index in seen.items() if index == best), len(y))
                machine = fit(y, None)
                step = _step(best, machine, relabel(machine.f), y)
            return Alternation(step, iteration + 1, converged=False, cycled=True)
        y, warm = split.y, WarmStart(machine, step.flips / len(y))
    return Alternation(step, max_iter, converged=False, cycled=False)


def _step(iteration: int, machine: Machine, split: LabelCut, y: Doubles) -> Step:
    margins = y * (machine.f + machine.b)
    least, most = float(margins.min()), float(margins.max())
    most = max(most, least + 1e-6 * max(1.0, abs(least)))  # equal margins still fill a bin
    counts, edges = np.histogram(margins, MARGIN_BINS, (least, most))
    flips = int(np.count_nonzero(split.y != y))
    return Step(iteration, machine, split, flips, tuple(counts.tolist()), tuple(edges.tolist()))


def _packed(y: Doubles) -> bytes:
    return np.packbits(y > 0).tobytes()


def _unpacked(key: bytes, n: int) -> Doubles:
    return np.where(np.unpackbits(np.frombuffer(key, np.uint8), count=n), 1.0, -1.0)


def relaxed_search(axes: Axes, y: Doubles, bounds: Bounds) -> Alternation:
    """Turns of least squares from the labels y, at more and more degrees of freedom; the last turns.

    The degrees of freedom of a machine are sum lam / (lam + 1/C). With few of them a machine sees only the
    broad shape of the data, so that labels move far; with many it sees which labels a margin separates. Unlike C, they
    mean the same for every kernel and scale.
    """
    most = min(MOST_FREEDOM * len(y), _freedom(axes.lam, LEAST_RIDGE * axes.lam.sum()))
    for freedom in sorted({min(freedom, most) for freedom in FREEDOM}):
        found = _least_squares_turns(axes, y, _cost_of(freedom, axes.lam), bounds)
        y = found.step.split.y
    return found


def _least_squares_turns(axes: Axes, y: Doubles, C: float, bounds: Bounds) -> Alternation:
    return alternate(
        lambda y, warm: solve_least_squares(axes, y, C),
        lambda f: best_split(f, square_losses, bounds),
        y,
        max_iter=RELAXED_TURNS,
        record=lambda step: False,
    )


def _freedom(lam: Doubles, ridge: float) -> float:
    return float((lam / (lam + ridge)).sum())


def _cost_of(freedom: float, lam: Doubles) -> float:
    """The C at which a least-squares machine has ``freedom`` degrees of freedom, fewer than there are axes."""
    lowest, highest = 1e-16 / lam[0], 1e16 / lam[-1]
    for _ in range(100):
        C = float(np.sqrt(lowest * highest))
        if _freedom(lam, 1 / C) < freedom:
            lowest = C
        else:
            highest = C
    return C
