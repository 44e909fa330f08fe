"""Do the tests notice small changes of the core? Each change is made in memory and tests are run on it.

``python tests/mutants.py`` draws 120 of all changes that the packages which decide labels allow, by the hash of the
last commit, so that nobody chooses them; ``--seed`` names another commit or word. A change is noticed if a test fails
or takes far too long. ``--again`` tries only what the draw missed, found again by its text after tests were added.

The tests of a change are those that run its line: a watched run of the tests of the core, once for all changes, stores
which they are in ``build/mutants``. Compiled loops cannot be watched, so whoever calls one runs all of its lines. Tests
in the file named after the module come first, then those of its folder, then the others, those of the least time first,
up to ``SECONDS`` in all.

``tests/mutants.json`` has, for each draw, the counts of the first run, which no later run changes, and what it missed,
with what became of that: the reason why it has no effect, "a test now" or nothing. Earlier draws, of other packages and
of so many changes in every module, have their counts only.
"""

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from inspect import getsourcelines
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "widegap"
RECORD = ROOT / "tests" / "mutants.json"
BUILD = ROOT / "build" / "mutants"
LINES, TIMES = BUILD / "lines.coverage", BUILD / "seconds.json"
CORE = "rows features base constraints cutting_plane forest iterative sdp documents updating".split()
SECONDS = 20  # of the processor, for the tests of a change as they take without it
OWN_ERROR = 99
PATIENCE = 40  # seconds more before a change counts as noticed because its tests take too long

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.Continue: ast.Break,
}  # fmt: skip
NAMES = {"min": "max", "minimum": "maximum", "any": "all", "argmin": "argmax", "floor": "ceil"}
NAMES |= {other: name for name, other in NAMES.items()}
NO_EFFECT = {"strict", "copy", "check_finite", "overwrite_a", "kind", "stacklevel"}  # keywords that no result shows


def places(tree):
    """The nodes that can be changed, each with what is written in its place."""
    stack = [tree]
    while stack:
        node = stack.pop()
        stack.extend(reversed([child for child in ast.iter_child_nodes(node) if not is_talk(node, child)]))
        change = changed(node)
        if change is not None:
            yield node, change


