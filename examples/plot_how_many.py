"""
How many clusters?
==================

``n_clusters="auto"`` measures how clearly the groups of the tree are separated, compared with rows without structure.
The answer is 1 if there is no evidence of clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from widegap import MaxMarginClustering

rng = np.random.default_rng(0)
sets = {
    "five blobs": make_blobs(600, centers=5, cluster_std=0.7, random_state=3)[0],
    "two moons": make_moons(600, noise=0.06, random_state=0)[0],
    "one Gaussian": rng.normal(size=(600, 2)),
}

figure, axes = plt.subplots(2, 3, figsize=(11, 6))
for (above, below), (name, X) in zip(axes.T, sets.items(), strict=True):
    model = MaxMarginClustering("auto", random_state=0).fit(X)
    above.scatter(*X.T, s=6, c=[f"C{label % 10}" for label in model.labels_])
    above.set_title(f"{name}: {model.n_clusters_} found")
    print(f"{name}: {model.n_clusters_choice_.sentence()}")
    scores = model.n_clusters_scores_[:9]
    below.bar([score.n_clusters for score in scores], [score.strength for score in scores], color="0.6")
    below.axhline(1, color="C3", lw=1)
    below.set_xlabel("number of clusters")
axes[1, 0].set_ylabel("strength")
plt.tight_layout()
plt.show()

# %%
# A bar is the strength of a number: how clearly it stands out from the next smaller one that does. The largest number
# above the line is the answer.
