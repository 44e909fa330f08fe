"""
Control the explorer from a script
==================================

``widegap explore`` opens a page to correct a clustering. The page works on a workspace, and a script can do the same.
It needs ``pip install 'widegap[explore]'``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import widegap
from widegap import MaxMarginClustering

X, y = load_digits(return_X_y=True)
X, y = X[y < 5], y[y < 5]
workspace = widegap.explore(MaxMarginClustering(5, random_state=0).fit(X), X, title="Digits")
print("the page is at", workspace.address.split("/")[2].split(":")[0])  # the full address contains a secret token

# %%
# Mark rows that belong together and cluster again. Every action can be undone.

before = workspace.labels.copy()
ones = np.flatnonzero(y == 1)[:40:4]
workspace.act("together", {"rows": ones.tolist()})
workspace.again()
print(workspace.constraints)
print(f"{np.sum(before != workspace.labels)} rows moved")

# %%
# The result is available as labels and as a fitted model.

figure, axes = plt.subplots(1, 5, figsize=(7, 1.8))
for cluster, ax in enumerate(axes):
    rows = workspace.labels == cluster
    ax.imshow(X[rows].mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{rows.sum()} rows", fontsize=9)
    ax.axis("off")
plt.tight_layout()
plt.show()
workspace.close()
