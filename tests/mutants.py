"""Do the tests notice small changes of the core? Each change is made in memory and tests are run on it.

``python tests/mutants.py`` draws a sample in every module, with a fixed seed, and writes what became of it to
``tests/mutants.json``. A change is noticed if a test fails, or if tests take far too long. ``--only`` names modules,
``--sample`` the number of changes in each, ``--draw`` the sample: 0 is the one that the first tests were written for, a
number that has not been used draws a fresh one, and ``--again`` tries only what was missed. What is noticed once tests
were added for it is kept apart ("added") from what was noticed at first. Changes that leave every result as it is, or
only cost time, are listed in ``UNSEEN`` with the reason; they do not count as missed.
"""

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "widegap"
RECORD = ROOT / "tests" / "mutants.json"
PACKAGES = ("constraints", "cutting_plane", "forest", "sdp")
SECONDS = 300  # of the processor; the tests of a module take below 60

# Tests of modules that have no file of their own.
TESTS = {
    "sdp._gmmc": ["test_semidefinite"],
    "sdp._mmc": ["test_semidefinite"],
    "sdp._semidefinite": ["test_semidefinite"],
    "constraints._hard_units": ["test_constrained_labels"],
    "cutting_plane._kernel_dual": ["test_kernel_weights"],
    "constraints._known_classes": ["test_leave_one_out"],
    "iterative._svm": ["test_alternation"],
    "iterative._threshold": ["test_alternation"],
    "base._records": ["test_cutting_plane", "test_cccp"],
    "constraints._size_bounds": ["test_size_bounds", "test_transport"],
    "cutting_plane._problem": ["test_score_loss", "test_cutting_plane"],
    "cutting_plane._hinge": ["test_score_loss", "test_passes"],
    "cutting_plane._norms": ["test_kernel_weights"],
}
UNSEEN = {
    "features._kmeans: total = X[0, 0] * 0 | 0 -> 1": "the drawn one is an index: any entry times zero",
    "sdp._mmc: (np.full(n, corner), nu, 2 * C * ones), | 2 * C * ones -> 2 * C / ones": "by one, either way",
    "cutting_plane._kernel_weights: if gap <= least: | gap <= least -> gap < least": "two roundings would have to be equal",
    "iterative._threshold: return min(max(1, int(low)), n - 1), max(1, min(n - 1, int(high))) | n - 1 -> n + 1": "a "
    "bound that no number of clusters reaches, and that is gone since",
    "cutting_plane._norms: p: float = 2.0 | 2.0 -> 3.0": "a default that only a test used, and that is gone since",
    "cutting_plane._qp: lower[m : m + n_caps] = -_UNBOUNDED | m + n_caps -> m - n_caps": "sums of what is not negative",
    "constraints._size_prices: while (high - low).max() > TIE_NOISE / 10 * span: | (high - low).max() > TIE_NOISE / 10 * span -> "
    "(high - low).max() >= NOISE / 10 * span": "two roundings would have to be equal",
    "constraints._outliers: return reach > middle + OUTLYING_DEVIATIONS * spread if spread > 0 else np.zeros(len(reach), dtype=bool) | "
    "reach > middle + CLEAR * spread -> reach >= middle + CLEAR * spread": "two roundings would have to be equal",
    "constraints._outliers: lost = np.cumsum(np.append(0, ~is_out)) / len(inside) | 0 -> 1": "all sums one more",
    "cutting_plane._universum_loss: active = excess > 0 | excess > 0 -> excess >= 0": "at a kink, both are planes below",
    "constraints._hard_units: several = np.flatnonzero(sizes > 1).tolist() if coupled else [] | "
    "sizes > 1 -> sizes >= 1": "found exactly in either way, one of them slower",
    "sdp._semidefinite: return -scores if scores[0] > 0 else scores | "
    "scores[0] > 0 -> scores[0] >= 0": "a score of exactly 0; only names would change",
    "cutting_plane._problem: shares = rows.label_weights(labels, k) / rows.total | rows.label_weights(labels, k) "
    "/ rows.total -> rows.label_weights(labels, k) * rows.total": "the size of the means cancels out",
    "cutting_plane._norms: p: float = 2.0  # of no effect, as the weight of an only kernel is 1 | "
    "2.0 -> 3.0": "one kernel has the weight 1 for any p",
    "forest._agreement: heights = np.maximum(np.round(heights, 12), 0.0) | "
    "12 -> 13": "the 13th digit of heights between 0 and 1",
    "iterative._alternation: for _ in range(100): | 100 -> 101": "bisected to the last digit long before",
    "forest._linkage: scores[scores < 1 / m] = 0 | "
    "scores < 1 / m -> scores <= 1 / m": "two roundings would have to be equal",
    "constraints._size_prices: (costs,), _ = rows.fold(lambda costs: ((_split(costs, TIE_NOISE * span),), 0), costs) | "
    "0 -> 1": "a sum that nobody reads",
    "cutting_plane._qp: z, bias = _checked(scaled, *engine(scaled, None if start is None else start / "
    "problem.x_unit)) | start / problem.x_unit -> start * problem.x_unit": "a start only saves time",
    "constraints._seeded_clusters: for last in (False, True) if linked.any() else (True,): | "
    "True -> False": "spreads once more, which nothing uses",
    "forest._small_clusters: twice = np.flatnonzero(np.bincount(owners, minlength=n_fine - 1) == 2) | "
    "1 -> 2": "a cluster without rows is not there twice",
}

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

    def __init__(self, module, number=None):
        self.path = SOURCE / (module.replace(".", "/") + ".py")
        self.module = f"widegap.{module}"
        text = self.path.read_text(encoding="utf-8")
        self.tree = ast.parse(text)
        if number is None:
            return
        node, change = list(places(self.tree))[number]
        before = ast.unparse(node)
        self.name = f"{module}: {text.splitlines()[node.lineno - 1].strip()} | {before} -> {ast.unparse(change)}"
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


