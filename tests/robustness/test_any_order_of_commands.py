"""The commands in any order on generated tables, in one folder: every result can be used by every other command.

Exit codes, errors of one line, whole files, as many rows out as in, the same clusters wherever they are written, names
and corrections kept. The server of ``explore`` is left out: its workspace does what a person would do on the page.
"""

import contextlib
import csv
import io
import json
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from test_any_order import walk

from _counts import tried
from _walk_tables import SEEDS, Table
from widegap import persistence
from widegap.cli._errors import CommandError, _explain
from widegap.cli._main import main
from widegap.cli._verify import OTHER_ROWS
from widegap.exceptions import WidegapError
from widegap.explorer._export import EXPORTS, download
from widegap.explorer._opening import Opened

CITIES = ("Bonn", "Ulm", "Jena", "Kiel")
SIZES = st.one_of(st.integers(24, 48), st.integers(24, 48), st.integers(2, 9))
FIELDS = {
    "rename": ("cluster", "name"), "is": ("rows", "cluster"), "junk": ("rows",), "together": ("rows", "asked"),
    "apart": ("rows",), "merge": ("clusters",), "split": ("cluster",), "k": ("k",),
}  # fmt: skip
NAMES = ("loyal", "new ones", "ärger, sort of", "3", "-1", "None", "=1+1", "x" * 60)


@dataclass
class Stored:
    """A model file: the table that it was fitted to, and what has to stay true of it."""

    path: Path
    data: Path
    n: int
    names: dict = field(default_factory=dict)  # of clusters, by number
    has_rows: bool = True


def written_table(path, spec, missing):
    """A CSV file of customers: an id, two numbers, a city that goes with the group, a known kind and a weight."""
    groups, rng = spec.groups, np.random.default_rng(spec.seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "spend", "visits", "city", "kind", "weight", "truth"])
        for i, (row, group) in enumerate(zip(spec.dense.tolist(), groups.tolist(), strict=True)):
            known = "abcd"[group] if rng.random() < 0.1 else ""
            gap = missing and rng.random() < 0.05
            cells = [f"{100 + 10 * row[0]:.2f}", "" if gap else f"{20 + row[1]:.3f}", CITIES[group]]
            writer.writerow([f"c{spec.seed}-{i}", *cells, known, rng.integers(0, 3) if i else 1, "pqrs"[group]])


