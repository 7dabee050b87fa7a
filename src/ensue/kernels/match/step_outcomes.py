"""What becomes of a configuration by a step, and where that is written down."""

from __future__ import annotations

from ensue.kernels.compile.jit import helper
from ensue.kernels.layout import Array, Tables
from ensue.kernels.match.evaluate import is_over
from ensue.kernels.match.layout import Moves, State
from ensue.kernels.match.registers import allowed

WAITS, MOVES, ENDS = range(3)
"""What becomes of a configuration: a guard forbids the step, it is taken, all runs are over."""


@helper
def outcome_of(
    tables: Tables,
    state: State,
    step: int,
    slot: int,
    values: Array,
    event: int,
    floor: int,
    edge: int,
) -> int:
    """Tell what becomes of a configuration by a step."""
    outcome = WAITS
    if allowed(tables, step, state.slots.registers, slot, values, event):
        over = is_over(state.graph, state.slots.start[slot], floor, edge)
        outcome = ENDS if over else MOVES
    return outcome


@helper
def note(moves: Moves, moving: int, ending: int, slot: int, step: int) -> None:
    """Write down a configuration both as one that moves and one that ends; one of it will count."""
    moves.slot[moving] = slot
    moves.step[moving] = step
    moves.dropped[ending] = slot
