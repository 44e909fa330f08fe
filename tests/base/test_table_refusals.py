"""A table with text or gaps is refused with the line to write, and that line works."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import widegap
from widegap import CPM3C, GMMC, M2DCU, MKC, MMC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering, TableEncoder
from widegap.exceptions import InvalidDataError

ESTIMATORS = [
    CPM3C(2, random_state=0),
    M2DCU(2, C_universum=0, random_state=0),
    MKC(2, random_state=0),
    MaxMarginClustering(2, random_state=0),
    IterSVR(2),
    IterLSSVM(2),
    IterSVM(2),
    MMC(2),
    GMMC(2),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)


def numbers(n=40):
    """Two groups of rows."""
    rng = np.random.default_rng(0)
    return rng.normal(np.arange(n)[:, None] % 2 * 8.0, 1.0, (n, 3))


def frame_with_text():
    frame = pd.DataFrame(numbers(), columns=["age", "income", "visits"])
    return frame.assign(city=["Bonn", "Ulm"] * 20)


def frame_with_gaps():
    frame = pd.DataFrame(numbers(), columns=["age", "income", "visits"])
    frame.iloc[4:16, 1] = np.nan
    return frame


def refusal(estimator, X, method="fit"):
    with pytest.raises(InvalidDataError) as caught:
        getattr(estimator, method)(X)
    return str(caught.value)


def follow(message, X):
    """Run the line that a message shows."""
    line = message[message.index("make_pipeline") :]
    known = {"make_pipeline": make_pipeline, "SimpleImputer": SimpleImputer, "pandas": pd, "X": X, **vars(widegap)}
    known |= {type(model).__name__: type(model) for model in ESTIMATORS} | {"TableEncoder": TableEncoder}
    return eval(line, known)  # noqa: S307


def as_objects(X):
    found = X.astype(object)
    found[2, 1] = "many"
    return found


@every_estimator
def test_text_is_refused_with_the_line_to_write(estimator):
    X = frame_with_text()
    message = refusal(estimator, X)
    assert message.startswith(
        "Column 'city' of X has text ('Bonn'), but only numbers can be clustered; encode the table"
    )
    assert "make_pipeline(TableEncoder(), " in message


@every_estimator
def test_gaps_are_refused_with_the_line_to_write(estimator):
    message = refusal(estimator, frame_with_gaps())
    assert message.startswith(
        "Input X contains NaN: 12 missing cells, the first in column 'income'. TableEncoder fills"
    )


TABLES = {
    "pandas": frame_with_text(),
    "category": frame_with_text().astype({"city": "category"}),
    "polars": pl.from_pandas(frame_with_text()),
    "Arrow": pa.Table.from_pandas(frame_with_text()),
    "objects": as_objects(numbers()),
    "lists": as_objects(numbers()).tolist(),
    "texts": np.array([["a", "b"], ["c", "d"], ["a", "e"]]),
    "text beside NA": frame_with_text().astype(object).where(frame_with_gaps().assign(city=1).notna(), pd.NA),
    "gaps": frame_with_gaps(),
    "gaps in polars": pl.from_pandas(frame_with_gaps()),
    "gaps in an array": frame_with_gaps().to_numpy(),
    "gaps in nullable columns": frame_with_gaps().convert_dtypes(),
    "sparse gaps": sp.csr_array(np.where(numbers() > 6, np.nan, numbers())),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore::widegap.exceptions.NoStructureWarning")
def test_the_line_that_is_shown_works(name):
    X = TABLES[name]
    fitted = follow(refusal(MaxMarginClustering(2, random_state=0), X), X)
    n = X.num_rows if isinstance(X, pa.Table) else len(X) if isinstance(X, list) else X.shape[0]
    assert fitted[-1].labels_.shape == (n,)


def test_one_gap_is_counted_as_one():
    X = numbers()
    X[3, 2] = np.nan
    assert "1 missing cell, in column 2. TableEncoder" in refusal(CPM3C(), X)


def test_numbers_in_texts_are_numbers():
    X = numbers().round(2)
    expected = CPM3C(random_state=0).fit(X).labels_
    np.testing.assert_array_equal(CPM3C(random_state=0).fit(X.astype(str).astype(object)).labels_, expected)


@pytest.mark.parametrize("method", ["predict", "transform", "score", "decision_function"])
def test_new_rows_are_refused_in_the_same_words(method):
    model = CPM3C(random_state=0).fit(numbers())
    X = numbers()
    X[0, 0] = np.nan
    assert "TableEncoder fills them" in refusal(model, X, method)
    assert "has text ('many')" in refusal(model, as_objects(numbers()), method)


def test_a_long_estimator_is_shortened():
    model = CPM3C(2, C=3.0, min_cluster_fraction=0.25, n_init=3, random_state=4, tol=0.05)
    assert "CPM3C(...)).fit(X)" in refusal(model, frame_with_text())


def test_views_are_named():
    views = {"people": frame_with_text(), "places": numbers()}
    assert "Column 'city' of view 'people' has text" in refusal(MKC(2), views)
    assert refusal(MKC(2), views).endswith("TableEncoder().fit_transform(X['people'])")


def test_a_kernel_matrix_is_not_encoded():
    K = numbers() @ numbers().T
    K[3, 4] = np.nan
    message = refusal(MaxMarginClustering(2, kernel="precomputed"), K)
    assert "leave out the rows and columns" in message and "TableEncoder" not in message


@pytest.mark.parametrize("X", [np.full((4, 2), np.inf), np.zeros((3, 2)) + 1j, np.zeros(4), np.array(["a", "b"])])
def test_other_errors_stay_as_they_are(X):
    with pytest.raises(ValueError, match="infinity|Complex data|Expected 2D array|could not convert"):
        CPM3C().fit(X)
