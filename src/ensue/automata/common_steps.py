"""Steps that all configurations of a state take alike: they look at no register and keep all."""

from __future__ import annotations

from ensue.automata.compiled import Compiled
from ensue.automata.determine import START
from ensue.automata.explore import Lookahead

Steps = frozenset[tuple[int, int, int]]
"""A state, the bits of a label, and the target."""


def common_steps(compiled: Compiled, ahead: Lookahead) -> Steps:
    """Return the steps between states with registers that compare none and change none.

    They complete nothing. Where the state also waits, the time of such a step need not follow the
    number of configurations (kernels/match/lazy.py).
    """
    plan, filled = compiled.plan, filled_registers(compiled, ahead)
    found: set[tuple[int, int, int]] = set()
    for state, steps in enumerate(ahead.steps_from):
        for label, final, target in steps:
            if not label or final or target < 0 or state == START or not filled[state]:
                continue
            acts = plan.actions(label, ahead.bits[target])
            keeps = all(
                act == "keep" if register in filled[state] else act in ("keep", "clear")
                for register, (act, _) in enumerate(acts)
            )
            compares = any(guard.register in filled[state] for guard in plan.guards(label))
            if keeps and not compares:
                found.add((state, label, target))
    return frozenset(found)


def filled_registers(compiled: Compiled, ahead: Lookahead) -> list[set[int]]:
    """Return, by state, the registers that may hold something there."""
    filled: list[set[int]] = [set() for _ in ahead.steps_from]
    changed = True
    while changed:
        changed = False
        for state, steps in enumerate(ahead.steps_from):
            for label, _, target in steps:
                if target < 0:
                    continue
                acts = compiled.plan.actions(label, ahead.bits[target])
                after = {
                    register
                    for register, (act, _) in enumerate(acts)
                    if act != "clear" and (act != "keep" or register in filled[state])
                }
                changed = changed or not after <= filled[target]
                filled[target] |= after
    return filled
