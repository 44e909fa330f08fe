"""The index of neighbours against comparison of all pairs: what it finds, and what may not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from widegap.features import _neighbour_index, _neighbours
from widegap.features._neighbour_index import NeighbourIndex
from widegap.features._neighbours import neighbour_graph

COUNT = 10


@pytest.fixture(autouse=True)
def small_cells(monkeypatch):
    """A few thousand rows in as many cells as many thousand have otherwise, so that most cells are not probed."""
    monkeypatch.setattr(_neighbour_index, "CELL_ROWS", 32)
    monkeypatch.setattr(_neighbour_index, "LEAST_CELLS", 4)
    monkeypatch.setattr(_neighbour_index, "INDEX_AXES", 8)


def true_distances(X, queries):
    """All distances in float64, about the mean: a far offset costs digits otherwise."""
    centre = X.mean(axis=0, dtype=np.float64)
    return cdist(queries - centre, X - centre)


@pytest.mark.parametrize("name, size", [("DISTANCES_HELD", 40), ("BLOCK_ROWS", 100), ("QUERY_ROWS", 11)])
def test_how_much_is_held_at_a_time_changes_nothing(name, size, monkeypatch):
    X = np.random.default_rng(20).normal(size=(300, 5))
    expected = NeighbourIndex.fit(X).of_rows(COUNT)
    monkeypatch.setattr(_neighbour_index, name, size)
    index = NeighbourIndex.fit(X)
    found, queried = index.of_rows(COUNT), index.of_queries(X[:50], COUNT + 1)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1], rtol=1e-12)
    assert_array_equal(queried[0][:, 0], np.arange(50))


def test_blocks_are_of_about_equal_size(monkeypatch):
    monkeypatch.setattr(_neighbour_index, "BLOCK_ROWS", 4)
    assert _neighbour_index._blocks(0) == []
    assert _neighbour_index._blocks(4) == [slice(0, 4)]
    assert _neighbour_index._blocks(5) == [slice(0, 2), slice(2, 5)]
    assert _neighbour_index._blocks(8) == [slice(0, 4), slice(4, 8)]
    assert _neighbour_index._blocks(9) == [slice(0, 3), slice(3, 6), slice(6, 9)]


def test_rows_are_split_by_their_labels_and_find_their_means():
    split = _neighbour_index._split_by(np.array([7, 2, 7, 2, 5]))
    assert [(label, rows.tolist()) for label, rows in split] == [(2, [1, 3]), (5, [4]), (7, [0, 2])]
    assert _neighbour_index._split_by(np.zeros(0, np.int64)) == []
    rng = np.random.default_rng(0)
    Z, means = rng.normal(size=(40, 3)).astype(np.float32), rng.normal(size=(6, 3))
    assert_array_equal(_neighbour_index._nearest_means(Z, means), cdist(Z, means).argmin(axis=1))


def test_copies_in_cells_before_are_counted():
    X = np.array([[1.0], [1.0], [2.0], [1.0], [1.0], [2.0], [2.0], [1.0]])
    cells = [np.array(rows) for rows in ([0, 1], [2, 3], [4], [5, 6], [0, 2, 1], [7])]
    assert_array_equal(_neighbour_index._copies_before(X, cells), [0, 0, 2, 0, 0, 3])


@pytest.mark.parametrize("block", [14, 4096])
def test_the_nearest_of_all_are_those_of_sorting(block, monkeypatch):
    monkeypatch.setattr(_neighbour_index, "BLOCK_ROWS", block)
    X = np.random.default_rng(21).normal(size=(40, 4)) + 1000
    rows = np.array([0, 7, 39])
    nearest, distances = _neighbour_index._among_all(X, X.mean(axis=0), rows, 6)
    D = true_distances(X, X[rows])
    D[np.arange(3), rows] = np.inf
    assert_array_equal(nearest, np.argsort(D, axis=1)[:, :6])
    assert_allclose(distances, np.sort(D, axis=1)[:, :6], rtol=1e-9)


def test_judged_neighbours_count_between_copies_and_ties_with_the_last(monkeypatch):
    monkeypatch.setattr(_neighbour_index, "JUDGED_NEIGHBOURS", 4)
    X = np.array([[0.0], [0.0], [1.0], [2.0], [-2.0], [9.0]])
    judge = _neighbour_index._Judge.of(X, np.zeros(1), np.array([0, 5]))
    assert_array_equal(judge.nearest, [[1, 2, 3, 4], [3, 2, 0, 1]])
    assert_array_equal(judge.counting, [[False, True, False, False], [True, True, False, False]])
    monkeypatch.setattr(_neighbour_index, "SURPLUS", -2)  # two candidates for each row
    assert judge.kept(X) == 1.0
    assert judge.kept(np.array([[0.0], [0.0], [5.0], [2.0], [-2.0], [9.0]])) == pytest.approx(2 / 3)
    none = _neighbour_index._Judge.of(np.zeros((3, 1)), np.zeros(1), np.array([0]))
    assert not none.counting.any() and none.kept(np.zeros((3, 1))) == 1.0


def test_copies_are_not_compared_again_in_double_precision(monkeypatch):
    """Nothing is nearer than 0, so that rounding cannot decide."""
    X = np.repeat(np.random.default_rng(22).normal(size=(20, 3)), 30, axis=0)
    index = NeighbourIndex.fit(X)
    monkeypatch.setattr(NeighbourIndex, "_by_columns", None)
    assert (index.of_rows(COUNT)[1] == 0).all()


def test_chosen_queries_keep_their_pairs():
    probed = _neighbour_index._Probed(np.array([0, 1, 1, 2, 3]), np.array([5, 6, 7, 8, 9]), np.arange(4.0))
    some = probed.some(np.array([False, True, False, True]))
    assert_array_equal(some.places, [0, 0, 1])
    assert_array_equal(some.cells, [6, 7, 9])
    assert_array_equal(some.nearest, [1, 3])


def test_enough_cells_are_probed_to_meet_the_judged_neighbours(monkeypatch):
    monkeypatch.setattr(_neighbour_index, "LEAST_CELLS", 1)
    X = np.random.default_rng(23).normal(size=(900, 3))
    index = NeighbourIndex.fit(X)
    rows = np.arange(0, 900, 30)
    D = true_distances(X, X[rows])
    D[np.arange(30), rows] = np.inf
    nearest, m = np.argsort(D, axis=1)[:, :12], len(index.means)
    cell_of = np.empty(900, int)
    for cell in range(m):
        cell_of[index.order[index.starts[cell] : index.starts[cell + 1]]] = cell
    Z = X - X.mean(axis=0)
    ranks = np.argsort(np.argsort(cdist(Z, index.means)[rows], axis=1), axis=1)
    met = np.sort([ranks[i, cell_of[j]] + 1 for i in range(30) for j in nearest[i]])
    judge = _neighbour_index._Judge(rows, nearest, np.ones(nearest.shape, bool))
    for kept, share in ((1.0, 0.97), (0.98, 0.97 / 0.98), (0.5, 1.0)):
        assert index._enough_probes(Z[rows], judge, kept) == int(np.quantile(met, share))
    monkeypatch.setattr(_neighbour_index, "MOST_CELLS", 2)
    assert index._enough_probes(Z[rows], judge, 0.5) == 2
    monkeypatch.setattr(_neighbour_index, "LEAST_CELLS", 2)
    nobody = _neighbour_index._Judge(rows, nearest, np.zeros(nearest.shape, bool))
    assert index._enough_probes(Z[rows], nobody, 1.0) == 2


def recall(X, distances, first=0):
    """Share of the neighbours that are at most as far as the last true one, for the rows from ``first`` on."""
    D = true_distances(X, X)
    np.fill_diagonal(D, np.inf)
    last = np.partition(D, distances.shape[1] - 1, axis=1)[:, distances.shape[1] - 1]
    return (distances <= last[:, None] * (1 + 1e-9))[first:].mean()


def drawn_table(kind, rng, n=3000):
    if kind == "uniform, 3 columns":
        return rng.random((n, 3))
    if kind == "Gaussian, 12 columns":
        return rng.normal(size=(n, 12))
    if kind == "20 clusters in 40 columns":
        return 3 * rng.normal(size=(20, 40))[rng.integers(0, 20, n)] + rng.normal(size=(n, 40))
    if kind == "a surface in 60 columns":
        return np.sin(rng.random((n, 3)) @ (4 * rng.normal(size=(3, 60)))) + 0.01 * rng.normal(size=(n, 60))
    if kind == "integers":
        return rng.integers(0, 8, (n, 6)).astype(np.float64)
    if kind == "a constant column and one heavy tail":
        return np.column_stack([rng.normal(size=(n, 4)), np.full(n, 3.0), rng.standard_cauchy(n)])
    if kind == "tight bunches":
        return rng.normal(size=(60, 5))[rng.integers(0, 60, n)] + 1e-5 * rng.normal(size=(n, 5))
    if kind == "half of the rows equal":
        X = rng.normal(size=(n, 6))
        X[rng.random(n) < 0.5] = 0
        return X
    raise ValueError(kind)


KINDS = [
    "uniform, 3 columns",
    "Gaussian, 12 columns",
    "20 clusters in 40 columns",
    "a surface in 60 columns",
    "integers",
    "a constant column and one heavy tail",
    "tight bunches",
    "half of the rows equal",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_most_neighbours_are_found_and_distances_are_true(kind, dtype):
    X = drawn_table(kind, np.random.default_rng(0)).astype(dtype)
    index = NeighbourIndex.fit(X)
    nearest, distances = index.of_rows(COUNT)
    assert recall(X.astype(np.float64), distances) >= 0.95
    assert (np.diff(distances) >= 0).all()
    assert (nearest != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == COUNT for row in nearest.tolist())
    rows = np.arange(0, len(X), 7)
    away = X[rows, None].astype(np.float64) - X[nearest[rows]]
    assert_allclose(distances[rows], np.linalg.norm(away, axis=2), rtol=1e-9)


def test_few_cells_are_probed_where_rows_have_structure():
    """Otherwise the recall above would be that of comparing all pairs."""
    probed = {}
    for kind in KINDS:
        index = NeighbourIndex.fit(drawn_table(kind, np.random.default_rng(0)))
        probed[kind] = index.probes / len(index.means)
    assert probed["uniform, 3 columns"] < 0.25 > probed["a surface in 60 columns"]
    assert probed["tight bunches"] < 0.25


def test_all_cells_probed_are_all_pairs_compared():
    X = np.random.default_rng(1).normal(size=(900, 6))
    index = NeighbourIndex.fit(X)
    whole = NeighbourIndex(**(vars(index) | {"probes": len(index.means)}))
    nearest, distances = whole.of_rows(COUNT)
    D = true_distances(X, X)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(nearest, np.argsort(D, axis=1)[:, :COUNT])
    assert_allclose(distances, np.sort(D, axis=1)[:, :COUNT], rtol=1e-9)


def test_axes_are_added_until_neighbours_are_candidates():
    """Of isotropic rows no few axes know the neighbours: all columns are used."""
    rng = np.random.default_rng(2)
    flat = rng.normal(size=(2000, 4)) @ rng.normal(size=(4, 50))
    assert NeighbourIndex.fit(flat).offsets.shape[1] == 8
    assert NeighbourIndex.fit(rng.normal(size=(2000, 50))).offsets.shape[1] == 50


@pytest.mark.parametrize("kind", ["20 clusters in 40 columns", "half of the rows equal", "tight bunches"])
def test_threads_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(_neighbour_index, "QUERY_ROWS", 200)
    X = drawn_table(kind, np.random.default_rng(3), 1500)
    first, again = NeighbourIndex.fit(X), NeighbourIndex.fit(X)
    for one, three in ((first.of_rows(5), again.of_rows(5, 3)), (first.of_queries(X, 5), again.of_queries(X, 5, 3))):
        assert_array_equal(one[0], three[0])
        assert_array_equal(one[1], three[1])


def test_order_of_rows_changes_few_neighbours():
    rng = np.random.default_rng(4)
    X = drawn_table("20 clusters in 40 columns", rng, 2000)
    turned = rng.permutation(len(X))
    plain, shuffled = NeighbourIndex.fit(X).of_rows(COUNT)[1], NeighbourIndex.fit(X[turned]).of_rows(COUNT)[1]
    same = np.isclose(plain[turned], shuffled, rtol=1e-9)
    assert same.mean() >= 0.9  # a miss displaces the neighbours after it


def test_both_precisions_agree():
    X = drawn_table("a surface in 60 columns", np.random.default_rng(5), 2000).astype(np.float32)
    single, double = NeighbourIndex.fit(X).of_rows(COUNT)[1], NeighbourIndex.fit(X.astype(np.float64)).of_rows(COUNT)[1]
    assert np.isclose(single, double, rtol=1e-6).mean() >= 0.9
    assert np.abs(single.mean() / double.mean() - 1) < 1e-3


def test_far_offset_changes_nothing_but_rounding():
    X = drawn_table("Gaussian, 12 columns", np.random.default_rng(6), 2000)
    far = NeighbourIndex.fit(X + 1e6)
    assert recall(X + 1e6, far.of_rows(COUNT)[1]) >= 0.95
    assert recall(X, neighbour_graph(X + 1e6, COUNT).distances) >= 0.95


def test_two_bunches_far_apart():
    """A million times as far apart as they are wide: float32 about the mean of all knows nothing of them."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(2000, 4)) + 1e6 * (np.arange(2000) % 2)[:, None]
    nearest, distances = NeighbourIndex.fit(X).of_rows(COUNT)
    assert ((nearest - np.arange(2000)[:, None]) % 2 == 0).all()
    assert recall(X, distances) >= 0.95


