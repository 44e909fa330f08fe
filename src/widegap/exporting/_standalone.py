"""What an exported Python file does with its model. The text of this module, less these lines, is copied into the file.

So it needs NumPy alone, and all of its names are private: the file has ``scores``, ``predict`` and ``predict_proba``.
``model`` is the tree of a ``ScoringPlan`` (``_scoring_plan.py``), ``table`` that of a ``TablePlan`` or None.
"""

# begin
import base64
import re
from datetime import date, datetime, timezone

import numpy as np

_ROWS_AT_ONCE = 4096  # whose kernel values are held at a time
_PLAIN = re.compile(r"[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d{1,2})?")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?")


def _array(kind, shape, text):  # type: ignore[no-untyped-def]
    """An array from the base64 of its bytes."""
    return np.frombuffer(base64.b64decode(text), kind).reshape(shape)


# Rows to scores


def _scores_of(model, table, X):  # type: ignore[no-untyped-def]
    """Scores of rows, shape (n, k)."""
    rows = _rows_of(model, table, X)
    chunks = [_chunk_scores(model, rows[i : i + _ROWS_AT_ONCE]) for i in range(0, max(len(rows), 1), _ROWS_AT_ONCE)]
    return np.concatenate(chunks)


def _rows_of(model, table, X):  # type: ignore[no-untyped-def]
    if table is not None:
        return _encoded(table, X)
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2 or rows.shape[1] != model["n_features"]:
        raise ValueError(f"X has shape {rows.shape}; it must be (rows, {model['n_features']}).")
    if not np.isfinite(rows).all():
        raise ValueError("X contains NaN or infinity; impute, drop or rescale them.")
    return rows


def _chunk_scores(model, rows):  # type: ignore[no-untyped-def]
    found = np.zeros((len(rows), len(model["constants"]))) + model["constants"]
    for part in model["parts"]:
        found += _code_scores(part, rows) if part["kind"] == "CodePart" else _kernel_scores(part, rows)
    return found if model["bisected"] is None else _leaf_margins(model["bisected"], found)


def _code_scores(part, rows):  # type: ignore[no-untyped-def]
    first, knots, values = part["first"], part["knots"], part["values"]
    if part["is_category"]:
        return (rows[:, first : first + len(knots)] > knots) @ values
    return np.stack([np.interp(rows[:, first], knots, column) for column in values.T], axis=1)


def _kernel_scores(part, rows):  # type: ignore[no-untyped-def]
    z = rows[:, part["columns"]]
    z = z if part["scale"] is None else z * part["scale"]
    z = _unit_length(z) if part["unit_first"] else z
    z = z if part["shift"] is None else z - part["shift"]
    z = _unit_length(z) if part["unit_last"] else z
    if part["kernel"] == "linear":
        return z @ part["factors"]
    marks, gamma = part["landmarks"], part["gamma"]
    products = z @ marks.T
    if part["kernel"] == "poly":
        return (gamma * products + part["coef0"]) ** part["degree"] @ part["factors"]
    squares = (z**2).sum(axis=1)[:, None] - 2 * products + (marks**2).sum(axis=1)
    return np.exp(-gamma * np.maximum(squares, 0)) @ part["factors"]


def _unit_length(rows):  # type: ignore[no-untyped-def]
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows / np.where(lengths > 0, lengths, 1)


def _leaf_margins(bisected, nodes):  # type: ignore[no-untyped-def]
    """The smallest margin on the way to each leaf of a tree of bisections."""
    if not bisected:
        return np.zeros((len(nodes), 1))
    leaves = np.full((len(nodes), len(bisected) + 1), np.inf)
    for j, cluster in enumerate(bisected):
        leaves[:, j + 1] = np.minimum(leaves[:, cluster], nodes[:, j])
        leaves[:, cluster] = np.minimum(leaves[:, cluster], -nodes[:, j])
    return leaves


def _predicted(model, table, X, reject):  # type: ignore[no-untyped-def]
    """Clusters of rows; -1 for outliers with ``reject``."""
    found = _scores_of(model, table, X)
    places = found.argmax(axis=1).astype(np.int32)
    labels = places if model["numbers"] is None else np.array(model["numbers"], np.int32)[places]
    if not reject:
        return labels
    rule = model["rejection"]
    if rule is None:
        raise ValueError("reject=True needs a model that was fitted with outliers='auto' or a share; fit it again.")
    outlying = np.zeros(len(labels), bool)
    if rule["below"] is not None:
        outlying = found.max(axis=1) < rule["below"]
    if rule["centres"] is not None:
        away = np.sqrt(((_rows_of(model, table, X) - rule["centres"][places]) ** 2).sum(axis=1))
        outlying = away > rule["limits"][places]
    return np.where(outlying, np.int32(-1), labels)


