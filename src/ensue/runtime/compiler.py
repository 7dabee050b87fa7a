"""A leaner way through Numba, which takes a fraction of the time.

Numba looks at every statement of a kernel many times, and what helpers it takes in are read,
rewritten and copied anew at every call. A kernel needs little of this: it is made of whole
numbers, arrays and tuples of arrays, and every variable has one type. So its helpers are taken in
by a few lines of our own, and then whatever says the same twice is said once, in the beginning:
constants, the arrays of the tuples that it is given, their shapes. This leaves less than half of
the statements, and most of Numba's passes have nothing left to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numba
import numpy as np
from numba._dynfunc import make_function
from numba.core import ir, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, run_frontend
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.ir_utils import build_definitions, simplify_CFG
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

from ensue.runtime.access import LENGTH, READ, WRITE, base

_UNNEEDED = frozenset(
    {
        "DeadBranchPrune",
        "DumpParforDiagnostics",
        "FindLiterallyCalls",
        "InlineClosureLikes",
        "InlineInlinables",
        "InlineOverloads",
        "LiteralPropagationSubPipelinePass",
        "LiteralUnroll",
        "MakeFunctionToJitFunction",
        "NoPythonSupportedFeatureValidation",
        "NopythonRewrites",
        "NopythonTypeInference",
        "PreLowerStripPhis",
        "ReconstructSSA",
        "RewriteDynamicRaises",
        "RewriteSemanticConstants",
        "WithLifting",
    }
)
"""The passes for what no kernel has: closures, exceptions, array expressions, variables of several
types, Python's own containers."""

Blocks = dict[int, Any]


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """Machine code that is optimised once: by Numba, each part is for itself and then all again."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


class _Part(_Library):
    """A subroutine: optimised together with the kernels that call it, and called by nobody else."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class LeanCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's own passes, without those that a kernel does not need."""

    library: type[_Library] = _Library

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(Flatten, untyped_passes.IRProcessing)
        manager.add_pass_after(InferTypes, NopythonTypeInference)
        manager.passes = [each for each in manager.passes if each[0].__name__ not in _UNNEEDED]
        manager.finalize()
        return [manager]


class PartCompiler(LeanCompiler):
    """The same for a subroutine."""

    library = _Part

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        self.state.flags.no_compile = True
        (manager,) = super().define_pipelines()
        manager.add_pass_after(Register, NativeLowering)
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=False, analysis_only=False)
class Register(LoweringPass):  # type: ignore[misc]
    """Let kernels find a subroutine; Python cannot call it."""

    _name = "ensue_register"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Write down where it is."""
        made = state["cr"]
        name = state.func_id.func_name
        module = made.fndesc.lookup_module()
        function = make_function(module, name, "", 0, made.env, (state.library,))
        state.targetctx.insert_user_function(function, made.fndesc, [state.library])
        state["cr"] = made._replace(cfunc=function)
        return True


class _Remembering:
    """A typing context that works out once what an operation on some types gives."""

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, given: Any, named: Any) -> Any:
        """Return the signature of a call."""
        if named or not isinstance(function, types.Function):
            return self._context.resolve_function_type(function, given, named)
        plain = tuple(map(types.unliteral, given))
        key = function, plain
        if key not in self._known:
            self._known[key] = self._context.resolve_function_type(function, plain, named)
        return self._known[key]


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(NopythonTypeInference):  # type: ignore[misc]
    """Numba's inference, which does not work out the same thing twice."""

    _name = "ensue_infer_types"

    def run_pass(self, state: Any) -> bool:
        """Find the types of all variables."""
        context = state.typingctx
        state.typingctx = _Remembering(context)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = context


