"""What a user may write for kernels, entry by entry, and what each becomes."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from widegap.exceptions import InvalidDataError
from widegap.features._kernel_rows import is_views, n_columns, n_rows, source_part
from widegap.features._kernel_specs import TableColumns, raw_views, read_specs
from widegap.features._kernel_stack import fit_kernel_stack
from widegap.rows._sources import row_blocks

TABLE = TableColumns(4, ["a", "b", "c", "d"])


def test_kernels_get_names_of_their_own():
    scaler = StandardScaler()
    specs = read_specs(["rbf", ("rbf", {"gamma": 0.5}), "linear", "rbf", scaler, ("mine", "poly", [0])], TABLE)
    assert [spec.name for spec in specs] == ["rbf", "rbf-2", "linear", "rbf-3", "standardscaler", "mine"]
    assert [spec.is_transformer for spec in specs] == [False] * 4 + [True, False]
    assert specs[1].params == {"gamma": 0.5} and specs[0].source is None
    views = read_specs(["rbf", ("own", "linear", "y")], ["x", "y"])
    assert [(spec.name, spec.source) for spec in views] == [("x:rbf", "x"), ("y:rbf", "y"), ("own", "y")]

    def inner(X, Y):
        return X @ Y.T

    assert [spec.name for spec in read_specs([inner, inner], TABLE)] == ["inner", "inner-2"]


@pytest.mark.parametrize(
    ("place", "numbers"),
    [([0, 2], [0, 2]), (3, [3]), (-1, [3]), ("b", [1]), (["d", "a"], [3, 0]), (slice(1, 3), [1, 2]),
     ([True, False, False, True], [0, 3])],
)  # fmt: skip
def test_columns_by_number_name_mask_and_slice(place, numbers):
    (spec,) = read_specs([("k", "rbf", place)], TABLE)
    np.testing.assert_array_equal(spec.source, numbers)


REFUSED = [
    ([], TABLE, "kernels is empty; list at least one kernel"),
    (["none"], TABLE, "holds 'none', which is not a kernel"),
    ([("rbf", 3)], TABLE, "which is not a kernel"),
    ([3], TABLE, "holds 3, which is not a kernel"),
    ([("rbf", {"degree": 2})], TABLE, "kernel 'rbf' takes 'gamma' and 'width'; leave out degree"),
    ([("linear", {"gamma": 2})], TABLE, "kernel 'linear' takes no parameters; leave out gamma"),
    ([("rbf", {"gamma": 1.0, "width": 1.0})], TABLE, "give gamma or width, not both"),
    ([("rbf", {"gamma": 0})], TABLE, "as a positive number"),
    ([("rbf", {"width": "median"})], TABLE, "as a positive number"),
    ([("rbf", {"gamma": "scale"})], TABLE, "gamma also as 'median' or 'diameter'"),
    ([("rbf", {"width": -1.0})], TABLE, "as a positive number"),
    ([("poly", {"degree": -1})], TABLE, "has degree=-1; it must be a positive number"),
    ([(1, "rbf", [0])], TABLE, "a triple that begins with 1; it must begin with its own name"),
    ([("k", "rbf", [4])], TABLE, r"asks for the columns .*, but X has 4; list column numbers from 0 to 3"),
    ([("k", "rbf", [])], TABLE, "an empty list; list at least one|asks for the columns"),
    ([("k", "rbf", slice(2, 2))], TABLE, "an empty list; list at least one"),
    ([("k", "rbf", [[0, 1]])], TABLE, "an empty list; list at least one"),
    ([("k", "rbf", "e")], TABLE, "asks for column 'e', but X has the columns 'a', 'b', 'c', 'd'"),
    ([("k", "rbf", "e")], TableColumns(4, None), "asks for column 'e', but X has no column names"),
    ([("k", "rbf", [0]), ("k", "rbf", [1])], TABLE, "uses the name 'k' 2 times; give every kernel its own name"),
    ([("k", "rbf", "z")], ["x", "y"], "looks at the view 'z', but X holds 'x', 'y'; name one of them"),
    ([("k", "rbf", 0)], ["x", "y"], "looks at the view 0, but"),
]


@pytest.mark.parametrize(("kernels", "X", "words"), REFUSED)
def test_what_is_no_list_of_kernels_is_refused(kernels, X, words):
    with pytest.raises(InvalidDataError, match=words):
        read_specs(kernels, X)


@pytest.mark.parametrize("params", [{"gamma": 2}, {"gamma": "median"}, {"gamma": "diameter"}, {"width": 0.5}, {}])
def test_widths_are_numbers_or_rules(params):
    assert read_specs([("rbf", params)], TABLE)[0].params == params


def test_views_that_only_transformers_look_at():
    assert raw_views([("x", True), ("y", True), ("y", False), ("z", False)]) == {"x"}
    assert raw_views([]) == set()


def test_rows_and_columns_of_tables_documents_and_views():
    X = np.zeros((5, 3))
    assert (n_columns(X), n_columns(["a", "b"]), n_columns(np.zeros(4))) == (3, 1, 1)
    assert (n_rows(X), n_rows(["a", "b"]), n_rows({"x": X[:2], "y": X[:2]}), n_rows({"t": ["a"] * 3})) == (5, 2, 2, 3)
    assert is_views({"x": X}) and not is_views(X)
    X[:, 1] = 7
    assert source_part(X, None) is X and source_part({"v": X}, "v") is X
    np.testing.assert_array_equal(source_part(X, np.array([1])), np.full((5, 1), 7.0))


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("views", [False, True])
def test_features_of_several_kernels_are_their_centred_values_of_equal_trace(views, normalize):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 4)) * [1, 2, 3, 4]
    tables = {"x": X[:, :2], "y": X[:, 2:]}
    places = ["x", "y"] if views else [[0, 1], [2, 3]]
    kernels = [
        ("wide", ("rbf", {"gamma": 0.1}), places[0]),
        ("flat", "linear", places[1]),
        ("scaled", StandardScaler(), places[1]),
        ("still", (lambda A, B: np.ones((len(A), len(B)))), places[0]),
    ]
    specs = read_specs(kernels, list(tables) if views else TABLE)
    data = tables if views else row_blocks(X)
    stack, rows = fit_kernel_stack(data, specs, n_components=15, normalize=normalize, n_threads=1, rng=rng)
    first, second = X[:, :2], X[:, 2:]
    scaled = (second - second.mean(axis=0)) / second.std(axis=0)
    expected = [np.exp(-0.1 * np.square(first[:, None] - first).sum(axis=2)), second @ second.T, scaled @ scaled.T]
    assert [kernel.name for kernel in stack.active] == ["wide", "flat", "scaled"] and stack.kernels[3].width == 0
    features = rows.take(np.arange(15))
    assert features.shape == (15, sum(stack.sizes)) and stack.sizes[1:] == (2, 2)
    given = tables if views else X
    np.testing.assert_allclose(stack.transform(given), features, atol=1e-9)
    C = np.eye(15) - 1 / 15
    for kernel, K, end in zip(stack.active, expected, np.cumsum(stack.sizes), strict=True):
        K, Z = C @ K @ C, C @ features[:, end - kernel.width : end]
        np.testing.assert_allclose(Z @ Z.T, K * (15 / np.trace(K) if normalize else 1), atol=1e-7)
        assert kernel.effective_rank == pytest.approx(np.trace(K) ** 2 / np.square(K).sum())
    W, b = rng.normal(size=(3, features.shape[1])), rng.normal(size=3)
    np.testing.assert_allclose(stack.folded(W, b)(given), features @ W.T + b, rtol=1e-5, atol=1e-5)
    if views:
        stack.check_views(tables)
        with pytest.raises(InvalidDataError, match="fitted on the view 'y', but X holds the views 'x'; pass all views"):
            stack.check_views({"x": tables["x"]})
        with pytest.raises(InvalidDataError, match="The view 'y' has 1 columns, but kernel 'flat' was fitted with 2"):
            stack.check_views({"x": tables["x"], "y": X[:, :1]})
    with pytest.raises(InvalidDataError, match=r"'k' is precomputed, but its matrix has shape \(15, 4\)"):
        fit_kernel_stack(row_blocks(X), read_specs([("k", "precomputed", slice(None))], TABLE), n_components=3,
                         normalize=True, n_threads=1, rng=rng)  # fmt: skip
