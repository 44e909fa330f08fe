"""Losses made of three functions of scores: the plain hinge against the compiled one, and the worked example."""

import ast
import runpy
import tracemalloc
from copy import copy, deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from _problems import blobs, make_recorder, random_labels
from _representations import every_representation, rounding, table
from widegap.constraints._label_rules import size_rules
from widegap.cutting_plane._cccp import Search, search_from
from widegap.cutting_plane._hinge import HingeLoss
from widegap.cutting_plane._problem import Problem
from widegap.cutting_plane._score_loss import ScoreLoss
from widegap.rows._centred import CentredRows
from widegap.rows._sources import row_blocks

EXAMPLE = Path(__file__).parents[2] / "examples" / "add_a_loss.py"
example = runpy.run_path(str(EXAMPLE))
HuberHingeLoss = example["HuberHingeLoss"]


class PlainHinge(ScoreLoss):
    """The hinge by its definition; codes are its active rivals as a boolean table."""

    def __init__(self, rows, n_clusters, loss):
        super().__init__(rows, n_clusters)
        self.loss, self.weight = loss, 1 / n_clusters if loss == "sum" else 1.0

    def _hinges(self, scores, labels):
        hinges = 1 + scores - scores[np.arange(len(scores)), labels][:, None]
        hinges[np.arange(len(scores)), labels] = 0
        return np.maximum(hinges, 0)

    def costs(self, scores):
        each = [self._hinges(scores, np.full(len(scores), p)) for p in range(self.n_clusters)]
        return np.stack([h.max(axis=1) if self.loss == "max" else h.sum(axis=1) * self.weight for h in each], axis=1)

    def codes(self, scores, labels):
        hinges = self._hinges(scores, labels)
        active = hinges > 0
        return active if self.loss == "sum" else active & np.eye(self.n_clusters, dtype=bool)[hinges.argmax(axis=1)]

    def planes(self, codes, labels):
        own = np.eye(self.n_clusters)[labels]
        offsets = (codes & (own == 0)).sum(axis=1)
        return self.weight * offsets, self.weight * (codes.sum(axis=1)[:, None] * own - codes)


def test_a_copy_has_the_rows_and_what_travels_has_not():
    rows = CentredRows(row_blocks(table(40, 3)))
    loss = PlainHinge(rows, 3, "max")
    W, b = np.random.default_rng(0).normal(size=(3, 3)), np.zeros(3)
    labels = loss.best_labels(W, b)[0]
    assert copy(loss).plane(W, b, labels).loss == loss.plane(W, b, labels).loss
    assert deepcopy(loss).plane(W, b, labels).loss == loss.plane(W, b, labels).loss
    travelling = []
    loss.rows.judge = lambda W, b, function, *state: (
        travelling.append(function) or CentredRows.judge(rows, W, b, function, *state)
    )
    loss.plane(W, b, labels)
    assert not any(hasattr(cell.cell_contents, "rows") for cell in travelling[0].__closure__)


@every_representation
@pytest.mark.parametrize("loss", ["max", "sum"])
@pytest.mark.parametrize("k", [2, 3, 9])
def test_a_plain_hinge_equals_the_compiled_one(make_blocks, loss, k, monkeypatch, tmp_path):
    monkeypatch.setattr("widegap.rows._sources.BLOCK_BYTES", 900)
    rows = CentredRows(make_blocks(table(157, 6), tmp_path))
    rng = np.random.default_rng(k)
    W, b = rng.normal(size=(k, 6)), rng.normal(size=k) / 4
    plain, compiled = PlainHinge(rows, k, loss), HingeLoss(rows, k, loss=loss)
    tol = rounding(rows.blocks)
    labels, plane = plain.best_labels(W, b)
    expected_labels, expected = compiled.best_labels(W, b)
    assert_array_equal(labels, expected_labels)
    assert_array_equal(np.packbits(plane.codes, axis=1, bitorder="little"), expected.codes)
    given = random_labels(rng, 157, k)
    for one, other in ((plane, expected), (plain.plane(W, b, given), compiled.plane(W, b, given))):
        assert (one.loss, one.offset) == pytest.approx((other.loss, other.offset), rel=tol)
        assert_allclose(one.normal, other.normal, rtol=0, atol=10 * tol)
        assert_allclose(one.bias, other.bias, rtol=0, atol=10 * tol)
    assert_allclose(plain.label_costs(W, b), compiled.label_costs(W, b), rtol=0, atol=100 * tol)
    found, wanted = plain.shift([plane.codes] * 2, labels, given), compiled.shift([expected.codes] * 2, labels, given)
    for name in ("offset", "normal", "bias"):
        assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-12)


