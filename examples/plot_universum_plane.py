"""
What a universum does
=====================

A *universum* is a set of rows that belong to none of the clusters. ``M2DCU`` finds boundaries that separate the rows
with a wide margin and run through the universum. In this picture four groups can be split in two ways, and the
universum decides between them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widegap import M2DCU

X, _ = make_blobs(400, centers=[[-2, -2], [2, -2], [-2, 2], [2, 2]], cluster_std=0.6, random_state=0)
rng = np.random.default_rng(0)
between_left_and_right = np.column_stack([rng.normal(0, 0.2, 60), rng.uniform(-3.5, 3.5, 60)])
between_top_and_bottom = between_left_and_right[:, ::-1]

# %%
# The same rows and the same settings; only the universum (crosses) differs.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
grid = np.stack(np.meshgrid(np.linspace(-4, 4, 100), np.linspace(-4, 4, 100)), axis=-1)
for ax, universum in zip(axes, (between_left_and_right, between_top_and_bottom), strict=True):
    model = M2DCU(2, C_universum=30.0, C=10.0, margin_tolerance=0.1, order="linearize_first", random_state=0)
    model.fit(X, universum=universum)
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.scatter(*X.T, c=model.labels_, s=8, cmap="coolwarm")
    ax.plot(*universum.T, "kx", ms=5)
    ax.contour(grid[..., 0], grid[..., 1], scores, [0], colors="k")
plt.tight_layout()
plt.show()