def is_talk(parent, child):
    """Whether a child is an annotation, a decorator, a message or a docstring: nothing that computes."""
    if isinstance(parent, ast.arg | ast.AnnAssign) and child is parent.annotation:
        return True
    if isinstance(parent, ast.FunctionDef) and (child is parent.returns or child in parent.decorator_list):
        return True
    if isinstance(parent, ast.ClassDef) and child in parent.decorator_list:
        return True
    if isinstance(child, ast.keyword) and child.arg in NO_EFFECT:
        return True
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name) and parent.targets[0].id == "__all__":
        return True
    return isinstance(child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def changed(node):
    """The same node with one thing changed, or None."""
    if isinstance(node, ast.Compare):
        return ast.Compare(node.left, [swapped(node.ops[0]), *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        return ast.BinOp(node.left, swapped(node.op), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(swapped(node.op), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    if isinstance(node, ast.Name) and node.id in NAMES:
        return ast.Name(NAMES[node.id], node.ctx)
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        return ast.Attribute(node.value, NAMES[node.attr], node.ctx)
    if isinstance(node, ast.AugAssign) and type(node.op) in SWAPS:
        return ast.AugAssign(node.target, swapped(node.op), node.value)
    if isinstance(node, ast.Continue):
        return ast.Break()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    return None


def swapped(operator):
    return SWAPS[type(operator)]()


class Mutant:
    """One change of one module."""

    def __init__(self, path, number):
        self.path = path
        self.module = ".".join(("widegap", *path.relative_to(SOURCE).with_suffix("").parts))
        text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(text)
        node, change = list(places(self.tree))[number]
        self.lines = range(start_of_statement(self.tree, node), node.end_lineno + 1)
        line = text.splitlines()[node.lineno - 1].strip()
        self.name = f"{path.relative_to(SOURCE)}: {line} | {ast.unparse(node)} -> {ast.unparse(change)}"
        replace(self.tree, node, change)


def start_of_statement(tree, node):
    """The first line of the statement that a node is part of."""
    statements = [other for other in ast.walk(tree) if isinstance(other, ast.stmt)]
    return max(
        other.lineno for other in statements if other.lineno <= node.lineno and other.end_lineno >= node.end_lineno
    )


def replace(tree, node, change):
    """Put ``change`` where ``node`` stands."""
    ast.copy_location(change, node)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, change)
            elif isinstance(value, list):
                value[:] = [change if item is node else item for item in value]
    ast.fix_missing_locations(tree)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of its module."""

    def __init__(self, mutant):
        self.mutant = mutant

    def find_spec(self, name, path=None, target=None):
        if name == self.mutant.module:
            return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__file__ = str(self.mutant.path)
        exec(compile(self.mutant.tree, self.mutant.path, "exec"), module.__dict__)


class Watch:
    """A plugin of pytest that notes the lines of each test, its processor's seconds and the loops that it calls."""

    def __init__(self, coverage):
        self.coverage, self.now, self.started = coverage, "", 0.0
        self.seconds, self.failed, self.calls = {}, set(), defaultdict(set)

    def pytest_runtest_setup(self, item):
        self.started = cpu()
        self._switch(item.nodeid.partition("::")[0])  # of fixtures that tests share, the first one would have all lines

    def pytest_runtest_call(self, item):
        self._switch(item.nodeid)

    def pytest_runtest_teardown(self, item):
        self.seconds[item.nodeid] = cpu() - self.started

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)

    def _switch(self, context):
        self.now = context
        self.coverage.switch_context(context)

    def watch_loops(self):
        from widegap._jit import _Loop

        call = _Loop.__call__

        def watched(loop, *arguments):
            self.calls[loop].add(self.now)
            return call(loop, *arguments)

        _Loop.__call__ = watched

    def lines_of_loops(self):
        """For each context the lines of its loops, and of those that they call."""
        lines = defaultdict(lambda: defaultdict(set))
        for loop, contexts in self.calls.items():
            for path, numbers in lines_of(loop).items():
                for context in contexts:
                    lines[context][path] |= numbers
        return lines


def lines_of(loop, found=None):
    """The lines of a loop and of those that it calls, by file."""
    found = defaultdict(set) if found is None else found
    function = loop._function
    text, first = getsourcelines(function)
    path, numbers = function.__code__.co_filename, set(range(first, first + len(text)))
    if not numbers <= found[path]:
        found[path] |= numbers
        for name in function.__code__.co_names:
            if isinstance(part := function.__globals__.get(name), type(loop)):
                lines_of(part, found)
    return found


def cpu():
    return sum(resource.getrusage(who)[0] for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def watch(tests):
    """Run tests once, all of the core or only some that are new, and store which lines each of them runs."""
    import pytest
    from coverage import Coverage

    BUILD.mkdir(parents=True, exist_ok=True)
    coverage = Coverage(data_file=str(LINES), source=[str(SOURCE)], config_file=False)
    stored = {}
    if tests:
        coverage.load()
        stored = json.loads(TIMES.read_text(encoding="utf-8"))
    coverage.start()
    plugin = Watch(coverage)
    plugin.watch_loops()
    pytest.main(["-q", "-p", "no:cacheprovider", *(tests or (f"tests/{name}" for name in CORE))], plugins=[plugin])
    coverage.stop()
    data = coverage.get_data()
    for context, lines in plugin.lines_of_loops().items():
        data.set_context(context)
        data.add_lines(lines)
    coverage.save()
    seconds = {test: taken for test, taken in plugin.seconds.items() if test not in plugin.failed}
    TIMES.write_text(json.dumps(stored | seconds), encoding="utf-8")


def tests_of(mutant, data, seconds):
    """The tests that run a line, in the order in which they are tried, and their time without the change."""
    by_line = data.contexts_by_lineno(str(mutant.path))
    contexts = {context for line in mutant.lines for context in by_line.get(line, ())} - {""}
    if not contexts:  # run at import, if ever
        contexts = {context for found in by_line.values() for context in found} - {""}
    tests, by_file = defaultdict(list), defaultdict(float)
    for test, taken in seconds.items():
        file = test.partition("::")[0]
        if test in contexts or file in contexts:
            tests[file].append(test)
            by_file[file] += taken
    folder = f"tests/{mutant.path.relative_to(SOURCE).parts[0]}/"
    own = f"{folder}test{mutant.path.stem}.py"
    chosen, total = [], 0.0
    for file in sorted(tests, key=lambda file: (file != own, not file.startswith(folder), by_file[file])):
        for test in sorted(tests[file], key=seconds.get):
            if total + seconds[test] <= SECONDS:
                chosen.append(test)
                total += seconds[test]
    return chosen, total


def compile_anew(mutant):
    """Loops that may have code of the mutant are neither taken from the cache nor put there."""
    from widegap._loop_cache import LoopCache

    make, is_part = LoopCache.__init__, mutant.module.startswith("widegap.rows.loops")

    def without_cache(cache, function):
        if is_part or function.__module__ == mutant.module:
            raise RuntimeError("cannot cache function")
        make(cache, function)

    LoopCache.__init__ = without_cache


class Begun:
    """A plugin of pytest that writes the name of each test that begins, and spares shrinking what fails."""

    def __init__(self, file):
        self.file = file

    def pytest_sessionstart(self):
        from hypothesis import Phase, settings

        settings.register_profile("unshrunk", deadline=None, database=None, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("unshrunk")

    def pytest_runtest_logstart(self, nodeid):
        os.write(self.file, f"{nodeid}\n".encode())


def try_tests(mutant, tests, seconds, begun):
    """In a process of its own: 0 if all tests pass, else something else."""
    import pytest

    signal.setitimer(signal.ITIMER_PROF, 3 * seconds + PATIENCE)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.meta_path.insert(0, Finder(mutant))
    options = "-x -q -p no:cacheprovider --hypothesis-seed=0".split()
    with tempfile.TemporaryDirectory() as folder:
        compile_anew(mutant)
        return int(pytest.main([*options, f"--basetemp={folder}/t", *tests], plugins=[Begun(begun)]))


def noticed_by(mutant, tests, seconds):
    """What notices a change: the test that fails or does not end, and the status of its process; "" if nothing does."""
    if not tests:
        return ""
    with tempfile.TemporaryFile() as begun:
        process = os.fork()
        if not process:
            code = OWN_ERROR
            try:
                code = try_tests(mutant, tests, seconds, begun.fileno())
            finally:
                os._exit(code)
        status = os.waitpid(process, 0)[1]
        if os.waitstatus_to_exitcode(status) == OWN_ERROR:
            sys.exit(f"pytest could not be called for {mutant.name}.")
        begun.seek(0)
        last = ["before any test", *begun.read().decode().splitlines()][-1]
    return f"{last} ({status})" if status else ""


def every_place():
    """All changes of the core: file and number."""
    for package in CORE:
        for path in sorted((SOURCE / package).rglob("*.py")):
            for number, _ in enumerate(places(ast.parse(path.read_text(encoding="utf-8")))):
                yield path, number


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def read_record():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def store(record):
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def draw(commit, sample, tests_for):
    """Try the changes that a commit draws, from where an interrupted run of the same commit stopped."""
    record = read_record()
    found = next((draw for draw in record["draws"] if draw["commit"] == commit), None)
    if found is None:
        found = {"commit": commit, "tried": 0, "noticed": 0, "missed": {}}
        record["draws"].append(found)
    for path, number in random.Random(commit).sample(list(every_place()), sample)[found["tried"] :]:
        mutant = Mutant(path, number)
        by = noticed_by(mutant, *tests_for(mutant))
        found["tried"] += 1
        if by:
            found["noticed"] += 1
        else:
            found["missed"][mutant.name] = ""
        store(record)
        print(found["tried"], by or "MISSED", mutant.name, sep=" | ", flush=True)


def again(tests_for):
    """Try what the last draw missed and what has an effect."""
    record = read_record()
    missed = record["draws"][-1]["missed"]
    for name in [name for name, fate in missed.items() if not fate]:
        path = SOURCE / name.partition(":")[0]
        numbers = range(sum(1 for _ in places(ast.parse(path.read_text(encoding="utf-8")))))
        mutant = next((mutant for number in numbers if (mutant := Mutant(path, number)).name == name), None)
        by = "GONE" if mutant is None else noticed_by(mutant, *tests_for(mutant))
        if by and mutant:
            missed[name] = "a test now"
            store(record)
        print(by or "MISSED", name, sep=" | ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=120)
    parser.add_argument("--seed", default="HEAD", help="the commit that draws; its source has to be the present one")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--tests", nargs="*", help="with --again: these tests, in place of those that are stored")
    parser.add_argument("--watch", nargs="*", help="only store which lines these tests run, or all of the core")
    options = parser.parse_args()
    os.chdir(ROOT)
    if options.watch is not None:
        watch(options.watch)
        return
    import numba, pytest, scipy.optimize, sklearn.svm  # noqa: E401, F401, I001  (once, for all mutants)
    from coverage import CoverageData

    if options.tests:
        again(lambda mutant: (options.tests, SECONDS))
        return
    commit = git("rev-parse", options.seed)
    if not options.again and git("diff", "--stat", commit, "--", "src"):
        sys.exit(f"The source is not that of {commit}: commit it first, as it draws the changes.")
    if not TIMES.exists() or TIMES.stat().st_mtime < max(path.stat().st_mtime for path in SOURCE.rglob("*.py")):
        subprocess.run([sys.executable, __file__, "--watch"], check=True)
    data, seconds = CoverageData(str(LINES)), json.loads(TIMES.read_text(encoding="utf-8"))
    data.read()
    if options.again:
        again(lambda mutant: tests_of(mutant, data, seconds))
    else:
        draw(commit, options.sample, lambda mutant: tests_of(mutant, data, seconds))


if __name__ == "__main__":
    main()
