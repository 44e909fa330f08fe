"""The frame of the experiments: results survive kills, limits and code changes, and the page comes from them alone."""

import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from experiments import catalogue, cells, page, runner, versions
from experiments.__main__ import QUICK, main
from experiments.cells import Cell, Outcome, Task
from experiments.judge import judge
from experiments.store import PATH, Record, Store
from experiments.tables import EXPERIMENTS
from experiments.tables._figure import name_points
from experiments.tables._ranking import ranking, shortfalls
from experiments.tables._table import (
    ACCURACY,
    BASELINE,
    FREE,
    MAJORITY,
    MEMORY,
    PAPERS,
    TUNED,
    Measured,
    Printed,
    Row,
    Table,
    Tuned,
    notes,
    printed,
)

ROOT = Path(__file__).parents[2]
assert catalogue


@pytest.fixture(autouse=True)
def a_title_for_tables_of_tests(monkeypatch):
    monkeypatch.setitem(notes(), "t", ("Title", ""))


def record(cell, accuracy=(90.0, 92.0), **changed):
    scores = {"accuracy": list(accuracy), "majority": list(accuracy)}
    fields = {"code": "c", "status": "ok", "scores": scores, "seconds": [1.0, 2.0], "kmeans_seconds": 0.5}
    return Record(cell, **(fields | changed))


def test_records_survive_the_file(tmp_path):
    cell = Cell.of("digits/3-8", "MKC", kernels=("linear", ("rbf", 2.0)), C=1.0)
    store = Store(tmp_path / "results.jsonl")
    store.add(record(cell, extra=[{"iterations": 3}, {"iterations": 4}]))
    again = Store(store.path)
    assert again.records == store.records
    assert again.records[cell].extra[1] == {"iterations": 4}


def test_the_last_measurement_of_a_cell_counts_and_tidying_keeps_it(tmp_path):
    cell, store = Cell.of("a", "b"), Store(tmp_path / "r.jsonl")
    store.add(record(Cell.of("dropped", "b")))
    store.add(record(cell, (50.0,)))
    store.add(record(cell, (60.0,)))
    store.tidy([cell])
    assert len(store.path.read_text().splitlines()) == 1
    assert Store(store.path).records[cell].scores["accuracy"] == [60.0]


def test_a_line_cut_off_by_a_kill_costs_only_itself(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    store.add(record(Cell.of("a", "b")))
    with store.path.open("a") as file:
        file.write('{"data": "half a li')
    store = Store(store.path)
    assert list(store.records) == [Cell.of("a", "b")]
    store.add(record(Cell.of("c", "d")))
    assert set(Store(store.path).records) == {Cell.of("a", "b"), Cell.of("c", "d")}


def test_judge_scores_what_it_says():
    y = np.array([0, 0, 0, 1, 1, 1])
    found = judge(y, np.array([2, 2, 2, 5, 5, 2]))
    assert found["accuracy"] == pytest.approx(100 * 5 / 6, abs=1e-3)
    assert found["clusters"] == 2
    split = judge(y, np.array([0, 0, 1, 2, 2, 2]))
    assert split["majority"] == 100
    assert split["accuracy"] == pytest.approx(100 * 5 / 6, abs=1e-3)


def test_measured_again_only_if_missing_or_from_other_code(tmp_path):
    done, old, failed, new = (Cell.of("digits/3-8", name) for name in ("KMeans(1)", "KMeans(10)", "Ward", "HDBSCAN"))
    store = Store(tmp_path / "r.jsonl")
    store.add(record(done, code=cells.code_version(done)))
    store.add(record(old, code="older"))
    store.add(record(failed, code=cells.code_version(failed), status="out of time"))
    assert set(runner.pending([done, old, failed, new, new], store)) == {old, new}
    assert set(runner.pending([done, old, failed, new], store, retry=True)) == {old, failed, new}


def test_what_needs_a_package_that_is_not_here_keeps_its_result(tmp_path, monkeypatch):
    old, new = Cell.of("digits/3-8", "gemclus"), Cell.of("digits/all", "gemclus")
    store = Store(tmp_path / "r.jsonl")
    store.add(record(old, code="older"))
    monkeypatch.setattr(runner, "missing_packages", lambda cell: ["gemclus"])
    assert runner.pending([old, new], store) == [new]
    monkeypatch.setattr(runner, "missing_packages", lambda cell: [])
    assert set(runner.pending([old, new], store)) == {old, new}


@pytest.mark.parametrize("method", ["UMAP + GMM", "UMAP + HDBSCAN"])
def test_a_package_that_is_compared_with_only_may_be_missing(monkeypatch, method):
    monkeypatch.setitem(sys.modules, "umap", None)
    found = runner.measure(Cell.of("sklearn/iris", method))
    assert (found.status, found.reason) == ("refused", "umap-learn is not installed")


def test_thinned_sets_keep_a_share_of_every_other_class():
    whole, thin = (np.bincount(runner.load(name).y) for name in ("digits/all", "thinned/digits-20"))
    assert thin[::2].tolist() == whole[::2].tolist()
    assert thin[1::2].tolist() == (whole[1::2] // 20).tolist()


def test_measure_gives_scores_times_and_reasons(monkeypatch):
    y = np.arange(20) % 2
    monkeypatch.setitem(cells.TASKS, "toy", lambda _: Task(np.c_[10.0 * y, np.arange(20)], y))
    monkeypatch.setattr(runner, "code_version", lambda cell: "c")

    def refuse(task, seed):
        raise runner.RefusedError("20 rows: too many")

    def fail(task, seed):
        raise ValueError("broken")

    def echo(task, seed, shift=0):
        return Outcome((task.y + shift) % 2, {"seed": seed})

    for name, run in (("refuse", refuse), ("fail", fail), ("echo", echo)):
        monkeypatch.setitem(cells.METHODS, name, cells.Method(run, True))
    found = runner.measure(Cell.of("toy", "echo", seeds=3, shift=1))
    assert (found.status, found.scores["accuracy"], found.extra) == ("ok", [100.0] * 3, [{"seed": s} for s in range(3)])
    assert len(found.seconds) == 3
    assert found.kmeans_seconds > 0
    assert runner.measure(Cell.of("toy", "refuse")).reason == "20 rows: too many"
    broken = runner.measure(Cell.of("toy", "fail"))
    assert (broken.status, broken.reason) == ("failed", "ValueError: broken")


def test_subsets_are_drawn_alike_for_all_methods():
    whole, part = runner.load("digits/3-8"), runner.load("digits/3-8@50each")
    assert np.bincount(part.y)[[3, 8]].tolist() == [50, 50]
    assert np.array_equal(part.X, runner.load("digits/3-8@50each").X)
    assert len(runner.load("digits/3-8@100").y) == 100
    assert len(whole.y) == 357


def test_a_run_stores_limits_and_goes_on(tmp_path):
    """Workers are processes of their own: one that exceeds the limit is ended, the next cell gets a new one."""
    slow = Cell.of("digits/all", "MKC")
    fast = Cell.of("sklearn/iris", "KMeans(10)", seeds=2)
    store = Store(tmp_path / "r.jsonl")
    runner.run([slow], store, jobs=1, limit=0.05)
    runner.run([fast], store, jobs=1, limit=120)
    stored = Store(store.path).records
    assert stored[slow].status == "out of time"
    assert stored[fast].status == "ok"
    assert len(stored[fast].scores["accuracy"]) == 2


def test_memory_is_what_a_method_holds_beyond_the_data(monkeypatch):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("this system does not tell the memory of a process")
    y = np.arange(20) % 2
    monkeypatch.setitem(cells.TASKS, "toy", lambda _: Task(np.c_[10.0 * y, np.arange(20)], y))
    monkeypatch.setattr(runner, "code_version", lambda cell: "c")
    for name, held in (("small", 1), ("large", 200), ("small again", 2)):

        def run(task, seed, held=held):
            assert np.ones(held * 2**17).sum() > 0
            return task.y

        monkeypatch.setitem(cells.METHODS, name, cells.Method(run, True))
    found = [runner.measure(Cell.of("toy", name, seeds=2)).megabytes for name in ("small", "large", "small again")]
    assert found[1] == pytest.approx(200, abs=20)
    assert max(found[0], found[2]) < 50


def test_memory_that_was_not_measured_is_told(tmp_path):
    store, cell = Store(tmp_path / "r.jsonl"), Cell.of("a", "m", 2)
    row, column = Row("one", ("a",)), Measured("M", "m", seeds=2)
    store.add(record(cell))
    assert column.text(row, MEMORY, store) == "not run: memory was not measured"
    store.add(record(cell, megabytes=120))
    assert column.text(row, MEMORY, store) == "120"


def test_packages_of_others_are_warmed_before_the_clock_runs(monkeypatch):
    y = np.arange(300) % 3
    monkeypatch.setitem(cells.TASKS, "cold", lambda _: Task(np.c_[10.0 * y, np.arange(300)], y))
    monkeypatch.setattr(runner, "code_version", lambda cell: "c")
    monkeypatch.setattr(runner, "_warmed", set())
    monkeypatch.setattr(versions, "compiling", lambda run: True)
    seen = []

    def run(task, seed):
        seen.append((len(task.y), seed))
        if len(task.y) < 300:
            raise ValueError("too few rows")
        return task.y

    monkeypatch.setitem(cells.METHODS, "slow at first", cells.Method(run, True))
    for _ in range(2):
        assert runner.measure(Cell.of("cold", "slow at first", seeds=1)).status == "ok"
    assert seen == [(100, 0), (300, 0), (300, 0)]


def test_cheap_data_sets_come_first_and_all_methods_of_one_by_turns(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    for data, seconds in (("digits/all", 9.0), ("sklearn/iris", 1.0)):
        for method in ("Ward", "CPM3C"):
            store.add(record(Cell.of(data, method), code="older", seconds=[seconds]))
    new = Cell.of("sklearn/wine", "CPM3C")  # nobody knows how long it takes
    found = runner.pending([*store.records, new], store)
    assert [cell.data for cell in found] == ["sklearn/iris"] * 2 + ["sklearn/wine"] + ["digits/all"] * 2
    assert [cell.method for cell in found[-2:]] == ["CPM3C", "Ward"]


def test_an_interrupted_run_says_how_it_goes_on(monkeypatch, tmp_path):
    def interrupted(cells, store, **_):
        raise KeyboardInterrupt

    monkeypatch.setenv("WIDEGAP_DATA", ".")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "run", interrupted)
    with pytest.raises(SystemExit, match="stopped: all but the cells at work is stored, the same command goes on"):
        main(["run", "panel", "--quick"])


def test_a_release_needs_results_of_its_own_code(monkeypatch):
    used = {cell for experiment in EXPERIMENTS.values() for cell in experiment.cells()}
    fresh = {cell: record(cell, code=cells.code_version(cell)) for cell in used}
    monkeypatch.setattr("experiments.__main__.Store", lambda: SimpleNamespace(records=fresh))
    main(["check"])
    cell = Cell.of("sklearn/iris", "CPM3C")
    fresh[cell] = record(cell, code="00000000/00000000")
    with pytest.raises(SystemExit, match=f"not of this code: 1 of {len(used)} cells to measure.*CPM3C on sklearn/iris"):
        main(["check"])
    old = next(cell for cell in used if cell.method == "gemclus")  # a package that may not be here
    fresh[old] = record(old, code="")
    with pytest.raises(SystemExit, match=f"2 of {len(used)} cells"):
        main(["check"])
    assert "experiments check" in (ROOT / "Makefile").read_text().partition("\ndist:")[2].partition("build")[0]


def test_page_says_which_code_measured(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    for name, code in (("a", "12ab/1"), ("b", "12ab/2"), ("c", "34cd/1"), ("d", "-/5"), ("e", "older"), ("f", "")):
        store.add(record(Cell.of(name, "m"), code=code))
    words = page._effort(store)
    assert "Measured were 2 with version `12ab` of the core of widegap, 1 with version `34cd` of the core" in words
    assert "1 of other methods with versions of their own, 2 with earlier code, which has no version." in words


def test_tidying_drops_versions_that_say_nothing_and_can_be_done_again(tmp_path):
    path, wanted = tmp_path / "r.jsonl", [Cell.of("a", "m", 1), Cell.of("b", "m", 1)]
    lines = [
        '{"data":"a","method":"m","settings":{},"seeds":1,"code":"0123456789ab","status":"ok","sampled":3}',
        '{"data":"b","method":"m","settings":{},"seeds":1,"code":"12ab/34cd","status":"timeout","reason":"long"}',
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    Store(path).tidy(wanted)
    once = path.read_text()
    assert [(r.code, r.status) for r in Store(path).records.values()] == [("", "ok"), ("12ab/34cd", "out of time")]
    Store(path).tidy(wanted)
    assert path.read_text() == once
    assert "sampled" not in once and len(once) < len("\n".join(lines))


@pytest.mark.slow
def test_a_killed_run_keeps_what_was_done(tmp_path):
    script = (
        "from experiments.runner import run; from experiments.store import Store; from experiments.cells import Cell;"
        "from pathlib import Path; import experiments.catalogue;"
        "run([Cell.of('sklearn/iris', 'KMeans(10)'), Cell.of('digits/all', 'MKC', seeds=50)],"
        f"Store(Path({str(tmp_path / 'r.jsonl')!r})), jobs=1, limit=600)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / "r.jsonl").exists() and (tmp_path / "r.jsonl").read_text().endswith("\n"):
            break
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert list(Store(tmp_path / "r.jsonl").records) == [Cell.of("sklearn/iris", "KMeans(10)")]


def table_of(*columns):
    return Table("t", (Row("one", ("a",)), Row("two", ("a", "b"), note="a note")), columns, MAJORITY)


def test_table_shows_means_spreads_and_reasons(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    store.add(record(Cell.of("a", "m", 2)))
    store.add(record(Cell.of("b", "m", 2), (80.0, 80.0)))
    store.add(record(Cell.of("a", "r", 2), status="refused", reason="too many rows", scores={}))
    text = table_of(
        Printed("paper", {"one": "88.1"}),
        Measured("M", "m", seeds=2),
        Measured("R", "r", seeds=2, kind=BASELINE),
        Measured("N", "n", seeds=2, kind=BASELINE),
    ).section(store)
    assert "| one | 88.1 | 91.0 ± 1.0 | not run: too many rows | not run |" in text
    assert "| two [^t-1] |  | 85.5 ± 0.5 |" in text
    assert "[^t-1]: a note" in text
    assert f"M<br>*{FREE}*" in text


def test_tuned_column_takes_the_best_setting_of_every_set_and_says_so(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    for data, C, accuracy in (("a", 1, 70.0), ("a", 2, 90.0), ("b", 1, 60.0), ("b", 2, 50.0)):
        store.add(record(Cell.of(data, "m", 1, C=C), (accuracy,)))
    column = Tuned("M", "m", [{"C": 1}, {"C": 2}], seeds=1)
    text = table_of(column).section(store)
    assert f"M<br>*{TUNED}*" in text
    assert "| one | 90.0 |" in text
    assert "| two [^t-1] | 75.0 |" in text


def test_what_labels_chose_is_never_called_label_free():
    for experiment in EXPERIMENTS.values():
        for column in getattr(experiment, "columns", ()):
            if isinstance(getattr(column, "column", column), Tuned):
                assert column.kind == TUNED, (experiment.name, column.title)


def test_the_best_of_a_row_is_bold_and_so_is_what_prints_alike(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    for method, accuracy in (("m", 90.04), ("n", 89.96), ("o", 80.0)):
        store.add(record(Cell.of("a", method, 1), (accuracy,)))
    columns = [Measured(title, title, seeds=1) for title in "mnop"]
    text = table_of(*columns).section(store)
    assert "| one | **90.0** | **90.0** | 80.0 | not run |" in text
    assert "**" not in replace(table_of(*columns), score=replace(ACCURACY, better=0)).section(store)
    low = replace(table_of(*columns), score=replace(ACCURACY, better=-1)).section(store)
    assert "| one | 90.0 | 90.0 | **80.0** | not run |" in low


def test_what_labels_chose_is_not_the_best_of_a_row(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    for method, accuracy in (("m", 95.0), ("n", 90.0), ("o", 80.0)):
        store.add(record(Cell.of("a", method, 1), (accuracy,)))
    columns = (Measured("m", "m", kind=TUNED, seeds=1), *(Measured(name, name, seeds=1) for name in "no"))
    assert "| one | 95.0 | **90.0** | 80.0 |" in table_of(*columns).section(store)


def test_a_wide_table_is_continued_with_the_same_rows(tmp_path):
    store = Store(tmp_path / "r.jsonl")
    store.add(record(Cell.of("a", "m14", 1), (90.0,)))
    store.add(record(Cell.of("a", "m0", 1), (80.0,)))
    text = table_of(*(Measured(f"m{j}", f"m{j}", seeds=1) for j in range(15))).section(store)
    tables = [block for block in text.split("\n\n") if block.startswith("| | ")]
    assert [block.count("<br>") for block in tables] == [5, 5, 5]
    assert all("\n| one | " in block and "\n| two [^t-1] | " in block for block in tables)
    assert "| one | 80.0 |" in tables[0]
    assert "| **90.0** |" in tables[2]


RANKED = {"MaxMarginClustering": (90, 80, 70), "KMeans(10)": (80, 83, 60), "HDBSCAN": (95, 60, None)}


@pytest.fixture
def ranked(tmp_path):
    """Three methods on three sets, the last of which one of them did not finish."""
    store = Store(tmp_path / "r.jsonl")
    for method, accuracies in RANKED.items():
        for name, accuracy in zip("abc", accuracies, strict=True):
            scores = {} if accuracy is None else {"scores": {"accuracy": [accuracy - 1.0, accuracy + 1.0]}}
            status = "out of time" if accuracy is None else "ok"
            store.add(record(Cell.of(name, method, 2), status=status, **scores))
    columns = tuple(Measured(name, name, seeds=2) for name in RANKED)
    return Table("t", tuple(Row(name, (name,)) for name in "abc"), columns, ACCURACY), store


def test_ranking_counts_the_sets_that_all_finished(ranked):
    text = ranking(*ranked, ())
    assert "on the 2 labelled sets" in text
    assert "| MaxMarginClustering | 85.0 | 1.0 | 2.00 | 0 | | 2 | 80.0 |" in text
    assert "| KMeans(10) | 81.5 | 1.0 | 2.00 | 1 | 1, 1 (1) | 2 | 74.3 |" in text
    assert "| HDBSCAN | 77.5 | 1.0 | 2.00 | 1 | 1, 1 (1) | 2 |  |" in text
    assert "is first by mean accuracy and first by mean rank" in text
    assert "better than every other method but KMeans(10), HDBSCAN" in text


def test_shortfalls_name_the_sets(ranked):
    text = shortfalls(*ranked, ("b",), "gemclus")
    assert "has 90.0 on 1 sets, with a mean rank of 2.00; the aim was 77." in text
    assert "More than 2 points below KMeans(10): b (80.0 against 83.0)." in text
    assert "More than 5 points behind the best method of the row: nowhere." in text


def test_names_rows_and_the_folder_are_checked(monkeypatch):
    monkeypatch.delenv("WIDEGAP_DATA", raising=False)
    with pytest.raises(SystemExit, match="WIDEGAP_DATA is not set"):
        main(["run", "panel"])
    monkeypatch.setenv("WIDEGAP_DATA", ".")
    with pytest.raises(SystemExit, match="no experiment nonsense: choose from .*panel"):
        main(["run", "nonsense"])
    for quick in ([], ["--quick"]):
        with pytest.raises(SystemExit, match="panel has no row nonsense: choose from .*wine"):
            main(["run", "panel", "--rows", "sklearn wine,nonsense", *quick])
        with pytest.raises(
            SystemExit, match="no method nonsense there: choose from Average linkage; BIRCH; BisectingKMeans"
        ):
            main(["run", "panel", "--method", "CPM3C", "--method", "nonsense", *quick])
        with pytest.raises(SystemExit, match="cpm3c-figure1 is a figure and has no rows: leave out --rows"):
            main(["run", "cpm3c-figure1", "--rows", "wine", *quick])


def test_a_quick_run_measures_the_rows_that_are_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("WIDEGAP_DATA", ".")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "run", lambda cells, store, **_: [store.add(record(cell)) for cell in cells])
    main(["run", "panel", "--rows", "sklearn breast_cancer", "--quick"])
    found = Store(tmp_path / QUICK).records
    assert {(cell.data, cell.seeds) for cell in found} == {("sklearn/breast_cancer", 1)} and len(found) > 1
    (tmp_path / QUICK).unlink()
    main(["run", "panel", "--method", "CPM3C", "--rows", "sklearn breast_cancer", "--quick"])
    assert {cell.method for cell in Store(tmp_path / QUICK).records} == {"CPM3C"}


def test_list_tells_what_there_is_to_measure(tmp_path, monkeypatch, capsys):
    store = Store(tmp_path / "results.jsonl")
    stale = {cell: record(cell) for cell in EXPERIMENTS["panel"].cells(["sklearn iris"])}
    monkeypatch.setattr(runner, "pending", lambda cells, store: [cell for cell in cells if cell in stale])
    store.records.update(stale)
    monkeypatch.setattr("experiments.__main__.Store", lambda: store)
    main(["list"])
    *lines, missed, last = capsys.readouterr().out.splitlines()
    assert len(lines) == len(EXPERIMENTS)
    assert missed.endswith("without a reason in tables/missed.csv: none")  # nothing of the papers is in this store
    assert f"{len(stale)} to measure" in next(line for line in lines if line.startswith("panel "))
    minutes = round(3 * len(stale) / 60)
    assert last.startswith(f"{len(stale)} of ")
    assert f"; {len(stale)} of them took {minutes} minutes of CPU time" in last


def test_every_cell_names_a_data_set_and_a_method():
    for experiment in EXPERIMENTS.values():
        for cell in experiment.cells():
            assert cells.family(cell) in cells.TASKS, (experiment.name, cell)
            assert cell.method in cells.METHODS, (experiment.name, cell)


def test_every_table_and_figure_has_a_title_and_every_title_a_table():
    named = {name if name in notes() else name.rpartition("-")[0] for name in EXPERIMENTS}
    assert named == set(notes()) - {"t"}
    for name, experiment in EXPERIMENTS.items():
        assert experiment.title and "{" not in experiment.title, name
        assert "{" not in getattr(experiment, "head", ""), name


FIGURES_IN_PAPERS = {
    **{"cpm3c-table2": 138, "cpm3c-table3": 138, "cpm3c-table4": 84},
    **{"iterative-table1": 14, "iterative-table2": 12, "iterative-table4": 144, "iterative-table5": 144},
    **{"iterative-table6": 54, "iterative-table8": 7},
    **{"iterative-slides-errors": 77, "iterative-slides-pairs": 8, "iterative-slides-times": 24},
    **{"m2dcu-table3": 45, "m2dcu-table4": 45, "m2dcu-table5": 45, "m2dcu-table6": 45},
    **{"mkc-table2": 77, "mkc-table2-rand": 77, "mkc-table3": 16},
}
IN_UNITS = {  # seconds are shown in k-means, of the paper
    "cpm3c-table4": lambda seconds, unit: f"{seconds / unit:.3g}",
    "m2dcu-table6": lambda seconds, unit: f"{50 * seconds / unit:.1f}",
}


def shown_figures(name):
    """The entries of a table of the page by row and title of the column."""
    pages = [page.DOCS / "results.md", *sorted((page.DOCS / "results").glob("*.md"))]
    section = re.split("\n##+ ", "".join(path.read_text() for path in pages).partition(f"`{name}`:")[2])[0]
    found = {}
    for block in section.split("\n\n"):
        if block.startswith("| | "):
            head, _, *lines = ([entry.strip() for entry in line.split("|")[1:-1]] for line in block.strip().split("\n"))
            for line in lines:
                for title, entry in zip(head[1:], line[1:], strict=True):
                    if title.endswith("<br>*printed*"):
                        found[line[0].partition(" [^")[0], title.partition("<br>")[0].removesuffix(", paper's")] = entry
    return found


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.csv")), ids=lambda path: path.stem)
def test_every_printed_figure_is_on_the_page(path):
    shown, columns = shown_figures(path.stem), printed(path.stem)
    assert sum(map(len, columns.values())) == FIGURES_IN_PAPERS[path.stem]
    in_units = IN_UNITS.get(path.stem)
    for title, figures in columns.items():
        if in_units and title == "KM":  # the unit itself
            continue
        for row, text in figures.items():
            entry = shown[row, title]
            if in_units and text != "-":
                once = 50 if title in ("KMeans", "GMM") else 1
                unit = float(columns["KM" if "KM" in columns else "KMeans"][row])
                assert entry == in_units(float(text) / once, unit)
            else:
                assert entry == text or f"({text} s)" in entry or entry == f"{text} s", (row, title)


def test_all_that_papers_print_is_read():
    assert {path.stem for path in PAPERS.glob("*.csv")} == set(FIGURES_IN_PAPERS)


def test_results_name_no_cell_that_no_table_uses():
    used = {cell for experiment in EXPERIMENTS.values() for cell in experiment.cells()}
    assert set(Store(PATH).records) <= used


@pytest.mark.slow
def test_quick_run_of_every_table(tmp_path):
    if "WIDEGAP_DATA" not in os.environ:
        pytest.skip("WIDEGAP_DATA is not set")
    main(["run", "--quick"])


def test_names_of_points_hide_nothing():
    """Seven points in one place and one far away, under one name that is long."""
    axes = Canvas(figsize=(7, 4), layout="constrained").subplots()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    at = np.array([[5 + 0.1 * i, 5 + 0.1 * (i % 3)] for i in range(7)] + [[9.9, 9.9]])
    names = ["a rather long name", *"BCDEFG", "in the corner"]
    name_points(axes, names, at, [{"color": "k"}] * len(names))
    room = axes.get_window_extent()
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts if text.get_text()}
    assert set(boxes) == set(names)
    for name, box in boxes.items():
        assert not box.count_overlaps([other for of, other in boxes.items() if of != name])
        assert not any(box.contains(*dot) for dot in axes.transData.transform(at))
        assert room.contains(box.x0, box.y0) and room.contains(box.x1, box.y1)
