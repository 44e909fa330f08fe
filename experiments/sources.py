"""The code behind a function: what it names in widegap and in the experiments, followed to the end.

Top-level names (functions, classes, constants) are followed through imports of every kind: of modules and of names,
relative, inside functions, and of names that a package only hands on. A module that is used as a whole, as in
``getattr(module, name)``, is followed as a whole. Comments, docstrings, annotations and layout make no difference, nor
does the module that a name lives in.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import widegap

ROOTS = {"widegap": Path(widegap.__file__).parent, "experiments": Path(__file__).parent}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ON_IMPORT = ""  # the key of statements that bind no name, such as ``TABLE.update(...)``


@dataclass(frozen=True)
class Symbol:
    """A top-level name of a module, or the module as a whole."""

    module: str
    name: str | None = None


@dataclass(frozen=True)
class Closure:
    """Normal forms of all code that was reached, and the packages of others that it names."""

    code: tuple[str, ...]
    packages: frozenset[str]


class Sources:
    """All files of widegap and of the experiments, as they were when this was made.

    They are read at once: a file may change while a process goes on with what it has imported.
    """

    def __init__(self, texts: Mapping[str, str], packages: Iterable[str]):
        self.texts, self._packages = dict(texts), frozenset(packages)
        self._parsed: dict[str, _Module] = {}
        self._done: dict[Symbol, tuple[list[str], list[Symbol]]] = {}

    @classmethod
    def read(cls, roots: Mapping[str, Path] = ROOTS) -> "Sources":
        texts, packages = {}, []
        for root, folder in roots.items():
            for path in sorted(folder.rglob("*.py")):
                parts = [root, *path.relative_to(folder).with_suffix("").parts]
                if parts[-1] == "__init__":
                    parts.pop()
                    packages.append(".".join(parts))
                texts[".".join(parts)] = path.read_text(encoding="utf-8")
        return cls(texts, packages)

    def changed(self, module: str, text: str) -> "Sources":
        """The same with another text of one module; what was parsed of the others is kept."""
        others = Sources({**self.texts, module: text}, self._packages)
        others._parsed = {name: parsed for name, parsed in self._parsed.items() if name != module}
        others._done = {symbol: done for symbol, done in self._done.items() if symbol.module != module}
        return others

    def closure(self, start: Iterable[Symbol], beyond: Iterable[str] = ()) -> Closure:
        """Everything that some symbols depend on; what they name in modules or packages ``beyond`` is left out."""
        limits = tuple(f"{name}." for name in beyond)
        queue = list(start)
        seen, code, packages = set(queue), set(), set()
        while queue:
            symbol = queue.pop()
            if symbol.module not in self.texts:
                packages.add(symbol.module.partition(".")[0])
                continue
            own, found = self._followed(symbol)
            code.update(own)
            new = {other for other in found if not f"{other.module}.".startswith(limits)} - seen
            seen |= new
            queue += new
        return Closure(tuple(sorted(code)), frozenset(packages))

    def _followed(self, symbol: Symbol) -> tuple[list[str], list[Symbol]]:
        """The code of a symbol in its normal form, and the symbols it names."""
        if symbol not in self._done:
            statements, found = self._behind(symbol)
            found += [named for statement in statements for named in self._named(symbol.module, statement)]
            self._done[symbol] = [ast.dump(statement) for statement in statements], found
        return self._done[symbol]

    def _behind(self, symbol: Symbol) -> tuple[list[ast.stmt], list[Symbol]]:
        """The statements that make a symbol, and symbols of other modules that it stands for."""
        module = self._module(symbol.module)
        if symbol.name is None:
            whole = [statement for found in module.definitions.values() for statement in found]
            return whole, [self._resolved(found) for found in module.imports.values()]
        if symbol.name in module.definitions:
            return module.definitions[symbol.name] + module.definitions.get(ON_IMPORT, []), []
        if symbol.name in module.imports:
            return [], [self._resolved(module.imports[symbol.name])]
        if symbol.name.startswith("__"):  # Python's own, such as __file__
            return [], []
        raise LookupError(f"{symbol.module} has no {symbol.name}: the code behind it cannot be followed.")

    def _named(self, module: str, statement: ast.stmt) -> Iterator[Symbol]:
        """The symbols that a statement uses."""
        home, nodes = self._module(module), list(ast.walk(statement))
        imports = {**home.imports, **home.imports_of(nodes)}
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            chain = [] if id(node) in inner else _chain(node)
            if chain and chain[0] in imports:
                yield self._reached(imports[chain[0]], chain[1:])
            elif chain and chain[0] in home.definitions:
                yield Symbol(module, chain[0])

    def _reached(self, symbol: Symbol, attributes: list[str]) -> Symbol:
        """What a name and its attributes stand for: attributes of a module lead on, those of a class do not."""
        found = self._resolved(symbol)
        for name in attributes:
            if found.name is not None:
                break
            found = self._resolved(Symbol(found.module, name))
        return found

    def _resolved(self, symbol: Symbol) -> Symbol:
        """A name in a package may be a module of it."""
        whole = f"{symbol.module}.{symbol.name}"
        return Symbol(whole) if whole in self.texts else symbol

    def _module(self, name: str) -> "_Module":
        if name not in self._parsed:
            self._parsed[name] = _Module(name, self.texts[name], name in self._packages)
        return self._parsed[name]


class _Module:
    """A parsed file: its statements by the names that they bind, and where imported names come from."""

    def __init__(self, name: str, text: str, is_package: bool):
        self._name, self._tree = name, ast.parse(text)
        self._package = name if is_package else name.rpartition(".")[0]
        _strip(self._tree)

    @cached_property
    def imports(self) -> dict[str, Symbol]:
        """Names that imports at the top bind, also those under ``if TYPE_CHECKING``, where lazy names are declared."""
        return self.imports_of(_outside_scopes(self._tree))

    @cached_property
    def definitions(self) -> dict[str, list[ast.stmt]]:
        """The statements at the top by the names that they bind."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self._tree.body:
            if not isinstance(statement, ast.Import | ast.ImportFrom) and not _for_type_checkers(statement):
                for name in _bound(statement) or {ON_IMPORT}:
                    found.setdefault(name, []).append(statement)
        return found

    def imports_of(self, nodes: Iterable[ast.AST]) -> dict[str, Symbol]:
        """What the import statements among some nodes bind."""
        found = {}
        for node in nodes:
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if alias.name == "*":
                    raise LookupError(f"{self._name} imports by star, which cannot be followed.")
                if isinstance(node, ast.ImportFrom):
                    found[alias.asname or alias.name] = Symbol(self._origin(node), alias.name)
                else:  # "import a.b" binds a
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    found[alias.asname or whole] = Symbol(whole)
        return found

    def _origin(self, node: ast.ImportFrom) -> str:
        """The module that is imported from; every dot after the first is one package up."""
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        return ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])


def _strip(tree: ast.Module) -> None:
    """Take out docstrings and annotations; of a field's annotation stays whether it belongs to the class."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant("ClassVar" in ast.dump(node.annotation))


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _for_type_checkers(statement: ast.stmt) -> bool:
    """Whether a program skips the statement; with an ``else`` it binds names, too."""
    is_check = isinstance(statement, ast.If) and _chain(statement.test)[-1:] == ["TYPE_CHECKING"]
    return is_check and not statement.orelse


def _outside_scopes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those inside functions and classes."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPES):
            yield child
            yield from _outside_scopes(child)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top binds."""
    if isinstance(statement, SCOPES):
        return {statement.name}
    nodes = [statement, *_outside_scopes(statement)]
    inside = [child for node in nodes for child in ast.iter_child_nodes(node) if isinstance(child, SCOPES)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {scope.name for scope in inside}


def _chain(node: ast.AST) -> list[str]:
    """The names of ``a.b.c``; none if it begins with something other than a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []
