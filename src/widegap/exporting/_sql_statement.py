"""A model as one SELECT that DuckDB and SQLite run.

The statement is a chain of named queries, each with the columns of the one before it and some more: features, kernel
values, scores, then the results. They are MATERIALIZED: a database that put one into the next would compute every
kernel value once for each cluster. Only +, -, *, /, CASE, CAST, exp, sqrt and pow are used. SQLite has the last three
in builds with SQLITE_ENABLE_MATH_FUNCTIONS, such as Debian's; others stop with "no such function: exp".

Numbers are written with an exponent, which makes them doubles in both databases. Columns of the table are always
qualified: SQLite takes a quoted name that is not a column for a text, unless it is qualified. A row that lacks a number
where the model fills no gaps has NULL in all results, and so has a row with a text where a number belongs.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from widegap._types import Doubles
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.exporting._column_plan import ColumnPlan, TablePlan
from widegap.exporting._scoring_plan import CodePart, KernelPart, ScoringPlan, n_values

MOST_SQL_BYTES = 1_000_000  # of a statement: at 942,250 DuckDB takes 2.4 s for 10,000 rows, SQLite 3.2 s for 1,000
MOST_SQL_COLUMNS = 1_900  # of a named query: SQLite's limit is 2,000
TERMS_A_SUM = 50  # in brackets: both databases limit the depth of an expression to 1,000
LARGEST = "1.7976931348623157e308"  # what is beyond is infinite; NaN of DuckDB is above all numbers, too
TEXT_TYPES = "('text', 'blob', 'VARCHAR', 'BLOB')"  # of cells, in SQLite and in DuckDB


def sql_statement(plan: ScoringPlan, table: TablePlan | None, name: str, keep: Sequence[str]) -> str:
    """The text of the statement; refuses one that is too long."""
    landmarks, numbers = n_values(plan)
    reason = (
        f"The model has {landmarks:,} landmarks in {plan.n_features:,} columns for {plan.n_clusters:,} clusters"
        f" ({numbers:,} numbers)"
    )
    remedy = "Export a .py or .onnx file, or fit with fewer landmarks (n_components)."
    if landmarks + plan.n_features > MOST_SQL_COLUMNS:
        raise NotSupportedError(f"{reason}, and SQL has at most {MOST_SQL_COLUMNS:,} columns in one query. {remedy}")
    text = _Statement(plan, table, name, keep).text()
    size = len(text.encode("utf-8"))
    if size > MOST_SQL_BYTES:
        raise NotSupportedError(
            f"{reason}, and its SQL statement would have {size:,} bytes; at most {MOST_SQL_BYTES:,} fit. {remedy}"
        )
    return text


def quote_name(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + _check_text(name, "name").replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A text as SQL quotes it."""
    return "'" + _check_text(text, "text").replace("'", "''") + "'"


def _check_text(text: str, what: str) -> str:
    """The text; refuses signs that SQL, or a program that reads the file as lines, would change."""
    if "\0" in text or "\r" in text or (what == "name" and not text):
        raise InvalidDataError(
            f"{text!r:.60} cannot be a {what} in a .sql file: it must hold neither a zero byte nor a carriage return, "
            "and a name must not be empty. Rename it before the fit, or export a .py file."
        )
    return text


