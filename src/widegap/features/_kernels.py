"""The table of kernels: all that the package knows about a kernel is in its entry of ``KERNELS``.

Parameter checks, kernel lists, feature maps, the semidefinite methods and model files read the entries, so that a new
kernel is one entry. ``WIDTH_RULES`` are the rules that find a width from the data.

    rbf      exp(-gamma |x - y|^2)          linear   x'y
    poly     (gamma x'y + coef0)^degree     cosine   x'y / (|x| |y|)
    precomputed    X holds the values themselves, a column for every row of fit
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from sklearn import config_context
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from widegap._types import Doubles, Floats, FloatType, Indices, Matrix
from widegap.exceptions import InvalidDataError
from widegap.rows._matrices import without_far_offsets

MEDIAN_SAMPLE = 500  # rows whose pairwise distances set the width
MEDIAN_FACTOR = 1.5  # width of the Gaussian in medians of the distances
DIAMETER_SAMPLE = 2000  # rows that are searched for the largest distance: each step reads all of them; not tuned
DIAMETER_FACTOR = 4.0  # width in diameters: below two, labels of iterative methods mostly stay where they began
DIAMETER_TRIES = 10  # random first rows: a thorough search then hardly ever misses the farthest pair; not tuned
ROUNDED = 1e-5  # error of an exponent, by rounding of float32, above which float64 is used
ZERO_SQUARED = 1e-14  # equal rows come out some roundings apart, relative to their squared length

Kernel = str | Callable[[Any, Any], Floats]


@dataclass(frozen=True)
class KernelParam:
    """An argument of a kernel: the rule for its values, in words and as a test."""

    rule: str
    holds: Callable[[object], bool]


@dataclass(frozen=True)
class KernelEntry:
    """One kernel.

    Attributes
    ----------
    values : callable
        ``values(X, Y, **arguments)``, the matrix of kernel values between two tables, dense or CSR.
    storable : bool
        Whether a model file may hold it: it is then known by its name alone wherever the file is read.
    params : mapping
        Its arguments besides the width.
    widths : tuple of str
        Names of its width in a list of kernels, "gamma" and "width"; empty if it has none. ``values`` gets it as
        ``gamma``.
    inner_product_of : callable or None
        For a kernel that is the inner product of transformed rows, that transform. Its best features of any rank are
        then coordinates along singular vectors; those of other kernels come from landmarks.
    ignores_shifts : bool
        Whether no margin changes if the same vector is added to all rows, so that offsets may be subtracted first.
    holds_values : bool
        Whether X holds the kernel's values instead of rows, so that landmarks are numbers of its columns.
    prepare : callable or None
        Turns Y into what ``values`` gets in its place: what depends on Y alone is then found once for many tables X.
    """

    values: Callable[..., Floats]
    storable: bool
    params: Mapping[str, KernelParam] = field(default_factory=dict)
    widths: tuple[str, ...] = ()
    inner_product_of: Callable[[Any], Any] | None = None
    ignores_shifts: bool = False
    holds_values: bool = False
    prepare: Callable[[Any], Any] | None = None

    @property
    def arguments(self) -> set[str]:
        """Names that ``values`` takes."""
        return {*self.params, *(("gamma",) if self.widths else ())}


def _named(name: str) -> Callable[..., Floats]:
    """scikit-learn's kernel of that name, in float64: powers of large numbers overflow in float32."""

    def values(X: Matrix, Y: Matrix, **arguments: object) -> Floats:
        X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        with config_context(assume_finite=True):  # what is not finite is reported once, with the features
            K: Doubles = pairwise_kernels(X, Y, metric=name, **arguments)
        return K

    return values


class _Marks:
    """Rows with which others are compared by distance: about their mean, so that far rows lose no digits."""

    def __init__(self, rows: Matrix):
        self.rows = rows
        self._forms: dict[FloatType, tuple[Floats, Floats, Floats]] = {}

    def form(self, dtype: FloatType) -> tuple[Floats, Floats, Floats]:
        """Their mean, -2 times the centred rows, as columns, and the squared lengths of the centred rows."""
        if dtype not in self._forms:
            centre = np.asarray(self.rows.mean(axis=0, dtype=np.float64)).astype(dtype)
            centred = np.asarray(self.rows - centre, dtype=dtype)
            self._forms[dtype] = centre, -2 * centred.T, row_norms(centred, squared=True)
        return self._forms[dtype]


def _gaussian(X: Matrix, marks: _Marks, gamma: float) -> Floats:
    """exp(-gamma |x - y|^2) for the rows y of ``marks``, in float32 where X is and that leaves five digits."""
    if not isinstance(X, np.ndarray):
        return _named("rbf")(X, marks.rows, gamma=gamma)
    centre, columns, norms = marks.form(X.dtype)
    centred = X - centre
    squares: Floats = row_norms(centred, squared=True)
    longest = float(max(squares.max(), norms.max()))  # float32 would overflow where gamma is large
    if X.dtype == np.float32 and gamma * longest * float(np.finfo(np.float32).eps) > ROUNDED:
        return _gaussian(X.astype(np.float64), marks, gamma)
    K = centred @ columns
    K += squares[:, None]
    K += norms
    np.maximum(K, 0, out=K)
    K *= -gamma
    return np.exp(K, out=K)


