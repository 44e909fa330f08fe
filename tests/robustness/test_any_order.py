"""Every estimator under any order of its calls, with any of its options; after every call what must hold is checked.

A failure shows the shortest sequence of calls that hypothesis finds to fail.
"""

import copy
import pickle
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sklearn.base import clone

from _counts import tried
from _walk_checks import check_labels, check_model, check_predictions, check_repeats, differences, same, state
from _walk_sides import LINKS, NAMES, Side, SideSpec, sides
from _walk_tables import GROUPS, fingerprint, later_rows, tables
from exporting._exported import run_here, worst
from widegap import CPM3C, GMMC, M2DCU, MKC, IterLSSVM, IterSVM, IterSVR, MaxMarginClustering, export, persistence
from widegap.base._clusterer import stored_attributes
from widegap.exceptions import WidegapError

FLAG_COLUMNS = [slice(3, 6)]
COMMON = {
    "n_clusters": [3, 3, 3, 4, 5, 2, 1],
    "outliers": [0, 0, 0.15, "auto"],
    "size_min": [None, None, None, 2, 0.1],
    "size_max": [None, None, None, 0.75],
    "memory": [5000, 5000, 20, 0],
}
CUTTING = {**COMMON, "init": ["k-means", "random", "given"], "balance": [0.03, 0.5]}
PLAIN = {"n_clusters": [2, 2, 3, 1, 4]}
OPTIONS = {
    MaxMarginClustering: {
        **COMMON,
        "n_clusters": [*COMMON["n_clusters"], "auto", "auto", "auto"],
        "search": ["agree", "merge", "merge", "merge", "moves"],
        "kernel": ["rbf", "rbf", "linear", "cosine"],
        "min_cluster_fraction": ["auto", 0.2],
        "smoothing": ["auto", 1],
        "init": ["k-means", "k-means", "k-means", "given"],
        "columns": ["auto", "auto", "flags", None],
        "n_components": ["auto", 5],
    },
    CPM3C: {**CUTTING, "kernel": ["linear", "rbf"], "loss": ["max", "sum"]},
    M2DCU: {name: values for name, values in CUTTING.items() if name != "memory"} | {"C_universum": [0, 1.0, "auto"]},
    MKC: {**CUTTING, "kernels": [["linear"], ["linear", "cosine"]], "loss": ["max", "sum"]},
    IterSVR: PLAIN,
    IterLSSVM: PLAIN,
    IterSVM: PLAIN,
    GMMC: {"n_clusters": [2, 1]},
}


def chosen_options(cls):
    return st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS[cls].items()})


