"""
Rows that do not fit into memory
================================

``fit`` takes files in place of an array. It reads them block by block and gives the same labels as with all rows in
memory.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widegap import CPM3C
from widegap.rows import shards

X, _ = make_blobs(60_000, 10, centers=5, cluster_std=3.0, random_state=0)
X = X.astype(np.float32)

# %%
# Four files here; any number works. ``shards`` also reads Parquet, Feather and sparse ``.npz`` files.

folder = Path(tempfile.mkdtemp())
files = []
for i, part in enumerate(np.array_split(X, 4)):
    files.append(folder / f"part-{i}.npy")
    np.save(files[-1], part)

from_files = CPM3C(5, random_state=0).fit(shards(files))
in_memory = CPM3C(5, random_state=0).fit(X)
print("the same labels:", np.array_equal(from_files.labels_, in_memory.labels_))

# %%
# Each pass of a fit reads the rows once. The plot shows the objective over the passes.

figure, ax = plt.subplots(figsize=(6, 3))
history = [record for record in from_files.history_ if record.start == from_files.history_[-1].start]
ax.plot([record.passes for record in history], [record.objective for record in history], "o-")
ax.set_xlabel("passes over the files")
ax.set_ylabel("objective")
plt.tight_layout()
plt.show()
