"""
Explore and correct, in a notebook or from a script
===================================================

``widegap.explore`` shows a map of the rows, a slider for the number of clusters, and buttons to correct the result. In
a notebook it is a widget (``pip install 'widegap[notebook]'``); end the cell with ``page`` to show it. A script gets a
page of its own, with a server on this machine (``pip install 'widegap[explore]'``).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import widegap
from widegap import MaxMarginClustering

X, y = load_digits(return_X_y=True)
X, y = X[y < 5], y[y < 5]
page = widegap.explore(MaxMarginClustering(5, random_state=0).fit(X), X, title="Digits")

# %%
# ``page.model``, ``page.labels`` and ``page.selected`` follow what you do there. ``page.workspace`` does the same from
# Python: it marks rows that belong together, clusters again, and undoes every action.

before = page.labels.copy()
ones = np.flatnonzero(y == 1)[:40:4]
page.workspace.act("together", {"rows": ones.tolist()})
page.workspace.again()
print(page.workspace.constraints)
print(f"{np.sum(before != page.labels)} rows moved")

# %%
# The result is available as labels and as a fitted model.

figure, axes = plt.subplots(1, 5, figsize=(7, 1.8))
for cluster, ax in enumerate(axes):
    rows = page.labels == cluster
    ax.imshow(X[rows].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{rows.sum()} rows", fontsize=9)
    ax.axis("off")
plt.tight_layout()
plt.show()

# %%
# Rows that are selected on the map, with the lasso for instance, are rows of ``X``. Here the least certain ones are.

page.workspace.select(np.argsort(page.model.agreement_)[:5].tolist())
figure, axes = plt.subplots(1, 5, figsize=(7, 1.8))
for row, ax in zip(page.selected, axes, strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"cluster {page.labels[row]}", fontsize=9)
    ax.axis("off")
plt.tight_layout()
plt.show()
page.close()
