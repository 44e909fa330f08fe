"""
Figures: how many clusters
==========================

``plot.numbers`` shows the strength of every number of clusters, and the number that ``"auto"`` chose.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering, plot

X = make_blobs(600, centers=5, cluster_std=0.7, random_state=3)[0]
model = MaxMarginClustering("auto", random_state=0).fit(X)
plot.numbers(model)
plt.show()
