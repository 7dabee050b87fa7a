"""How the strategy of SELECT chooses among matches, in words."""

from __future__ import annotations

from ensue.logic.build import choice_of
from ensue.options import DEFAULT_LIMITS
from ensue.plan.physical import PhysicalPlan

_ON_GRAPH = {
    "NEXT": (
        "chosen on the match graph when an event completes something: the earliest start inside "
        "the window, then the earliest events. What is not chosen is not listed"
    ),
    "LAST": (
        "chosen on the match graph when an event completes something, from the last event back. "
        "What is not chosen is not listed"
    ),
    "FIRST": (
        "chosen on the match graph when an event completes something, for each start that has not "
        "completed a match before. What is not chosen is not listed"
    ),
}

CHOSEN = "Only the chosen matches are counted, when an event completes them; none is listed."


def choice_text(plan: PhysicalPlan) -> str:
    """Tell how the strategy of SELECT chooses; empty: it keeps all matches."""
    choice = choice_of(plan.bound)
    if choice is None:
        return ""
    if plan.choice is not None:
        return f"{choice}:  {_ON_GRAPH[choice]}; the time does not follow the number of matches"
    if plan.residual is None or plan.residual.choice is None:
        return f"{choice}:  nothing to choose, since all matches bind as many events"
    return (
        f"{choice}:  chosen among the listed matches of each completing event; where one event "
        f"completes more than {DEFAULT_LIMITS.matches:,}, the query stops (the option max_matches "
        "raises that budget)"
    )