def _double(value: float) -> str:
    """A number that both databases read as a double; in brackets below 0."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def _sum(terms: Iterable[str]) -> str:
    """A sum in brackets, of sums if it has many terms."""
    found = list(terms)
    while len(found) > TERMS_A_SUM:
        found = ["(" + " + ".join(found[i : i + TERMS_A_SUM]) + ")" for i in range(0, len(found), TERMS_A_SUM)]
    return "(" + " + ".join(found or ["0e0"]) + ")"


def _weighted(names: Sequence[str], weights: Doubles) -> list[str]:
    """Products of columns and weights, without those of weight 0."""
    return [f"{name} * {_double(w)}" for name, w in zip(names, weights, strict=True) if w]


class _Statement:
    """The chain of queries; every step adds columns and knows their names."""

    def __init__(self, plan: ScoringPlan, table: TablePlan | None, name: str, keep: Sequence[str]):
        self.plan, self.table, self.keep = plan, table, tuple(keep)
        self.prefix = "widegap"
        while name.lower().startswith(self.prefix):  # no query has the name of the table
            self.prefix += "_"
        self.source = quote_name(name)
        self.queries: list[str] = []

    def text(self) -> str:
        """The whole statement."""
        features = self._read()
        scores = self._scored(features)
        results = self._results(features, scores)
        self._check_names([name for name, _ in results])
        columns = ",\n  ".join(f"{value} AS {quote_name(name)}" for name, value in results)
        chain = ",\n".join(self.queries)
        return f"WITH {chain}\nSELECT\n  {columns}\nFROM {self._last()}\n"

    def _check_names(self, names: Sequence[str]) -> None:
        lowered = [name.lower() for name in names]
        twice = sorted({name for name in names if lowered.count(name.lower()) > 1})
        if twice:
            raise InvalidDataError(
                f"The results would have several columns called {', '.join(map(repr, twice))}, which differ at most in "
                "capital letters; leave them out of keep, or rename them in the table."
            )

    def _last(self) -> str:
        return f"{self.prefix}_{len(self.queries) - 1}"

    def _add(self, columns: Sequence[tuple[str, str]]) -> list[str]:
        """A query with further columns; returns their names."""
        if columns:
            values = ", ".join(f"{value} AS {name}" for name, value in columns)
            body = f"SELECT *, {values} FROM {self._last()}"
            self.queries.append(f"{self.prefix}_{len(self.queries)} AS MATERIALIZED ({body})")
        return [name for name, _ in columns]

    # The table

    def _read(self) -> list[str]:
        """The first query: columns that are kept, and features."""
        kept = [(f"k{i}", f"t.{quote_name(name)}") for i, name in enumerate(self.keep)]
        if self.table is None:
            values = [self._number(name, None) for name in self.plan.names]
        else:
            values = [value for column in self.table.columns for value in self._features(column)]
            if self.table.factors is not None:
                values = [f"({v}) * {_double(f)}" for v, f in zip(values, self.table.factors, strict=True)]
        features = [(f"x{j}", value) for j, value in enumerate(values)]
        columns = ", ".join(f"{value} AS {name}" for name, value in (*kept, *features))
        self.queries.append(f"{self.prefix}_0 AS MATERIALIZED (SELECT {columns} FROM {self.source} AS t)")
        return [name for name, _ in features]

    def _number(self, name: str, fill: float | None) -> str:
        """A cell as a number; NULL for a text, the fill for a gap."""
        cell = f"t.{quote_name(name)}"
        gap = "NULL" if fill is None else _double(fill)
        gaps = [f"{cell} IS NULL", f"CAST({cell} AS DOUBLE) > {LARGEST}", f"CAST({cell} AS DOUBLE) < -{LARGEST}"]
        if self.table is not None and len(self.table.gap_numbers):
            gaps.append(f"CAST({cell} AS DOUBLE) IN ({', '.join(map(_double, self.table.gap_numbers))})")
        text = f"WHEN typeof({cell}) IN {TEXT_TYPES} THEN NULL"
        return f"CASE {text} WHEN {' OR '.join(gaps)} THEN {gap} ELSE CAST({cell} AS DOUBLE) END"

    def _features(self, column: ColumnPlan) -> list[str]:
        if column.read_as == "number":
            return [self._number(column.name, column.fill)]
        cell = f"TRIM(CAST(t.{quote_name(column.name)} AS VARCHAR))"
        if column.read_as == "category":
            return [
                f"CASE WHEN {cell} IN ({', '.join(map(quote_text, _spellings(level)))}) THEN 1e0 ELSE 0e0 END"
                for level in column.levels
            ]
        words = column.spelled_words
        yes, no = ([quote_text(word) for word, value in words.items() if value == side] for side in (1.0, 0.0))
        fill = "NULL" if column.fill is None else _double(column.fill)
        return [
            f"CASE WHEN {cell} IN ({', '.join(yes)}) THEN 1e0 WHEN {cell} IN ({', '.join(no)}) THEN 0e0 ELSE {fill} END"
        ]

    # Scores

    def _scored(self, features: list[str]) -> list[str]:
        (whole,) = self._add([("whole", f"CASE WHEN {_sum(features)} IS NOT NULL THEN 0e0 END")])
        terms: list[list[str]] = [[whole, _double(value)] for value in self.plan.constants]
        for number, part in enumerate(self.plan.parts):
            if isinstance(part, CodePart):
                names, found = features[part.first :], part
                for p, own in enumerate(terms):
                    own.extend(_code_terms(found, names, p))
                continue
            values = self._kernel_values(part, number, [features[j] for j in part.columns])
            for own, factors in zip(terms, part.factors.T, strict=True):
                own.extend(_weighted(values, factors))
        scores = self._add([(f"s{p}", _sum(own)) for p, own in enumerate(terms)])
        return scores if self.plan.bisected is None else self._leaves(scores)

    def _kernel_values(self, part: KernelPart, number: int, columns: list[str]) -> list[str]:
        """The columns that the factors of a part belong to."""
        scale = np.ones(len(columns)) if part.scale is None else part.scale
        z = [f"{name} * {_double(w)}" if w != 1 else name for name, w in zip(columns, scale, strict=True)]
        if part.unit_first:
            z = self._unit_length(z, f"u{number}_")
        if part.shift is not None:
            z = [f"{value} - {_double(s)}" if s else value for value, s in zip(z, part.shift, strict=True)]
        z = self._add([(f"z{number}_{j}", value) for j, value in enumerate(z)])
        if part.unit_last:
            z = self._add([(f"w{number}_{j}", v) for j, v in enumerate(self._unit_length(z, f"v{number}_"))])
        if part.landmarks is None:
            return z
        marks, gamma = part.landmarks, part.gamma
        if part.kernel == "poly":
            values = [
                f"pow({_sum([_double(part.coef0), *_weighted(z, gamma * mark)])}, {_double(part.degree)})"
                for mark in marks
            ]
        else:
            (square,) = self._add([(f"q{number}", _sum(f"{name} * {name}" for name in z) + f" * {_double(-gamma)}")])
            values = [
                f"exp({_sum([square, _double(-gamma * float(mark @ mark)), *_weighted(z, 2 * gamma * mark)])})"
                for mark in marks
            ]
        return self._add([(f"m{number}_{j}", value) for j, value in enumerate(values)])

    def _unit_length(self, values: list[str], prefix: str) -> list[str]:
        """Values divided by the length of the row; rows of zeros stay."""
        names = self._add([(f"{prefix}{j}", value) for j, value in enumerate(values)])
        (length,) = self._add([(f"{prefix}n", f"sqrt({_sum(f'{name} * {name}' for name in names)})")])
        return [f"CASE WHEN {length} = 0e0 THEN 0e0 ELSE {name} / {length} END" for name in names]

    def _leaves(self, nodes: list[str]) -> list[str]:
        """The smallest margin on the way to each leaf of a tree of bisections."""
        leaves: dict[int, str] = {}
        for j, cluster in enumerate(self.plan.bisected or ()):
            way = leaves.get(cluster)
            sides = {cluster: f"-{nodes[j]}", j + 1: nodes[j]}
            if way is not None:
                sides = {leaf: f"CASE WHEN {way} < {side} THEN {way} ELSE {side} END" for leaf, side in sides.items()}
            names = self._add([(f"l{j}_{leaf}", side) for leaf, side in sides.items()])
            leaves |= dict(zip(sides, names, strict=True))
        return [leaves[leaf] for leaf in sorted(leaves)] or nodes

    # Results

    def _results(self, features: list[str], scores: list[str]) -> list[tuple[str, str]]:
        """Names and values of the last SELECT."""
        leads = [" AND ".join([f"{own} >= {rival}" for rival in scores]) for own in scores]
        cases = " ".join(f"WHEN {lead} THEN {p}" for p, lead in enumerate(leads))
        self._add([("c", f"CASE {cases} END")])
        self._add([("top", _by_cluster(scores))])
        plan = self.plan
        found = [(name, f"k{i}") for i, name in enumerate(self.keep)]
        found += [(f"score_{p}", name) for p, name in zip(plan.numbers or range(len(scores)), scores, strict=True)]
        found.append(("cluster", self._cluster_number))
        if plan.classes is not None:
            found.append(("class", _by_cluster(["NULL" if n is None else quote_text(n) for n in plan.classes])))
        if plan.temperature is not None:
            shares = [f"exp(({name} - top) / {_double(plan.temperature)})" for name in scores]
            found.append(("certainty", f"1e0 / {_sum(shares)}"))
        if plan.rejection is not None:
            found.append(("cluster_or_outlier", self._or_outlier(features)))
        return found

    @property
    def _cluster_number(self) -> str:
        """The number of the cluster at place c."""
        numbers = self.plan.numbers
        return "c" if numbers is None else _by_cluster([str(number) for number in numbers])

    def _or_outlier(self, features: list[str]) -> str:
        rule, own = self.plan.rejection, self._cluster_number
        assert rule is not None
        if rule.centres is None:
            return own if rule.below is None else f"CASE WHEN top < {_double(rule.below)} THEN -1 ELSE {own} END"
        assert rule.limits is not None
        squares = [
            _sum(f"({x} - {_double(m)}) * ({x} - {_double(m)})" for x, m in zip(features, centre, strict=True))
            for centre in rule.centres
        ]
        limits = _by_cluster([_double(limit) for limit in rule.limits])
        return f"CASE WHEN sqrt({_by_cluster(squares)}) > {limits} THEN -1 ELSE {own} END"


def _by_cluster(values: Sequence[str]) -> str:
    return "CASE c " + " ".join(f"WHEN {p} THEN {value}" for p, value in enumerate(values)) + " END"


def _code_terms(part: CodePart, names: Sequence[str], cluster: int) -> list[str]:
    """What one column of codes adds to the score of a cluster."""
    values = part.values[:, cluster]
    if part.is_category:
        pairs = zip(names, part.knots, values, strict=False)
        return [
            f"CASE WHEN {name} > {_double(knot)} THEN {_double(value)} ELSE 0e0 END"
            for name, knot, value in pairs
            if np.isfinite(knot)
        ]
    x, knots = names[0], part.knots
    rises = np.diff(values) / np.diff(knots)
    steps = [
        f"WHEN {x} <= {_double(knots[j + 1])} THEN {_double(values[j])} + ({x} - {_double(knots[j])}) * {_double(rise)}"
        for j, rise in enumerate(rises)
    ]
    first = f"WHEN {x} <= {_double(knots[0])} THEN {_double(values[0])}"
    last = f"WHEN {x} IS NOT NULL THEN {_double(values[-1])}"
    return [f"CASE {first} {' '.join(steps)} {last} END"]


def _spellings(level: str) -> list[str]:
    """The texts that a database may have for a category: 3 as 3.0 in a column of doubles, True as true or TRUE."""
    if level in ("True", "False"):
        return [level, level.lower(), level.upper()]
    return [level, f"{level}.0"] if re.fullmatch(r"-?\d+", level) else [level]
