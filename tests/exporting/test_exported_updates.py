"""Exported models after updates give the numbers of the clusters, which have gaps."""

import numpy as np
import pytest
from _exported import run_duckdb, run_here, run_onnx, run_sqlite

import widegap
from _updated import rows_of, updated

ROWS, _ = rows_of((0, 2, 3, 4), n=400, seed=11)


@pytest.mark.parametrize("method", ["forest", "cpm3c"])
def test_exported_clusters_are_numbers(method, tmp_path):
    model, _, _ = updated(method)
    for name in ("model.py", "model.onnx"):
        widegap.export(model, tmp_path / name)
    widegap.export(model, tmp_path / "model.sql", keep=("id",))
    expected = model.predict(ROWS)
    assert expected.max() >= model.n_clusters_
    found = [
        run_here(tmp_path / "model.py", ROWS),
        run_onnx(tmp_path / "model.onnx", {"X": ROWS}),
    ]
    columns = {"id": range(len(ROWS)), **{f"x{j}": column.tolist() for j, column in enumerate(ROWS.T)}}
    found += [run(tmp_path / "model.sql", "rows", columns) for run in (run_sqlite, run_duckdb)]
    for one in found:
        np.testing.assert_array_equal(np.asarray(one["cluster"], int), expected)
