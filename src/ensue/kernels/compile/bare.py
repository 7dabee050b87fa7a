"""What subroutines are given of an array: its address and its lengths.

Numba hands an array over as seven numbers or more, a kernel has some fifty arrays, and each of
these numbers is an instruction where they are passed and another where they arrive. Subroutines
need the address and the lengths only. So a kernel strips its arrays once, at its entry, and hands
the rest on. A tuple of arrays becomes a tuple of such rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba.core.datamodel
import numba.core.types
from numba.core.datamodel.models import StructModel
from numba.extending import intrinsic

types: Any = numba.core.types
_array: Any = types.Array
_model: Any = StructModel
_datamodel: Any = numba.core.datamodel


class Bare(_array):  # type: ignore[misc]
    """An array that is known by its address and lengths."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        super().__init__(dtype, ndim, "C", name=f"bare({dtype}, {ndim}d)")


@_datamodel.register_default(Bare)
class BareModel(_model):  # type: ignore[misc]
    """How such an array is represented."""

    def __init__(self, manager: Any, kind: Any) -> None:
        members = [
            ("data", types.CPointer(kind.dtype)),
            ("shape", types.UniTuple(types.intp, kind.ndim)),
        ]
        super().__init__(manager, kind, members)


def stripped(kind: Any) -> Any:
    """Return the type of what is left of a value: of an array that is not contiguous, all.

    >>> from numba import int32
    >>> str(stripped(types.Array(int32, 1, "C")))
    'bare(int32, 1d)'
    >>> stripped(types.Array(int32, 1, "A"))
    Array(int32, 1, 'A', False, aligned=True)
    """
    if isinstance(kind, types.Array):
        return Bare(kind.dtype, kind.ndim) if kind.layout == "C" else kind
    if isinstance(kind, types.BaseNamedTuple):
        parts = tuple(stripped(each) for each in kind.types)
        return types.NamedTuple(parts, kind.instance_class)
    return kind


def _strip(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Generate what is left of a value."""
    rest = stripped(kind)
    if rest == kind:
        return value
    if isinstance(kind, types.Array):
        model = context.data_model_manager[kind]
        found = context.get_constant_undef(rest)
        for place, name in enumerate(("data", "shape")):
            part = builder.extract_value(value, model.get_field_position(name))
            found = builder.insert_value(found, part, place)
        return found
    parts = [
        _strip(context, builder, each, builder.extract_value(value, place))
        for place, each in enumerate(kind.types)
    ]
    return context.make_tuple(builder, rest, parts)


@intrinsic
def strip(_typing: Any, value: Any) -> Any:
    """Return what is left of a value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return _strip(context, builder, signature.args[0], arguments[0])

    return stripped(value)(value), generate
