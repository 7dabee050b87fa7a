"""Steps that all configurations of a state take alike: they look at no register and keep all."""

from __future__ import annotations

from ensue.automata.compiled import Compiled
from ensue.automata.determine import START
from ensue.automata.explore import Lookahead
from ensue.automata.registers import RegisterPlan

MOST_TARGETS = 3
"""To so many states lazy steps may lead where search trees know what they owe."""

Steps = frozenset[tuple[int, int, int]]
"""A state, the bits of a label, and the target."""


def common_steps(compiled: Compiled, ahead: Lookahead) -> Steps:
    """Return the steps between states with registers that compare none and change none.

    They complete nothing. Where the state also waits, the time of such a step need not follow the
    number of configurations (kernels/match/lazy.py). Where conditions compare by order there are
    none, unless all that follows such steps finds configurations by their contents, or moves ranges
    of them as one; a second such step after the first (kernels/match/due.py) is none of that.
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
    if set(plan.compared().values()) <= {"="}:
        return frozenset(found)
    targets = {target for _, _, target in found}
    filled_anywhere = set().union(*filled)
    asked = [
        (label, ahead.bits[target] if target >= 0 else 0)
        for state in targets
        for label, final, target in ahead.steps_from[state]
        if (label, target) != (0, state) and (state, label, target) not in found
    ]
    if (
        len(targets) > MOST_TARGETS
        or targets & {state for state, _, _ in found}
        or not all(_finds_or_merges(plan, filled_anywhere, *each) for each in asked)
    ):
        return frozenset()
    return frozenset(found)


def _finds_or_merges(plan: RegisterPlan, filled: set[int], label: int, future: int) -> bool:
    """Tell whether a step looks configurations up by one content, or moves a range of them as one.

    `filled` are the registers that ever hold something.
    """
    looked = [guard for guard in plan.guards(label) if guard.register in filled]
    registers = {guard.register for guard in looked}
    equal = {guard.register for guard in looked if guard.sign == "="}
    if equal == registers and len(equal) == 1:
        return True
    acts = plan.actions(label, future)
    forgets = all(acts[register][0] in ("clear", "put") for register in filled)
    holes = sum(guard.sign == "!=" for guard in looked)
    pair = len(registers) == 2 and len(equal) == 1
    pair = pair and all(g.sign == "=" or g.register not in equal for g in looked)
    return forgets and holes <= 1 and (pair or (len(registers) <= 1 and not equal))


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
