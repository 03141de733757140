"""SIMD vectors of eight numbers, float64 or float32, as values inside compiled loops.

Numba leaves vectorisation to LLVM's loop vectoriser, which cannot keep a block of sums in registers across a loop
over rows. These few operations on `<8 x double>` or `<8 x float>` say it directly; LLVM maps them onto whatever the
CPU has (eight doubles are two AVX2 registers, one AVX-512 register, or four of NEON). Arrays handed in are
C-contiguous, with rows padded to a multiple of `WIDTH`. An index is one number per axis, or a single one into the flat
array; it is not checked, and never negative.
Why: docs/decisions/0002-simd-lanes.md.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

WIDTH = 8


class SIMDVector(types.Type):
    """The Numba type of eight numbers of one floating point type."""

    def __init__(self, element: types.Float) -> None:
        self.element = element
        super().__init__(name=f"csid.SIMDVector({element})")

    @property
    def llvm(self) -> ir.VectorType:
        return ir.VectorType(ir.DoubleType() if self.element == types.float64 else ir.FloatType(), WIDTH)


_float64_vector = SIMDVector(types.float64)


@register_model(SIMDVector)
class _SIMDVectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, fe_type.llvm)


def _element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Pointer to the element at an index, with one number per axis or a flat one."""
    values = context.make_array(array_type)(context, builder, array)
    flat = index[0]
    if len(index) > 1:
        for length, along in zip(cgutils.unpack_tuple(builder, values.shape)[1:], index[1:], strict=True):
            flat = builder.add(builder.mul(flat, length), along)
    return builder.gep(values.data, [flat])


def _indices(index: Any) -> Any:
    """The type of an index given as further arguments: any integers, cast to machine integers."""
    return types.StarArgTuple([types.intp] * len(index))  # type: ignore[attr-defined]


def _load(builder: Any, vector: SIMDVector, pointer: Any) -> Any:
    value = builder.load(builder.bitcast(pointer, vector.llvm.as_pointer()))
    value.align = vector.element.bitwidth // 8
    return value


def _store(builder: Any, vector: SIMDVector, value: Any, pointer: Any) -> None:
    written = builder.store(value, builder.bitcast(pointer, vector.llvm.as_pointer()))
    written.align = vector.element.bitwidth // 8


def _broadcast(builder: Any, vector: SIMDVector, scalar: Any) -> Any:
    undefined = ir.Constant(vector.llvm, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


@intrinsic
def load(typingctx: Any, array: Any, *index: Any) -> Any:
    """The eight elements of `array` from an index on."""
    vector = SIMDVector(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], cgutils.unpack_tuple(builder, args[1]))
        return _load(builder, vector, pointer)

    return vector(array, _indices(index)), codegen


@intrinsic
def store(typingctx: Any, array: Any, value: Any, *index: Any) -> Any:
    """Write a vector to `array` from an index on."""
    vector = SIMDVector(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], cgutils.unpack_tuple(builder, args[2]))
        _store(builder, vector, args[1], pointer)
        return context.get_dummy_value()

    return types.void(array, vector, _indices(index)), codegen


@intrinsic
def add_to(typingctx: Any, array: Any, value: Any, *index: Any) -> Any:
    """Add a vector to the elements of `array`, of the same or a higher precision, from an index on."""
    vector = SIMDVector(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], cgutils.unpack_tuple(builder, args[2]))
        more = args[1] if value == vector else builder.fpext(args[1], vector.llvm)
        _store(builder, vector, builder.fadd(_load(builder, vector, pointer), more), pointer)
        return context.get_dummy_value()

    return types.void(array, value, _indices(index)), codegen


@intrinsic
def peek(typingctx: Any, array: Any, *index: Any) -> Any:
    """The element of `array` at an index."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(
            _element(context, builder, signature.args[0], args[0], cgutils.unpack_tuple(builder, args[1]))
        )

    return array.dtype(array, _indices(index)), codegen


@intrinsic
def poke(typingctx: Any, array: Any, value: Any, *index: Any) -> Any:
    """Write a number to `array` at an index."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index = cgutils.unpack_tuple(builder, args[2])
        builder.store(args[1], _element(context, builder, signature.args[0], args[0], index))
        return context.get_dummy_value()

    return types.void(array, array.dtype, _indices(index)), codegen


@intrinsic
def splat(typingctx: Any, scalar: Any) -> Any:
    """The same number in every lane, in double precision."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _broadcast(builder, _float64_vector, args[0])

    return _float64_vector(types.float64), codegen


@intrinsic
def splat_like(typingctx: Any, array: Any, scalar: Any) -> Any:
    """The same number in every lane, in the precision of `array`."""
    vector = SIMDVector(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _broadcast(builder, vector, args[1])

    return vector(array, array.dtype), codegen


@intrinsic
def load_splat(typingctx: Any, array: Any, *index: Any) -> Any:
    """The element of `array` at an index, in every lane."""
    vector = SIMDVector(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], cgutils.unpack_tuple(builder, args[1]))
        return _broadcast(builder, vector, builder.load(pointer))

    return vector(array, _indices(index)), codegen


@intrinsic
def sub(typingctx: Any, x: Any, y: Any) -> Any:
    """`x - y`, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args)

    return x(x, x), codegen


@intrinsic
def mul(typingctx: Any, x: Any, y: Any) -> Any:
    """`x * y`, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return x(x, x), codegen


@intrinsic
def mul_add(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    """`x * y + z`, lane by lane, fused where the CPU can."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fadd(product, args[2], flags=("contract",))

    return x(x, x, x), codegen


@intrinsic
def sub_mul(typingctx: Any, x: Any, y: Any, z: Any) -> Any:
    """`z - x * y`, lane by lane, fused where the CPU can."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fsub(args[2], product, flags=("contract",))

    return x(x, x, x), codegen


@intrinsic
def total(typingctx: Any, x: Any) -> Any:
    """The sum of the lanes, added pairwise in a fixed order."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lane = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), i)) for i in range(WIDTH)]
        while len(lane) > 1:
            half = len(lane) // 2
            lane = [builder.fadd(lane[i], lane[i + half]) for i in range(half)]
        return lane[0]

    return x.element(x), codegen
