"""Do two versions of the code give the same labels? Every estimator on every set of the panel, with five seeds.

``python tests/digests.py REVISION`` fits all of them with the code of a revision and with that of this tree, each in a
process of its own on this machine, and lists where labels differ; it ends with 1 if they do anywhere. Labels are
compared on one machine only, because the last digits of linear algebra differ between processors. What a revision gave
is kept in ``build/digests``, so that the next comparison with it takes half the time.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "digests"
ROWS = 120  # of every set, by a fixed draw: every branch of a search below its own sampling, in ten minutes
SMALL = 40  # rows for the semidefinite relaxations, whose time grows with the fourth power
SEEDS = 5

# What is fitted: a name, the estimator and its settings.
FITS = {
    "agree": ("MaxMarginClustering", {}),
    "merge": ("MaxMarginClustering", {"search": "merge"}),
    "moves": ("MaxMarginClustering", {"search": "moves"}),
    "auto": ("MaxMarginClustering", {"n_clusters": "auto"}),
    "agree, outliers": ("MaxMarginClustering", {"outliers": 0.1}),
    "CPM3C": ("CPM3C", {}),
    "CPM3C, rbf": ("CPM3C", {"kernel": "rbf"}),
    "CPM3C, outliers": ("CPM3C", {"outliers": 0.1}),
    "M2DCU": ("M2DCU", {}),
    "MKC": ("MKC", {}),
    "IterSVM": ("IterSVM", {}),
    "IterSVR": ("IterSVR", {}),
    "IterLSSVM": ("IterLSSVM", {}),
    "MMC": ("MMC", {}),
    "GMMC": ("GMMC", {}),
    "DocumentClustering": ("DocumentClustering", {}),
}
TWO_CLUSTERS = ("MMC", "GMMC")


def write_sets(folder):
    """The sets of the panel, one file each: rows and the number of classes."""
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    from experiments import catalogue  # noqa: F401 - registers the sets
    from experiments.cells import TASKS
    from experiments.tables.panel import SETS, TEXTS

    for label, name in (SETS | TEXTS).items():
        kind, _, chosen = name.partition("/")
        task = TASKS[kind](chosen)
        rows = np.sort(np.random.default_rng(0).permutation(task.X.shape[0])[:ROWS])
        X, k = task.X[rows], len(np.unique(np.asarray(task.y)[rows]))
        form = "sparse" if sp.issparse(X) else "dense"
        table = sp.csr_array(X).toarray() if form == "sparse" else np.asarray(X, dtype=np.float64)
        np.savez_compressed(folder / f"{label}.npz", X=table, k=k, form=form)


def digest(estimator, X, k, seed, settings):
    """Digest of the labels of one fit, or what it raised."""
    import widegap

    if estimator in TWO_CLUSTERS:
        X, k = X[:SMALL], 2
    options = {"n_clusters": k, "random_state": seed, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = getattr(widegap, estimator)(**options).fit(X).labels_
        except (ValueError, NotImplementedError) as error:
            return type(error).__name__
    return hashlib.blake2b(np.asarray(labels, np.int64).tobytes(), digest_size=8).hexdigest()


def digests(folder):
    """Digests of all fits of all sets, for the widegap that is imported here."""
    for path in sorted(folder.glob("*.npz")):
        stored = np.load(path)
        X = sp.csr_array(stored["X"]) if stored["form"] == "sparse" else stored["X"]
        for name, (estimator, settings) in FITS.items():
            found = [digest(estimator, X, int(stored["k"]), seed, settings) for seed in range(SEEDS)]
            print(json.dumps([path.stem, name, found]), flush=True)


def digests_of(source, folder):
    """What ``digests`` prints when widegap comes from a folder of source."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--fit", str(folder)]
    lines = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {f"{stem} | {name}": found for stem, name, found in map(json.loads, lines.splitlines())}


def digests_of_revision(revision, folder):
    """Digests of a revision, from the last time where there was one."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", revision], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    kept = KEPT / f"{commit}.json"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as tree:
            archive = subprocess.run([*git, "archive", commit, "src"], stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
            found = digests_of(Path(tree) / "src", folder)
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit is not None:
        digests(arguments.fit)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sets(folder)
        before, after = digests_of_revision(arguments.revision, folder), digests_of(ROOT / "src", folder)
    differ = [key for key in before if before[key] != after.get(key)]
    for key in differ:
        seeds = [seed for seed, (a, b) in enumerate(zip(before[key], after.get(key, []), strict=False)) if a != b]
        print(f"{key}: other labels with the seeds {seeds}")
    print(f"{len(before) - len(differ)} of {len(before)} fits give the same labels with all {SEEDS} seeds")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
