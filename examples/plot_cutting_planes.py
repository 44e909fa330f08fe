"""
A loss, and the planes below it
===============================

CPM3C, M2DCU and MKC replace the mean loss of all rows by a few planes that touch it from below, and solve the small
problem with these planes in place of the loss. With a single column the weights are one number, so everything can be
drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits

from widegap import CPM3C

# %%
# Sixty rows of one column, with fixed labels. The two weights are opposite, W = (-w, w), so F is a function of one
# number w: a parabola (the regulariser) plus the mean hinge, which is convex and piecewise linear. A row leads by
# 2 y w x, with y = -1 or 1, and has the loss 1 - 2 y w x if that is above 0.

rng = np.random.default_rng(0)
x = np.concatenate([rng.normal(-1, 1.0, 30), rng.normal(1, 1.0, 30)])
y = np.repeat([-1, 1], 30)
slopes = -2 * y * (x - x.mean())
BETA = 0.1


def risk(w):
    return BETA * w**2 + np.maximum(1 + slopes * w, 0).mean()


def plane(w):
    """Height at 0 and slope of the line that touches the mean hinge at w: the sum over the rows with a loss there."""
    active = 1 + slopes * w > 0
    return active.mean(), (slopes * active).mean()


def envelope(w, planes):
    return BETA * w**2 + max(0.0, *(height + slope * w for height, slope in planes))


# %%
# Each iteration adds the plane that touches the loss at the current weights and moves to the lowest point of the planes
# found so far. That point is a lower bound of F; F at the new weights is an upper bound.

planes, w, upper = [], 0.0, np.inf
grid = np.linspace(-0.3, 2.5, 200)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), sharex=True, sharey=True)
for ax in axes:
    upper = min(upper, risk(w))
    planes.append(plane(w))
    ax.plot(grid, [risk(v) for v in grid], "k", lw=2, label="F")
    ax.plot(grid, [envelope(v, planes) for v in grid], "C0", label="envelope of the planes")
    ax.plot(w, risk(w), "ko", ms=5)
    lowest = minimize_scalar(envelope, bounds=(-10, 10), args=(planes,), method="bounded", options={"xatol": 1e-9})
    w = lowest.x
    ax.plot(w, lowest.fun, "C0v", ms=7, label="lowest point: the next w")
    ax.set_title(f"planes: {len(planes)}\nminimum between {lowest.fun:.3f} and {upper:.3f}", fontsize=9)
    ax.set_xlabel("w")
axes[0].set_ylim(0, 1.25)
axes[0].legend(fontsize=8, loc="upper right")
plt.tight_layout()
plt.show()

# %%
# The same with 64 columns, unknown labels and the default order for two clusters: the gap between the two bounds over
# the iterations, one line per start. The peaks are relabellings, after which the planes belong to other labels.

X, digits = load_digits(return_X_y=True)
model = CPM3C(2, annealing=False, random_state=0).fit(X[np.isin(digits, (3, 8))])
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
