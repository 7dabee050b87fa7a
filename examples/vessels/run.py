"""Find vessels that meet or go dark in generated positions: python -m examples.vessels.run."""

from __future__ import annotations

import ensue
from examples.story import main
from examples.vessels.data import positions


def describe(rule: str, match: ensue.Match) -> str:
    """Say in a line what was found."""
    if rule == "went_dark":
        return f"{match.partition['vessel']}, last seen at {match.end_time:%d %H:%M}"
    pair = (match.events(each)[0]["vessel"] for each in ("one", "other"))
    return " and ".join(pair) + f" at {match.end_time:%d %H:%M}"


if __name__ == "__main__":
    main(__file__, positions, describe)
