"""
Labels as a matrix: the convex relaxation
=========================================

``MMC`` and ``GMMC`` do not search among labels. They replace the matrix of all products of two labels, which has rank
one, by any positive semidefinite matrix. This makes the problem convex, so its optimum is global and needs no
start. The closer the matrix is to rank one, the less the relaxation loses.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from widegap import GMMC, MMC
from widegap.features._kernel_maps import centre_kernel
from widegap.features._kernels import kernel_matrix, median_gamma
from widegap.sdp._gmmc_relaxation import score_norm, solve_gmmc
from widegap.sdp._mmc_relaxation import solve_mmc

# %%
# Both programs use the kernel as the estimators do: centred, with a mean diagonal of one.


def solve(X):
    K = centre_kernel(kernel_matrix(X, X, "rbf", {"gamma": median_gamma(X)}))
    K /= K.trace() / len(K)
    mmc = solve_mmc(K, 1.0, limit=0.06 * len(X), tol=1e-4, max_iter=10_000)
    return mmc, solve_gmmc(score_norm(K, C_e=1.0, ridge=1e-3), 100.0, tol=1e-6, max_iter=100)


# %%
# Two data sets of 30 rows. The rows of the matrices are sorted by the leading eigenvector: certain labels form four
# blocks of two colours. The eigenvalues, as shares of their sum, show how far the matrix is from rank one.

sets = {
    "blobs": make_blobs(30, centers=[[0, 0], [4, 0]], cluster_std=0.6, random_state=0)[0],
    "moons": make_moons(30, noise=0.05, random_state=0)[0],
}
figure, axes = plt.subplots(2, 4, figsize=(13, 6))
for (mmc, gmmc, shares, plane), (name, X) in zip(axes, sets.items(), strict=True):
    for ax, program, solution, color in zip((mmc, gmmc), ("MMC", "GMMC"), solve(X), ("C0", "C1"), strict=True):
        values, vectors = np.linalg.eigh(solution.matrix)
        order = np.argsort(vectors[:, -1])
        limit = np.abs(solution.matrix).max()
        ax.imshow(solution.matrix[np.ix_(order, order)], cmap="RdBu", vmin=-limit, vmax=limit)
        ax.set_title(f"{program}, {name}: {100 * solution.tightness:.0f} % of rank one", fontsize=10)
        shares.plot(range(1, 7), values[::-1][:6] / values.sum(), "o-", color=color, label=program)
    shares.set_ylim(0, 1)
    shares.set_title("eigenvalues", fontsize=10)
    for model, marker in ((MMC().fit(X), "o"), (GMMC().fit(X), ".")):
        plane.scatter(*X.T, c=np.where(model.labels_ == 1, "C3", "C0"), marker=marker, s=70, edgecolor="w")
        print(
            f"{name}, {type(model).__name__}: objective of the labels {model.objective_:.1f}, "
            f"lower bound of all labels {model.lower_bound_:.1f}"
        )
    plane.set_title("labels: signs of the leading eigenvector", fontsize=10)
axes[0, 2].legend()
plt.tight_layout()
plt.show()
