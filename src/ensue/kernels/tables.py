"""The cells of a determinised machine as arrays, worked out as events ask for them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensue.automata.common_steps import Steps, common_steps
from ensue.automata.determine import START, Determined
from ensue.automata.explore import Lookahead, look_ahead
from ensue.automata.registers import Guard, RegisterPlan
from ensue.kernels.layout import (
    AT_LEAST,
    AT_MOST,
    CLEAR,
    DEAD,
    DIFFERENT,
    EQUAL,
    KEEP,
    LESS,
    MORE,
    NIL,
    PUT,
    PUT_LEAST,
    PUT_MOST,
    PUT_SAME,
    STAY,
    UNKNOWN,
    Tables,
)
from ensue.kernels.memory import doubled

_SMALL_ALPHABET = 64
"""Up to so many symbols, a state's whole row is worked out when it is first met."""

_LAZY = True
"""Whether steps that all configurations take alike are taken for all of them at once."""

_SIGNS = {"=": EQUAL, "!=": DIFFERENT, "<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST}
_ACTS = {
    "keep": KEEP,
    "clear": CLEAR,
    "put": PUT,
    "least": PUT_LEAST,
    "most": PUT_MOST,
    "same": PUT_SAME,
}


_GROWING = (
    "labels _numbers _rows _cells _starts _steps _guard_starts _guards _actions _access _clips "
    "_merges _lazy _indexed"
).split()
"""The fields of a table that change as cells are worked out."""


@dataclass(slots=True)
class Table:
    """The cells of a determinised machine, as the kernels read them."""

    determined: Determined
    merging: bool = True
    """Whether many configurations may move as one: the unions are trees then, and no lists."""
    labels: list[int] = field(default_factory=lambda: [0])
    """The bits of each label number; 0 is the empty label."""
    registers: list[int] = field(init=False)
    """Of the registers of the plan, those that are ever filled; the kernels know no others.

    Where none is, one that stays empty and is never compared: else the kernel that looks at guards
    would not be asked.
    """
    columns: frozenset[int] = field(init=False)
    """The columns of values that some step looks at."""
    indexes: list[int] = field(init=False)
    """Registers that some step compares."""
    ordered: list[bool] = field(init=False)
    """[index]: whether it is compared otherwise than for equality."""
    prefixes: list[int] = field(init=False)
    """[index]: the register by which a tree is sorted first, because a step compares it for
    equality and the other one otherwise; or NIL."""
    common: Steps = frozenset()
    """Steps that are taken for all configurations of a state at once, where it waits too."""
    lazy_targets: list[int] = field(default_factory=list)
    """The states that they lead to."""
    _numbers: dict[int, int] = field(default_factory=lambda: {0: 0})
    _rows: dict[tuple[tuple[int, bool, int, bool], ...], int] = field(default_factory=dict)
    _cells: np.ndarray = field(default_factory=lambda: np.full((8, 8), UNKNOWN, np.int32))
    _starts: list[int] = field(default_factory=lambda: [0])
    _steps: list[tuple[int, bool, int]] = field(default_factory=list)
    _guard_starts: list[int] = field(default_factory=lambda: [0])
    _guards: list[tuple[int, int, int]] = field(default_factory=list)
    _actions: list[list[tuple[int, int]]] = field(default_factory=list)
    _access: list[int] = field(default_factory=list)
    _clips: list[int] = field(default_factory=list)
    _merges: list[bool] = field(default_factory=list)
    _lazy: list[bool] = field(default_factory=list)
    _indexed: set[tuple[int, int]] = field(default_factory=set)
    _filled: frozenset[int] = field(init=False)
    _lookahead: Lookahead | None = field(init=False)
    _arrays: Tables | None = None
    _made_before: _GrowingArrays = field(default_factory=lambda: _GrowingArrays())

    def __post_init__(self) -> None:
        plan = self.determined.compiled.plan
        self.registers = list(range(plan.registers))
        self._filled = frozenset(self.registers)
        self.columns = frozenset(range(len(plan.columns)))
        self._lookahead = look_ahead(self.determined.compiled, self.determined)
        if self._lookahead is not None:
            self.determined.dead = self._lookahead.dead
            if plan.registers:
                self._leave_out(plan, self._lookahead)
        signs = plan.compared()
        self.indexes = [number for number, each in enumerate(self.registers) if each in signs]
        self.ordered = [signs[self.registers[number]] != "=" for number in self.indexes]
        self.prefixes = [NIL] * len(self.indexes)
        for first, then in sorted(self._pairs(plan)):
            self.prefixes.append(first)
            self.indexes.append(then)
            self.ordered.append(True)
        if _LAZY and self.merging and self._lookahead is not None:
            self.common = common_steps(self.determined.compiled, self._lookahead)
            self.lazy_targets = sorted({target for _, _, target in self.common})

    def copied(self) -> Table:
        """Return the same table, to be filled further by itself."""
        other = copy(self)
        other.determined = self.determined.copied()
        for name in _GROWING:
            setattr(other, name, getattr(self, name).copy())
        other._made_before = _GrowingArrays(self._made_before.known.copy())
        return other

    def expiring(self, *, partitioned: bool) -> tuple[tuple[int, int], ...]:
        """Return the registers of windows that all keys measure on one clock, and their columns."""
        return tuple(
            (self.registers.index(each.register), each.column)
            for each in self.determined.compiled.plan.windows
            if each.register in self.registers and (not partitioned or each.kind == "time")
        )

    def _leave_out(self, plan: RegisterPlan, ahead: Lookahead) -> None:
        """Leave out registers that are always empty, and columns that are never read."""
        acts = [plan.actions(label, future) for label, future in ahead.steps]
        filled = {
            register
            for some in acts
            for register, (act, _) in enumerate(some)
            if act not in ("keep", "clear")
        }
        self.registers = sorted(filled) or [0]
        self._filled = frozenset(filled)
        guards = [guard for label, _ in ahead.steps for guard in plan.guards(label)]
        looked = {each.column for each in guards if each.register in {None, *filled}}
        put = {some[register][1] for some in acts for register in filled}
        self.columns = frozenset(looked | put)

    def _pairs(self, plan: RegisterPlan) -> set[tuple[int, int]]:
        """Return the registers that some step compares together, one of them for equality."""
        if self._lookahead is None or not self.merging:
            return set()
        steps = [self._guards_of(plan, label) for label, _ in self._lookahead.steps]
        return {pair for guards in steps if (pair := _pair(guards)) is not None}

    def _guards_of(self, plan: RegisterPlan, bits: int) -> list[Guard]:
        """Return the guards of a step, with the registers as kernels number them."""
        own = {register: number for number, register in enumerate(self.registers)}
        return [
            guard if guard.register is None else guard._replace(register=own[guard.register])
            for guard in plan.guards(bits)
            if guard.register is None or guard.register in self._filled
        ]

    def fill(self, state: int, symbol: int, alphabet: list[int]) -> bool:
        """Work out a cell and, where symbols are few, the rest of its row.

        Returns whether configurations must be indexed anew.
        """
        self._arrays = None
        self._grow(len(alphabet))
        before = len(self._indexed)
        symbols = range(len(alphabet)) if len(alphabet) <= _SMALL_ALPHABET else [symbol]
        for each in symbols:
            if self._cells[state, each] == UNKNOWN:
                self._cells[state, each] = self._cell(state, alphabet[each])
                self._grow(len(alphabet))
        return len(self._indexed) > before

    def _cell(self, state: int, bits: int) -> int:
        steps = self.determined.step(state, bits)
        if not steps:
            return DEAD
        if state != START and len(steps) == 1 and steps[0] == (0, False, state):
            return STAY
        waits = (0, False, state) in steps
        row = tuple(
            (
                self.label_of(step.label),
                step.final,
                step.state,
                waits and not step.final and (state, step.label, step.state) in self.common,
            )
            for step in steps
        )
        known = self._rows.get(row)
        if known is None:
            known = self._rows[row] = len(self._rows)
            for each in row:
                self._add_step(*each)
            self._starts.append(len(self._steps))
        used = self._access[self._starts[known] : self._starts[known + 1]]
        self._indexed.update((state, index) for index in used if index != NIL)
        self._index_origins()
        return known

    def _index_origins(self) -> None:
        """Index the states that lazy steps lead from as those that they lead to."""
        before = -1
        while len(self._indexed) > before and self.common:
            before = len(self._indexed)
            self._indexed |= {
                (origin, index)
                for state, index in self._indexed
                for origin, _, target in self.common
                if target == state
            }

    def _add_step(self, label: int, final: bool, target: int, lazy: bool) -> None:
        self._steps.append((label, final, target))
        self._lazy.append(lazy)
        plan = self.determined.compiled.plan
        bits = self.labels[label]
        guards = self._guards_of(plan, bits)
        # The guard that an index answers comes first, best an equality: there the kernel looks
        # for its column.
        guards.sort(key=lambda guard: (guard.register is None, guard.sign != "="))
        self._guards += [
            (NIL if register is None else register, _SIGNS[sign], column)
            for register, sign, column in guards
        ]
        self._guard_starts.append(len(self._guards))
        lengths = [clip.length for clip in plan.clips if bits & clip.bit]
        self._clips.append(min(lengths, default=NIL))
        acts = plan.actions(bits, self._future(target)) if plan.registers else []
        kept = [acts[register] for register in self.registers]
        self._actions.append([(_ACTS[act], column) for act, column in kept])
        forgets = target == NIL or all(act in ("clear", "put") for act, _ in kept)
        self._add_access(guards, may_merge=self.merging and forgets and label != 0)

    def _add_access(self, guards: list[Guard], *, may_merge: bool) -> None:
        """Choose the index of a step, and whether it finds what moves as ranges of a tree."""
        looked = [each for each in guards if each.register is not None]
        several = len({each.register for each in looked}) > 1
        pair = _pair(looked) if may_merge and several else None
        if pair is not None:
            places = zip(self.prefixes, self.indexes, strict=True)
            access = next(at for at, place in enumerate(places) if place == pair)
        elif looked:
            assert looked[0].register is not None
            access = self.indexes.index(looked[0].register)
        else:
            access = NIL
        holes = sum(each.sign == "!=" for each in looked)
        ranges = pair is not None or not (several or any(each.sign == "=" for each in looked))
        self._access.append(access)
        self._merges.append(may_merge and ranges and holes <= 1)

    def label_of(self, bits: int) -> int:
        """Return the number of a label."""
        number = self._numbers.setdefault(bits, len(self.labels))
        if number == len(self.labels):
            self.labels.append(bits)
        return number

    def _grow(self, symbols: int) -> None:
        height, width = self._cells.shape
        if self.determined.size <= height and symbols <= width:
            return
        cells = np.full(
            (doubled(height, self.determined.size), doubled(width, symbols)), UNKNOWN, np.int32
        )
        cells[:height, :width] = self._cells
        self._cells = cells

    def arrays(self, symbols: int) -> Tables:
        """Return the arrays for the kernels; the same ones while nothing was filled in."""
        if self._arrays is None or symbols > self._cells.shape[1]:
            self._arrays = self._made(symbols)
        return self._arrays

    def _made(self, symbols: int) -> Tables:
        self._grow(symbols)
        cells = self._cells
        known = cells[1 : self.determined.size]
        made, registers = self._made_before, len(self.registers)
        steps = made.array("steps", self._steps, np.int32, 3)
        clips = made.array("clips", self._clips, np.int64)
        merges = made.array("merges", self._merges, np.bool_)
        lazy = made.array("lazy", self._lazy, np.bool_)
        if not self._steps:  # one that no row has: a kernel is given no empty arrays
            steps, clips = np.array([(0, 0, NIL)], np.int32), np.array([NIL], np.int64)
            merges = lazy = np.zeros(1, np.bool_)
        actions = made.array("actions", self._actions, np.int32, registers, 2)
        indexed = np.zeros((len(cells), len(self.indexes)), np.bool_)
        for state, index in self._indexed:
            indexed[state, index] = True
        targets = np.full(len(cells), NIL, np.int32)
        for number, state in enumerate(self.lazy_targets):
            if state < len(cells):
                targets[state] = number
        return Tables(
            cells,
            made.array("rows", self._starts, np.int32),
            np.ascontiguousarray(steps[:, 0]),
            steps[:, 1].astype(np.bool_),
            np.ascontiguousarray(steps[:, 2]),
            (cells[START] == DEAD) & (known == STAY).all(axis=0),
            made.array("guard rows", self._guard_starts, np.int32),
            made.array("guards", self._guards, np.int32, 3),
            actions,
            made.array("access", self._access, np.int32),
            np.array(self.indexes, np.int32),
            np.array(self.ordered, np.bool_),
            np.array(self.prefixes, np.int32),
            indexed,
            merges,
            lazy,
            targets,
            clips,
        )

    def _future(self, state: int) -> int | None:
        """Return the bits of labels that may come after a state; None: unknown."""
        if state == NIL:
            return 0
        ahead = self._lookahead
        return None if ahead is None or state >= len(ahead.bits) else ahead.bits[state]


def _pair(guards: list[Guard]) -> tuple[int, int] | None:
    """Return a register that is compared for equality and the only other one, if so it is."""
    looked = [each for each in guards if each.register is not None]
    equal = {each.register for each in looked if each.sign == "="}
    other = {each.register for each in looked if each.sign != "="}
    if len(equal) != 1 or len(other) != 1 or equal & other:
        return None
    (first,), (then,) = equal, other
    assert first is not None
    assert then is not None
    return first, then


@dataclass(slots=True)
class _GrowingArrays:
    """Lists that only grow as arrays, of which only what is new is converted."""

    known: dict[str, np.ndarray] = field(default_factory=dict)

    def array(self, name: str, values: list[Any], kind: type, *shape: int) -> np.ndarray:
        """Return a list as an array; `shape` is that of one of its elements."""
        known = self.known.get(name)
        if known is None:
            known = np.zeros((0, *shape), kind)
        if len(known) < len(values):
            new: np.ndarray = np.array(values[len(known) :], kind)
            new = new.reshape(len(values) - len(known), *shape)
            known = self.known[name] = np.concatenate([known, new])
        return known