def test_close_rows_are_told_apart_beside_others_of_their_cell(monkeypatch):
    """A cell holds several bunches, each much narrower than the cell and with more rows than there are candidates."""
    monkeypatch.setattr(_neighbour_index, "CELL_ROWS", 256)
    rng = np.random.default_rng(14)
    bunches = np.repeat(rng.normal(size=(40, 5)), 40, axis=0) + 1e-5 * rng.normal(size=(1600, 5))
    X = rng.permutation(np.vstack([bunches, rng.normal(size=(1600, 5))]))
    assert recall(X, NeighbourIndex.fit(X).of_rows(COUNT)[1]) >= 0.95


def test_squares_beyond_float32():
    """A row so far away that its squared distances to all others are infinite in float32."""
    X = np.random.default_rng(16).normal(size=(300, 6))
    X[7] = 1e20
    nearest, distances = NeighbourIndex.fit(X).of_rows(COUNT)
    assert (nearest >= 0).all()
    assert (nearest[7] != 7).all()
    assert len(set(nearest[7])) == COUNT
    assert_allclose(distances[7], 1e20 * np.sqrt(6))


def test_copies_of_one_row_do_not_hide_the_others(monkeypatch):
    """Cells of equal rows lie in the middle of all others: if they were probed, other rows would not be met."""
    monkeypatch.setattr(_neighbour_index, "MOST_CELLS", 32)
    rng = np.random.default_rng(8)
    X = np.vstack([np.zeros((2000, 8)), rng.normal(size=(1500, 8))])
    nearest, distances = NeighbourIndex.fit(X).of_rows(COUNT)
    assert (distances[:2000] == 0).all()
    assert (nearest != np.arange(len(X))[:, None]).all()
    assert recall(X, distances, 2000) >= 0.97  # measured .998, and .904 if copies are probed like others


