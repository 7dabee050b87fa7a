"""Find machines that overheat and sensors that are silent: python -m examples.factory.run."""

from __future__ import annotations

import ensue
from examples.factory.data import readings
from examples.story import main


def describe(rule: str, match: ensue.Match) -> str:
    """Say in a line what was found."""
    found = f"{match.partition['machine']} at {match.end_time:%H:%M:%S}"
    return found + (f", {match.computed()[0]['peak']} degrees" if rule == "overheating" else "")


if __name__ == "__main__":
    main(__file__, readings, describe)
