"""
Dask clusters
=============

The same estimators fit Dask arrays and data frames. Here the "cluster" is two threads of this process, so that the
example runs anywhere; with ``distributed.Client("scheduler:8786")`` nothing else changes. It needs
``pip install 'widegap[dask]'``.
"""

import dask.array as da
import matplotlib.pyplot as plt
from distributed import Client
from sklearn.datasets import make_blobs

from widegap import MaxMarginClustering

client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
X, _ = make_blobs(40_000, 4, centers=4, random_state=0)
rows = da.from_array(X, chunks=(10_000, 4)).persist()

model = MaxMarginClustering(4, random_state=0).fit(rows)
print(model.labels_)  # lazy: the labels stay on the workers

# %%
# ``predict`` is lazy as well. Compute only what you need.

sizes = da.bincount(model.labels_, minlength=4).compute()
sample = model.predict(rows[::80]).compute()

figure, ax = plt.subplots(figsize=(5, 4))
ax.scatter(X[::80, 0], X[::80, 1], s=6, c=[f"C{label}" for label in sample])
ax.set_title("clusters of " + ", ".join(map(str, sizes)) + " rows")
plt.tight_layout()
plt.show()
client.close()