@pytest.mark.parametrize("kind", ["half of the rows equal", "a constant column and one heavy tail"])
def test_no_cell_is_large_and_cells_hold_every_row_once(kind):
    X = drawn_table(kind, np.random.default_rng(15))
    index = NeighbourIndex.fit(X)
    assert np.diff(index.starts).max() <= 2 * _neighbour_index.CELL_ROWS
    assert_array_equal(np.sort(index.order), np.arange(len(X)))


@pytest.mark.parametrize("width", [1, 30])
def test_equal_rows_alone(width):
    X = np.full((700, width), 2.5)
    nearest, distances = NeighbourIndex.fit(X).of_rows(400)  # more than one cell has
    assert (distances == 0).all()
    assert all(len({i, *row}) == 401 for i, row in enumerate(nearest.tolist()))


def test_more_cells_are_probed_until_there_are_enough_rows():
    X = np.random.default_rng(9).normal(size=(400, 2))
    nearest, distances = NeighbourIndex.fit(X).of_rows(399)
    assert_array_equal(np.sort(nearest, axis=1)[0], np.arange(1, 400))
    assert_allclose(distances[0], np.sort(true_distances(X, X[:1])[0])[1:], rtol=1e-9)
    every = NeighbourIndex.fit(X).of_queries(X[:3], 400)[0]
    assert_array_equal(np.sort(every, axis=1), np.tile(np.arange(400), (3, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_queries_equal_to_rows_find_themselves(kind):
    X = drawn_table(kind, np.random.default_rng(10), 2000)
    nearest, distances = NeighbourIndex.fit(X).of_queries(X, 4)
    assert (distances[:, 0] == 0).all()
    assert_array_equal(X[nearest[:, 0]], X)


def test_new_rows_find_their_neighbours():
    rng = np.random.default_rng(11)
    X, Q = np.split(drawn_table("a surface in 60 columns", rng, 3300), [3000])
    nearest, distances = NeighbourIndex.fit(X).of_queries(Q, COUNT)
    D = true_distances(X, Q)
    assert_allclose(distances, np.take_along_axis(D, nearest, axis=1), rtol=1e-6)
    assert (distances <= np.sort(D, axis=1)[:, [COUNT - 1]] * (1 + 1e-9)).mean() >= 0.95


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 300),
    d=st.integers(1, 20),
    levels=st.integers(1, 50),
    offset=st.sampled_from([0.0, 1e6]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**31),
)
def test_any_table_has_true_distances_in_ascending_order(n, d, levels, offset, dtype, seed):
    rng = np.random.default_rng(seed)
    X = (rng.integers(0, levels, (n, d)) + offset).astype(dtype)
    count = int(rng.integers(1, n))
    nearest, distances = NeighbourIndex.fit(X).of_rows(count)
    assert ((0 <= nearest) & (nearest < n) & (nearest != np.arange(n)[:, None])).all()
    assert all(len(set(row)) == count for row in nearest.tolist())
    away = np.linalg.norm(X[:, None].astype(np.float64) - X[nearest], axis=2)
    assert_allclose(distances, away, rtol=1e-9)
    assert (np.diff(distances, axis=1) >= 0).all()


def test_graphs_of_many_rows_use_the_index(monkeypatch):
    X = drawn_table("uniform, 3 columns", np.random.default_rng(12), 1000)
    exact = neighbour_graph(X, 30)
    monkeypatch.setattr(_neighbours, "EXACT_ROWS", 999)
    near = neighbour_graph(X, 30, linked=25)
    found, distances = NeighbourIndex.fit(X).of_rows(30)
    assert_array_equal(near.nearest, found)
    assert_array_equal(near.distances, distances)
    assert np.isclose(near.distances, exact.distances, rtol=1e-9).mean() >= 0.95


def test_linked_neighbours_have_the_weights():
    X = np.random.default_rng(13).normal(size=(300, 3))
    graph = neighbour_graph(X, 30, linked=25)
    scales = graph.distances[:, 24]
    weights = np.exp(-np.square(graph.distances[:, :25]) / (scales[:, None] * scales[graph.nearest[:, :25]]))
    assert_array_equal(np.diff(graph.weights.indptr), 25)
    assert_allclose(np.take_along_axis(graph.weights.toarray(), graph.nearest[:, :25], axis=1), weights)
    assert_array_equal(np.diff(neighbour_graph(X, 30).weights.indptr), _neighbours.LINKED)
    assert_array_equal(np.diff(neighbour_graph(X, 30, linked=40).weights.indptr), 30)
