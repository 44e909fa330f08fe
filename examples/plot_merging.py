"""
Merging small groups, and what many runs agree on
=================================================

The default search of ``MaxMarginClustering`` does not look for k clusters at once. It finds many small groups, which is
easy, and merges those that no margin separates. It does so a dozen times, each time in a slightly different way, and
the runs vote. ``search="merge"`` is a single run; this example compares twelve of them with the default.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from widegap import MaxMarginClustering

moons, _ = make_moons(600, noise=0.1, random_state=0)
blob, _ = make_blobs(150, centers=[[2.4, 1.2]], cluster_std=0.3, random_state=0)
X = np.vstack([moons, blob])
model = MaxMarginClustering(3, random_state=0).fit(X)
runs = [MaxMarginClustering(3, search="merge", random_state=seed).fit(X) for seed in range(12)]
n_groups = len(runs[0].tree_.leaf_sizes)
print(f"{n_groups} small groups; the default compares {len(model.history_)} runs")

# %%
# The small groups of one run; how far apart the two sides of the last merges are in every run, as the share of edges
# between them; and how much the runs of the default agree on every row.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8))
colors = np.random.default_rng(0).permutation(n_groups)
left.scatter(*X.T, s=8, c=colors[runs[0].cut(n_groups)], cmap="nipy_spectral")
left.set_title(f"{n_groups} small groups")
numbers = np.arange(2, 13)
for run in runs:
    middle.semilogy(numbers, np.maximum(1 - run.tree_.margins[-(numbers - 1)], 1e-4), ".-", color="C0", alpha=0.4)
middle.axvspan(1.5, 3.5, color="0.9")
middle.set_xlabel("clusters before the merge")
middle.set_title("share of edges between the merged groups")
shown = right.scatter(*X.T, s=8, c=model.agreement_, cmap="viridis", vmax=1)
right.set_title("agreement of the runs")
figure.colorbar(shown, ax=right)
plt.tight_layout()
plt.show()

# %%
# The single runs as a table: one line per run, one column per row of the data, in the order of the clusters of the
# default, which is the last line. Most runs agree; the others are outvoted.

order = np.argsort(model.labels_, kind="stable")
table = np.array([run.labels_ for run in (*runs, model)])
named = np.empty_like(table)
for line, labels in zip(named, table, strict=True):
    for cluster in range(3):
        line[labels == cluster] = np.bincount(model.labels_[labels == cluster], minlength=3).argmax()
figure, ax = plt.subplots(figsize=(10, 3))
ax.imshow(named[:, order], aspect="auto", interpolation="nearest", cmap="Set2")
ax.set_yticks(range(len(table)), [*(f"run {seed}" for seed in range(len(runs))), "default"], fontsize=7)
ax.set_xlabel("rows, sorted by their cluster in the default")
plt.tight_layout()
plt.show()
