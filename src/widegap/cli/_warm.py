"""``widegap warm``: compile the loops once, so that later processes find them."""

from collections.abc import Iterator
from typing import Any

from widegap.cli import _options as options
from widegap.cli._errors import guarded

MANY_ROWS = 10_500  # more than are compared with all others: neighbours come from an index, groups from communities
WARMING_ROWS = 300  # enough for every step of the other fits


@guarded
def warm(debug: options.Debug = False) -> None:
    """Compile the loops of common fits and keep them, for images and test machines: later first fits are fast."""
    import warnings

    from widegap import _jit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about tables that nobody has asked about
        for estimator, X in _common_fits():
            estimator.fit(X)
    folders = _jit.folders_of_code()
    if folders:
        print(f"Compiled code is kept in {folders[0]}" + f" and {len(folders) - 1} more folders." * (len(folders) > 1))
    else:
        print("No folder for compiled code can be written; set NUMBA_CACHE_DIR to one that can.")


def _common_fits() -> Iterator[tuple[Any, Any]]:
    """Estimators and tables whose fits, together, compile what most fits need."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import make_blobs

    from widegap import CPM3C, MaxMarginClustering

    few, many = (make_blobs(n, n_features=8, centers=4, random_state=0)[0] for n in (WARMING_ROWS, MANY_ROWS))
    for X in (few, few.astype(np.float32), sp.csr_array(few)):
        yield MaxMarginClustering(4, random_state=0), X
        yield from ((CPM3C(k, random_state=0), X) for k in (2, 4))
    yield MaxMarginClustering(random_state=0), few  # which finds the number of clusters
    yield MaxMarginClustering(4, random_state=0), many
