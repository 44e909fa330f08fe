"""
widegap and the clusterers of scikit-learn
==========================================

The toy sets of scikit-learn's own comparison, with default settings and the true number of clusters. Toy sets show what
a method can do, not how well it works on real data; for that, see the panel on the results page.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from widegap import CPM3C, MaxMarginClustering

n = 400
rng = np.random.default_rng(30)
blobs = make_blobs(n, random_state=8)[0]
stretched = make_blobs(n, random_state=170)[0] @ np.array([[0.6, -0.6], [-0.4, 0.8]])
sets = {
    "circles": (make_circles(n, factor=0.5, noise=0.05, random_state=30)[0], 2),
    "moons": (make_moons(n, noise=0.05, random_state=30)[0], 2),
    "unequal": (make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=170)[0], 3),
    "stretched": (stretched, 3),
    "blobs": (blobs, 3),
    "noise": (rng.random((n, 2)), 3),
}
methods = {
    "MaxMarginClustering": lambda k: MaxMarginClustering(k, random_state=0),
    "CPM3C": lambda k: CPM3C(k, random_state=0),
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
    "SpectralClustering": lambda k: SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    "GaussianMixture": lambda k: GaussianMixture(k, random_state=0),
    "HDBSCAN": lambda k: HDBSCAN(min_cluster_size=15, copy=True),
}

# %%
# On uniform noise, the last row, no answer is right. ``MaxMarginClustering`` gives a warning, which is silenced here
# like all others.

figure, axes = plt.subplots(len(sets), len(methods), figsize=(12, 11), subplot_kw={"xticks": [], "yticks": []})
colours = np.array([f"C{i}" for i in range(10)] + ["0.8"])
for i, (X, k) in enumerate(sets.values()):
    X = StandardScaler().fit_transform(X)
    for ax, (name, make) in zip(axes[i], methods.items(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(k).fit(X)  # the first fit of a process may compile its loops
            begin = time.perf_counter()
            labels = make(k).fit_predict(X)
            seconds = time.perf_counter() - begin
        ax.scatter(*X.T, s=4, c=colours[labels])
        ax.text(0.98, 0.02, f"{seconds:.2f} s", transform=ax.transAxes, ha="right", fontsize=8)
        if i == 0:
            ax.set_title(name, fontsize=10)
plt.tight_layout()
plt.show()