def tests_of(module):
    """The files of tests that are run on changes of a module."""
    names = TESTS.get(module, ["test" + module.rpartition(".")[2]])
    return [str(path.relative_to(ROOT)) for name in names for path in (ROOT / "tests").rglob(f"{name}.py")]


def compile_anew(module):
    """Compiled loops of the mutant are neither taken from numba's cache nor put there."""
    import numba

    njit = numba.njit

    def without_cache(*arguments, **options):
        if arguments or "cache" not in options:
            return njit(*arguments, **options)
        return lambda function: njit(**(options | {"cache": function.__module__ != module}))(function)

    numba.njit = without_cache


def try_tests(mutant, files):
    """In a process of its own: 0 if all tests pass, else something else."""
    import pytest

    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.meta_path.insert(0, Finder(mutant))
    compile_anew(mutant.module)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", f"--basetemp={folder}/t"]
        return int(pytest.main([*options, *files]))


def is_noticed(mutant, files):
    process = os.fork()
    if not process:
        code = 9
        try:
            code = try_tests(mutant, files)
        finally:
            os._exit(code)
    return os.waitpid(process, 0)[1] != 0


def every_mutant(module):
    """All changes of a module, in the order of its text."""
    tree = ast.parse((SOURCE / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
    return [Mutant(module, number) for number in range(len(list(places(tree))))]


def drawn(module, sample, draw, record):
    """The changes of a module that are tried; those of other draws are not drawn again."""
    mutants = every_mutant(module)
    order = random.Random(f"{module} {draw}" if draw else module).sample(range(len(mutants)), len(mutants))
    others = {name for other, modules in record.items() if other != str(draw) for name in tried_in(modules, module)}
    return list(islice((mutants[number] for number in order if mutants[number].name not in others), sample))


def tried_in(modules, module):
    """Names of the changes of a module that one draw has tried."""
    return [name for names in modules.get(module, {}).values() for name in names]


def all_modules():
    return [f"{package}.{p.stem}" for package in PACKAGES for p in sorted((SOURCE / package).glob("_[a-z]*.py"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=all_modules())
    parser.add_argument("--sample", type=int, default=3)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    os.chdir(ROOT)
    import numba, pytest, scipy.optimize, sklearn.svm  # noqa: E401, F401, I001  (once, for all mutants)

    for module in options.only:
        record = read_record()
        if options.again:  # by name, as a source may have changed since; of one name the one that is drawn first
            missed = record[str(options.draw)][module]["missed"]
            in_order = reversed(drawn(module, None, options.draw, record))
            mutants = list({mutant.name: mutant for mutant in in_order if mutant.name in missed}.values())
        else:
            mutants = drawn(module, options.sample, options.draw, record)
        if mutants and is_noticed(Mutant(module), tests_of(module)):
            print(f"{module}: {tests_of(module)} fail without any change, so nothing can be said of it.", flush=True)
            continue
        for mutant in mutants:
            is_seen = is_noticed(mutant, tests_of(module))
            keep(str(options.draw), module, mutant.name, is_seen)
            print("noticed" if is_seen else "MISSED", mutant.name, flush=True)


def read_record():
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def keep(draw, module, name, is_seen):
    """Put what became of a change into the record."""
    record = read_record()
    found = record.setdefault(draw, {}).setdefault(module, {"noticed": [], "added": [], "missed": []})
    was_missed = name in found["missed"] or name in found["added"]
    for names in found.values():
        names[:] = [other for other in names if other != name]
    found[("added" if was_missed else "noticed") if is_seen else "missed"].append(name)
    RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
