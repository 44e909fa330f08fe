"""Beyond the papers: every labelled set at hand, defaults only; accuracies and times."""

from dataclasses import replace

from experiments.cells import SEEDS
from experiments.store import Store
from experiments.tables._compare import LEAST_TIME
from experiments.tables._ranking import FRONT, ranking, short_ranking, shortfalls
from experiments.tables._table import ACCURACY, BASELINE, Measured, Row, Table

MOVES = Measured("search by moves", FRONT, {"search": "moves"})  # what was the default before
OURS = (Measured(FRONT, FRONT), MOVES, Measured("CPM3C", "CPM3C"), Measured("MKC", "MKC"))
OTHERS = (
    "KMeans(10)",
    "BisectingKMeans",
    "SpectralClustering",
    "Ward",
    "Average linkage",
    "GMM full",
    "GMM tied",
    "HDBSCAN",
    "UMAP + GMM",
    "UMAP + HDBSCAN",
)
SEEDS_OF = {"UMAP + GMM": 3, "UMAP + HDBSCAN": 1}  # of others; they take long
GEMCLUS = "gemclus"  # a package under the GPL: measured where it is installed, for comparison only
LARGE = ("mnist", "rcv1", "a9a", "letter", "cora")
FEW = 2
SHAPES = "atom chainlink engytime hepta lsun target tetra twodiamonds wingnut".split()
SETS = {
    **{f"sklearn {name}": f"sklearn/{name}" for name in ("iris", "wine", "breast_cancer")},
    "digits": "digits/all",
    "optdigits": "optdigits/all",
    "letter": "letter/all",
    "satimage": "satimage/all",
    "segment": "segment/all",
    "ionosphere": "ionosphere",
    "svmguide1": "svmguide1",
    "ringnorm": "ringnorm",
    "image": "image/all",
    "mnist": "mnist/all",
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
    return short_ranking(PANEL, store, (GEMCLUS,))


def _words(table: Table, store: Store) -> str:
    return f"{ranking(table, store, (GEMCLUS,))}\n\n{shortfalls(table, store, TEXTS, GEMCLUS)}"


def _row(label: str, name: str) -> Row:
    if label not in (*LARGE, *TEXTS):
        return Row(label, (name,))
    few = tuple((title, FEW) for title in (*(column.title for column in OURS[1:]), *OTHERS))
    return Row(label, (name,), f"{FEW} seeds, of {FRONT} {SEEDS}.", seeds=few)


PANEL = Table(
    "panel",
    "All labelled sets, defaults only",
    tuple(_row(label, name) for label, name in (SETS | TEXTS).items()),
    (
        *OURS,
        *(Measured(name, name, kind=BASELINE, seeds=SEEDS_OF.get(name, SEEDS)) for name in OTHERS),
        Measured(GEMCLUS, GEMCLUS, kind=BASELINE, seeds=FEW),
    ),
    ACCURACY,
    "No method uses labels or settings that depend on the set. All methods get the number of classes, except HDBSCAN "
    "and UMAP + HDBSCAN, whose noise counts as one cluster. UMAP (umap-learn) has 30 neighbours and a least distance "
    "of 0, as its documentation advises for clustering, and ten coordinates, which were better than two on average "
    "over seven sets; sparse rows are compared by cosines; three seeds with mixtures, one with HDBSCAN. Texts are "
    "tf-idf rows of at most 6000 documents. The defaults of widegap were tuned on several of these sets.",
    quick=("sklearn iris", "sklearn wine", "ionosphere", "fcps hepta"),
    after=_words,
)

TIMES = replace(
    PANEL,
    name="panel-times",
    title="All labelled sets: time",
    score=LEAST_TIME,
    note="The fits of `panel`; this leaves out the one-time compilation of a process. KMeans(n_init=1) takes some "
    "milliseconds on the smallest sets, where all multiples are large and mean little.",
    quick=(),
    after=None,
)

EXPERIMENTS = (PANEL, TIMES)