class EstimatorWalk(RuleBasedStateMachine):
    """One estimator, the rows of its labels, and what was said of them."""

    cls = MaxMarginClustering
    drawn_tables = staticmethod(tables)

    def drawn_sides(self):
        """Side information for ``fit``."""
        return sides() if "size_min" in OPTIONS[self.cls] else st.just(SideSpec())

    def __init__(self):
        super().__init__()
        self.model, self.is_fitted = self.cls(random_state=0), False
        self.side, self.table, self.n_updates = Side(), None, 0
        self.steps = 0

    # Calls

    def attempt(self, call, *, must_go_well=False):
        """The result of a call, or None where it was refused with a reason; all else is an error."""
        self.steps += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of clusters without structure, starved ones, slow searches
            try:
                return call()
            except WidegapError as refusal:
                assert len(str(refusal)) > 30, f"an error without a reason: {refusal!r}"
                assert not must_go_well, f"a call was refused that can be done: {refusal}"
                return None

    def leaves(self, call, **options):
        """The result of a call that must leave model and rows as they are, whether it is refused or not."""
        before, rows = state(self.model), fingerprint(self.table.X)
        found = self.attempt(call, **options)
        assert not differences(before, state(self.model)), "the call changed its model"
        assert fingerprint(self.table.X) == rows, "the call changed the rows"
        return found

    @rule(data=st.data())
    def fit(self, data):
        table = data.draw(self.drawn_tables(), "table")
        options = data.draw(chosen_options(self.cls), "options")
        self.fit_on(table, options, data.draw(self.drawn_sides(), "side").of(table.groups))

    def fit_on(self, table, options, side):
        options = dict(options)
        if options.get("init") == "given":
            options["init"] = "k-means" if options["n_clusters"] == "auto" else table.groups % options["n_clusters"]
        if options.get("columns") == "flags":
            options["columns"] = FLAG_COLUMNS if table.shape == "flags" else "auto"
        self.model.set_params(**options)
        fresh, params = clone(self.model), copy.deepcopy(self.model.get_params())
        self.is_fitted, rows, said = False, fingerprint(table.X), copy.deepcopy(side.arguments)
        fitted = self.attempt(
            lambda: self.model.fit(table.X, **side.arguments), must_go_well=must_fit(table, options, side)
        )
        assert fingerprint(table.X) == rows and same(said, side.arguments), "fit changed the arguments of the user"
        assert same(params, self.model.get_params()), "fit changed parameters"
        again = self.attempt(lambda: fresh.fit(table.X, **side.arguments))
        assert (fitted is None) == (again is None), "a fresh estimator is refused, or is not"
        if fitted is None:
            return
        self.is_fitted, self.table, self.side, self.n_updates = True, table, side, 0
        assert vars(self.model).keys() == vars(fresh).keys(), (
            f"a fresh estimator has other attributes: {sorted(vars(self.model).keys() ^ vars(fresh).keys())}"
        )
        assert not differences(state(self.model), state(fresh)), (
            f"a fresh estimator differs: {differences(state(self.model), state(fresh))}"
        )

    @precondition(lambda self: self.is_fitted)
    @rule()
    def predict(self):
        found = self.leaves(lambda: self.check_predictions(self.table), must_go_well=True)
        check_repeats(self.model, self.side, self.table, found)

    @precondition(lambda self: self.is_fitted)
    @rule(later=later_rows())
    def predict_others(self, later):
        table = self.table.later(**later)
        self.leaves(lambda: self.check_predictions(table))

    def check_predictions(self, table):
        return check_predictions(self.model, table, table.X)

    @precondition(lambda self: self.is_fitted)
    @rule(rows=st.booleans(), goes_on=st.booleans())
    def save_and_load(self, rows, goes_on):
        if type(self.model.labels_).__module__.startswith("dask"):
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.widegap"
            self.leaves(lambda: persistence.save(self.model, path, rows=rows), must_go_well=True)
            loaded = self.attempt(lambda: persistence.load(path)[0], must_go_well=True)
        for name, value in self.model.get_params().items():
            assert same(value, loaded.get_params()[name]), f"{name} is another one after loading"
        names = (vars(self.model).keys() - self.model.get_params().keys()) & stored_attributes(type(self.model)).keys()
        smaller = set() if rows else {"_memory", "coef_", "kernel_map_", "_mean"}
        assert len(self.model.history_) == len(loaded.history_)
        for name in names - smaller - {"history_"}:  # whose records have times
            assert same(getattr(self.model, name), getattr(loaded, name)), f"{name} is another one after loading"
        self.same_predictions(loaded, exact=rows)
        if goes_on:
            self.model = loaded

    @precondition(lambda self: self.is_fitted)
    @rule(goes_on=st.booleans(), how=st.sampled_from(["pickle", "deepcopy"]))
    def copies(self, goes_on, how):
        copied = self.leaves(
            lambda: copy.deepcopy(self.model) if how == "deepcopy" else pickle.loads(pickle.dumps(self.model)),
            must_go_well=True,
        )
        assert not differences(state(self.model), state(copied)), "a copy differs"
        self.same_predictions(copied)
        if goes_on:
            self.model = copied

    @precondition(lambda self: self.is_fitted)
    @rule()
    def clones(self):
        other = self.leaves(lambda: clone(self.model), must_go_well=True)
        assert set(vars(other)) == set(other.get_params(deep=False)), "a clone has more than its parameters"

    @precondition(lambda self: self.is_fitted)
    @rule()
    def exports(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.py"
            self.leaves(lambda: export(self.model, path))
            if not path.exists():
                return
            X = self.table.dense.astype(np.float32) if self.table.container == "float32" else self.table.dense
            found = run_here(path, X)
        wanted, scores = np.asarray(self.model.predict(self.table.X)), np.asarray(found["scores"])
        close = 1e-3 if self.table.container == "float32" else 1e-6
        assert worst(found["scores"], np.asarray(self.model.decision_function(self.table.X))) < close, "scores differ"
        if scores.shape[1] > 1:
            two = np.sort(scores, axis=1)[:, -2:]
            clear = two[:, 1] - two[:, 0] > 2 * close * (np.ptp(scores) or 1)
            assert (np.asarray(found["cluster"])[clear] == wanted[clear]).all(), "clusters of the exported model differ"

    def same_predictions(self, other, *, exact=True):
        X = self.table.X
        one, two = (np.asarray(model.decision_function(X)) for model in (self.model, other))
        # Products of matrices depend on where these lie in memory; a model without rows has fewer features.
        close = (1e-9 if exact and one.dtype == np.float64 else 1e-3) * (np.ptp(one) or 1.0)
        assert np.allclose(one, two, rtol=0, atol=close), f"scores differ by {np.abs(one - two).max()}"
        if hasattr(self.model, "classes_"):
            assert self.model.classes_ == other.classes_

    def teardown(self):
        tried(f"steps with {self.cls.__name__}", self.steps)

    @precondition(lambda self: self.is_fitted)
    @invariant()
    def holds(self):
        self.check()

    def check(self):
        check_model(self.model, self.side, self.table)


class UpdatableWalk(EstimatorWalk):
    """An estimator that takes new rows."""

    @precondition(lambda self: self.is_fitted)
    @rule(
        later=later_rows(),
        spec=sides(("sample_weight",)),
        forget=st.sampled_from([0, 0, 0.5, 0.99]),
        in_place=st.booleans(),
    )
    def update(self, later, spec, forget, in_place):
        table = self.table.later(**later)
        said = self.of_new_rows(spec, table)
        rows, old = fingerprint(table.X), self.model
        names = dict(zip(old.cluster_numbers_.tolist(), old.classes_, strict=True))
        new = self.leaves(lambda: old.update(table.X, forget=forget, **said.arguments))
        assert fingerprint(table.X) == rows, "update changed the new rows"
        if new is None:
            return
        if in_place and not forget:
            other = copy.deepcopy(old)
            self.attempt(lambda: other.partial_fit(table.X, **said.arguments), must_go_well=True)
            assert not differences(state(new), state(other)), (
                f"partial_fit differs: {differences(state(new), state(other))}"
            )
            new = other
        self.check_update(names, new)
        self.model, self.table, self.n_updates = new, table, self.n_updates + 1
        self.side = Side(said.arguments, self.side.is_true)

    def of_new_rows(self, spec, table):
        return spec.of(table.groups)

    def check_update(self, names, new):
        params = self.model.get_params()
        assert same(params, new.get_params()), "update changed parameters"
        later = dict(zip(new.cluster_numbers_.tolist(), new.classes_, strict=True))
        for number, label in names.items():
            # Labels may be of rows that were not remembered.
            if label is not None and number in self.remembered(self.model).labels:
                assert later.get(number) == label, f"cluster {number}, {label!r}, became {later}"
        memory = self.remembered(new)
        assert np.isin(memory.labels, new.cluster_numbers_).all()
        if memory.units is not None:
            anchors = memory.units.anchors[memory.units.of_row]
            fixed = anchors >= 0
            assert (new.cluster_numbers_[anchors[fixed]] == memory.labels[fixed]).all(), "a remembered label is lost"
        assert isinstance(new.changes_, list) and 0 <= new.drift_.p_value <= 1

    def remembered(self, model):
        return model._memory


class UniversumWalk(EstimatorWalk):
    """An estimator that takes rows of other groups."""

    def fit_on(self, table, options, side):
        if options["C_universum"]:
            others = table.later(seed=table.seed + 1, n=12, of_groups=(3,))
            side = replace(side, arguments={**side.arguments, "universum": others.dense})
        super().fit_on(table, options, side)


class KeptSearchWalk(UpdatableWalk):
    """An estimator whose search can be cut again."""

    @precondition(lambda self: self.is_fitted)
    @rule(spec=sides(("known", *LINKS)))
    def refit(self, spec):
        self.correct(spec.of(self.table.groups))

    def correct(self, later):
        side = self.side.replaced(later)
        found = self.leaves(lambda: self.model.refit(**later.arguments))
        if found is not None:
            self.model, self.side = found, side

    @precondition(lambda self: self.is_fitted)
    @rule(k=st.integers(1, 7))
    def cut(self, k):
        labels = self.leaves(lambda: self.model.cut(k))
        if labels is not None:
            check_labels(labels, self.model, self.side, self.table, k)

    @precondition(lambda self: self.is_fitted)
    @rule(k=st.integers(1, 7))
    def with_clusters(self, k):
        labels = self.attempt(lambda: self.model.cut(k))
        if labels is None:
            return
        found = self.leaves(lambda: self.model.with_clusters(k), must_go_well=True)
        assert found.n_clusters_ == k
        assert np.array_equal(np.asarray(found.labels_), np.asarray(labels)), "with_clusters(k).labels_ are not cut(k)"
        self.model = found

    @precondition(lambda self: self.is_fitted)
    @rule(n=st.integers(1, 10), kind=st.sampled_from(["strings", "numbers"]))
    def questions(self, n, kind):
        questions = self.leaves(lambda: self.model.questions(n))
        if questions is None:
            return
        asked, n_rows = [question.row for question in questions], self.table.n
        known = dict(self.side.known(n_rows))
        assert len(asked) == len(set(asked)) <= n, f"rows that are asked for: {asked}"
        assert all(0 <= row < n_rows and row not in known for row in asked)
        assert self.side.takes_part(n_rows)[asked].all(), "a row is asked for that took no part"
        assert all(np.isin(question.candidates, self.model.cluster_numbers_).all() for question in questions)
        names = NAMES[self.side.kind if known else kind]
        answers = [names[self.table.groups[row]] for row in asked]
        found = self.leaves(lambda: self.model.answered(questions, answers), must_go_well=True)
        assert found.shape == (n_rows,)
        assert all(found[row] == answer for row, answer in zip(asked, answers, strict=True)), "answers are lost"
        assert all(found[row] == label for row, label in known.items()), "labels are lost"
        self.correct(Side({"known": found}, True, self.side.kind if known else kind))


def must_fit(table, options, side):
    """Whether a refusal is an error: what was said is true of the groups, and there are clusters enough."""
    k = options["n_clusters"]
    roomy = k == "auto" or GROUPS <= k <= 5
    sized = options.get("size_min") is not None or options.get("size_max") is not None
    named = options.get("search") != "moves" and isinstance(options.get("init", ""), str)
    plenty = table.n >= 30 and table.shape in ("plain", "shifted", "flags", "wide", "constant")
    return bool(side.is_true and roomy and not sized and named and plenty and table.in_process)


def machine_of(cls):
    base = KeptSearchWalk if hasattr(cls, "cut") else UpdatableWalk if hasattr(cls, "update") else EstimatorWalk
    base = UniversumWalk if cls is M2DCU else base
    return type(f"{cls.__name__}Walk", (base,), {"cls": cls})


def walk(machine, examples, steps, **further):
    """Sequences of calls, the same in every run."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            **further,
        ),
    )


EXAMPLES = {MaxMarginClustering: 8, CPM3C: 3, M2DCU: 2, MKC: 3, IterSVR: 1, IterLSSVM: 1, IterSVM: 1, GMMC: 1}


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_any_order_of_calls(cls):
    walk(machine_of(cls), EXAMPLES[cls], 12)


@pytest.mark.slow
@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_any_order_of_more_calls(cls):
    walk(machine_of(cls), 25 * EXAMPLES[cls], 20)
