"""
Bounds on sizes, and outliers
=============================

Sometimes groups must have certain sizes, such as teams of 40 to 60. And some rows belong to no group.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering

X, _ = make_blobs([200, 60, 40], centers=[[0, 0], [6, 0], [3, 5]], cluster_std=0.9, random_state=0)
noise = np.random.default_rng(0).uniform([-5, -5], [11, 10], (25, 2))
rows = np.concatenate([X, noise])

settings = {
    "as it comes": {},
    "80 to 120 rows each": {"size_min": 80, "size_max": 120},
    "outliers removed": {"outliers": "auto"},
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharex=True, sharey=True)
for ax, (name, given) in zip(axes, settings.items(), strict=True):
    model = MaxMarginClustering(3, random_state=0, **given).fit(rows)
    aside = model.labels_ == -1
    ax.scatter(*rows[~aside].T, s=8, c=[f"C{label}" for label in model.labels_[~aside]])
    ax.scatter(*rows[aside].T, s=16, facecolors="none", edgecolors="0.4")
    sizes = np.bincount(model.labels_[~aside])
    ax.set_title(f"{name}: " + ", ".join(map(str, sizes)))
plt.tight_layout()
plt.show()
