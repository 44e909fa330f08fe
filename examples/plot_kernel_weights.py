"""
Several kernels, one of them noise
==================================

``MKC`` learns a weight for each of several kernels. Here the same samples have two useful views and one of pure noise.
The weights measure how much margin a kernel gives; the noise gets little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from widegap import MKC
from widegap.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
chosen = np.isin(y, (0, 6, 8, 9))
X, y = X[chosen], y[chosen]
views = {
    "left half": X.reshape(-1, 8, 8)[:, :, :4].reshape(len(X), -1),
    "right half": X.reshape(-1, 8, 8)[:, :, 4:].reshape(len(X), -1),
    "noise": np.random.default_rng(0).normal(size=(len(X), 32)),
}

# %%
# A kernel has a name, a kind, and the view that it uses.

kernels = [(name, "linear", name) for name in views]
model = MKC(4, kernels=kernels, random_state=0).fit(views)
print(f"accuracy with all three views: {100 * clustering_accuracy(y, model.labels_):.0f} %")

figure, ax = plt.subplots(figsize=(5, 2.6))
ax.barh(list(views), model.kernel_weights_, color=["C0", "C1", "0.7"])
ax.set_xlabel("weight of the kernel")
plt.tight_layout()
plt.show()
