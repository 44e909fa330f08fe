"""Do the tests notice small changes of the core? Each change is made in memory and tests are run on it.

``python tests/mutants.py`` draws 120 of all changes that the packages which decide labels allow, by the hash of the
last commit, so that nobody chooses them; ``--seed`` names another commit. A change is noticed if a test fails
or takes far too long. ``--again`` tries only what the draw missed, found again by its text after tests were added.

The tests of a change are those in the file named after its module, then those in files that name it, then the others
of its folder, until one fails or ``SECONDS`` have passed.

``tests/mutants.json`` has, for each draw, the counts of the first run, which no later run changes, and what it missed,
with what became of that: why it has no effect, "noticed since" by a test that was added or that the time did not reach,
or nothing. Of earlier draws, of other packages and three in every module, it has the counts only.
"""

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "widegap"
RECORD = ROOT / "tests" / "mutants.json"
CORE = "rows features base constraints cutting_plane forest iterative sdp documents updating".split()
IMPORTS = "cvxpy dask.array dask.dataframe distributed pytest sklearn.cluster sklearn.utils.estimator_checks".split()
SECONDS = 20  # of the processor, after which no further test of a change begins
OPTIONS = "-x -q -p no:cacheprovider --hypothesis-seed=0"
NOT_MEANT = "not test_jit_caches"  # it notices that mutants are compiled without a cache
OWN_ERROR = 99
COMPILING = 60  # the same where all loops have to be compiled
PATIENCE = 60  # seconds more before a change counts as noticed because a test does not end

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
        self.is_part = self.module.startswith("widegap.rows.loops.")  # of loops in other modules
        text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(text)
        node, change = list(places(self.tree))[number]
        line = text.splitlines()[node.lineno - 1].strip()
        self.name = f"{path.relative_to(SOURCE)}: {line} | {ast.unparse(node)} -> {ast.unparse(change)}"
        replace(self.tree, node, change)


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


def tests_of(mutant):
    """Files of tests in the order in which they are tried: named like the module or naming it, then its folder."""
    folder = ROOT / "tests" / mutant.path.relative_to(SOURCE).parts[0]
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    order = sorted(
        texts, key=lambda path: (path.name != f"test{mutant.path.stem}.py", path.parent != folder, len(texts[path]))
    )
    near = [path for path in order if path.name == f"test{mutant.path.stem}.py" or mutant.module in texts[path]]
    near.append(ROOT / "tests" / "robustness" / "test_stored_labels.py")
    return near, [path for path in order if path.parent == folder and path not in near]


def compile_anew(mutant):
    """Loops that may have code of the mutant are neither taken from the cache nor put there."""
    from widegap._loop_cache import LoopCache

    make = LoopCache.__init__

    def without_cache(cache, function):
        if mutant.is_part or function.__module__ == mutant.module:
            raise RuntimeError("cannot cache function")
        make(cache, function)

    LoopCache.__init__ = without_cache


class Progress:
    """A plugin of pytest that writes which test begins, ends the run after a while and spares shrinking what fails."""

    def __init__(self, folder, seconds):
        self.file, self.end = Path(folder) / "begun", process_time() + seconds

    def pytest_sessionstart(self):
        from hypothesis import Phase, settings

        settings.register_profile("unshrunk", deadline=None, database=None, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("unshrunk")

    def pytest_runtest_logstart(self, nodeid):
        self.file.write_text(nodeid, encoding="utf-8")

    def pytest_runtest_logfinish(self):
        if process_time() > self.end:
            os._exit(0)


def try_tests(mutant, folder):
    """In a process of its own: 0 if all tests pass, else something else."""
    import pytest

    seconds = COMPILING if mutant.is_part else SECONDS
    signal.setitimer(signal.ITIMER_PROF, seconds + PATIENCE)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.meta_path.insert(0, Finder(mutant))
    compile_anew(mutant)
    options, progress = [*OPTIONS.split(), "-k", NOT_MEANT], Progress(folder, seconds)
    for files in filter(None, tests_of(mutant)):  # one by one, as it takes long to import those of a folder
        if code := pytest.main([*options, f"--basetemp={folder}/t", *map(str, files)], plugins=[progress]):
            return int(code)
    return 0


def noticed_by(mutant):
    """What notices a change: the test that fails or does not end, and the status of its process; "" if nothing does."""
    with tempfile.TemporaryDirectory() as folder:
        process = os.fork()
        if not process:
            code = OWN_ERROR
            try:
                code = try_tests(mutant, folder)
            finally:
                os._exit(code)
        status = os.waitpid(process, 0)[1]
        if os.waitstatus_to_exitcode(status) == OWN_ERROR:
            sys.exit(f"pytest could not be called for {mutant.name}.")
        begun = Path(folder) / "begun"
        last = begun.read_text(encoding="utf-8") if begun.exists() else "before any test"
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


def draw(commit, sample):
    """Try the changes that a commit draws, from where an interrupted run of the same commit stopped."""
    record = read_record()
    found = next((draw for draw in record["draws"] if draw["commit"] == commit), None)
    if found is None:
        found = {"commit": commit, "tried": 0, "noticed": 0, "missed": {}}
        record["draws"].append(found)
    chosen = random.Random(commit).sample(list(every_place()), sample)
    chosen.sort(key=lambda place: place[0].parent.name == "loops")  # these last, as they take longest
    for path, number in chosen[found["tried"] :]:
        mutant = Mutant(path, number)
        by = noticed_by(mutant)
        found["tried"] += 1
        if by:
            found["noticed"] += 1
        else:
            found["missed"][mutant.name] = ""
        store(record)
        print(found["tried"], by or "MISSED", mutant.name, sep=" | ", flush=True)


def again():
    """Try what the last draw missed and what has an effect."""
    record = read_record()
    missed = record["draws"][-1]["missed"]
    for name in [name for name, fate in missed.items() if not fate]:
        path = SOURCE / name.partition(":")[0]
        numbers = range(sum(1 for _ in places(ast.parse(path.read_text(encoding="utf-8")))))
        mutant = next((mutant for number in numbers if (mutant := Mutant(path, number)).name == name), None)
        by = "GONE" if mutant is None else noticed_by(mutant)
        if by and mutant:
            missed[name] = "noticed since"
            store(record)
        print(by or "MISSED", name, sep=" | ", flush=True)


def import_once():
    """What tests of many mutants would import and start anew: the processes that are forked from this one have it."""
    import numba

    for name in IMPORTS:
        importlib.import_module(name)
    numba.njit(lambda x: x + 1)(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=120)
    parser.add_argument("--seed", default="HEAD", help="the commit that draws; its source has to be the present one")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    os.chdir(ROOT)
    if Path(importlib.util.find_spec("widegap").origin).parent != SOURCE:
        sys.exit(f"Tests would import widegap from elsewhere: put {SOURCE.parent} into PYTHONPATH.")
    import_once()
    if options.again:
        again()
        return
    commit = git("rev-parse", options.seed)
    if git("diff", "--stat", commit, "--", "src"):
        sys.exit(f"The source is not that of {commit}: commit it first, as it draws the changes.")
    draw(commit, options.sample)


if __name__ == "__main__":
    main()
