"""
Labels as a matrix: the convex relaxation
=========================================

``MMC`` and ``GMMC`` do not search among labels. They replace the matrix of all products of two labels, which has rank
one, by any positive semidefinite matrix. This makes the problem convex, so its optimum is global and needs no
start. The closer the matrix is to rank one, the less the relaxation loses.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from widegap import GMMC, MMC

# %%
# Both programs as they are printed, for a general solver (``pip install cvxpy scs``). The kernel is that of the
# estimators: its width is 1.5 times the median distance, and it is centred, with a mean diagonal of one.


def kernel(X):
    K = KernelCenterer().fit_transform(rbf_kernel(X, gamma=1 / (1.5 * np.median(pdist(X))) ** 2))
    return K / K.trace() * len(K)


def mmc_matrix(K, C=1.0):
    """M of MMC: a semidefinite program of the matrix and the multipliers of the box."""
    n, limit = len(K), 0.06 * len(K)
    M, delta = cp.Variable((n, n), PSD=True), cp.Variable()
    mu, nu = (cp.Variable(n, nonneg=True) for _ in range(2))
    border = cp.reshape(1 + mu - nu, (n, 1), order="C")
    corner = cp.reshape(delta - 2 * C * cp.sum(nu), (1, 1), order="C")
    block = cp.bmat([[cp.multiply(K, M), border], [border.T, corner]])
    cp.Problem(cp.Minimize(delta), [block >> 0, cp.diag(M) == 1, cp.abs(cp.sum(M, axis=1)) <= limit]).solve(
        "SCS", eps=1e-4
    )
    return M.value


def gmmc_matrix(K, C=100.0, C_e=1.0, ridge=1e-3):
    """M of GMMC: the multiplier of its only matrix condition, here with gamma in units of C."""
    n = len(K)
    inverse = np.linalg.inv(K + ridge * np.eye(n))
    centred = inverse - np.outer(inverse.sum(axis=1), inverse.sum(axis=0)) / inverse.sum()
    gamma = cp.Variable(n)
    condition = (centred + C_e) / C - cp.diag(gamma) >> 0
    cp.Problem(cp.Maximize(cp.sum(gamma)), [condition, gamma >= 0, gamma <= 1]).solve(
        "SCS", eps=1e-6, max_iters=100_000
    )
    return condition.dual_value


# %%
# Two data sets of 30 rows. The rows of the matrices are sorted by the leading eigenvector: certain labels form four
# blocks of two colours. The eigenvalues, as shares of their sum, show how far the matrix is from rank one.

sets = {
    "blobs": make_blobs(30, centers=[[0, 0], [4, 0]], cluster_std=0.6, random_state=0)[0],
    "moons": make_moons(30, noise=0.05, random_state=0)[0],
}
figure, axes = plt.subplots(2, 4, figsize=(13, 6))
for (mmc, gmmc, shares, plane), (name, X) in zip(axes, sets.items(), strict=True):
    solved = (mmc_matrix(kernel(X)), gmmc_matrix(kernel(X)))
    for ax, program, matrix, color in zip((mmc, gmmc), ("MMC", "GMMC"), solved, ("C0", "C1"), strict=True):
        values, vectors = np.linalg.eigh(matrix)
        order = np.argsort(vectors[:, -1])
        limit = np.abs(matrix).max()
        ax.imshow(matrix[np.ix_(order, order)], cmap="RdBu", vmin=-limit, vmax=limit)
        ax.set_title(f"{program}, {name}: {100 * values[-1] / values.sum():.0f} % of rank one", fontsize=10)
        shares.plot(range(1, 7), values[::-1][:6] / values.sum(), "o-", color=color, label=program)
    shares.set_ylim(0, 1)
    shares.set_title("eigenvalues", fontsize=10)
    for model, marker in ((MMC().fit(X), "o"), (GMMC().fit(X), ".")):
        plane.scatter(*X.T, c=np.where(model.labels_ == 1, "C3", "C0"), marker=marker, s=70, edgecolor="w")
        print(
            f"{name}, {type(model).__name__}: objective of the labels {model.objective_:.1f}, "
            f"lower bound of all labels {model.lower_bound_:.1f}, {100 * model.tightness_:.0f} % of rank one"
        )
    plane.set_title("labels: signs of the leading eigenvector", fontsize=10)
axes[0, 2].legend()
plt.tight_layout()
plt.show()
