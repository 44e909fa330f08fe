"""
Exact moves where turns freeze
==============================

With the square loss one can take turns of fitting and relabelling (``IterLSSVM``), or move one row at a time by what a
move really changes (``search="moves"``). Both begin here with the same labels, of which a quarter are wrong, and with
the same Gaussian kernel. The narrower the kernel, the more of every row's score comes from its own label, and the
more reluctant the turns are to change it.
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
# Both methods over a range of kernel widths. IterLSSVM would warn where its turns end at the bound on sizes.

widths = np.array([0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0])
right = {"turns (IterLSSVM)": [], 'moves (search="moves")': []}
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
ax.set_xlabel("width of the kernel, in medians of the distances")
ax.set_ylabel("rows that are right, %")
ax.legend()
plt.tight_layout()
plt.show()