def huber_loss(n=60, d=3, k=3, seed=0):
    return HuberHingeLoss(CentredRows(row_blocks(blobs(np.random.default_rng(seed), n, d, k))), k)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_planes_of_the_example_touch_the_loss_and_lie_below_it_for_any_labels(k):
    rng = np.random.default_rng(k)
    term = huber_loss(k=k, seed=k)
    labels = random_labels(rng, 60, k)
    W, b = 2 * rng.normal(size=(k, 3)), rng.normal(size=k)
    plane = term.plane(W, b, labels)
    assert plane.offset - np.vdot(plane.normal, W) - plane.bias @ b == pytest.approx(plane.loss, abs=1e-12)
    gaps = []
    for _ in range(50):
        new = random_labels(rng, 60, k)
        shift = term.shift([plane.codes], labels, new)
        V, c = W + rng.normal(size=W.shape), b + rng.normal(size=k)
        height = plane.offset + shift.offset[0] - np.vdot(plane.normal + shift.normal[0], V)
        gaps.append(term.plane(V, c, new).loss - height + (plane.bias + shift.bias[0]) @ c)
    assert min(gaps) >= -1e-12
    assert term.plane(W, b, term.best_labels(W, b)[0]).loss <= plane.loss


@pytest.mark.parametrize("k", [2, 3])
def test_the_objective_of_the_example_never_rises(k):
    rng = np.random.default_rng(k)
    term = huber_loss(k=k, seed=k)
    problem = Problem(term, 60, k, 3, 0.05, size_rules(term.rows.blocks, np.full(k, 5), np.full(k, 60)))
    search = Search.from_labels(problem, random_labels(rng, 60, k), make_recorder(problem), 1e-4, 300)
    values = [search.best.objective]
    move_to = search.move_to
    search.move_to = lambda *step: values.append(search.best.objective) or move_to(*step)
    result = search_from(search, "linearize_first", anneal=False)
    values.append(result.point.objective)
    assert result.converged
    assert np.ptp(result.point.b) == 0  # mean scores are balanced unless a problem says otherwise
    assert len(values) > 3 and values[-1] < 0.99 * values[0]
    assert (np.diff(values) <= 1e-12).all()


def test_labels_of_the_example_keep_the_bounds_where_all_rows_want_one_cluster():
    term = huber_loss(k=3, seed=0)
    problem = Problem(term, 60, 3, 3, 0.05, size_rules(term.rows.blocks, np.full(3, 5), np.full(3, 60)))
    step = problem.relabel(np.zeros((3, 3)), np.array([5.0, 0.0, 0.0]))
    assert_array_equal(np.bincount(step.labels), [50, 5, 5])
    assert step.bound_active


def test_the_example_finds_the_groups():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 30)
    X = 8 * np.eye(3)[truth] + rng.normal(size=(90, 3))
    start = np.where(rng.random(90) < 0.3, rng.integers(0, 3, 90), truth).astype(np.int32)
    result, records = example["cluster"](X, start, 3, min_count=10)
    assert result.converged and records
    assert_array_equal(result.point.labels, truth)


def test_the_example_runs_and_is_short(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "adjusted Rand index 0." in capsys.readouterr().out
    text = EXAMPLE.read_text(encoding="utf-8")
    documented = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
    ]
    quoted = {
        line
        for node in documented
        if ast.get_docstring(node)
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    code = [i for i, line in enumerate(text.splitlines(), 1) if line.strip() and i not in quoted]
    assert len(code) < 60


@pytest.mark.parametrize("make", [HuberHingeLoss, partial(HingeLoss, loss="max")], ids=["huber", "hinge"])
def test_moving_planes_takes_no_memory_for_cuts_times_moved_rows(make, monkeypatch):
    monkeypatch.setattr("widegap.rows._centred.MOVED_ROWS", 1000)
    n, m = 50_000, 40
    loss = make(CentredRows(row_blocks(np.random.default_rng(0).normal(size=(n, 2)))), 2)
    labels, plane = loss.best_labels(np.eye(2), np.zeros(2))
    tracemalloc.start()
    try:
        loss.shift([plane.codes] * m, labels, 1 - labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * m * 8 / 4
