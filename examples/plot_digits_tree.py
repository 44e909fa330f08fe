"""
Every number of clusters from one fit
=====================================

``MaxMarginClustering`` first finds many small groups and then merges those that no margin separates. The merges form a
tree, so one fit gives every number of clusters. Here the rows are handwritten digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import load_digits

from widegap import MaxMarginClustering
from widegap.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
model = MaxMarginClustering(10, search="merge", random_state=0).fit(X)
print(f"accuracy with 10 clusters: {100 * clustering_accuracy(y, model.labels_):.0f} %")

# %%
# ``cut`` gives the labels for another number without a new fit. The mean image of every cluster shows what was merged.

figure, axes = plt.subplots(4, 12, figsize=(10, 3.6))
for row, k in zip(axes, (3, 6, 10, 12), strict=True):
    labels = model.cut(k)
    for ax in row:
        ax.axis("off")
    for ax, cluster in zip(row, range(k), strict=False):
        ax.imshow(X[labels == cluster].mean(axis=0).reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{np.sum(labels == cluster)}", fontsize=8)
    row[0].text(-0.6, 0.5, f"k = {k}", transform=row[0].transAxes, ha="right", va="center")
plt.tight_layout()
plt.show()

# %%
# ``to_linkage`` returns SciPy's format, so SciPy's dendrograms work.

figure, ax = plt.subplots(figsize=(10, 3))
dendrogram(model.tree_.to_linkage(), ax=ax, no_labels=True, color_threshold=0)
ax.set_ylabel("margin between the merged groups")
plt.tight_layout()
plt.show()
