"""Make the pictures of the documentation: `make pictures` writes them next to this file."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import ensue
from ensue.drawing.svg import Picture

START = datetime(2026, 1, 5, 9, 30)
TRADES = (
    "SELL 26.0|QUOTE 0|BUY 26.4|QUOTE 0|BUY 27.1|SELL 25.5|BUY 27.9|QUOTE 0|SELL 28.4|BUY 24.9|"
    "SELL 26.2|QUOTE 0|BUY 26.9|SELL 29.0"
)
RISING = """
SELECT * FROM Trades
WHERE (SELL AS high ; (BUY AS rise)+ ; SELL AS top)
FILTER rise[increasing(price)] AND top.price > high.price + 2
WITHIN 1 MINUTE
"""


def trades() -> list[dict[str, Any]]:
    """Return a few trades, five seconds apart."""
    found = []
    for number, trade in enumerate(TRADES.split("|")):
        kind, price = trade.split()
        at = START + timedelta(seconds=5 * number)
        found.append({"type": kind, "price": float(price), "at": at})
    return found


def pictures() -> dict[str, Picture]:
    """Draw all pictures, by the names of their files."""
    query = ensue.compile(RISING)
    matches = query.run(trades(), time="at")
    longest = max(matches, key=lambda match: len(match.positions))
    choice = ensue.compile("SELECT * FROM S WHERE A AS a ; (B AS b)+ WITHIN 4 EVENTS")
    events = [{"type": kind} for kind in "AABCB"]
    return {
        "match.svg": longest.timeline(),
        "matches.svg": matches.timeline(8),
        "automaton.svg": query.automaton.to_svg(),
        "strategies.svg": choice.strategies(events).timeline(),
    }


def main() -> None:
    """Write the pictures."""
    for name, picture in pictures().items():
        picture.save(Path(__file__).with_name(name))


if __name__ == "__main__":
    main()
