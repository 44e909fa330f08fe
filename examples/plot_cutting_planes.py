"""
A loss, and the planes below it
===============================

CPM3C, M2DCU and MKC replace the mean loss of all rows by a few planes that touch it from below, and solve the small
problem with these planes in place of the loss. With a single column the weights are one number, so everything can be
drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from widegap import CPM3C
from widegap.constraints._label_rules import size_rules
from widegap.cutting_plane._cuts import add_all
from widegap.cutting_plane._cutting_plane import empty_cuts, envelope, solve_master
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._problem import Problem
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

# %%
# Sixty rows of one column, with fixed labels. The two weights are opposite, W = (-w, w), so F is a function of one
# number w: a parabola (the regulariser) plus the mean hinge, which is convex and piecewise linear.

rng = np.random.default_rng(0)
x = np.concatenate([rng.normal(-1, 1.0, 30), rng.normal(1, 1.0, 30)])[:, None]
labels = np.repeat([0, 1], 30).astype(np.int32)
loss = HingeLoss(CentredRows(row_blocks(x)), 2, loss="max")
rules = size_rules(loss.rows.blocks, np.zeros(2, int), np.full(2, 60))
problem = Problem(loss, 60, 2, 1, 0.1, rules)
NO_BIAS = np.zeros(2)


def weights(w):
    return np.array([[-w], [w]])


def risk(w):
    return problem.objective(weights(w), problem.planes(weights(w), NO_BIAS, labels))


# %%
# Each iteration adds the plane that touches the loss at the current weights and moves to the lowest point of the planes
# found so far. That point is a lower bound of F; F at the new weights is an upper bound.

cuts, w, upper = empty_cuts(problem), 0.0, np.inf
grid = np.linspace(-0.3, 2.5, 200)
curve = [risk(v) for v in grid]
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), sharex=True, sharey=True)
for ax in axes:
    upper = min(upper, risk(w))
    add_all(cuts, problem.planes(weights(w), NO_BIAS, labels))
    below = [envelope(cuts, weights(v), NO_BIAS, problem) for v in grid]
    ax.plot(grid, curve, "k", lw=2, label="F")
    ax.plot(grid, below, "C0", label="envelope of the planes")
    ax.plot(w, risk(w), "ko", ms=5)
    master = solve_master(cuts, problem.beta, problem.caps, 0.0)
    w = float(master.W[1, 0])
    ax.plot(w, master.lower_bound, "C0v", ms=7, label="lowest point: the next w")
    ax.set_title(f"planes: {len(cuts)}\nminimum between {master.lower_bound:.3f} and {upper:.3f}", fontsize=9)
    ax.set_xlabel("w")
axes[0].set_ylim(0, 1.25)
axes[0].legend(fontsize=8, loc="upper right")
plt.tight_layout()
plt.show()

# %%
# The same with 64 columns, unknown labels and the default order for two clusters: the gap between the two bounds over
# the iterations, one line per start. The peaks are relabellings, after which the planes belong to other labels.

X, y = load_digits(return_X_y=True)
model = CPM3C(2, annealing=False, random_state=0).fit(X[np.isin(y, (3, 8))])
figure, ax = plt.subplots(figsize=(7, 3))
for start in sorted({record.start for record in model.history_}):
    records = [record for record in model.history_ if record.start == start]
    ax.semilogy([max(record.gap / record.objective, 1e-6) for record in records], ".-", label=f"start {start}")
ax.axhline(model.tol, color="0.5", ls="--", lw=1)
ax.set_xlabel("iteration")
ax.set_ylabel("gap, relative to F")
ax.legend(fontsize=8)
plt.tight_layout()
plt.show()
print(f"{len(model.history_)} iterations and {model.history_[-1].passes} passes over the data for all starts")
