"""Find break-ins in generated logs of servers: python -m examples.intrusion.run."""

from __future__ import annotations

import ensue
from examples.intrusion.data import logs
from examples.story import main


def describe(_: str, match: ensue.Match) -> str:
    """Say in a line what was found."""
    keys = ", ".join(str(each) for each in match.partition.values())
    return f"{keys} at {match.end_time:%H:%M:%S}"


if __name__ == "__main__":
    main(__file__, logs, describe)
