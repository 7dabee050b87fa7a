"""Common expressions of a kernel are evaluated once, at its entry.

These are constants, the arrays of the tuples that it is given, their shapes and addresses. That
leaves less than half of the statements, and for each of them Numba has less to infer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numba.core.ir_utils
import numba.core.types
import numpy as np

from ensue.kernels.compile.access import LENGTH, READ, WRITE, base
from ensue.kernels.compile.bare import strip, stripped
from ensue.kernels.compile.inlining import skip_copies, taken_in
from ensue.kernels.compile.statements import (
    Blocks,
    assignments,
    called,
    ir,
    is_expression,
    is_number,
    rename_all,
    uses,
)

types: Any = numba.core.types

Part = Callable[[Any], Any]


def flatten(function: Any, kinds: Sequence[Any], part_of: Part, *, checked: bool) -> None:
    """Inline helpers into a kernel, and move common expressions to its entry.

    Args:
        function: its statements, which are changed in place.
        kinds: the types of its arguments.
        part_of: what a subroutine is to its callers.
        checked: elements are read and written in Numba's own way, which checks indexes.
    """
    function.blocks = taken_in(function.blocks)
    _operate_on_numbers(function.blocks)
    calls = _widen(function.blocks, part_of)
    entry = function.blocks[min(function.blocks)]
    arguments = [
        each
        for each in entry.body
        if isinstance(each, ir.Assign) and isinstance(each.value, ir.Arg)
    ]
    entry.body = [each for each in entry.body if each not in arguments]
    changed = assignments(function.blocks)
    known = {
        each.target.name: kinds[each.value.index]
        for each in arguments
        if each.target.name not in changed
    }
    first = [*arguments, *_constants(function.blocks), *_fields(function.blocks, known)]
    first += _lengths(function.blocks, first)
    skip_copies(function.blocks)
    if not checked:
        # Where lazy steps are, LLVM takes in more of what gets whole arrays: a sixth of the time.
        if not any(
            hasattr(getattr(each, "instance_class", None), "passed_whole") for each in kinds
        ):
            first += _strip(calls, known)
        first += _access(function.blocks, known)
    entry.body[:0] = first
    function._definitions = numba.core.ir_utils.build_definitions(function.blocks)


def _operate_on_numbers(blocks: Blocks) -> None:
    """Let `a += b` be `a = a + b`: there are numbers only, which are immutable."""
    for block in blocks.values():
        for statement in block.body:
            value: Any = getattr(statement, "value", None)
            if is_expression(value, "inplace_binop"):
                operands = value.immutable_fn, value.lhs, value.rhs
                statement.value = ir.Expr.binop(*operands, value.loc)


def _constants(blocks: Blocks) -> list[Any]:
    """Take constants and global names out of the blocks; return what defines each once."""
    definitions: dict[Any, Any] = {}
    targets = assignments(blocks)
    instead: dict[str, Any] = {}
    for block in blocks.values():
        kept = []
        for statement in block.body:
            value = statement.value if isinstance(statement, ir.Assign) else None
            if isinstance(value, ir.Const | ir.Global | ir.FreeVar):
                key = _key(value.value)
                if key not in definitions:
                    name = f"$once.{len(definitions)}"
                    variable = statement.target.scope.redefine(name, statement.loc)
                    definitions[key] = ir.Assign(value, variable, statement.loc)
                variable = definitions[key].target
                if len(targets[statement.target.name]) == 1:
                    instead[statement.target.name] = variable
                    continue
                statement.value = variable
            kept.append(statement)
        block.body = kept
    rename_all(blocks, instead)
    return list(definitions.values())


def _key(value: Any) -> Any:
    return (type(value), value) if isinstance(value, bool | int | float | str) else id(value)


def _fields(blocks: Blocks, kinds: dict[str, Any]) -> list[Any]:
    """Take apart tuples among the arguments; return what defines each of their arrays once."""
    definitions: dict[tuple[str, str], Any] = {}
    targets = assignments(blocks)
    more = True
    while more:
        more = False
        instead: dict[str, Any] = {}
        for block in blocks.values():
            kept = []
            for statement in block.body:
                value: Any = statement.value if isinstance(statement, ir.Assign) else None
                if (
                    isinstance(value, ir.Var)
                    and value.name in kinds
                    and len(targets[statement.target.name]) == 1
                ):
                    instead[statement.target.name] = value
                    more = True
                    continue
                kind = kinds.get(value.value.name) if is_expression(value, "getattr") else None
                if kind is None or not _has_field(kind, value.attr):
                    kept.append(statement)
                    continue
                more = True
                key = value.value.name, value.attr
                if key not in definitions:
                    name = f"${key[0].lstrip('$')}.{key[1]}"
                    variable = statement.target.scope.redefine(name, statement.loc)
                    definitions[key] = ir.Assign(value, variable, statement.loc)
                    if isinstance(kind, types.NamedTuple):
                        kinds[variable.name] = kind[kind.fields.index(value.attr)]
                variable = definitions[key].target
                if len(targets[statement.target.name]) == 1:
                    instead[statement.target.name] = variable
                else:
                    statement.value = variable
                    kept.append(statement)
            block.body = kept
        rename_all(blocks, instead)
    return list(definitions.values())


def _lengths(blocks: Blocks, first: list[Any]) -> list[Any]:
    """Look for `array.shape[n]`; return what defines each length once."""
    numbers = {each.target.name: each.value.value for each in first if is_number(each.value)}
    arrays = {
        each.target.name: each.value.value
        for each in first
        if is_expression(each.value, "getattr") and each.value.attr == "shape"
    }
    definitions: dict[tuple[str, int], list[Any]] = {}
    for block in blocks.values():
        for statement in block.body:
            value: Any = getattr(statement, "value", None)
            if not (is_expression(value, "getitem") and value.value.name in arrays):
                continue
            key = value.value.name, numbers[value.index.name]
            if key not in definitions:
                scope, loc = value.value.scope, statement.loc
                function = scope.redefine("$length", loc)
                length = scope.redefine("$length", loc)
                call = ir.Expr.call(function, [arrays[key[0]]], (), loc)
                definitions[key] = [
                    ir.Assign(ir.Global("length", LENGTH[key[1]], loc), function, loc),
                    ir.Assign(call, length, loc),
                ]
            statement.value = definitions[key][-1].target
    return [each for some in definitions.values() for each in some]


def _has_field(kind: Any, name: str) -> bool:
    if isinstance(kind, types.NamedTuple):
        return name in kind.fields
    return isinstance(kind, types.Array) and name == "shape"


def _widen(blocks: Blocks, part_of: Part) -> list[Any]:
    """Give subroutines whole numbers of 64 bits, so that each is compiled for one type alone.

    Return the calls of subroutines.
    """
    targets = assignments(blocks)
    calls = []
    for block in blocks.values():
        kept: list[Any] = []
        for statement in block.body:
            subroutine = called(statement, targets)
            if hasattr(subroutine, "targetoptions"):
                wide = list(_parameters(subroutine.py_func))
                arguments = list(statement.value.args)
                for at, (argument, is_whole) in enumerate(zip(arguments, wide, strict=True)):
                    if is_whole:
                        scope, loc = statement.target.scope, statement.loc
                        make = scope.redefine("$wide", loc)
                        result = scope.redefine("$wide", loc)
                        kept.append(ir.Assign(ir.Global("int64", np.int64, loc), make, loc))
                        call = ir.Expr.call(make, [argument], (), loc)
                        kept.append(ir.Assign(call, result, loc))
                        arguments[at] = result
                statement.value.args = tuple(arguments)
                part = statement.target.scope.redefine("$part", statement.loc)
                value = ir.Global(subroutine.__name__, part_of(subroutine), statement.loc)
                kept.append(ir.Assign(value, part, statement.loc))
                statement.value.func = part
                calls.append(statement.value)
            kept.append(statement)
        block.body = kept
    return calls


def _strip(calls: list[Any], kinds: dict[str, Any]) -> list[Any]:
    """Give subroutines what they need of arrays; return what defines it, once for each."""
    definitions: dict[str, list[Any]] = {}

    def rest(argument: Any) -> Any:
        kind = kinds.get(argument.name)
        if kind is None or stripped(kind) == kind:
            return argument
        if argument.name not in definitions:
            scope, loc = argument.scope, argument.loc
            function = scope.redefine("$strip", loc)
            call = ir.Expr.call(function, [argument], (), loc)
            definitions[argument.name] = [
                ir.Assign(ir.Global("strip", strip, loc), function, loc),
                ir.Assign(call, scope.redefine("$bare", loc), loc),
            ]
        return definitions[argument.name][-1].target

    for call in calls:
        call._kws["args"] = tuple(map(rest, call.args))
    return [each for some in definitions.values() for each in some]


def _access(blocks: Blocks, kinds: dict[str, Any]) -> list[Any]:
    """Read and write elements by their addresses; return what defines those of the arrays."""
    targets = assignments(blocks)
    definitions: dict[tuple[str, int], Any] = {}
    functions: dict[Any, Any] = {}

    def called(function: Any, scope: Any, loc: Any) -> Any:
        if function not in functions:
            variable = scope.redefine(f"$access.{len(functions)}", loc)
            functions[function] = ir.Assign(ir.Global("access", function, loc), variable, loc)
        return functions[function].target

    def found(array: Any, loc: Any, dimension: int) -> Any:
        """Return the address of an array, or its length in a dimension."""
        key = array.name, dimension
        if key not in definitions:
            function = called(LENGTH[dimension] if dimension else base, array.scope, loc)
            variable = array.scope.redefine(f"$at.{len(definitions)}", loc)
            call = ir.Expr.call(function, [array], (), loc)
            definitions[key] = ir.Assign(call, variable, loc)
        return definitions[key].target

    def place(array: Any, index: Any, loc: Any) -> list[Any]:
        """Return the address, the lengths of rows, and the indexes of an element."""
        indexes = [index]
        values = targets.get(index.name, ())
        if len(values) == 1 and is_expression(values[0], "build_tuple"):
            indexes = list(values[0].items)
        if len(indexes) != kinds[array.name].ndim:
            raise TypeError(f"a kernel uses a part of the array {array.name}, not an element")
        return [*(found(array, loc, each) for each in range(len(indexes))), *indexes]

    for block in blocks.values():
        for at, statement in enumerate(block.body):
            value: Any = getattr(statement, "value", None)
            if isinstance(statement, ir.SetItem) and _is_plain(kinds, statement.target):
                given = place(statement.target, statement.index, statement.loc)
                scope, loc = statement.target.scope, statement.loc
                function = called(WRITE[len(given) // 2], scope, loc)
                call = ir.Expr.call(function, [*given, value], (), loc)
                block.body[at] = ir.Assign(call, scope.redefine("$done", loc), loc)
            elif is_expression(value, "getitem") and _is_plain(kinds, value.value):
                given = place(value.value, value.index, statement.loc)
                function = called(READ[len(given) // 2], value.value.scope, statement.loc)
                statement.value = ir.Expr.call(function, given, (), statement.loc)
    often = uses(blocks)
    for block in blocks.values():
        block.body = [
            each
            for each in block.body
            if not (
                isinstance(each, ir.Assign)
                and is_expression(each.value, "build_tuple")
                and not often[each.target.name]
            )
        ]
    return [*functions.values(), *definitions.values()]


def _is_plain(kinds: dict[str, Any], variable: Any) -> bool:
    kind = kinds.get(variable.name)
    return isinstance(kind, types.Array) and kind.layout == "C"


def _parameters(function: Callable[..., Any]) -> Iterator[bool]:
    """Tell of each parameter whether it is a whole number."""
    code = function.__code__
    for name in code.co_varnames[: code.co_argcount]:
        yield function.__annotations__.get(name) in ("int", int)
