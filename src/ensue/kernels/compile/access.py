"""How kernels read and write elements of their arrays: one address, one load or store.

Numba's own way also takes negative indexes, slices and arrays of any layout, for which it has far
more to work out, both while it compiles and while a kernel runs. Here the address of an array and
the length of its rows are known variables of the kernel, and all the rest of the array is not
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

# What an intrinsic returns: a signature, and what generates the code of a call.


@intrinsic
def base(_typing: Any, array: Any) -> Any:
    """Return the address of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return _field(context, builder, signature.args[0], arguments[0], "data")

    return types.CPointer(array.dtype)(array), generate


def _length(dimension: int) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        shape = _field(context, builder, signature.args[0], arguments[0], "shape")
        return builder.extract_value(shape, dimension)

    @intrinsic
    def length(_typing: Any, array: Any) -> Any:
        """Return the length of an array in a dimension."""
        return types.intp(array), generate

    return length


LENGTH = {dimension: _length(dimension) for dimension in range(3)}


def _field(context: Any, builder: Any, kind: Any, array: Any, name: str) -> Any:
    place = context.data_model_manager[kind].get_field_position(name)
    return builder.extract_value(array, place)


def _address(builder: Any, start: Any, lengths: Sequence[Any], indexes: Sequence[Any]) -> Any:
    """Return where an element is, the lengths being those of all dimensions but the first."""
    place = indexes[0]
    for length, index in zip(lengths, indexes[1:], strict=True):
        place = builder.add(builder.mul(place, length), index)
    return builder.gep(start, [place])


def _read(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
    dimensions = len(arguments) // 2
    start, lengths, indexes = arguments[0], arguments[1:dimensions], arguments[dimensions:]
    place = _address(builder, start, lengths, indexes)
    return context.unpack_value(builder, signature.args[0].dtype, place)


def _write(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
    *given, value = arguments
    dimensions = len(given) // 2
    place = _address(builder, given[0], given[1:dimensions], given[dimensions:])
    context.pack_value(builder, signature.args[0].dtype, value, place)
    return context.get_dummy_value()


def _whole(*indexes: Any) -> tuple[Any, ...]:
    for each in indexes:
        if not isinstance(types.unliteral(each), types.Integer | types.Boolean):
            raise TypingError(f"kernels use whole numbers as indexes, not {each}")
    return (types.intp,) * len(indexes)


@intrinsic
def _read_1(_typing: Any, start: Any, i: Any) -> Any:
    return start.dtype(start, *_whole(i)), _read


@intrinsic
def _read_2(_typing: Any, start: Any, length: Any, i: Any, j: Any) -> Any:
    return start.dtype(start, *_whole(length, i, j)), _read


@intrinsic
def _read_3(_typing: Any, start: Any, length: Any, other: Any, i: Any, j: Any, k: Any) -> Any:
    return start.dtype(start, *_whole(length, other, i, j, k)), _read


@intrinsic
def _write_1(_typing: Any, start: Any, i: Any, _value: Any) -> Any:
    return types.void(start, *_whole(i), start.dtype), _write


@intrinsic
def _write_2(_typing: Any, start: Any, length: Any, i: Any, j: Any, _value: Any) -> Any:
    return types.void(start, *_whole(length, i, j), start.dtype), _write


READ = {1: _read_1, 2: _read_2, 3: _read_3}
WRITE = {1: _write_1, 2: _write_2}
"""By the number of dimensions."""

GENERATORS = {
    **dict.fromkeys(READ.values(), _read),
    **dict.fromkeys(WRITE.values(), _write),
}
"""What generates the code of an access, where it need not be looked up by its types."""
