"""Lazy determinisation on symbols and labels, one cell of the table at a time.

A deterministic state is the set of machine states that are reachable by the same labels, so every
complex event has exactly one run and is reported once. A symbol is the set of predicates that hold
for an event, as bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ensue.automata.compiled import Compiled
from ensue.automata.machine import Holds, Moves, State
from ensue.errors import BudgetError
from ensue.messages import Message, Option

START = 0
"""The state of a run that starts at the current event."""

MOST_STATES = 10_000


class Step(NamedTuple):
    """A deterministic transition: label, whether a match ends, next state (-1: none)."""

    label: int
    final: bool
    state: int


Cell = tuple[Step, ...]


@dataclass(slots=True)
class Determined:
    """A deterministic automaton whose states are computed on demand.

    States are numbered in the order of discovery, which depends on the events: saved state refers
    to them by their contents.
    """

    compiled: Compiled
    most_states: int = MOST_STATES
    contents: list[frozenset[State]] = field(default_factory=lambda: [frozenset()])
    dead: frozenset[int] = frozenset()
    """States from which no match can be reached, once explore.py has found them."""
    _numbers: dict[frozenset[State], int] = field(default_factory=dict)
    _cells: dict[tuple[int, int], Cell] = field(default_factory=dict)

    def step(self, state: int, symbol: int) -> Cell:
        """Return the transitions of a state on a symbol, by ascending label."""
        known = self._cells.get((state, symbol))
        if known is None:
            known = self.trimmed(self.work_out(state, _holds(symbol)))
            self._cells[state, symbol] = known
        return known

    def copied(self) -> Determined:
        """Return the same automaton, as far as it is known, to be worked out further by itself."""
        return replace(
            self,
            contents=self.contents.copy(),
            _numbers=self._numbers.copy(),
            _cells=self._cells.copy(),
        )

    def trimmed(self, cell: Cell) -> Cell:
        """Drop transitions to dead states."""
        if not any(step.state in self.dead for step in cell):
            return cell
        cut = (s._replace(state=-1) if s.state in self.dead else s for s in cell)
        return tuple(step for step in cut if step.final or step.state >= 0)

    @property
    def size(self) -> int:
        """The number of states discovered, the start included."""
        return len(self.contents)

    def work_out(self, state: int, holds: Holds) -> Cell:
        """Compute the transitions of a state; `holds` is called for the predicates they need."""
        targets: dict[int, tuple[bool, set[State]]] = {}
        machine = self.compiled.machine
        sources: list[Moves]
        if state == START:
            sources = [machine.first(holds)]
        else:
            sources = [machine.next(each, holds) for each in self.contents[state]]
        for moves in sources:
            for label, final, after in moves:
                ends, reached = targets.setdefault(label, (False, set()))
                if after is not None:
                    reached.add(after)
                targets[label] = (ends or final, reached)
        return tuple(
            Step(label, ends, self._number(frozenset(reached)) if reached else -1)
            for label, (ends, reached) in sorted(targets.items())
            if ends or reached
        )

    def recall(self, content: frozenset[State]) -> int:
        """Return the number of a state by its content, as read from saved state."""
        return self._number(content)

    def _number(self, content: frozenset[State]) -> int:
        number = self._numbers.get(content)
        if number is None:
            number = len(self.contents)
            if number > self.most_states:
                raise BudgetError(
                    Message(
                        f"the pattern needs more than {self.most_states:,} deterministic states; "
                        "fewer half-selective filters, a smaller {n,m} or a PARTITION BY make it "
                        "smaller, and ",
                        Option("max_states"),
                        " raises the budget",
                    )
                )
            self._numbers[content] = number
            self.contents.append(content)
        return number


def _holds(symbol: int) -> Holds:
    return lambda predicate: bool(symbol >> predicate & 1)
