"""
A few labels go a long way
==========================

You may know the labels of a few rows. ``fit(X, known=...)`` keeps these labels and uses them to guide the rest. Here:
handwritten digits with 0 to 20 known labels per class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from widegap import MaxMarginClustering
from widegap.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)


def some_labels(n_each, seed):
    known = np.full(len(y), -1)
    rng = np.random.default_rng(seed)
    for digit in range(10):
        chosen = rng.choice(np.flatnonzero(y == digit), n_each, replace=False)
        known[chosen] = digit
    return known


# %%
# ``refit`` uses the labels without a new search. ``classes_`` gives the label of each cluster, so the other rows can be
# compared with their true labels directly.

model = MaxMarginClustering(10, random_state=0).fit(X)
budgets = (1, 5, 20)
scores = []
for n_each in budgets:
    found = []
    for seed in range(4):
        known = some_labels(n_each, seed)
        better = model.refit(known=known)
        named = np.array(better.classes_)[better.labels_]
        found.append(np.mean(named[known == -1] == y[known == -1]))
    scores.append(found)

figure, ax = plt.subplots(figsize=(5, 3.2))
ax.axhline(100 * clustering_accuracy(y, model.labels_), color="0.6", ls="--", label="no labels")
ax.plot(budgets, 100 * np.mean(scores, axis=1), "o-", label="mean of four draws")
for n_each, found in zip(budgets, scores, strict=True):
    ax.plot([n_each] * len(found), 100 * np.array(found), ".", color="0.6")
ax.set_xlabel("known labels per class")
ax.set_ylabel("accuracy on the other rows, %")
ax.legend()
plt.tight_layout()
plt.show()
