"""
How sure is a cluster?
======================

``MaxMarginClustering`` finds its clusters in a dozen slightly different ways and keeps what these agree on.
``agreement_`` measures for every row how much they agree. It is lower for rows between two clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering

X, _ = make_blobs(900, centers=[[0, 0], [3.2, 0], [9, 0]], cluster_std=1.0, random_state=0)
model = MaxMarginClustering(3, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
left.scatter(*X.T, s=8, c=[f"C{label}" for label in model.labels_])
left.set_title("clusters")
shown = right.scatter(*X.T, s=8, c=model.agreement_, cmap="viridis")
right.set_title("agreement")
figure.colorbar(shown, ax=right)
plt.show()

for cluster in range(3):
    rows = model.labels_ == cluster
    print(f"cluster {cluster}: {rows.sum()} rows, agreement {np.mean(model.agreement_[rows]):.2f}")
