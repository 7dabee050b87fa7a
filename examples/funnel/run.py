"""Find purchases and baskets that are left in generated clicks: python -m examples.funnel.run."""

from __future__ import annotations

import ensue
from examples.funnel.data import clicks
from examples.story import main


def describe(_: str, match: ensue.Match) -> str:
    """Say in a line what was found."""
    price = match.events("cart")[0]["price"]
    return f"{match.partition['visitor']}, {price:.2f} at {match.end_time:%H:%M:%S}"


if __name__ == "__main__":
    main(__file__, clicks, describe)
