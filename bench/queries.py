"""The queries: those of [CORE]'s Appendices D and G, word for word, and a few more.

Appendix D asks about the names of the stock data of that paper, so the generator is asked for
the same ten names. Their prices lie around the levels of that day: MSFT within a tenth of 26.00,
ORCL of 11.00, AMAT of 18.80, so the bounds 26.0, 11.14 and 18.92 of Q2 and Q5 each let between
an eighth and a half of the events pass, depending on how far the prices have walked; of a thousand
trades four have Q7's volume of 4,000.
"""

from __future__ import annotations

NAMES = ("MSFT", "INTC", "CSCO", "AMAT", "ORCL", "DELL", "QQQ", "RIMM", "YHOO", "IPIX")
"""The symbols of the paper, the busiest first."""

LENGTHS = (3, 6, 12, 24)

WINDOW = 10_000
"""Milliseconds: the window of Appendix D."""

_TYPES = ("SELL", "BUY", "BUY")
_WANTED = "INTC RIMM QQQ IPIX AMAT CSCO YHOO DELL ORCL MSFT INTC RIMM".split()


def sequence(length: int, *, never: bool = False, window: int = WINDOW, more: str = "") -> str:
    """Return S3, S6, …, or with `never` the primed one that waits for a stock nobody trades.

    >>> print(sequence(3))
    SELECT * FROM S
    WHERE (SELL AS T1 ; BUY AS T2 ; BUY AS T3)
    FILTER T1[name = 'INTC'] AND T2[name = 'RIMM'] AND T3[name = 'QQQ']
    WITHIN 10000 [stock_time]
    """
    events = [f"{_TYPES[i % 3]} AS T{i + 1}" for i in range(length)]
    filters = [f"T{i + 1}[name = '{_WANTED[i % len(_WANTED)]}']" for i in range(length)]
    if never:
        events.append("BUY AS NE")
        filters.append("NE[name = 'NotExists']")
    lines = [
        "SELECT * FROM S",
        f"WHERE ({' ; '.join(events)})",
        f"FILTER {' AND '.join(filters)}",
        *([more] if more else []),
        f"WITHIN {window} [stock_time]",
    ]
    return "\n".join(lines)


_SEQUENCE = "(SELL AS msft ; BUY AS oracle ; BUY AS csco ; SELL AS amat)"
_EITHER = "(SELL AS msft ; (BUY OR SELL) AS oracle ; (BUY OR SELL) AS csco ; SELL AS amat)"
_NAMED = (
    "msft[name = 'MSFT'] AND oracle[name = 'ORCL'] AND csco[name = 'CSCO'] AND amat[name = 'AMAT']"
)
_PRICED = _NAMED + " AND msft[price > 26.0] AND oracle[price > 11.14] AND amat[price >= 18.92]"


def _operators(pattern: str, filters: str, partition: bool = False) -> str:
    lines = ["SELECT * FROM S", f"WHERE {pattern}", f"FILTER {filters}"]
    lines += ["PARTITION BY [volume]"] if partition else []
    lines += ["WITHIN 30000 [stock_time]"]
    lines += ["CONSUME BY ANY"] if partition else []
    return "\n".join(lines)


OPERATORS = {
    "Q1": _operators(_SEQUENCE, _NAMED),
    "Q2": _operators(_SEQUENCE, _PRICED),
    "Q3": _operators(_SEQUENCE, _NAMED, partition=True),
    "Q4": _operators(_EITHER, _NAMED),
    "Q5": _operators(_EITHER, _PRICED),
    "Q6": _operators(_EITHER, _NAMED, partition=True),
    "Q7": _operators(
        "(SELL AS msft ; (BUY OR SELL)+ AS qqq ; SELL AS amat)",
        "msft[name = 'MSFT'] AND qqq[name = 'QQQ'] AND qqq[volume = 4000] AND amat[name = 'AMAT']",
    ),
}
"""Q1 to Q7 of Appendix G."""


def unfiltered(window: int = WINDOW) -> str:
    """Return the query in which every event takes part in every way."""
    return f"SELECT * FROM S\nWHERE (SELL ; (BUY OR SELL)+ ; SELL)\nWITHIN {window} [stock_time]"


def by_account(*, never: bool, window: int = WINDOW) -> str:
    """Return a query with one state for each account: S3', or one in which every event moves."""
    if never:
        return sequence(3, never=True, window=window, more="PARTITION BY [account]")
    return (
        "SELECT * FROM S\n"
        "WHERE (SELL ; BUY ; SELL)\n"
        "PARTITION BY [account]\n"
        f"WITHIN {window} [stock_time]"
    )


def together(count: int) -> str:
    """Return ALL of sales of so many stocks, in any order.

    >>> print(together(2))
    SELECT * FROM S
    WHERE (SELL AS T1 ALL SELL AS T2)
    FILTER T1[name = 'MSFT'] AND T2[name = 'INTC']
    WITHIN 50 EVENTS
    """
    events = " ALL ".join(f"SELL AS T{number + 1}" for number in range(count))
    named = " AND ".join(f"T{i + 1}[name = '{NAMES[i]}']" for i in range(count))
    return f"SELECT * FROM S\nWHERE ({events})\nFILTER {named}\nWITHIN 50 EVENTS"
