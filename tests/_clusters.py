"""A cluster of two processes, the forms in which rows come to it, and what travels to it and back."""

import pickle
import warnings
from contextlib import contextmanager

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import scipy.sparse as sp
from distributed import Client, Future, LocalCluster
from sklearn.datasets import make_blobs

from widegap.rows import _dask

N, D = 6000, 6


def rows(n=N, seed=0, spread=1.5):
    return make_blobs(n, D, centers=4, cluster_std=spread, random_state=seed)[0]


@contextmanager
def two_processes():
    """The client of a cluster whose idle workers do not draw chunks to themselves, which would count as traffic."""
    with warnings.catch_warnings(), dask.config.set({"distributed.scheduler.work-stealing": False}):
        warnings.simplefilter("ignore")  # of packages that processes of a cluster import
        with LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster:
            with Client(cluster) as client:
                yield client


def await_two_workers(client):
    """Wait until a lost worker is replaced; ask for another one where that fails, as it may on a busy machine."""
    try:
        client.wait_for_workers(2, timeout=30)
    except TimeoutError:
        client.cluster.scale(3)
        client.wait_for_workers(2, timeout=60)


def forget_client(monkeypatch):
    """As if there were no cluster; dask and distributed ask in two ways."""

    def no_client(*arguments, **options):
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr("distributed.get_client", no_client)
    monkeypatch.setattr("distributed.Client.current", no_client)
    monkeypatch.setitem(dask.config.config, "scheduler", "threads")  # a client has put itself there


def held(X, chunks):
    return da.from_array(X, chunks=(chunks, X.shape[1])).persist()


def as_frame(X):
    return pd.DataFrame(X, columns=list("abcdef"))


FORMS = {
    "even": lambda X: held(X, 1500),
    "one_chunk": lambda X: held(X, len(X)),
    "uneven": lambda X: held(X, (1, 3000, 2000, len(X) - 5001)),
    "empty": lambda X: da.concatenate(
        [held(X[:0], 1), held(X[:4000], 2500), held(X[:0], 1), held(X[4000:], 4000)]
    ).persist(),
    "unknown": lambda X: dd.from_pandas(as_frame(X), npartitions=5).to_dask_array().persist(),
    "frame": lambda X: dd.from_pandas(as_frame(X), npartitions=5).persist(),
    "csr": lambda X: held(X, 2000).map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, D))).persist(),
    "float32": lambda X: held(X.astype(np.float32), 2000),
}


def spy_on(monkeypatch):
    """Sizes of what is sent to the cluster and of what comes back, a call each."""
    sent, received = [], []
    submit, submit_all, wait = _dask.DaskRows._submit, _dask.DaskRows._submit_all, _dask.DaskRows._wait

    def submitting(self, task, *arguments):
        sent.append(len(cloudpickle.dumps([a for a in arguments if not isinstance(a, _dask.Shard | Future)])))
        return submit(self, task, *arguments)

    def submitting_all(self, task, columns):
        sent.append(len(cloudpickle.dumps(task)))
        return submit_all(self, task, columns)

    def waiting(self, futures):
        found = wait(self, futures)
        received.extend(len(pickle.dumps(part)) for part in found)
        return found

    monkeypatch.setattr(_dask.DaskRows, "_submit", submitting)
    monkeypatch.setattr(_dask.DaskRows, "_submit_all", submitting_all)
    monkeypatch.setattr(_dask.DaskRows, "_wait", waiting)
    return sent, received


def bytes_between_workers(client):
    logs = client.run(lambda dask_worker: [entry["total"] for entry in dask_worker.transfer_outgoing_log])
    return sum(map(sum, logs.values()))