def rows_of(path):
    """The rows of a table that was written, as dicts."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".parquet":
        import pandas as pd

        return pd.read_parquet(path).to_dict("records")
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def names_in(estimator, extra):
    """Names of clusters that a model file holds, by number: those of known labels, and those that people gave."""
    classes = getattr(estimator[-1], "classes_", None) or []
    found = {int(n): str(c) for n, c in zip(estimator[-1].cluster_numbers_, classes, strict=False) if c is not None}
    return found | {int(number): name for number, name in extra.get("names", {}).items()}


def clusters_of(path):
    return [int(row["cluster"]) for row in rows_of(path)]


class CommandWalk(RuleBasedStateMachine):
    """A folder of tables and models."""

    def __init__(self):
        super().__init__()
        self.kept = tempfile.TemporaryDirectory(prefix="widegap-walk-")
        self.folder = Path(self.kept.name)
        self.tables, self.models, self.n_files, self.steps = {}, [], 0, 0

    def teardown(self):
        self.kept.cleanup()
        tried("commands in any order", self.steps)

    # Running

    def new(self, ending):
        self.n_files += 1
        return self.folder / f"{self.n_files}{ending}"

    def run(self, *arguments, further=()):
        """Exit code (0, 2 or a further one) and standard output; files have to be whole, errors have one line."""
        self.steps += 1
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        out, err, refused = io.StringIO(), io.StringIO(), []

        def explained(error):
            refused.append(error)
            return _explain(error)

        with (
            mock.patch("widegap.cli._errors._explain", explained),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("ignore", UserWarning)
            code = main([str(argument) for argument in arguments])
        shown = f"widegap {' '.join(map(str, arguments))}\n{err.getvalue()}"
        for error in refused:
            if not isinstance(error, (CommandError, WidegapError, OSError)):
                raise AssertionError(shown) from error
        assert code in (0, 2, *further), f"exit code {code}: {shown}"
        assert "Traceback" not in err.getvalue() and "Warning:" not in err.getvalue(), shown
        if code == 2:
            errors = [line for line in err.getvalue().splitlines() if line.startswith("error: ")]
            assert len(errors) == 1 and len(errors[0]) > 40, f"no error of one line: {shown}"
            assert not any(word in errors[0] for word in ("n_clusters", "ValueError", "must_link=")), shown
            after = {path: path.read_bytes() for path in self.folder.iterdir()}
            assert after == before, f"a command that failed has written {after.keys() ^ before.keys()}: {shown}"
        else:
            for path, content in before.items():
                assert path.read_bytes() == content, f"{path} was changed by {shown}"
        hidden = [path.name for path in self.folder.iterdir() if path.name.startswith(".")]
        assert not hidden, f"{hidden} are left of {shown}"
        self.told = shown
        return code, out.getvalue()

    # Tables

    @initialize(spec=st.builds(Table, SEEDS, SIZES, st.sampled_from([12, 12, 4, 0])), missing=st.booleans())
    def first_table(self, spec, missing):
        """A table, and a model of it if it has rows enough: most commands need one."""
        self.add_table(spec, missing)
        (table,) = self.tables
        self.fit(["cluster", table, "-k", "3", "--drop", "kind,weight,truth"], table, ".csv")

    @rule(
        spec=st.builds(Table, SEEDS, SIZES, of_groups=st.sampled_from([(0, 1, 2), (0, 1), (1,), (0, 1, 2, 3)])),
        missing=st.booleans(),
    )
    def add_table(self, spec, missing):
        path = self.new(".csv")
        written_table(path, spec, missing)
        self.tables[path] = spec

    def drawn_table(self, data):
        return data.draw(st.sampled_from(sorted(self.tables)), "table")

    def drawn_model(self, data):
        return data.draw(st.sampled_from(self.models), "model")

    # Commands

    @rule(
        data=st.data(),
        k=st.sampled_from(["auto", "3", "3", "2", "1", "4", "2-4"]),
        method=st.sampled_from(["auto", "auto", "auto", "cpm3c", "mkc", "iter-svr"]),
        told=st.sets(st.sampled_from(["known", "weight", "outliers", "min", "max", "truth"]), max_size=3),
        ending=st.sampled_from([".csv", ".csv", ".tsv", ".jsonl", ".parquet"]),
        without_rows=st.booleans(),
    )
    def cluster(self, data, k, method, told, ending, without_rows):
        table = self.drawn_table(data)
        options = {
            "known": ["--known-column", "kind"],
            "weight": ["--weight-column", "weight"],
            "outliers": ["--outliers", "auto"],
            "min": ["--min-size", "2"],
            "max": ["--max-size", "80%"],
            "truth": ["--label-column", "truth"],
        }
        dropped = [
            name for name, key in (("kind", "known"), ("weight", "weight"), ("truth", "truth")) if key not in told
        ]
        arguments = ["cluster", table, "-k", k, "--method", method, *(["--drop", ",".join(dropped)] if dropped else [])]
        arguments += [word for key in sorted(told) for word in options[key]] + (
            ["--without-rows"] if without_rows else []
        )
        self.fit(arguments, table, ending, has_rows=not without_rows)

    def fit(self, arguments, table, ending, *, has_rows=True):
        """A command that writes a model with rows, a report and JSON; adds the model to the folder."""
        model, rows, report = self.new(".widegap"), self.new(ending), self.new(".html")
        code, out = self.run(*arguments, "--model", model, "-o", rows, "--report", report, "--json")
        if code:
            return None
        stored = Stored(model, table, self.tables[table].n, has_rows=has_rows)
        summary, (estimator, extra) = json.loads(out), persistence.load(model)
        labels = clusters_of(rows)
        assert labels == estimator[-1].labels_.tolist(), "the table and the model have other clusters"
        assert len(labels) == stored.n, f"{stored.n} rows in, {len(labels)} out"
        told = {cluster["label"] for cluster in summary["clusters"]}
        assert set(labels) - {-1} <= told and len(told - {-1}) == estimator[-1].n_clusters_
        self.check_page(report, stored)
        stored.names = names_in(estimator, extra)
        self.models.append(stored)
        return stored

    def check_page(self, page, stored):
        text = page.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>") and "<title>" in text

    @precondition(lambda self: self.models)
    @rule(data=st.data(), own=st.booleans(), ending=st.sampled_from([".csv", ".jsonl", ".tsv"]))
    def predict(self, data, own, ending):
        stored = self.drawn_model(data)
        table = stored.data if own else self.drawn_table(data)
        rows = self.new(ending)
        code, out = self.run("predict", stored.path, table, "-o", rows, "--json")
        assert code == 0, self.told
        labels, estimator = clusters_of(rows), persistence.load(stored.path)[0]
        assert len(labels) == self.tables[table].n
        assert {cluster["label"] for cluster in json.loads(out)["clusters"]} >= set(labels) - {-1}
        assert np.isin(labels, [-1, *estimator[-1].cluster_numbers_]).all()
        if own and len(labels) == len(estimator[-1].labels_) and stored.names:
            self.check_names(rows, stored)

    def check_names(self, rows, stored):
        for row in rows_of(rows):
            if "cluster_name" in row and int(row["cluster"]) in stored.names:
                name = stored.names[int(row["cluster"])]
                assert str(row["cluster_name"]).lstrip("'") == name.lstrip("'"), f"{row} of {name!r}"

    @precondition(lambda self: self.models)
    @rule(data=st.data(), forget=st.sampled_from(["0", "0", "0.5", "0.99"]), weighted=st.booleans())
    def update(self, data, forget, weighted):
        stored, table = self.drawn_model(data), self.drawn_table(data)
        before = persistence.load(stored.path)[0][-1]
        arguments = ["update", stored.path, table, "--forget", forget]
        found = self.fit([*arguments, *(["--weight-column", "weight"] if weighted else [])], table, ".csv")
        if found is None:
            assert "rows" in self.told or forget != "0" or not hasattr(before, "update"), self.told
            return
        assert stored.has_rows, "a model without rows was updated"
        numbers = persistence.load(found.path)[0][-1].cluster_numbers_
        for cluster, name in stored.names.items():
            if cluster in numbers:
                assert found.names.get(cluster) == name, f"cluster {cluster} was {name!r}: {found.names}"

    @precondition(lambda self: self.models)
    @rule(data=st.data(), what=st.lists(st.sampled_from(["merge", "split", "move", "rename", "outliers"]), min_size=1))
    def refine(self, data, what):
        stored = self.drawn_model(data)
        before = sorted(persistence.load(stored.path)[0][-1].cluster_numbers_.tolist())  # with gaps after updates
        numbers = st.sampled_from(before)
        rows, arguments, names, merged = st.integers(1, stored.n), [], {}, set()
        moved = {}
        for kind in what:
            if kind == "merge":
                pair = [data.draw(numbers), data.draw(numbers)]
                merged |= set(pair)
                arguments += ["--merge", f"{pair[0]},{pair[1]}"]
            elif kind == "split":
                arguments += ["--split", data.draw(numbers)]
            elif kind == "move":
                row, cluster = data.draw(rows), data.draw(numbers)
                moved[row] = cluster
                arguments += ["--move", f"{row}:{cluster}"]
            elif kind == "outliers":
                row = data.draw(rows)
                moved[row] = -1
                arguments += ["--outliers", row]
            else:
                cluster, name = data.draw(numbers), data.draw(st.sampled_from(NAMES))
                names[cluster] = name
                arguments += ["--rename", f"{cluster}={name}"]
        names = {
            before.index(cluster): name for cluster, name in {**stored.names, **names}.items() if cluster in before
        }
        follow = ["--follow"] if data.draw(st.booleans()) else []
        found = self.fit(["refine", stored.path, stored.data, *arguments, *follow], stored.data, ".csv")
        if found is None:
            return
        labels = persistence.load(found.path)[0][-1].labels_
        assert all(labels[row - 1] == -1 for row, cluster in moved.items() if cluster == -1), "an outlier has a cluster"
        if not merged and "split" not in what:
            for row, cluster in moved.items():
                place = before.index(cluster) if cluster >= 0 else -1
                assert labels[row - 1] == place, f"row {row} was moved to {cluster}, and is in {labels[row - 1]}"
            for cluster, name in names.items():
                if cluster in found.names or cluster in labels:
                    assert found.names.get(cluster) == name, f"cluster {cluster} was {name!r}: {found.names}"

    @precondition(lambda self: self.models)
    @rule(data=st.data(), own=st.booleans())
    def verify(self, data, own):
        stored = self.drawn_model(data)
        table = stored.data if own else self.drawn_table(data)
        code, out = self.run("verify", stored.path, table, "--json", "-q", further=(OTHER_ROWS,))
        if code != 2:  # some labels follow from more than rows and settings
            found = json.loads(out)
            assert (found["verdict"], code) in (("identical", 0), ("other rows", OTHER_ROWS)), found
            assert found["n_rows"] == self.tables[table].n and (code == 0 or table != stored.data), found

    @precondition(lambda self: self.models)
    @rule(data=st.data(), own=st.booleans(), ending=st.sampled_from([".html", ".json"]))
    def report(self, data, own, ending):
        stored = self.drawn_model(data)
        table, page = stored.data if own else self.drawn_table(data), self.new(ending)
        code, _ = self.run("report", stored.path, table, "--report", page, "-q")
        assert code == 0, self.told
        if ending == ".html":
            self.check_page(page, stored)
        else:
            summary = json.loads(page.read_text(encoding="utf-8"))
            assert (
                len({c["label"] for c in summary["clusters"]} - {-1})
                == persistence.load(stored.path)[0][-1].n_clusters_
            )

    @precondition(lambda self: self.models)
    @rule(data=st.data(), ending=st.sampled_from([".py", ".sql", ".onnx"]))
    def export(self, data, ending):
        stored, place = self.drawn_model(data), self.new(ending)
        code, _ = self.run("export", stored.path, "-o", place)
        if code == 0:
            assert place.stat().st_size > 100
        else:
            assert ending != ".py", self.told

    @precondition(lambda self: self.models)
    @rule(data=st.data(), update=st.booleans())
    def explore(self, data, update):
        stored = self.drawn_model(data)
        table = self.drawn_table(data) if update else stored.data
        done = {}

        def at_the_page(workspace):
            self.correct(workspace, data)
            done["labels"], done["names"] = workspace.labels.copy(), workspace.names()
            for name in EXPORTS:
                done[name] = download(workspace, name)[0]

        with mock.patch.object(Opened, "serve", _not_served), mock.patch.object(Opened, "wait", at_the_page):
            session = self.new(".jsonl")
            options = ["--no-browser", "--session", session, *(["--update"] if update else [])]
            code, _ = self.run("explore", stored.path, table, *options)
        if code:
            assert update, self.told
            return
        n = self.tables[table].n
        model, rows = self.new(".widegap"), self.new(".csv")
        model.write_bytes(done["model.widegap"])
        rows.write_bytes(done["assignments.csv"])
        estimator, extra = persistence.load(model)
        labels = clusters_of(rows)
        assert len(labels) == n, f"{n} rows in, {len(labels)} out"
        assert labels == done["labels"].tolist(), "the table has other clusters than the page"
        own, inside = estimator[-1].labels_.tolist(), [label for label in labels if label >= 0]
        assert own in (labels, inside), "the model has other clusters than the page"  # some search without the junk
        assert done["report.html"].decode().rstrip().endswith("</html>")
        has_rows = getattr(estimator[-1], "_memory", None) is not None
        self.models.append(Stored(model, table, n, names_in(estimator, extra), has_rows))

    def correct(self, workspace, data):
        """A few corrections, as on the page; refused ones change nothing."""
        for _ in range(data.draw(st.integers(0, 4), "actions")):
            kind = data.draw(st.sampled_from([*FIELDS, "undo", "again"]))
            values = drawn_fields(workspace, data, FIELDS.get(kind, ()))
            with contextlib.suppress(WidegapError), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                if kind == "undo":
                    workspace.undo()
                elif kind == "again":
                    workspace.again()
                else:
                    workspace.act(kind, values)


def drawn_fields(workspace, data, names):
    """Values of the fields of an action that the workspace allows."""
    keys, places = st.sampled_from(workspace.cluster_keys), st.integers(0, workspace.n_rows - 1)
    fields = {
        "rows": st.lists(places, min_size=1, max_size=3, unique=True),
        "cluster": keys,
        "clusters": st.lists(keys, min_size=2, max_size=2),
        "name": st.sampled_from(NAMES),
        "asked": st.just(False),
        "k": st.integers(1, 5),
    }
    return {name: data.draw(fields[name]) for name in names}


def _not_served(workspace, **options):
    workspace.address = "http://nowhere"


def test_any_order_of_commands():
    walk(CommandWalk, 8, 10)


@pytest.mark.slow
def test_any_order_of_more_commands():
    walk(CommandWalk, 150, 20)
