"""
A few labels go a long way
==========================

People often know the labels of a handful of rows. ``fit(X, known=...)`` takes them, keeps them, and lets them guide the
rest. Here: handwritten digits with none to 20 known rows a class.
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
# ``refit`` takes the labels without a new search. ``classes_`` tells which cluster carries which label, so the rows
# that were not known can be compared with the truth directly.

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
ax.set_xlabel("known rows a class")
ax.set_ylabel("right among the others, %")
ax.legend()
plt.tight_layout()
plt.show()
