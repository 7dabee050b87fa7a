"""Functions that the user gives: what they take and return, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from ensue.analysis.context import listing, nearest
from ensue.analysis.functions import AGGREGATES, KNOWN, TRENDS
from ensue.analysis.types import TYPE_NAMES, Type

Arrays = Literal["arrow", "numpy"]

_TYPES = {
    name: kind
    for name, kind in {**TYPE_NAMES, "duration": Type.DURATION}.items()
    if not kind.is_list
}


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A Python function on columns, with declared types."""

    call: Callable[..., Any]
    args: tuple[Type, ...]
    returns: Type
    version: str = "1"
    """Snapshots of another version are refused."""
    arrays: Arrays = "arrow"
    name: str = ""
    """What the query calls it."""
    query: str = ""
    """The query, for messages."""


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A commutative monoid with a way in and a way out."""

    zero: Any
    lift: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any]
    returns: Type
    version: str = "1"
    name: str = ""
    query: str = ""
    compiled: bool = False
    """Whether Numba can compile lift and combine, on numbers."""


def aggregate(
    zero: Any,
    lift: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any] = lambda total: total,
    *,
    returns: str = "double",
    version: str = "1",
    compiled: bool = False,
) -> UserAggregate:
    """Declare an aggregate for queries: `compile(text, aggregates={"mean": aggregate(…)})`.

    The values of a match are lifted one by one and combined, in the order of positions; NULLs are
    left out. Without values the result is that of zero.

    Args:
        zero: the neutral element; never changed in place.
        lift: makes an element of a value.
        combine: combines two elements; associative and commutative, and zero changes nothing.
        lower: makes the result of an element; None is NULL.
        returns: the type of the result, as for `function`.
        version: to be changed with the meaning, so that old snapshots are refused.
        compiled: let Numba compile `lift` and `combine`, which must take and return numbers of one
            type, that of zero (an int, of 64 bits, or a float). It matters over all matches, where
            `count(*)` stands beside it.

    >>> longest = aggregate(0, len, max, returns="int")
    >>> longest.combine(longest.lift("ab"), longest.zero)
    2
    """
    for name, each in (("lift", lift), ("combine", combine), ("lower", lower)):
        if not callable(each):
            raise TypeError(f"{name} of an aggregate is called, and {each!r} cannot be")
    if compiled and type(zero) not in (int, float):
        raise TypeError(f"zero of a compiled aggregate is an int or a float, not {zero!r}")
    kind = _type_of(returns)
    return UserAggregate(zero, lift, combine, lower, kind, str(version), compiled=compiled)


def function(
    fn: Callable[..., Any],
    *,
    args: Sequence[str],
    returns: str,
    version: str = "1",
    arrays: Arrays = "arrow",
) -> UserFunction:
    """Declare a Python function for queries: `compile(text, functions={"risk": function(…)})`.

    The function is given one array for each argument, of equal lengths, and returns an array of
    that length: each value must depend on its own row alone, because batches may be cut anywhere.

    Args:
        fn: the function.
        args: the types of its arguments, as in CREATE STREAM, or "duration".
        returns: the type of its result.
        version: to be changed with the function's meaning, so that old snapshots are refused.
        arrays: "arrow" gives Arrow arrays, NULLs included; "numpy" gives NumPy arrays of the rows
            in which no argument is NULL, and the other rows are NULL.

    >>> double = function(lambda v: 2 * v, args=["double"], returns="double", arrays="numpy")
    >>> double.args, double.version
    ((<Type.DOUBLE: 'double'>,), '1')
    """
    if not callable(fn):
        raise TypeError(f"a function is called, and {fn!r} cannot be")
    if isinstance(args, str):
        raise TypeError(f"args is a list of types, such as [{args!r}], not a string")
    if arrays not in ("arrow", "numpy"):
        raise ValueError(f"arrays is 'arrow' or 'numpy', not {arrays!r}")
    kinds = tuple(_type_of(each) for each in args)
    return UserFunction(fn, kinds, _type_of(returns), str(version), arrays)


def _type_of(name: object) -> Type:
    kind = _TYPES.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
        near = nearest(str(name), _TYPES)
        hint = f"did you mean '{near}'?" if near else f"the types are {listing(_TYPES, 20)}"
        raise ValueError(f"unknown type {name!r} of a function's argument or result; {hint}")
    return kind


Named = TypeVar("Named", UserFunction, UserAggregate)


def named(
    given: Mapping[str, Named] | None, query: str, kind: type[Named], taken: Iterable[str] = ()
) -> dict[str, Named]:
    """Check what is given to a query under names of its own, and let it know them."""
    option = "functions" if kind is UserFunction else "aggregates"
    found: dict[str, Named] = {}
    for name, each in (given or {}).items():
        if not isinstance(each, kind):
            raise TypeError(
                f"{option}[{name!r}] must be made by ensue.{option.removesuffix('s')}(…), not a "
                f"{type(each).__name__}"
            )
        lower = name.lower()
        if not name.isidentifier() or lower in (*KNOWN, *AGGREGATES, *TRENDS):
            reason = "a function of the language" if name.isidentifier() else "not a name"
            raise ValueError(f"{option}: '{name}' is {reason}; give it another name")
        if lower in found or lower in taken:
            raise ValueError(f"{option}: '{name}' is given twice")
        found[lower] = replace(each, name=name, query=query)
    return found
