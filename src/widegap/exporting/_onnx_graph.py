"""A model as an ONNX graph, in float64 throughout.

Inputs are ``X``, a table of numbers of shape (rows, columns), or one input of shape (rows, 1) for every column of a
table: numbers as float64 with NaN for a gap, categories and yes/no as strings, empty for a gap. Outputs are ``scores``,
``cluster``, ``certainty`` and ``cluster_or_outlier``, the last two where the model has them.

A piecewise linear function of x through (t_0, v_0), ..., (t_m, v_m), constant beyond the ends, is

    v_0 + sum_j (v_j+1 - v_j) / (t_j+1 - t_j) * min(max(x - t_j, 0), t_j+1 - t_j)

so that the codes of all numbers in a table are one product of matrices.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widegap._types import Doubles
from widegap.exceptions import InvalidDataError, NotSupportedError
from widegap.exporting._column_plan import ColumnPlan, TablePlan
from widegap.exporting._scoring_plan import CodePart, KernelPart, ScoringPlan

OPSET = 19  # the first in which Equal compares texts
IR_VERSION = 9  # of files with that opset
OUTPUTS = ("scores", "cluster", "certainty", "cluster_or_outlier")
INNER = "widegap/"  # begins the names of all values inside the graph


class _Graph:
    """Nodes and constants; every method adds some and returns the name of the result."""

    def __init__(self, onnx: Any):
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def constant(self, value: Any) -> str:
        """A constant, by its name."""
        name = f"{INNER}c{len(self.constants)}"
        array = np.asarray(value)
        if array.dtype.kind in "US":
            texts = [str(text).encode("utf-8") for text in array.ravel()]
            made = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        else:
            made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(made)
        return name

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """A node, by the name of its output."""
        name = output or f"{INNER}v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def feed(self, name: str, kind: int, shape: Sequence[Any]) -> str:
        """An input."""
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def as_double(self, name: str) -> str:
        """Truth values as 0 and 1."""
        return self.add("Cast", name, to=self.onnx.TensorProto.DOUBLE)

    def columns(self, rows: str, numbers: Sequence[int]) -> str:
        """Some columns of a table."""
        return self.add("Gather", rows, self.constant(np.asarray(numbers, np.int64)), axis=1)

    def row_sum(self, rows: str) -> str:
        """Sums of rows, shape (n, 1)."""
        return self.add("ReduceSum", rows, self.constant(np.array([1])), keepdims=1)


def onnx_file(plan: ScoringPlan, table: TablePlan | None, version: str) -> bytes:
    """The bytes of the file."""
    try:
        import onnx
    except ImportError as error:
        raise NotSupportedError(
            "Files in .onnx need onnx, which is not installed: pip install 'widegap[export]'."
        ) from error
    graph = _Graph(onnx)
    rows = (
        _encoded_rows(graph, table) if table is not None else graph.feed("X", _double(graph), ["rows", plan.n_features])
    )
    _outputs(graph, plan, rows, _scores(graph, plan, rows))
    made = onnx.helper.make_graph(graph.nodes, "widegap", graph.inputs, _declared(graph, plan), graph.constants)
    model = onnx.helper.make_model(
        made, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="widegap",
        producer_version=version,
    )  # fmt: skip
    if plan.classes is not None:
        onnx.helper.set_model_props(model, {"classes": json.dumps(plan.classes)})
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _double(graph: _Graph) -> int:
    return int(graph.onnx.TensorProto.DOUBLE)


def _declared(graph: _Graph, plan: ScoringPlan) -> list[Any]:
    """Kinds and shapes of the outputs."""
    kinds = graph.onnx.TensorProto
    forms = {"scores": (kinds.DOUBLE, ["rows", plan.n_clusters]), "cluster": (kinds.INT64, ["rows"])}
    if plan.temperature is not None:
        forms["certainty"] = kinds.DOUBLE, ["rows"]
    if plan.rejection is not None:
        forms["cluster_or_outlier"] = kinds.INT64, ["rows"]
    return [graph.onnx.helper.make_tensor_value_info(name, *form) for name, form in forms.items()]


# Rows to scores


def _scores(graph: _Graph, plan: ScoringPlan, rows: str) -> str:
    kernels = [part for part in plan.parts if isinstance(part, KernelPart)]
    codes = [part for part in plan.parts if isinstance(part, CodePart)]
    terms = [_kernel_scores(graph, part, rows) for part in kernels]
    constants = plan.constants.copy()
    numbers, flags = [c for c in codes if not c.is_category], [c for c in codes if c.is_category]
    if numbers:
        constants += sum(code.values[0] for code in numbers)
        terms.append(_interpolated(graph, numbers, rows))
    if flags:
        terms.append(_flagged(graph, flags, rows))
    if not terms:  # one cluster: zeros of as many rows
        terms.append(graph.add("MatMul", rows, graph.constant(np.zeros((plan.n_features, len(constants))))))
    found = graph.constant(constants)
    for term in terms:
        found = graph.add("Add", term, found)
    return found if plan.bisected is None else _leaves(graph, plan.bisected, found)


def _kernel_scores(graph: _Graph, part: KernelPart, rows: str) -> str:
    z = graph.columns(rows, part.columns.tolist())
    z = z if part.scale is None else graph.add("Mul", z, graph.constant(part.scale))
    z = _unit_rows(graph, z) if part.unit_first else z
    z = z if part.shift is None else graph.add("Sub", z, graph.constant(part.shift))
    z = _unit_rows(graph, z) if part.unit_last else z
    if part.landmarks is None:
        return graph.add("MatMul", z, graph.constant(part.factors))
    return graph.add("MatMul", _kernel_values(graph, part, part.landmarks, z), graph.constant(part.factors))


def _kernel_values(graph: _Graph, part: KernelPart, marks: Doubles, z: str) -> str:
    if part.kernel == "poly":
        products = graph.add("MatMul", z, graph.constant(part.gamma * marks.T))
        return graph.add("Pow", graph.add("Add", products, graph.constant(part.coef0)), graph.constant(part.degree))
    products = graph.add("MatMul", z, graph.constant(-2 * marks.T))
    squares = graph.add("Add", graph.row_sum(graph.add("Mul", z, z)), graph.constant((marks**2).sum(axis=1)))
    apart = graph.add("Max", graph.add("Add", products, squares), graph.constant(0.0))
    return graph.add("Exp", graph.add("Mul", apart, graph.constant(-part.gamma)))


def _unit_rows(graph: _Graph, rows: str) -> str:
    lengths = graph.add("Sqrt", graph.row_sum(graph.add("Mul", rows, rows)))
    tiny = graph.constant(np.finfo(np.float64).tiny)  # rows of zeros stay
    return graph.add("Div", rows, graph.add("Max", lengths, tiny))


def _interpolated(graph: _Graph, codes: Sequence[CodePart], rows: str) -> str:
    places = [code.first for code in codes for _ in code.knots[1:]]
    left = np.concatenate([code.knots[:-1] for code in codes])
    widths = np.concatenate([np.diff(code.knots) for code in codes])
    rises = np.concatenate([np.diff(code.values, axis=0) for code in codes]) / widths[:, None]
    beyond = graph.add("Sub", graph.columns(rows, places), graph.constant(left))
    inside = graph.add("Min", graph.add("Max", beyond, graph.constant(0.0)), graph.constant(widths))
    return graph.add("MatMul", inside, graph.constant(rises))


def _flagged(graph: _Graph, codes: Sequence[CodePart], rows: str) -> str:
    places = [code.first + j for code in codes for j in range(len(code.knots))]
    raised = graph.add(
        "Greater", graph.columns(rows, places), graph.constant(np.concatenate([code.knots for code in codes]))
    )
    return graph.add("MatMul", graph.as_double(raised), graph.constant(np.concatenate([c.values for c in codes])))


def _leaves(graph: _Graph, bisected: Sequence[int], nodes: str) -> str:
    """The smallest margin on the way to each leaf of a tree of bisections."""
    if not bisected:
        return nodes
    leaves: dict[int, str] = {}
    for j, cluster in enumerate(bisected):
        margin = graph.columns(nodes, [j])
        sides = {j + 1: margin, cluster: graph.add("Neg", margin)}
        way = leaves.get(cluster)
        leaves |= {leaf: side if way is None else graph.add("Min", way, side) for leaf, side in sides.items()}
    return graph.add("Concat", *(leaves[leaf] for leaf in sorted(leaves)), axis=1)


# Scores to outputs


def _outputs(graph: _Graph, plan: ScoringPlan, rows: str, scores: str) -> None:
    graph.add("Identity", scores, output="scores")
    cluster = graph.add("ArgMax", scores, axis=1, keepdims=0, output="cluster" if plan.numbers is None else None)
    number = cluster
    if plan.numbers is not None:
        number = graph.add("Gather", graph.constant(np.array(plan.numbers, np.int64)), cluster, output="cluster")
    if plan.temperature is not None:
        shares = graph.add("Softmax", graph.add("Div", scores, graph.constant(plan.temperature)), axis=1)
        graph.add("ReduceMax", shares, graph.constant(np.array([1])), keepdims=0, output="certainty")
    rule = plan.rejection
    if rule is None:
        return
    if rule.centres is not None:
        assert rule.limits is not None
        centres = graph.add("Gather", graph.constant(rule.centres), cluster, axis=0)
        apart = graph.add("Sub", rows, centres)
        squares = graph.add("ReduceSum", graph.add("Mul", apart, apart), graph.constant(np.array([1])), keepdims=0)
        limits = graph.add("Gather", graph.constant(rule.limits), cluster, axis=0)
        outlying = graph.add("Greater", graph.add("Sqrt", squares), limits)
    else:
        least = -np.inf if rule.below is None else rule.below
        top = graph.add("ReduceMax", scores, graph.constant(np.array([1])), keepdims=0)
        outlying = graph.add("Less", top, graph.constant(least))
    graph.add("Where", outlying, graph.constant(np.int64(-1)), number, output="cluster_or_outlier")


# Columns of a table to rows


def _encoded_rows(graph: _Graph, table: TablePlan) -> str:
    readers: dict[str, Callable[[_Graph, TablePlan, ColumnPlan], str]] = {
        "number": _number_column, "category": _category_column, "yes/no": _truth_column,
    }  # fmt: skip
    blocks = [readers[column.read_as](graph, table, column) for column in table.columns]
    rows = graph.add("Concat", *blocks, axis=1)
    return rows if table.factors is None else graph.add("Mul", rows, graph.constant(table.factors))


def _input_name(name: str) -> str:
    if not name or name in OUTPUTS or name.startswith(INNER):
        raise InvalidDataError(
            f"A column is called {name!r}, but inputs of an .onnx file need names other than those of its outputs "
            f"({', '.join(OUTPUTS)}), not empty and without {INNER!r} at the beginning; rename it before the fit."
        )
    return name


def _number_column(graph: _Graph, table: TablePlan, column: ColumnPlan) -> str:
    cells = graph.feed(_input_name(column.name), _double(graph), ["rows", 1])
    gap = graph.add("Or", graph.add("IsNaN", cells), graph.add("IsInf", cells))
    for value in table.gap_numbers:
        gap = graph.add("Or", gap, graph.add("Equal", cells, graph.constant(float(value))))
    return graph.add("Where", gap, graph.constant(np.nan if column.fill is None else float(column.fill)), cells)


def _texts(graph: _Graph, column: ColumnPlan) -> str:
    return graph.feed(_input_name(column.name), int(graph.onnx.TensorProto.STRING), ["rows", 1])


def _category_column(graph: _Graph, table: TablePlan, column: ColumnPlan) -> str:
    levels = graph.constant(np.array([column.levels]))
    return graph.as_double(graph.add("Equal", _texts(graph, column), levels))


def _truth_column(graph: _Graph, table: TablePlan, column: ColumnPlan) -> str:
    """1 or 0 for the words of yes and no, as written, in small letters, in capitals or with a capital first."""
    words = column.spelled_words
    matches = graph.as_double(graph.add("Equal", _texts(graph, column), graph.constant(np.array([list(words)]))))
    known = graph.add("Greater", graph.row_sum(matches), graph.constant(0.5))
    value = graph.add("MatMul", matches, graph.constant(np.array([[value] for value in words.values()])))
    return graph.add("Where", known, value, graph.constant(np.nan if column.fill is None else float(column.fill)))
