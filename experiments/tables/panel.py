"""Beyond the papers: every labelled set at hand, defaults only; accuracies and times."""

from experiments.cells import SEEDS
from experiments.store import Store
from experiments.tables._ranking import FRONT, KNOWN, ranking, shortfalls
from experiments.tables._table import ACCURACY, Measured, Row, Table, costs, other, ours

MOVES = Measured("search by moves", FRONT, {"search": "moves"})  # what was the default before
OURS = (ours(FRONT), MOVES, ours("CPM3C"), ours("MKC"))
SEEDS_OF = {"UMAP + GMM": 3, "UMAP + HDBSCAN": 1}  # of others; they take long
OTHERS = (
    *("KMeans(10)", "BisectingKMeans", "SpectralClustering", "Ward", "Average linkage", "GMM full", "GMM tied"),
    *("BIRCH", "HDBSCAN", "UMAP + GMM", "UMAP + HDBSCAN", "Genie", "GIc", "Leiden"),
)
PEERS = tuple(other(name, SEEDS_OF.get(name, SEEDS)) for name in OTHERS)
GEMCLUS = "gemclus"  # a package under the GPL: measured where it is installed, for comparison only
LARGE = ("mnist", "rcv1", "a9a", "letter", "cora")
FEW = 2
SHAPES = "atom chainlink engytime hepta lsun target tetra twodiamonds wingnut".split()
SETS = {
    **{f"sklearn {name}": f"sklearn/{name}" for name in ("iris", "wine", "breast_cancer")},
    **{name: f"{name}/all" for name in ("digits", "optdigits", "letter", "satimage", "segment")},
    **{name: name for name in ("ionosphere", "svmguide1", "ringnorm")},
    **{name: f"{name}/all" for name in ("image", "mnist")},
    "w1a": "w1a",
    **{size: f"adult/{size}" for size in ("a1a", "a4a", "a9a")},
    **{f"fcps {name}": f"fcps/{name}" for name in SHAPES},
    **{f"cora titles {field}": f"cora-titles/{field}" for field in ("ds", "ha", "ml", "os", "pl")},
    "cora": "cora-bow",
    "rcv1": "rcv1",
}
TEXTS = {
    "20news, 20 groups": "documents/20news-20",
    "20news, 4 subjects": "documents/20news-4",
    "webkb": "documents/webkb-4",
    "rcv1, 6000 rows": "documents/rcv1-4",
}


def standing(store: Store) -> str:
    """How the front door compares with what people use: what the README shows."""
    return ranking(PANEL, store, (GEMCLUS,), KNOWN)


def _words(table: Table, store: Store) -> str:
    return f"{ranking(table, store, (GEMCLUS,))}\n\n{shortfalls(table, store, TEXTS, GEMCLUS)}"


def _row(label: str, name: str) -> Row:
    if label not in (*LARGE, *TEXTS):
        return Row(label, (name,))
    few = dict.fromkeys((*(column.title for column in OURS[1:]), *OTHERS), FEW)
    return Row(label, (name,), f"{FEW} seeds, of {FRONT} {SEEDS}.", seeds=few)


PANEL = Table(
    "panel",
    tuple(_row(label, name) for label, name in (SETS | TEXTS).items()),
    (*OURS, *PEERS, other(GEMCLUS, FEW)),
    ACCURACY,
    ("sklearn iris", "sklearn wine", "ionosphere", "fcps hepta"),
    _words,
)
EXPERIMENTS = (PANEL, *costs(PANEL))