def _columns(X: Matrix, numbers: Indices) -> Floats:
    """Columns of a matrix of kernel values."""
    K = X[:, numbers]
    return K if isinstance(K, np.ndarray) else K.toarray()


def _is_finite_number(value: object) -> TypeGuard[Real]:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def is_positive(value: object) -> bool:
    """Whether a value is a number above 0, and finite."""
    return _is_finite_number(value) and float(value) > 0


KERNELS: dict[str, KernelEntry] = {
    "linear": KernelEntry(_named("linear"), storable=True, inner_product_of=lambda X: X, ignores_shifts=True),
    "rbf": KernelEntry(_gaussian, storable=True, widths=("gamma", "width"), ignores_shifts=True, prepare=_Marks),
    "poly": KernelEntry(
        _named("poly"),
        storable=True,
        params={
            "degree": KernelParam("a positive number", is_positive),
            "coef0": KernelParam("a finite number", _is_finite_number),
        },
        widths=("gamma",),
    ),
    "cosine": KernelEntry(_named("cosine"), storable=True, inner_product_of=normalize),
    "precomputed": KernelEntry(_columns, storable=True, holds_values=True),
}


class KernelNames(Set[str]):
    """The names in the table at the time of asking; those of precomputed values only on request."""

    def __init__(self, precomputed: bool):
        self._precomputed = precomputed

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> Set[Any]:
        return frozenset(names)  # for differences and other operations of sets

    def __contains__(self, name: object) -> bool:
        return name in KERNELS and (self._precomputed or not KERNELS[str(name)].holds_values)

    def __iter__(self) -> Iterator[str]:
        return (name for name in KERNELS if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def kernel_entry(kernel: Kernel) -> KernelEntry | None:
    """The entry of a kernel given by name, None for a function."""
    return KERNELS[kernel] if isinstance(kernel, str) else None


def needs_width(kernel: Kernel) -> bool:
    """Whether a kernel has a width to be set."""
    entry = kernel_entry(kernel)
    return entry is not None and bool(entry.widths)


def inner_product_form(kernel: Kernel) -> Callable[[Any], Any] | None:
    """The form of rows whose inner product a kernel is, if it is one."""
    entry = kernel_entry(kernel)
    return None if entry is None else entry.inner_product_of


def ignores_shifts(kernel: Kernel) -> bool:
    """Whether no margin changes if the same vector is added to all rows."""
    entry = kernel_entry(kernel)
    return entry is not None and entry.ignores_shifts


def holds_values(kernel: object) -> bool:
    """Whether X holds the kernel's values instead of rows."""
    return isinstance(kernel, str) and KERNELS[kernel].holds_values


def may_be_stored(kernel: object, arguments: Mapping[str, object]) -> bool:
    """Whether a model file may hold the kernel with these arguments."""
    entry = KERNELS.get(kernel) if isinstance(kernel, str) else None
    return entry is not None and entry.storable and arguments.keys() <= entry.arguments


def check_kernel_params(kernel: Kernel, params: Mapping[str, object] | None) -> dict[str, object]:
    """A copy of the kernel's further arguments; refuses those that a named kernel does not have or cannot use."""
    options = dict(params or {})
    entry = kernel_entry(kernel)
    if entry is None:
        return options
    unknown = sorted(map(str, options.keys() - entry.params.keys()))
    if unknown:
        hint = "; gamma is a parameter of its own" if "gamma" in unknown else ""
        raise InvalidDataError(
            f"kernel_params holds {', '.join(map(repr, unknown))}, but kernel {kernel!r} takes "
            f"{' and '.join(map(repr, sorted(entry.params))) or 'none'}{hint}."
        )
    check_arguments(f"kernel {kernel!r}", entry, options)
    return options


def kernel_options(kernel: Kernel, gamma: float | str, params: Mapping[str, object] | None) -> dict[str, object]:
    """The checked arguments of a kernel from an estimator's parameters; the width may still be a rule."""
    options = check_kernel_params(kernel, params)
    return {**options, "gamma": gamma} if needs_width(kernel) else options


def check_arguments(who: str, entry: KernelEntry, options: Mapping[str, object]) -> None:
    """Refuse arguments of a kernel whose values break their rule."""
    for name, value in options.items():
        if name in entry.params and not entry.params[name].holds(value):
            raise InvalidDataError(f"{who} has {name}={value!r}; it must be {entry.params[name].rule}.")


def kernel_to(Y: Matrix | Indices, kernel: Kernel, arguments: Mapping[str, object]) -> Callable[[Matrix], Floats]:
    """The function from rows X to their kernel with the rows of Y; Y numbers columns of X where X holds the values.

    A Gaussian of float32 rows may come in float32.
    """
    entry = kernel_entry(kernel)
    if not isinstance(kernel, str) or entry is None:
        return lambda X: _function_values(X, Y, kernel, arguments)
    values, prepared = entry.values, Y if entry.prepare is None else entry.prepare(Y)
    return lambda X: np.asarray(values(X, prepared, **arguments))


def kernel_matrix(X: Matrix, Y: Matrix | Indices, kernel: Kernel, arguments: Mapping[str, object]) -> Doubles:
    """Kernel between rows of X and Y in float64."""
    return kernel_to(Y, kernel, arguments)(X.astype(np.float64, copy=False)).astype(np.float64, copy=False)


def _function_values(X: Matrix, Y: Matrix | Indices, kernel: Kernel, arguments: Mapping[str, object]) -> Floats:
    """Values of a kernel that is a user's function."""
    assert callable(kernel)
    K = np.asarray(kernel(X, Y, **arguments))
    if K.dtype.kind not in "biuf":
        raise InvalidDataError(f"The kernel function returned values of dtype {K.dtype}; they must be real numbers.")
    K = K.astype(np.float64, copy=False)
    if K.shape != (X.shape[0], Y.shape[0]):
        raise InvalidDataError(
            f"The kernel function returned shape {K.shape} for {X.shape[0]} and {Y.shape[0]} rows; "
            "it must return one value per pair of rows."
        )
    return K


@dataclass(frozen=True)
class WidthRule:
    """How a width is found: ``gamma`` of up to ``sample`` rows, with a random generator."""

    sample: int
    gamma: Callable[[Matrix, np.random.Generator], float]


def median_gamma(X: Matrix) -> float:
    """1 / width^2 with width = 1.5 times the median nonzero distance among the rows."""
    X = without_far_offsets(X).astype(np.float64, copy=False)
    positive = _squares_apart(safe_sparse_dot(X, X.T, dense_output=True), row_norms(X, squared=True))
    if not len(positive):
        raise _equal_rows()
    upper = len(positive) // 2
    positive.partition(upper)  # one place at a time: NumPy takes ten times as long for two
    lower = positive[upper] if len(positive) % 2 else positive[:upper].max()
    return float(1 / (MEDIAN_FACTOR * (np.sqrt(lower) + np.sqrt(positive[upper])) / 2) ** 2)


def _squares_apart(products: Doubles, norms: Doubles) -> Doubles:
    """Squared distances of the pairs of rows that differ by more than rounding, from their inner products.

    Every pair once: counting it twice would cost as much again and not change the median.
    """
    pairs = ~np.tri(len(norms), dtype=bool)
    lengths = np.add.outer(norms, norms)[pairs]
    found = lengths - 2 * products[pairs]
    return np.asarray(found[found > ZERO_SQUARED * lengths])


def diameter_gamma(X: Matrix, rng: np.random.Generator) -> float:
    """1 / (4 D)^2 with D the largest distance among the rows."""
    X = without_far_offsets(X)
    squared = far_pair(X, True, rng)[0].max()
    if not squared > ZERO_SQUARED * row_norms(X, squared=True).max():
        raise _equal_rows()
    return float(1 / (DIAMETER_FACTOR**2 * squared))


def _equal_rows() -> InvalidDataError:
    return InvalidDataError("All rows drawn for the kernel width are equal; give gamma a number.")


def far_pair(X: Matrix, thorough: bool, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Squared distances of all rows to a random row and to the row farthest from it.

    A thorough search continues from there while the distance grows, from several random rows: it nearly always finds
    the two rows that are farthest apart, whatever the generator.
    """
    X = X.astype(np.float64)
    norms: Doubles = row_norms(X, squared=True)

    def distances(row: int) -> Floats:
        products: Doubles = safe_sparse_dot(X, X[np.array([row])].T, dense_output=True)
        return norms + norms[row] - 2 * products[:, 0]

    best: tuple[float, Floats, Floats] | None = None
    for _ in range(DIAMETER_TRIES if thorough else 1):
        first = distances(int(rng.integers(X.shape[0])))
        second = distances(int(first.argmax()))
        while thorough and second.max() > first.max():
            first, second = second, distances(int(second.argmax()))
        if best is None or first.max() > best[0]:
            best = float(first.max()), first, second
    assert best is not None
    return best[1], best[2]


WIDTH_RULES: dict[str, WidthRule] = {
    "median": WidthRule(MEDIAN_SAMPLE, lambda X, rng: median_gamma(X)),
    "diameter": WidthRule(DIAMETER_SAMPLE, diameter_gamma),
}


def settle_width(
    kernel: Kernel, options: Mapping[str, Any], some: Callable[[int], Matrix], rng: np.random.Generator
) -> dict[str, Any]:
    """The kernel's arguments with ``gamma`` as a number, from a rule or a ``width`` in medians where it has one.

    ``some(size)`` gives up to ``size`` rows for a rule to look at.
    """
    arguments = dict(options)
    if needs_width(kernel):
        gamma = arguments.pop("gamma", "median")
        if isinstance(gamma, str):
            rule = WIDTH_RULES[gamma]
            gamma = rule.gamma(some(rule.sample), rng)
        arguments["gamma"] = float(gamma) * (MEDIAN_FACTOR / arguments.pop("width", MEDIAN_FACTOR)) ** 2
    return arguments
