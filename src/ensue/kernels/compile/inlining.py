"""Helpers are taken into the kernels that call them, statement by statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numba.core.ir_utils
from numba.core.bytecode import ByteCode, FunctionIdentity
from numba.core.interpreter import Interpreter

from ensue.kernels.compile.statements import (
    Blocks,
    assignments,
    called,
    in_parts,
    ir,
    is_expression,
    reads,
    rename,
    uses,
)

_numba: Any = numba.core
_interpreter: Any = Interpreter


class Reader(_interpreter):  # type: ignore[misc]
    """Numba's translation of bytecode, without what comes after it for code that is no kernel's.

    That is for `with`, for dictionaries, and for calls with very many arguments.
    """

    def post_process(self, _peepholes: Any, read: Any) -> Any:
        """Leave the statements as they are."""
        return read


@cache
def _read(function: Callable[..., Any]) -> tuple[Blocks, list[str]]:
    """Return the statements of a helper, its own helpers taken in, and its parameters."""
    identity = FunctionIdentity.from_function(function)
    read = Reader(identity).interpret(ByteCode(identity))
    blocks: Blocks = taken_in(read.blocks)
    skip_copies(blocks)
    return blocks, list(read.arg_names)


def taken_in(blocks: Blocks) -> Blocks:
    """Return statements with those of all helpers in place of the calls."""
    targets = assignments(blocks)
    waiting = list(blocks)
    while waiting:
        label = waiting.pop()
        block = blocks[label]
        for at, statement in enumerate(block.body):
            helper = _helper_of(statement, targets)
            if helper is not None:
                after = max(blocks) + 1
                blocks[after] = _block_like(block, block.body[at + 1 :])
                first = _splice(blocks, statement, helper, after)
                block.body[at:] = [ir.Jump(first, statement.loc)]
                waiting.append(after)
                break
    for block in blocks.values():
        _branch_at_once(block, targets)
    _forget_names(blocks)
    simple: Blocks = _numba.ir_utils.simplify_CFG(blocks)
    return simple


def _forget_names(blocks: Blocks) -> None:
    """Leave out names that are no longer used, such as those of helpers."""
    often = uses(blocks)
    for block in blocks.values():
        kept = []
        for statement in block.body:
            if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Global):
                options = getattr(statement.value.value, "targetoptions", {})
                if not often[statement.target.name]:
                    continue
                if options.get("inline") == "always":
                    raise TypeError(
                        f"{statement.loc}: a helper is called with a conditional expression as an "
                        "argument, which has to be a variable of its own"
                    )
            kept.append(statement)
        block.body = kept


def _helper_of(statement: Any, targets: dict[str, list[Any]]) -> Any:
    """Return the helper that a statement calls, or None."""
    dispatcher = called(statement, targets)
    options = getattr(dispatcher, "targetoptions", {})
    return dispatcher.py_func if options.get("inline") == "always" else None


def _splice(blocks: Blocks, call: Any, helper: Callable[..., Any], after: int) -> int:
    """Add the statements of a helper, which go on at the block `after`; return where they begin."""
    body, parameters = _read(helper)
    if call.value.kws or len(call.value.args) != len(parameters):
        raise TypeError(f"a kernel calls {helper.__name__} with other than plain arguments")
    scope = call.target.scope
    offset = max(blocks) + 1 - min(body)
    given = dict(zip(parameters, call.value.args, strict=True))
    changed = {
        name
        for name, values in assignments(body).items()
        if any(not isinstance(each, ir.Arg) for each in values)
    }
    names: dict[str, Any] = {
        name: argument for name, argument in given.items() if name not in changed
    }

    def renamed(variable: Any) -> Any:
        if variable.name not in names:
            names[variable.name] = scope.redefine(
                f"${helper.__name__}.{variable.name.lstrip('$')}", variable.loc
            )
        return names[variable.name]

    for label, block in body.items():
        statements: list[Any] = []
        for each in block.body:
            if isinstance(each, ir.Return):
                statements.append(ir.Assign(renamed(each.value), call.target, each.loc))
                statements.append(ir.Jump(after, each.loc))
            elif isinstance(each, ir.Jump):
                statements.append(ir.Jump(each.target + offset, each.loc))
            elif isinstance(each, ir.Branch):
                ways = each.truebr + offset, each.falsebr + offset
                statements.append(ir.Branch(renamed(each.cond), *ways, each.loc))
            elif not isinstance(each, ir.Assign):
                statements.append(_with_variables(each, renamed))
            elif not isinstance(each.value, ir.Arg):
                value = _with_variables(each.value, renamed)
                statements.append(ir.Assign(value, renamed(each.target), each.loc))
            elif each.target.name in changed:
                statements.append(
                    ir.Assign(given[each.target.name], renamed(each.target), each.loc)
                )
        blocks[label + offset] = _block_like(call.target, statements)
    return min(body) + offset


def _block_like(of: Any, statements: list[Any]) -> Any:
    block = ir.Block(of.scope, of.loc)
    block.body = statements
    return block


def _with_variables(of: Any, renamed: Callable[[Any], Any]) -> Any:
    """Return a copy of an expression or a statement with other variables."""
    if isinstance(of, ir.Var):
        return renamed(of)
    if isinstance(of, ir.Expr):
        parts = {name: in_parts(part, renamed) for name, part in of._kws.items()}
        return ir.Expr(of.op, of.loc, **parts)
    if isinstance(of, ir.SetItem):
        return ir.SetItem(renamed(of.target), renamed(of.index), renamed(of.value), of.loc)
    if isinstance(of, ir.Const | ir.Global | ir.FreeVar):
        return of
    raise TypeError(f"a helper has a statement of an unexpected kind: {of}")


def _branch_at_once(block: Any, targets: dict[str, list[Any]]) -> None:
    """Branch on a value itself, and not on what bool() makes of it: lowering does that anyway."""
    branch = block.body[-1]
    if not isinstance(branch, ir.Branch):
        return
    for at, statement in enumerate(block.body):
        if (
            isinstance(statement, ir.Assign)
            and statement.target.name == branch.cond.name
            and called(statement, targets) is bool
        ):
            branch.cond = statement.value.args[0]
            del block.body[at]
            return


def skip_copies(blocks: Blocks) -> None:
    """Use variables themselves in place of their copies, and assign values to them at once."""
    for _ in range(2):
        often = uses(blocks)
        targets = assignments(blocks)
        for block in blocks.values():
            _skip_within(block, often, targets)


def _skip_within(block: Any, often: Counter[str], targets: dict[str, list[Any]]) -> None:
    """Do so within a block: for temporaries that are assigned once and used in it alone."""
    uses: dict[str, list[int]] = {}
    assigned: dict[str, list[int]] = {}
    for at, statement in enumerate(block.body):
        for name in reads(statement):
            uses.setdefault(name, []).append(at)
        if isinstance(statement, ir.Assign):
            assigned.setdefault(statement.target.name, []).append(at)

    def is_temporary(name: str) -> bool:
        return (
            name.startswith("$")
            and len(targets.get(name, ())) == 1
            and len(uses.get(name, ())) == often[name]
        )

    gone: set[int] = set()
    instead: dict[str, Any] = {}
    for at, statement in enumerate(block.body):
        if not isinstance(statement, ir.Assign):
            continue
        copied = statement.value
        if is_expression(copied, "cast"):
            copied = copied.value
        if not isinstance(copied, ir.Var):
            continue
        name = statement.target.name
        if is_temporary(name):
            # Nothing is assigned to the original before the last use of the copy.
            last = max(uses.get(name, [at]))
            source = instead.get(copied.name, copied)
            if not any(at < each < last for each in assigned.get(source.name, ())):
                instead[name] = source
                uses.setdefault(source.name, []).extend(uses.get(name, ()))
                gone.add(at)
            continue
        made = assigned.get(copied.name, ())
        if (
            is_temporary(copied.name)
            and len(made) == 1
            and often[copied.name] == 1
            and copied.name not in instead
            and isinstance(block.body[made[0]].value, ir.Expr)
            and block.body[made[0]].value.op in ("binop", "inplace_binop", "call", "getitem")
            and not any(made[0] < each < at for each in assigned.get(name, ()))
            and not any(made[0] < each < at for each in uses.get(name, ()))
        ):
            block.body[made[0]].target = statement.target
            assigned[name] = sorted({*assigned[name], made[0]} - {at})
            gone.add(at)
    block.body = [each for at, each in enumerate(block.body) if at not in gone]
    if instead:
        for statement in block.body:
            rename(statement, instead)
