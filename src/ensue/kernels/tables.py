"""The cells of a determinised machine as arrays, worked out as events ask for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ensue.automata.determine import START, Determined
from ensue.automata.explore import Lookahead, look_ahead
from ensue.automata.registers import RegisterPlan
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

_SIGNS = {"=": EQUAL, "!=": DIFFERENT, "<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST}
_ACTS = {
    "keep": KEEP,
    "clear": CLEAR,
    "put": PUT,
    "least": PUT_LEAST,
    "most": PUT_MOST,
    "same": PUT_SAME,
}


@dataclass(slots=True)
class Table:
    """The cells of a determinised machine, as the kernels read them."""

    determined: Determined
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
    _numbers: dict[int, int] = field(default_factory=lambda: {0: 0})
    _rows: dict[tuple[tuple[int, bool, int], ...], int] = field(default_factory=dict)
    _cells: np.ndarray = field(default_factory=lambda: np.full((8, 8), UNKNOWN, np.int32))
    _starts: list[int] = field(default_factory=lambda: [0])
    _steps: list[tuple[int, bool, int]] = field(default_factory=list)
    _guard_starts: list[int] = field(default_factory=lambda: [0])
    _guards: list[tuple[int, int, int]] = field(default_factory=list)
    _actions: list[list[tuple[int, int]]] = field(default_factory=list)
    _access: list[int] = field(default_factory=list)
    _indexed: set[tuple[int, int]] = field(default_factory=set)
    _filled: frozenset[int] = field(init=False)
    _lookahead: Lookahead | None = field(init=False)
    _arrays: Tables | None = None

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
        row = tuple((self.label_of(step.label), step.final, step.state) for step in steps)
        known = self._rows.get(row)
        if known is None:
            known = self._rows[row] = len(self._rows)
            for step in row:
                self._add_step(*step)
            self._starts.append(len(self._steps))
        used = self._access[self._starts[known] : self._starts[known + 1]]
        self._indexed.update((state, index) for index in used if index != NIL)
        return known

    def _add_step(self, label: int, final: bool, target: int) -> None:
        self._steps.append((label, final, target))
        plan = self.determined.compiled.plan
        bits = self.labels[label]
        own = {register: number for number, register in enumerate(self.registers)}
        guards = [
            guard if guard.register is None else guard._replace(register=own[guard.register])
            for guard in plan.guards(bits)
            if guard.register is None or guard.register in self._filled
        ]
        # The guard that an index answers comes first, best an equality: there the kernel looks
        # for its column.
        guards.sort(key=lambda guard: (guard.register is None, guard.sign != "="))
        self._guards += [
            (NIL if register is None else register, _SIGNS[sign], column)
            for register, sign, column in guards
        ]
        self._guard_starts.append(len(self._guards))
        access = NIL
        if guards and guards[0].register is not None:
            access = self.indexes.index(guards[0].register)
        self._access.append(access)
        acts = plan.actions(bits, self._future(target)) if plan.registers else []
        kept = [acts[register] for register in self.registers]
        self._actions.append([(_ACTS[act], column) for act, column in kept])

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
        steps = self._steps or [(0, False, NIL)]
        registers = len(self.registers)
        indexed = np.zeros((len(cells), len(self.indexes)), np.bool_)
        for state, index in self._indexed:
            indexed[state, index] = True
        return Tables(
            cells,
            np.array(self._starts, np.int32),
            np.array([label for label, _, _ in steps], np.int32),
            np.array([final for _, final, _ in steps], np.bool_),
            np.array([target for _, _, target in steps], np.int32),
            (cells[START] == DEAD) & (known == STAY).all(axis=0),
            np.array(self._guard_starts, np.int32),
            np.array(self._guards, np.int32).reshape(-1, 3),
            np.array(self._actions, np.int32).reshape(len(self._actions), registers, 2),
            np.array(self._access, np.int32),
            np.array(self.indexes, np.int32),
            np.array(self.ordered, np.bool_),
            indexed,
        )

    def _future(self, state: int) -> int | None:
        """Return the bits of labels that may come after a state; None: unknown."""
        if state == NIL:
            return 0
        ahead = self._lookahead
        return None if ahead is None or state >= len(ahead.bits) else ahead.bits[state]
