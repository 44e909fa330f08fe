"""Names, read from the source: one meaning each, the field's words, and a reason beside every constant.

``python tests/conformance/test_names.py forest`` lists what the rules say of one slice.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "widegap"

# Words of our own that the field has others for: the word, and what to write.
RETIRED = {
    "say": "constraints, or side information",
    "says": "constraints, or side information",
    "said": "constraints, or corrections",
    "hear": "read constraints",
    "heard": "constraints",
    "given": "side information, or the argument's own name",
    "told": "prediction",
    "listener": "constraints",
    "opencut": "unconstrained cut",
    "taught": "self-training",
    "lesson": "self-training round",
    "lessons": "self-training rounds",
    "leftout": "leave-one-out",
    "claim": "confusion, or declared size",
    "claims": "confusion, or declared sizes",
    "chance": "null",
    "others": "extra losses, or what they are",
    "near": "warm start, or nearest",
    "aside": "outliers",
    "journal": "checkpoint",
    "wish": "options",
    "wishes": "options",
}
# Names that stand in several modules for the same thing, by the rules of Python or of a protocol.
SEVERAL_HOMES = {"main", "profile", "tree"}
# Files that have the same role in several slices.
SAME_ROLE = {"__init__.py", "__main__.py"}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def comment_lines(path):
    """Numbers of the lines that hold a comment, and of those that hold nothing else."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = {token.start[0]: token.line.lstrip().startswith("#") for token in tokens if token.type == tokenize.COMMENT}
    return found


def module_level(tree):
    """Statements of a module, those under a condition or a try included."""
    for node in tree.body:
        yield node
        for field in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, ast.If | ast.Try):
                yield from module_level(ast.Module(body=getattr(node, field, []), type_ignores=[]))


def defined(node):
    """Names that a statement at module level gives a meaning."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        targets = [
            item for target in node.targets for item in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [node.target.id]
    return []


def sources(part=""):
    return sorted((PACKAGE / part).rglob("*.py"))


def named(path):
    return path.relative_to(PACKAGE).as_posix()


def repeated_names():
    """Public names that two modules define."""
    homes = defaultdict(set)
    for path in sources():
        for node in module_level(tree_of(path)):
            for name in defined(node):
                homes[name].add(named(path))
    for name, where in sorted(homes.items()):
        if len(where) > 1 and not name.startswith("_") and name not in SEVERAL_HOMES:
            yield where, f"{name} is defined in {', '.join(sorted(where))}: one name, one meaning, one home"


def repeated_files():
    """File names that stand in two slices."""
    homes = defaultdict(set)
    for path in sources():
        homes[path.name].add(named(path))
    for name, where in sorted(homes.items()):
        if len(where) > 1 and name not in SAME_ROLE:
            yield where, f"{', '.join(sorted(where))} have the same file name"


def words_of(name):
    """The words of an identifier, and neighbouring pairs of them, in lower case."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    return {*words, *(first + second for first, second in zip(words, words[1:], strict=False))}


def identifiers(tree):
    """(line, name) of everything that the source names itself: definitions, parameters, attributes, variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id
    for node in module_level(tree):
        for name in defined(node):
            yield node.lineno, name


def retired_words():
    """Names that bear a word of our own."""
    for path in sources():
        for place in (path.stem, path.parent.name):
            for word in words_of(place) & RETIRED.keys():
                yield {named(path)}, f"{named(path)} bears '{word}': {RETIRED[word]}"
        for line, name in sorted(set(identifiers(tree_of(path)))):
            for word in words_of(name) & RETIRED.keys():
                yield {named(path)}, f"{named(path)}:{line}: {name} bears '{word}': {RETIRED[word]}"


def is_number(value):
    """Whether an expression is a number, or made of numbers alone: what someone has settled."""
    parts = [node for node in ast.walk(value) if isinstance(node, ast.expr)]
    plain = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.Set)
    numbers = [node for node in parts if isinstance(node, ast.Constant)]
    return all(isinstance(part, plain) for part in parts) and any(type(node.value) in (int, float) for node in numbers)


def bare_constants():
    """Numbers without a reason on their line or right above them; a comment covers the lines below it."""
    for path in sources():
        comments, lines = comment_lines(path), path.read_text(encoding="utf-8").splitlines()
        covered = False
        for node in module_level(tree_of(path)):
            names = [name for name in defined(node) if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)]
            if not names or not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
                covered = False
                continue
            above = node.lineno - 1
            covered = comments.get(above, False) or (covered and bool(lines[above - 1].strip()))
            inside = any(line in comments for line in range(node.lineno, node.end_lineno + 1))
            if not covered and not inside:
                yield {named(path)}, f"{named(path)}:{node.lineno}: {', '.join(names)} has no reason beside it"


RULES = [repeated_names, repeated_files, retired_words, bare_constants]


def violations(rule, part=""):
    return [message for where, message in rule() if any(name.startswith(part) for name in where)]


def test_one_name_has_one_meaning():
    assert violations(repeated_names) == []


def test_no_file_name_stands_twice():
    assert violations(repeated_files) == []


def test_names_are_the_words_of_the_field():
    assert violations(retired_words) == []


def test_every_constant_has_its_reason():
    assert violations(bare_constants) == []


def test_numbers_need_a_reason():
    values = {text: is_number(ast.parse(text, mode="eval").body) for text in ("1 << 20", "(0.1, 2)", "{'a': 1}", "'a'")}
    assert values == {"1 << 20": True, "(0.1, 2)": True, "{'a': 1}": False, "'a'": False}


def test_words_of_identifiers():
    assert words_of("_OpenCutter") == {"open", "cutter", "opencutter"}
    assert words_of("is_open_cut") & RETIRED.keys() == {"opencut"}
    assert words_of("SVMLeftOut") & RETIRED.keys() == {"leftout"}
    assert not words_of("nearest_neighbours") & RETIRED.keys()


if __name__ == "__main__":
    for rule in RULES:
        print("\n".join(violations(rule, sys.argv[1] if len(sys.argv) > 1 else "")))
