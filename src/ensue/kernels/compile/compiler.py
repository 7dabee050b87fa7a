"""A leaner way through Numba, which takes a fraction of the time.

Numba looks at every statement of a kernel many times, and what helpers it takes in are read,
rewritten and copied anew at every call. A kernel needs little of this: it is made of whole
numbers, arrays and tuples of arrays, and every variable has one type. So its helpers are taken in
by a few lines of our own, and then common expressions are evaluated once, at the entry:
constants, the arrays of the tuples that it is given, their shapes. This leaves less than half of
the statements, and of Numba's passes only those that translate, infer types and lower.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Any, ClassVar

import numba
from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options
from numba._dynfunc import make_function
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, LoweringPass, PassManager, register_pass
from numba.core.typed_passes import NoPythonBackend, NopythonTypeInference
from numba.core.untyped_passes import DeadBranchPrune, FixupArgs

from ensue.kernels.compile.announcing import announce
from ensue.kernels.compile.flatten import flatten
from ensue.kernels.compile.inlining import Reader
from ensue.kernels.compile.loading import all_loaded, load_all
from ensue.kernels.compile.lowering import LeanLowering

_manager: Any = PassManager

_WRAPPER = "_ZN7cpython"
"""How the names of functions begin that Python calls: they take the arguments apart."""


class _Library(JITCodeLibrary):
    """Machine code that is optimised once: by Numba, each part is for itself and then all again."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise kernels with few passes, and not at all what takes their arguments apart.

        Kernels follow links: there is nothing to vectorise or unroll.
        """
        for function in self._final_module.functions:
            if function.name.startswith(_WRAPPER) and not function.is_declaration:
                function.add_function_attribute("noinline")
                function.add_function_attribute("optnone")
        options = create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = False
        options.loop_interleaving = options.loop_unrolling = False
        builder = create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _Part(_Library):
    """A subroutine: optimised together with the kernels that call it."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        library: Any = super()
        library._finalize_dynamic_globals()
        library._verify_declare_only_symbols()
        self._finalized = True


class LeanCompiler(CompilerBase):
    """The passes that a kernel needs: Numba's own frame with four of its twenty inside."""

    library: type[_Library] = _Library

    def __init__(self, *args: Any) -> None:
        load_all()
        with all_loaded():
            base: Any = super()
            base.__init__(*args)

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        state = self.state
        if self.library is _Library:
            announce(state.func_id.modname)
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.type_annotation = ""
        manager = _Passes("ensue")
        for each in self.passes():
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]

    def _compile_core(self) -> Any:
        """Compile with the garbage collector at rest.

        Hundreds of thousands of statements and values stay alive until the end; to look through
        them again and again takes a tenth of the time and frees nothing.
        """
        base: Any = super()
        with all_loaded(self.state.targetctx):
            if not gc.isenabled():
                return base._compile_core()
            gc.disable()
            try:
                return base._compile_core()
            finally:
                gc.enable()

    def passes(self) -> list[Any]:
        """Return the passes in order."""
        prune = [DeadBranchPrune] if types.none in self.state.args else []
        return [
            Translate,
            FixupArgs,
            *prune,
            Flatten,
            InferTypes,
            LeanLowering,
            NoPythonBackend,
        ]


class PartCompiler(LeanCompiler):
    """The same for a subroutine."""

    library = _Part

    def passes(self) -> list[Any]:
        """Return the passes in order."""
        self.state.flags.no_compile = True
        *before, last = super().passes()
        return [*before, Register, last]


class _Passes(_manager):  # type: ignore[misc]
    """Passes without Numba's analysis of live variables after each: no kernel needs it."""

    _ENFORCING = False


@register_pass(mutates_CFG=False, analysis_only=False)
class Register(LoweringPass):
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


@register_pass(mutates_CFG=True, analysis_only=False)
class Translate(FunctionPass):
    """Translate bytecode into statements."""

    _name = "ensue_translate"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Read the function."""
        state["func_ir"] = Reader(state.func_id).interpret(state["bc"])
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
class InferTypes(NopythonTypeInference):
    """Numba's inference, which does not work out the same thing twice."""

    _name = "ensue_infer_types"

    def run_pass(self, state: Any) -> bool:
        """Find the types of all variables."""
        context = state.typingctx
        state.typingctx = _Remembering(context)
        try:
            inference: Any = super()
            return bool(inference.run_pass(state))
        finally:
            state.typingctx = context


@register_pass(mutates_CFG=True, analysis_only=False)
class Flatten(FunctionPass):
    """Inline helpers, and move common expressions to the entry."""

    _name = "ensue_flatten"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the statements of a kernel in place."""
        checked = bool(state.flags.boundscheck)
        flatten(state.func_ir, state.args, _part_of, checked=checked)
        return True


@cache
def _part_of(dispatcher: Any) -> Any:
    """Return a subroutine as it is called by kernels."""
    options = {
        name: value
        for name, value in dispatcher.targetoptions.items()
        if name not in ("nopython", "nogil", "cache", "no_cfunc_wrapper")
    }
    jit: Any = numba.njit
    return jit(
        pipeline_class=PartCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(dispatcher.py_func)
