"""Beyond the papers: every labelled set at hand, defaults only; accuracies and times."""

from experiments.cells import SEEDS
from experiments.store import Store
from experiments.tables._ranking import FRONT, KNOWN, ranking, shortfalls
from experiments.tables._table import ACCURACY, Measured, Table, costs, few_seeds, other, ours, rows_of, sets_of

MOVES = Measured("search by moves", FRONT, {"search": "moves"})  # what was the default before
OURS = (ours(FRONT), MOVES, ours("CPM3C"), ours("MKC"))
SEEDS_OF = {"UMAP + GMM": 3, "UMAP + HDBSCAN": 1}  # of others; they take long
OTHERS = (
    *("KMeans(10)", "BisectingKMeans", "SpectralClustering", "Ward", "Average linkage", "GMM full", "GMM tied"),
    *("BIRCH", "HDBSCAN", "UMAP + GMM", "UMAP + HDBSCAN", "Genie", "GIc", "Leiden"),
)
PEERS = tuple(other(name, SEEDS_OF.get(name, SEEDS)) for name in OTHERS)
GEMCLUS = "gemclus"  # a package under the GPL: measured where it is installed, for comparison only
FEW = 2
SETS, TEXTS = sets_of("panel"), sets_of("panel-texts")
LARGE = ("mnist", "rcv1", "a9a", "letter", "cora", *TEXTS)


def standing(store: Store) -> str:
    """How the front door compares with what people use: what the README shows."""
    return ranking(PANEL, store, (GEMCLUS,), KNOWN)


def _words(table: Table, store: Store) -> str:
    return f"{ranking(table, store, (GEMCLUS,))}\n\n{shortfalls(table, store, TEXTS, GEMCLUS)}"


PANEL = Table(
    "panel",
    tuple(
        few_seeds(row, (*OURS[1:], *PEERS), FEW, f"{FEW} seeds, of {FRONT} {SEEDS}.") if row.label in LARGE else row
        for row in rows_of(SETS | TEXTS)
    ),
    (*OURS, *PEERS, other(GEMCLUS, FEW)),
    ACCURACY,
    ("sklearn iris", "sklearn wine", "ionosphere", "fcps hepta"),
    _words,
)
EXPERIMENTS = (PANEL, *costs(PANEL))
