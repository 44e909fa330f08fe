"""
Merging small groups, and what the members agree on
===================================================

The default search of ``MaxMarginClustering`` does not look for k clusters at once. It finds many small groups, which is
easy, and merges those that no margin separates. It does so in several ways; each of them is a *member*, and the members
vote. This example shows the steps of a fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from widegap import MaxMarginClustering

moons, _ = make_moons(600, noise=0.15, random_state=0)
blob, _ = make_blobs(150, centers=[[2.4, 1.2]], cluster_std=0.3, random_state=0)
X = np.vstack([moons, blob])
model = MaxMarginClustering(3, random_state=0).fit(X)
members = model._forest.pools["gaps"].members
print(f"{len(members)} members, such as {members[0].kind!r}")

# %%
# The small groups of one member; the share of edges between the two sides of each of the last merges, in the median of
# the members of a rule (small: they are far apart); and how much the members agree on every row.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8))
groups = members[0].groups
left.scatter(*X.T, s=8, c=np.random.default_rng(0).permutation(groups.max() + 1)[groups], cmap="nipy_spectral")
left.set_title(f"{groups.max() + 1} small groups")
numbers = np.arange(2, 13)
for color, rule in zip(("C0", "C1", "C2"), ("margin", "graph", "degree product"), strict=True):
    crossing = [1 - member.tree.margins[-(numbers - 1)] for member in members if member.rule == rule]
    middle.semilogy(numbers, np.maximum(np.median(crossing, axis=0), 1e-4), ".-", color=color, label=rule)
middle.axvspan(1.5, 3.5, color="0.9")
middle.set_xlabel("clusters before the merge")
middle.set_title("share of edges between the merged groups")
middle.legend()
shown = right.scatter(*X.T, s=8, c=model.agreement_, cmap="viridis", vmax=1)
right.set_title("agreement of the members")
figure.colorbar(shown, ax=right)
plt.tight_layout()
plt.show()

# %%
# The votes as a table: one line per member, one column per row of the data, in the order of the final clusters. Most
# members agree; the others are outvoted.

order = np.argsort(model.labels_, kind="stable")
table = np.array([member.labels(3) for member in members])
named = np.empty_like(table)
for line, labels in zip(named, table, strict=True):
    for cluster in range(3):
        line[labels == cluster] = np.bincount(model.labels_[labels == cluster], minlength=3).argmax()
figure, ax = plt.subplots(figsize=(10, 3))
ax.imshow(named[:, order], aspect="auto", interpolation="nearest", cmap="Set2")
ax.set_yticks(range(len(members)), [member.kind for member in members], fontsize=7)
ax.set_xlabel("rows, sorted by their final cluster")
plt.tight_layout()
plt.show()
