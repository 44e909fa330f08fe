"""
Why the hinge gets stuck and regression does not
================================================

Fit a machine to the labels, use its predictions as new labels, repeat: this is the simplest idea for clustering by
margins. With the hinge of a support vector machine it hardly moves from its start; with a regression loss it does. All
three methods here start from the same poor guess, a line at 60 degrees to the true boundary.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widegap import IterLSSVM, IterSVM, IterSVR
from widegap.metrics import clustering_accuracy

X, y = make_blobs(400, centers=[[-2, 0], [2, 0]], cluster_std=[[0.6, 2.0], [0.6, 2.0]], random_state=0)
angle = np.deg2rad(60)
guess = (X @ [np.cos(angle), np.sin(angle)] > 0).astype(int)
print(f"the guess is right for {100 * clustering_accuracy(y, guess):.0f} % of the rows")

# %%
# Above: the result of each method, with its boundary. Below: how far beyond the boundary the rows are after the first
# fit, in units of the margin, and the loss of a row there. Flipping a row far beyond 1 is expensive for the hinge; the
# other two losses keep all rows near 1, where flips are cheap.

methods = {
    "IterSVM: hinge": (IterSVM(C=10, kernel="linear", init=guess), lambda t: np.maximum(0, 1 - t)),
    "IterSVR: absolute": (IterSVR(C=10, kernel="linear", init=guess), lambda t: np.maximum(0, np.abs(t - 1) - 0.05)),
    "IterLSSVM: square": (IterLSSVM(C=10, kernel="linear", init=guess), lambda t: np.square(t - 1) / 2),
}
grid = np.stack(np.meshgrid(np.linspace(-4.5, 4.5, 100), np.linspace(-7, 7, 100)), axis=-1)
t = np.linspace(-2, 20, 400)
figure, axes = plt.subplots(2, 3, figsize=(11, 6), sharex="row", sharey="row")
for (above, below), (name, (model, loss)) in zip(axes.T, methods.items(), strict=True):
    model.fit(X)
    right = 100 * clustering_accuracy(y, model.labels_)
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    above.scatter(*X.T, c=model.labels_, s=8, cmap="coolwarm")
    above.contour(grid[..., 0], grid[..., 1], scores, [0], colors="k")
    above.set_title(f"{name}\n{right:.0f} % right after {model.n_iter_} iterations", fontsize=10)
    first = model.history_[0]
    density = np.array(first.margin_counts) / np.diff(first.margin_edges)
    below.stairs(density / density.max(), first.margin_edges, fill=True, label="rows")
    below.plot(t, loss(t), "C3", label="loss of a row")
    flips = [str(turn.flips) for turn in model.history_]
    below.set_title(f"flips in each iteration: {', '.join(flips)}", fontsize=8)
    below.set_xlabel("label times score, first iteration")
axes[1, 0].set_xlim(-2, 20)
axes[1, 0].set_ylim(0, 3)
axes[1, 0].legend()
plt.tight_layout()
plt.show()
