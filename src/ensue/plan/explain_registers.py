"""The cost of conditions that registers decide, computed from all steps of the automaton."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensue.automata.common_steps import Steps, common_steps, filled_registers
from ensue.automata.compiled import Compiled
from ensue.automata.determine import START, Determined
from ensue.automata.explore import Lookahead, look_ahead

HASH = "hash index; an event finds its partners in a time that does not grow with the window"
TREE = (
    "search tree; an event visits the different values that it passes; few, or many at a time, are "
    "scanned"
)
RANGE = (
    "search tree; all values that an event passes are found together, in a time that grows with "
    "the logarithm of their number"
)
SHARED = "; a step that does not compare it is taken for all remembered values at once"
CARRIED = (
    "; but a step that does not compare it is taken with every remembered value, one by one: time "
    "and memory grow with the different values in the window"
)


@dataclass(slots=True)
class _Uses:
    """How steps use registers."""

    one_by_one: set[int] = field(default_factory=set)
    """Compared by their order by a step that remembers something of each value that it passes."""
    carried: set[int] = field(default_factory=set)
    """Kept by a step that binds an event and compares no register."""
    shared: set[int] = field(default_factory=set)
    """The same where that step is taken for all values at once."""


def costs(compiled: Compiled, *, chooses: bool) -> dict[str, str]:
    """Return, by the text of each condition that registers decide, how it is found.

    `chooses`: a strategy is decided on the match graph, which wants each value by itself.
    """
    plan = compiled.plan
    if not plan.instances:
        return {}
    ahead = look_ahead(compiled, Determined(compiled))
    uses = None
    if ahead is not None:
        lazy = frozenset() if chooses else common_steps(compiled, ahead)
        uses = _uses(compiled, ahead, lazy)
    found: dict[str, str] = {}
    for instance in plan.instances:
        signs = {sign for watch in instance.watches for _, sign in watch.compare}
        way = HASH
        if signs != {"="}:
            single = chooses or uses is None or instance.registers & uses.one_by_one
            way = TREE if single else RANGE
        if uses is not None and instance.registers & uses.carried:
            way += CARRIED
        elif uses is not None and instance.registers & uses.shared:
            way += SHARED
        found[instance.text] = way
    return found


def _uses(compiled: Compiled, ahead: Lookahead, lazy: Steps) -> _Uses:
    plan, uses = compiled.plan, _Uses()
    filled = filled_registers(compiled, ahead)
    for state, steps in enumerate(ahead.steps_from):
        for label, _, target in steps:
            if not label or state == START:
                continue
            acts = plan.actions(label, ahead.bits[target] if target >= 0 else 0)
            kept = {r for r in filled[state] if acts[r][0] not in ("clear", "put")}
            compared = {
                guard.register: guard.sign
                for guard in plan.guards(label)
                if guard.register is not None and guard.register in filled[state]
            }
            ordered = {register for register, sign in compared.items() if sign != "="}
            if target >= 0 and kept and not compared:
                waits = (0, False, state) in steps
                shared = waits and (state, label, target) in lazy
                (uses.shared if shared else uses.carried).update(kept)
            if (target >= 0 and kept) or len(ordered) > 1 or len(compared) > len(ordered) + 1:
                uses.one_by_one |= ordered
    return uses
