"""Lowering of kernels to LLVM's code, without what reference counts and debuggers need.

Numba writes down where every variable ends, so that the reference that it holds can be given back,
and gives every variable that crosses a block a place in memory. Kernels hold no references. And
what flatten.py says once in the beginning dominates the whole function, so it can stay a value:
LLVM does not have to promote it from memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from numba.core import types
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from ensue.kernels.compile.access import GENERATORS
from ensue.kernels.compile.statements import ir, reads

_lower: Any = Lower

_operations: dict[Any, Any] = {}
"""What generates the code of an operation on operands of some types."""


class LeanLower(_lower):  # type: ignore[misc]
    """Numba's lowering, without locations, error contexts and the ends of variables."""

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no place in memory.

        They are assigned once, and what reads them comes later in the same block or, where that is
        the first one, anywhere.
        """
        often: Counter[str] = Counter()
        crossing: set[str] = set()
        first = min(self.blocks)
        for label in sorted(self.blocks):
            own: set[str] = set()
            for statement in self.blocks[label].body:
                crossing |= reads(statement) - own
                if isinstance(statement, ir.Assign):
                    often[statement.target.name] += 1
                    own.add(statement.target.name)
            if label == first:
                everywhere = own - crossing
        self._singly_assigned_vars = {
            name
            for name, count in often.items()
            if count == 1 and (name in everywhere or name not in crossing)
        }
        self._blk_local_varmap: dict[str, Any] = {}

    def pre_block(self, block: Any) -> None:
        """Remember the block; there are no exceptions to be caught in it."""
        self._cur_ir_block = block

    def lower_block(self, block: Any) -> None:
        """Lower the statements of a block."""
        self.pre_block(block)
        for statement in block.body:
            self.loc = statement.loc
            if isinstance(statement, ir.Assign):
                name = statement.target.name
                self.storevar(self.lower_assign(self.typeof(name), statement), name)
            else:
                self.lower_inst(statement)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign a value to a variable, whose old value holds no reference."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Lower an operation on two numbers."""
        context, builder = self.context, self.builder
        signature = self.fndesc.calltypes[expr]
        key = op, signature
        if key not in _operations:
            function = context.typing_context.resolve_value_type(op)
            _operations[key] = context.get_function(function, signature)
        result = _operations[key](builder, self._operands((expr.lhs, expr.rhs), signature))
        return context.cast(builder, result, signature.return_type, resty)

    def lower_call(self, resty: Any, expr: Any) -> Any:
        """Lower a call; what reads and writes elements is not looked for among all functions."""
        called = self.typeof(expr.func.name)
        generate = GENERATORS.get(called.typing_key) if isinstance(called, types.Function) else None
        if generate is None:
            return super().lower_call(resty, expr)
        signature = self.fndesc.calltypes[expr]
        operands = self._operands(expr.args, signature)
        result = generate(self.context, self.builder, signature, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def _operands(self, variables: Sequence[Any], signature: Any) -> list[Any]:
        """Return the values of variables, as the types that a signature asks for."""
        return [
            self.context.cast(self.builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip(variables, signature.args, strict=True)
        ]


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanLowering(NativeLowering):
    """Lower with the class above."""

    _name = "ensue_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that lowers."""
        return LeanLower
