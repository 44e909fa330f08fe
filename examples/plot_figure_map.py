"""
Figures: the map of the clusters
================================

``plot.map`` draws rows near the rows that they are most like, in the colours of their clusters. Reports and the
explorer have the same map.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from widegap import MaxMarginClustering, plot

X = load_iris(as_frame=True).data
model = MaxMarginClustering(3, random_state=0).fit(X)
plot.map(model, X)
plt.show()

# %%
# Every figure takes Axes, so that several fit side by side, and names of your own.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plot.map(model, X, names={1: "setosa"}, ax=left)
plot.map(model.with_clusters(2), X, ax=right)
plt.show()
