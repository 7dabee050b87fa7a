"""Find stolen cards in generated payments: python -m examples.fraud.run."""

from __future__ import annotations

import ensue
from examples.fraud.data import payments
from examples.story import main


def describe(rule: str, match: ensue.Match) -> str:
    """Say in a line what was found."""
    last = match.events("hit" if rule == "tried_card" else "second")[0]
    return f"{match.partition['card']} in {last['country']} at {match.end_time:%H:%M:%S}"


if __name__ == "__main__":
    main(__file__, payments, describe)
