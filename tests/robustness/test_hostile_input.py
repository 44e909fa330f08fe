"""Input that would be taken for something else without a word, or that arithmetic cannot bear: refused, or honoured."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from widegap import CPM3C, GMMC, M2DCU, MKC, MMC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering
from widegap.exceptions import InvalidDataError

X, y = make_blobs(30, centers=2, n_features=3, random_state=0)
ALL = [CPM3C, MKC, MMC, GMMC, IterSVM, IterSVR, IterLSSVM, MaxMarginClustering]
WITH_KERNEL = [CPM3C, MMC, GMMC, IterSVR, MaxMarginClustering]


def fitted(cls, rows, **settings):
    return cls(2, **{"random_state": 0, **settings}).fit(rows)


@pytest.mark.parametrize("factor", [1e300, 1e160, 1e20, 1e-20, 1e-110, 1e-300])
@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_numbers_that_cannot_be_squared_are_refused_with_the_reason(cls, factor):
    trouble = "overflow" if factor > 1 else "vanish"
    with pytest.raises(
        InvalidDataError, match=rf"The largest number of X is .*, and squares of it {trouble} in float64"
    ):
        fitted(cls, factor * X)


@pytest.mark.parametrize("factor", [1e-17, 1e16])
@pytest.mark.parametrize("cls", [CPM3C, MKC, GMMC, IterSVR, MaxMarginClustering], ids=lambda cls: cls.__name__)
def test_units_do_not_matter_within_the_limits(cls, factor):
    np.testing.assert_array_equal(
        fitted(cls, factor * X).labels_ == fitted(cls, factor * X).labels_[0],
        fitted(cls, X).labels_ == fitted(cls, X).labels_[0],
    )


def test_sparse_rows_and_views_have_the_same_limits():
    for rows in (sp.csr_array(1e30 * X), {"a": 1e30 * X}):
        with pytest.raises(InvalidDataError, match="squares of it overflow"):
            fitted(MKC, rows, kernels=["linear"])


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (CPM3C, {"C": 1.7e308}),
        (MKC, {"C": 1.7e308}),
        (MKC, {"norm": 1e300}),
        (GMMC, {"ridge": 1e300}),
        (GMMC, {"C": 1e-300}),
        (IterSVM, {"C": 1e300}),
        (MMC, {"C": 1e300}),
        (M2DCU, {"C_universum": 1e300}),
    ],
    ids=str,
)
def test_parameters_beyond_arithmetic(cls, settings):
    (name,) = settings
    with pytest.raises(ValueError, match=rf"The '{name}' parameter of {cls.__name__} must be .*in the range"):
        fitted(cls, X, **settings)


@pytest.mark.filterwarnings("ignore::widegap.exceptions.KernelWarning")  # MKC says that nothing is separated
@pytest.mark.parametrize("C", [1e-12, 1e12])
@pytest.mark.parametrize(
    "cls", [CPM3C, MKC, GMMC, IterSVM, IterSVR, IterLSSVM, MaxMarginClustering], ids=lambda c: c.__name__
)
def test_the_ends_of_the_range_of_costs(cls, C):
    assert set(fitted(cls, X, C=C).labels_) == {0, 1}


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_masks_and_dates_are_refused(cls):
    masked = np.ma.masked_array(X, mask=X > 5)
    with pytest.raises(InvalidDataError, match=r"masked array with \d+ masked entries.*fill them"):
        fitted(cls, masked)
    for kind in ("datetime64[s]", "timedelta64[s]"):
        with pytest.raises(InvalidDataError, match=r"X holds <[mM]8\[s\]|X holds (datetime|timedelta)64"):
            fitted(cls, (1e6 * X).astype("i8").astype(kind))


def test_masked_arrays_without_masked_entries_are_arrays():
    np.testing.assert_array_equal(fitted(CPM3C, np.ma.masked_array(X)).labels_, fitted(CPM3C, X).labels_)


def test_frames_with_dates_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=pd.Timestamp("2020-01-01"))
    for rows in (frame, frame[["d"]]):
        with pytest.raises(InvalidDataError, match="dates or durations in place of numbers"):
            fitted(CPM3C, rows)


@pytest.mark.parametrize("cls", WITH_KERNEL, ids=lambda cls: cls.__name__)
def test_complex_kernels_are_refused(cls):
    with pytest.raises(InvalidDataError, match="returned values of dtype complex128; they must be real numbers"):
        fitted(cls, X, kernel=lambda A, B: (A @ B.T) * (1 + 1j))


@pytest.mark.parametrize("cls", WITH_KERNEL, ids=lambda cls: cls.__name__)
def test_unknown_arguments_of_the_linear_kernel_are_refused(cls):
    with pytest.raises(InvalidDataError, match="kernel_params holds 'degree', but kernel 'linear' takes none"):
        fitted(cls, X, kernel="linear", kernel_params={"degree": 3})


SINGLE = [
    (CPM3C, {"C": 10.0, "balance": 0.5, "min_cluster_fraction": 0.25, "tol": 0.0078125}),
    (CPM3C, {"kernel": "rbf", "gamma": 0.125}),
    (M2DCU, {"C": 10.0, "C_universum": 0.0}),
    (MKC, {"C": 10.0, "norm": 1.5}),
    (MMC, {"C": 2.0, "tol": 0.0009765625}),
    (GMMC, {"C": 2.0, "ridge": 0.0078125}),
    (IterSVM, {"C": 10.0}),
    (IterSVR, {"C": 10.0, "epsilon": 0.0625}),
    (MaxMarginClustering, {"C": 10.0, "gamma": 0.125}),
]


@pytest.mark.parametrize(("cls", "settings"), SINGLE, ids=lambda value: getattr(value, "__name__", ""))
def test_parameters_in_single_precision_are_numbers(cls, settings):
    single = {name: np.float32(value) if isinstance(value, float) else value for name, value in settings.items()}
    expected, found = fitted(cls, X, **settings), fitted(cls, X, **single)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert found.objective_ == expected.objective_
    assert found.get_params()["C"] is single.get("C", expected.C)  # as the user gave it


def test_parameters_stay_as_they_are_given_while_a_fit_runs():
    C, seen = np.float32(0.1), []
    model = CPM3C(2, C=C, random_state=0)
    model.set_params(callback=lambda record: seen.append(model.C)).fit(X)
    assert len(seen) == len(model.history_) and all(value is C for value in seen)
    model.set_params(callback=None, outliers=0.1).fit(X)
    assert hasattr(model, "reject_beyond_")
    model.set_params(outliers=0).fit(X)
    assert not hasattr(model, "reject_beyond_")  # nothing is left of the fit before


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_one_number_that_dwarfs_the_others_is_told(form):
    X = 1.0 + np.random.default_rng(0).random((60, 3))
    X[7, 1] = 1e6
    CPM3C(2, random_state=0).fit(form(X))  # warnings are errors here
    X[7, 1] = 1e12
    with pytest.warns(UserWarning, match=r"1\.0e\+12 from the median of its column.*Correct or drop"):
        CPM3C(2, random_state=0).fit(form(X))
