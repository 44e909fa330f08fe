"""LLVM vectors inside numba's loops: the few operations that ``_tiles.py`` and ``_vectors.py`` are made of.

From a plain loop, LLVM's vectorizer decides what to keep in registers, and decides badly where a loop has a dozen
running sums or an entry needs a handful of neighbouring numbers. An intrinsic states such a loop explicitly. The code
is the same for every processor: LLVM splits vectors that are longer than its registers.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features

intrinsic: Any = extending.intrinsic  # its annotations count an argument too many

REGISTER_BYTES = 64 if "+avx512f" in get_host_cpu_features() else 32
INT64 = ir.IntType(64)
_INT32 = ir.IntType(32)
_CONTRACT = ("contract",)  # a product and its addition may be one instruction


def int64(value: int) -> Any:
    return ir.Constant(INT64, value)


class Lanes:
    """Vectors of ``lanes`` numbers of an array's type."""

    def __init__(self, context: Any, builder: Any, number: Any, lanes: int | None = None):
        self.builder = builder
        self.number = context.get_data_type(number)
        self.size = context.get_abi_sizeof(self.number)
        self.lanes = REGISTER_BYTES // self.size if lanes is None else lanes
        self.vector = ir.VectorType(self.number, self.lanes)

    def load(self, address: Any) -> Any:
        """The vector that begins at an address; it need not be aligned."""
        found = self.builder.load(self.builder.bitcast(address, self.vector.as_pointer()))
        found.align = self.size
        return found

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.bitcast(address, self.vector.as_pointer())).align = self.size

    def spread(self, x: Any) -> Any:
        """A number in every lane."""
        nothing = ir.Constant(self.vector, ir.Undefined)
        alone = self.builder.insert_element(nothing, x, ir.Constant(_INT32, 0))
        places = ir.Constant(ir.VectorType(_INT32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(alone, nothing, places)

    def joined(self, parts: list[Any]) -> Any:
        """One or two vectors, one after the other, as one."""
        if len(parts) == 1:
            return parts[0]
        places = ir.Constant(ir.VectorType(_INT32, 2 * self.lanes), list(range(2 * self.lanes)))
        return self.builder.shuffle_vector(*parts, places)

    def split(self, value: Any, lanes: int) -> list[Any]:
        """A vector as vectors of ``lanes`` numbers."""
        nothing, kind = ir.Constant(value.type, ir.Undefined), ir.VectorType(_INT32, lanes)
        firsts = range(0, value.type.count, lanes)
        places = (ir.Constant(kind, list(range(first, first + lanes))) for first in firsts)
        return [self.builder.shuffle_vector(value, nothing, place) for place in places]

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        return self.builder.fadd(self.builder.fmul(x, y, flags=_CONTRACT), z, flags=_CONTRACT)

    def sums(self, number: int) -> list[Any]:
        """Running sums, which begin at zero."""
        found = [cgutils.alloca_once(self.builder, self.vector) for _ in range(number)]
        for place in found:
            self.builder.store(ir.Constant(self.vector, [0.0] * self.lanes), place)
        return found

    def total(self, value: Any) -> Any:
        """The sum of the lanes, halves first."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            value = self.builder.fadd(*self.split(value, lanes))
        return self.builder.extract_element(value, ir.Constant(_INT32, 0))

    def each(self, first: Any, last: Any, step: int, body: Callable[[Any], None]) -> None:
        """``body(j)`` for j from first to last."""
        with cgutils.for_range_slice(self.builder, first, last, int64(step), INT64) as (j, _):
            body(j)


def array_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The parts of an array argument: ``data``, ``shape``, ``strides``."""
    return context.make_array(kind)(context, builder, value)


def prefetch(builder: Any, address: Any) -> None:
    """Prefetch the cache line of an address, which need not be readable, into the second cache."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, _INT32, _INT32, _INT32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    read, second_cache, data = (ir.Constant(_INT32, value) for value in (0, 2, 1))
    builder.call(function, [builder.bitcast(address, byte), read, second_cache, data])
