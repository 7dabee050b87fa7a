"""Find bluffs and rallies in a generated market: python -m examples.trades.run."""

from __future__ import annotations

import ensue
from examples.story import main
from examples.trades.data import market


def describe(rule: str, match: ensue.Match) -> str:
    """Say in a line what was found."""
    last, stock = match.end_time, match.partition["stock"]
    if rule == "rally":
        prices = match.computed()[0]
        return f"{stock} from {prices['low']} to {prices['high']} at {last:%H:%M:%S}"
    return f"{match.partition['trader']} in {stock} at {last:%H:%M:%S}"


if __name__ == "__main__":
    main(__file__, market, describe)
