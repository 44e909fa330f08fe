"""Beyond the papers: every labelled set at hand, defaults only; accuracies and times."""

from experiments.cells import SEEDS
from experiments.store import Store
from experiments.tables._ranking import FRONT, KNOWN, ranking, shortfalls
from experiments.tables._table import ACCURACY, Measured, Row, Table, costs, other, ours, sets_of

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
SETS, TEXTS = sets_of("panel"), sets_of("panel-texts")


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
