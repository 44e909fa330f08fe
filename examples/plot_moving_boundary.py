"""
A boundary that moves until its margin is wide
==============================================

Maximum margin clustering has no labels, so it starts with a guess. CPM3C then improves the labels and the boundary in
turn. Here it starts from a poor guess, a line across both groups, and stops after 1, 2, 4, ... iterations.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widegap import CPM3C

X, _ = make_blobs(300, centers=[[-2, 0], [2, 0]], cluster_std=[[0.6, 1.6], [0.6, 1.6]], random_state=0)
guess = (X[:, 1] + 0.8 * X[:, 0] > 0).astype(int)

# %%
# ``init`` takes your own labels. ``max_iter`` ends the search early; the warning about this is expected here.


def after(n_iterations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CPM3C(2, init=guess, max_iter=n_iterations, annealing=False, random_state=0).fit(X)


# %%
# On the solid line both clusters have the same score; the dashed lines are one margin away from it.

steps = (1, 2, 4, 30)
figure, axes = plt.subplots(1, len(steps), figsize=(12, 3.4), sharex=True, sharey=True)
grid = np.stack(np.meshgrid(np.linspace(-4, 4, 120), np.linspace(-5, 5, 120)), axis=-1)
for ax, n_iterations in zip(axes, steps, strict=True):
    model = after(n_iterations)
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.scatter(*X.T, c=model.labels_, s=8, cmap="coolwarm")
    ax.contour(grid[..., 0], grid[..., 1], scores, [-1, 0, 1], colors="k", linestyles=["--", "-", "--"])
    ax.set_title(f"{len(model.history_)} iterations, objective {model.objective_:.2f}", fontsize=9)
plt.tight_layout()
plt.show()