def _probabilities(model, table, X):  # type: ignore[no-untyped-def]
    """Probability of every cluster."""
    if model["temperature"] is None:
        raise ValueError("This model has no probabilities; use scores.")
    found = _scores_of(model, table, X) / model["temperature"]
    found = np.exp(found - found.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


# A table of columns to rows


def _encoded(table, X):  # type: ignore[no-untyped-def]
    """The columns of a dict, or of a data frame, as rows of numbers."""
    blocks = [_read_cells(table, column, X) for column in table["columns"]]
    if len({len(block) for block in blocks}) > 1:
        raise ValueError("The columns have different lengths; pass one value of every column for each row.")
    rows = np.concatenate(blocks, axis=1)
    return rows if table["factors"] is None else rows * table["factors"]


def _read_cells(table, column, X):  # type: ignore[no-untyped-def]
    name, read_as = column["name"], column["read_as"]
    try:
        cells = X[name]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ValueError(f"X lacks the column {name!r}; pass a dict of columns.") from None
    cells = cells if type(cells) is np.ndarray else np.array(list(cells), dtype=object)
    if read_as == "category":
        place = {level: j for j, level in enumerate(column["levels"])}
        names = [_level(table, cell, place) for cell in cells.tolist()]
        _refuse_gaps(table["fills"], name, [level is None for level in names])
        flags = np.zeros((len(names), len(place) + 1))
        flags[np.arange(len(names)), [place.get(level, len(place)) for level in names]] = 1
        return flags[:, :-1]
    if read_as == "yes/no":
        values = np.array([_truth(table, column, cell) for cell in cells.tolist()], np.float64)
    elif read_as == "date":
        values = _days(table, name, cells)
    else:
        values = _numbers(table, column, cells)
    lacks = np.isnan(values)
    _refuse_gaps(table["fills"] and column["fill"] is not None, name, lacks)
    values = np.where(lacks, column["fill"], values) if lacks.any() else values
    if read_as != "date":
        return values[:, None]
    if column["parts"]:
        return np.stack([_date_part(values, part) for part in column["parts"]], axis=1)
    return values[:, None] - column["origin"]


def _refuse_gaps(fills, name, lacks):  # type: ignore[no-untyped-def]
    if not fills and np.any(lacks):
        raise ValueError(f"Column {name!r} lacks {int(np.sum(lacks))} values; fill them in, or leave the rows out.")


def _text(cell):  # type: ignore[no-untyped-def]
    """A cell as a text without spaces around it; None where there is none."""
    if cell is None or cell != cell or cell in (np.inf, -np.inf):
        return None
    return str(repr(float(cell)).removesuffix(".0") if isinstance(cell, float) else cell).strip()


def _filled_text(table, cell):  # type: ignore[no-untyped-def]
    """The same, and None for words that mean a gap."""
    text = _text(cell)
    return None if text is None or text.lower() in table["gaps"] else text


def _level(table, cell, levels=()):  # type: ignore[no-untyped-def]
    """The category of a cell; None for a gap. A word that is one of the levels does not mean a gap."""
    text = _text(cell)
    if text is None:
        return None
    if text.lower() in ("true", "false"):
        name = text.capitalize()
    elif text.lstrip("+-").isdigit() or not _PLAIN.fullmatch(text):
        name = text
    else:
        name = repr(float(text)).removesuffix(".0")
    return None if name not in levels and text.lower() in table["gaps"] else name


def _truth(table, column, cell):  # type: ignore[no-untyped-def]
    level = _level(table, cell)
    return np.nan if level is None else column["truth"].get(level.lower(), np.nan)


def _numbers(table, column, cells):  # type: ignore[no-untyped-def]
    if cells.dtype.kind in "biuf":
        found = cells.astype(np.float64)
    else:
        found = np.array([_number(table, column, cell) for cell in cells.tolist()], np.float64)
    return np.where(np.isinf(found) | np.isin(found, table["gap_numbers"]), np.nan, found)


def _number(table, column, cell):  # type: ignore[no-untyped-def]
    text = _filled_text(table, cell)
    if text is None:
        return np.nan
    if not isinstance(cell, str):
        return float(cell)
    plain = text.replace(",", ".") if column["decimal"] == "," and "." not in text else text
    if not _NUMBER.fullmatch(plain) or (column["decimal"] == "," and "." in text):
        raise ValueError(f"Column {column['name']!r}: {cell[:40]!r} is not a plain number; pass numbers.")
    return float(plain)


def _days(table, name, cells):  # type: ignore[no-untyped-def]
    """Days since 1970 with their fractions."""
    if cells.dtype.kind == "M":
        return (cells - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    return np.array([_day(table, name, cell) for cell in cells.tolist()], np.float64)


def _day(table, name, cell):  # type: ignore[no-untyped-def]
    text = _filled_text(table, cell)
    if text is None:
        return np.nan
    if isinstance(cell, str):
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"Column {name!r}: {cell[:40]!r} is not a date such as 2024-01-31.") from None
        found = found if found.tzinfo is None else found.astimezone(timezone.utc)  # noqa: UP017 - the file may run in an older Python
    elif isinstance(cell, date):
        found = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
    else:
        raise ValueError(f"Column {name!r}: {cell!r:.40} is not a date; pass dates.")
    return (found.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400


def _date_part(days, part):  # type: ignore[no-untyped-def]
    """Year, month (1 to 12), weekday (0 is Monday) or hour."""
    whole = np.floor(days).astype("datetime64[D]")
    if part == "year":
        return whole.astype("datetime64[Y]").astype(int) + 1970.0
    if part == "month":
        return whole.astype("datetime64[M]").astype(int) % 12 + 1.0
    if part == "weekday":
        return (np.floor(days) + 3) % 7
    return np.floor((days - np.floor(days)) * 24 + 1e-9)
