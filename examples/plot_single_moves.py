"""
Exact moves where the alternation gets stuck
============================================

With the square loss you can alternate between fitting and relabelling (``IterLSSVM``), or move one row at a time by the
exact change of the objective (``search="moves"``). Here both start from the same labels, a quarter of them wrong, and
use the same Gaussian kernel. The narrower the kernel, the more a row's score depends on its own label, and the less the
alternation changes it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from widegap import IterLSSVM, MaxMarginClustering
from widegap.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, (3, 8))
X, y = X[chosen], (y[chosen] == 8).astype(int)
guess = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 1 - y, y)
median = np.median(pairwise_distances(X))

# %%
# Both methods over a range of kernel widths. Warnings of IterLSSVM about the size bound are silenced.

widths = np.array([0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0])
right = {"alternation (IterLSSVM)": [], 'moves (search="moves")': []}
for width in widths * median:
    settings = {"kernel": "rbf", "gamma": 1 / width**2, "init": guess, "random_state": 0}
    turns = IterLSSVM(2, C=10, min_cluster_fraction=0.8, **settings)
    moves = MaxMarginClustering(2, C=10, search="moves", smoothing=0, n_components=len(X), **settings)
    for found, model in zip(right.values(), (turns, moves), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(100 * clustering_accuracy(y, model.fit_predict(X)))

figure, ax = plt.subplots(figsize=(7, 3.4))
for (name, found), marker in zip(right.items(), "os", strict=True):
    ax.semilogx(widths, found, f"{marker}-", label=name)
ax.axhline(100 * clustering_accuracy(y, guess), color="0.5", ls="--", lw=1, label="the start")
ax.set_xticks(widths, [f"{width:g}" for width in widths])
ax.minorticks_off()
ax.set_xlabel("width of the kernel, in median distances")
ax.set_ylabel("accuracy, %")
ax.legend()
plt.tight_layout()
plt.show()