@register_pass(mutates_CFG=True, analysis_only=False)
class Flatten(FunctionPass):  # type: ignore[misc]
    """Take helpers in, and say everything once."""

    _name = "ensue_flatten"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the statements of a kernel in place."""
        function = state.func_ir
        function.blocks = _taken_in(function.blocks)
        _widen(function.blocks)
        entry = function.blocks[min(function.blocks)]
        arguments = [
            each
            for each in entry.body
            if isinstance(each, ir.Assign) and isinstance(each.value, ir.Arg)
        ]
        entry.body = [each for each in entry.body if each not in arguments]
        kinds = {each.target.name: state.args[each.value.index] for each in arguments}
        first = [*arguments, *_constants(function.blocks), *_fields(function.blocks, kinds)]
        _skip_copies(function.blocks)
        if not state.flags.boundscheck:
            first += _access(function.blocks, kinds)
        entry.body[:0] = first
        function._definitions = build_definitions(function.blocks)
        return True


# --- helpers ---------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def _read(function: Callable[..., Any]) -> tuple[Blocks, list[str]]:
    """Return the statements of a helper, its own helpers taken in, and its parameters."""
    read = run_frontend(function)
    return _taken_in(read.blocks), list(read.arg_names)


def _taken_in(blocks: Blocks) -> Blocks:
    """Return statements with those of all helpers in place of the calls."""
    targets = _assignments(blocks)
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
    blocks = simplify_CFG(blocks)
    _skip_copies(blocks)
    return blocks


def _helper_of(statement: Any, targets: dict[str, list[Any]]) -> Any:
    """Return the helper that a statement calls, or None."""
    dispatcher = _called(statement, targets)
    options = getattr(dispatcher, "targetoptions", {})
    return dispatcher.py_func if options.get("inline") == "always" else None


def _called(statement: Any, targets: dict[str, list[Any]]) -> Any:
    """Return the function that a statement calls, or None."""
    if not (isinstance(statement, ir.Assign) and _is(statement.value, "call")):
        return None
    found = targets.get(statement.value.func.name, ())
    if len(found) != 1 or not isinstance(found[0], ir.Global | ir.FreeVar):
        return None
    return found[0].value


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
        for name, values in _assignments(body).items()
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
        parts = {name: _in_parts(part, renamed) for name, part in of._kws.items()}
        return ir.Expr(of.op, of.loc, **parts)
    if isinstance(of, ir.SetItem):
        return ir.SetItem(renamed(of.target), renamed(of.index), renamed(of.value), of.loc)
    if isinstance(of, ir.Const | ir.Global | ir.FreeVar):
        return of
    raise TypeError(f"a helper has a statement of an unexpected kind: {of}")


def _in_parts(part: Any, renamed: Callable[[Any], Any]) -> Any:
    if isinstance(part, ir.Var):
        return renamed(part)
    if isinstance(part, list | tuple):
        return type(part)([_in_parts(each, renamed) for each in part])
    return part


# --- saying it once --------------------------------------------------------------------------


def _branch_at_once(block: Any, targets: dict[str, list[Any]]) -> None:
    """Branch on a value itself, and not on what bool() makes of it: lowering does that anyway."""
    branch = block.body[-1]
    if not isinstance(branch, ir.Branch):
        return
    for at, statement in enumerate(block.body):
        if (
            isinstance(statement, ir.Assign)
            and statement.target.name == branch.cond.name
            and _called(statement, targets) is bool
        ):
            branch.cond = statement.value.args[0]
            del block.body[at]
            return


def _skip_copies(blocks: Blocks) -> None:
    """Use variables themselves in place of their copies, and assign values to them at once."""
    for _ in range(2):
        often = _uses(blocks)
        targets = _assignments(blocks)
        for block in blocks.values():
            _skip_within(block, often, targets)


def _skip_within(block: Any, often: Counter[str], targets: dict[str, list[Any]]) -> None:
    """Do so within a block: for temporaries that are assigned once and used in it alone."""
    uses: dict[str, list[int]] = {}
    assigned: dict[str, list[int]] = {}
    for at, statement in enumerate(block.body):
        for name in _reads(statement):
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
        if _is(copied, "cast"):
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
            _rename(statement, instead)


def _constants(blocks: Blocks) -> list[Any]:
    """Take constants and global names out of the blocks; return what defines each once."""
    definitions: dict[Any, Any] = {}
    targets = _assignments(blocks)
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
    _rename_all(blocks, instead)
    return list(definitions.values())


def _key(value: Any) -> Any:
    return (type(value), value) if isinstance(value, bool | int | float | str) else id(value)


def _fields(blocks: Blocks, kinds: dict[str, Any]) -> list[Any]:
    """Take apart tuples among the arguments; return what defines each of their arrays once."""
    definitions: dict[tuple[str, str], Any] = {}
    targets = _assignments(blocks)
    more = True
    while more:
        more = False
        instead: dict[str, Any] = {}
        for block in blocks.values():
            kept = []
            for statement in block.body:
                value = statement.value if isinstance(statement, ir.Assign) else None
                kind = kinds.get(value.value.name) if _is(value, "getattr") else None
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
        _rename_all(blocks, instead)
    return list(definitions.values())


def _has_field(kind: Any, name: str) -> bool:
    if isinstance(kind, types.NamedTuple):
        return name in kind.fields
    return isinstance(kind, types.Array) and name == "shape"


def _widen(blocks: Blocks) -> None:
    """Give subroutines whole numbers of 64 bits, so that each is compiled for one type alone."""
    targets = _assignments(blocks)
    for block in blocks.values():
        kept: list[Any] = []
        for statement in block.body:
            called = _called(statement, targets)
            if hasattr(called, "targetoptions"):
                wide = list(_parameters(called.py_func))
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
                value = ir.Global(called.__name__, _part_of(called), statement.loc)
                kept.append(ir.Assign(value, part, statement.loc))
                statement.value.func = part
            kept.append(statement)
        block.body = kept


def _access(blocks: Blocks, kinds: dict[str, Any]) -> list[Any]:
    """Read and write elements by their addresses; return what defines those of the arrays."""
    targets = _assignments(blocks)
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
        if len(values) == 1 and _is(values[0], "build_tuple"):
            indexes = list(values[0].items)
        if len(indexes) != kinds[array.name].ndim:
            raise TypeError(f"a kernel uses a part of the array {array.name}, not an element")
        return [*(found(array, loc, each) for each in range(len(indexes))), *indexes]

    for block in blocks.values():
        for at, statement in enumerate(block.body):
            value = getattr(statement, "value", None)
            if isinstance(statement, ir.SetItem) and _is_plain(kinds, statement.target):
                given = place(statement.target, statement.index, statement.loc)
                scope, loc = statement.target.scope, statement.loc
                function = called(WRITE[len(given) // 2], scope, loc)
                call = ir.Expr.call(function, [*given, value], (), loc)
                block.body[at] = ir.Assign(call, scope.redefine("$done", loc), loc)
            elif isinstance(statement, ir.Assign) and _is(value, "getitem"):
                if _is_plain(kinds, value.value):
                    given = place(value.value, value.index, statement.loc)
                    function = called(READ[len(given) // 2], value.value.scope, statement.loc)
                    statement.value = ir.Expr.call(function, given, (), statement.loc)
    often = _uses(blocks)
    for block in blocks.values():
        block.body = [
            each
            for each in block.body
            if not (
                isinstance(each, ir.Assign)
                and _is(each.value, "build_tuple")
                and not often[each.target.name]
            )
        ]
    return [*functions.values(), *definitions.values()]


def _is_plain(kinds: dict[str, Any], variable: Any) -> bool:
    kind = kinds.get(variable.name)
    return isinstance(kind, types.Array) and kind.layout == "C"


@lru_cache(maxsize=None)
def _part_of(dispatcher: Any) -> Any:
    """Return a subroutine as it is called by kernels."""
    options = {
        name: value
        for name, value in dispatcher.targetoptions.items()
        if name not in ("nopython", "nogil", "cache", "no_cfunc_wrapper")
    }
    return numba.njit(
        pipeline_class=PartCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(dispatcher.py_func)


def _parameters(function: Callable[..., Any]) -> Iterator[bool]:
    """Tell of each parameter whether it is a whole number."""
    code = function.__code__
    for name in code.co_varnames[: code.co_argcount]:
        yield function.__annotations__.get(name) in ("int", int)


# --- statements ------------------------------------------------------------------------------


def _is(value: Any, operation: str) -> bool:
    return isinstance(value, ir.Expr) and value.op == operation


def _assignments(blocks: Blocks) -> dict[str, list[Any]]:
    """Return what is assigned to every variable."""
    found: dict[str, list[Any]] = {}
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                found.setdefault(statement.target.name, []).append(statement.value)
    return found


def _uses(blocks: Blocks) -> Counter[str]:
    """Return in how many statements each variable is read."""
    return Counter(
        name for block in blocks.values() for statement in block.body for name in _reads(statement)
    )


def _reads(statement: Any) -> set[str]:
    """Return the variables that a statement reads."""
    if isinstance(statement, ir.Assign):
        value = statement.value
        if isinstance(value, ir.Var):
            return {value.name}
        return {each.name for each in value.list_vars()} if isinstance(value, ir.Expr) else set()
    return {each.name for each in statement.list_vars()}


def _rename_all(blocks: Blocks, instead: dict[str, Any]) -> None:
    for block in blocks.values():
        for statement in block.body:
            _rename(statement, instead)


def _rename(statement: Any, instead: dict[str, Any]) -> None:
    """Let a statement read other variables."""

    def renamed(variable: Any) -> Any:
        while variable.name in instead:
            variable = instead[variable.name]
        return variable

    if isinstance(statement, ir.Assign):
        if isinstance(statement.value, ir.Var):
            statement.value = renamed(statement.value)
        elif isinstance(statement.value, ir.Expr):
            parts = statement.value._kws
            for name, part in parts.items():
                parts[name] = _in_parts(part, renamed)
    elif isinstance(statement, ir.SetItem):
        statement.target = renamed(statement.target)
        statement.index = renamed(statement.index)
        statement.value = renamed(statement.value)
    elif isinstance(statement, ir.Branch):
        statement.cond = renamed(statement.cond)
    elif isinstance(statement, ir.Return):
        statement.value = renamed(statement.value)
