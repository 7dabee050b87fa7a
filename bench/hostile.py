"""Texts that nobody writes by accident: how long it takes to refuse or answer them."""

from __future__ import annotations

import random
import time
import warnings
from typing import Any

from bench.lab import Lab
from bench.processes import FailedError
from bench.tables import Column, Group, Row

_MANY = 10_000


def texts() -> dict[str, str]:
    """Return the texts by name."""
    noise = random.Random(0)
    begin = "SELECT * FROM S WHERE "
    garbage = "".join(chr(noise.randrange(32, 127)) for _ in range(10**6))
    return {
        "1 MB of random characters": garbage,
        "250 kB of random characters": garbage[: 10**6 // 4],
        "1 MB of words": " ".join(["SELECT"] * (10**6 // 7)),
        "250 kB of words": " ".join(["SELECT"] * (10**6 // 28)),
        "250 kB of patterns": begin + " ; ".join(["A AS a"] * (10**6 // 36)),
        "1 MB of blanks": " " * 10**6,
        "a string of 1 MB that never ends": begin + "A FILTER A[x = '" + "y" * 10**6,
        "10,000 parentheses": begin + "(" * _MANY + "A" + ")" * _MANY,
        "10,000 parentheses, never closed": begin + "(" * _MANY,
        "10,000 pluses": begin + "A" + "+" * _MANY,
        "10,000 times NOT in a filter": begin + "A FILTER A[" + "NOT " * _MANY + "x = 1]",
        "a sequence of 10,000": begin + " ; ".join(["A"] * _MANY),
        "an OR of 10,000 types": begin + " OR ".join(f"A{i}" for i in range(_MANY)),
        "10,000 additions": begin + "A FILTER A[x = " + " + ".join(["1"] * _MANY) + "]",
        "10,000 filters": begin + "A AS a FILTER " + " AND ".join(["a[x > 1]"] * _MANY),
        "a list of 15,000 numbers": begin
        + f"A FILTER A[x IN ({', '.join(map(str, range(15_000)))})]",
        "a number of 100,000 digits": begin + "A WITHIN " + "9" * 10**5 + " EVENTS",
        "A{1000000}": begin + "A{1000000}",
        "20 times {10} inside each other": begin + "(" * 20 + "A" + "){10}" * 20,
        "20 ORs of 3, in sequence, iterated": begin
        + " ; ".join(["((A OR B) ; ANY OR A+)+"] * 20)
        + " WITHIN 100 EVENTS",
    }


def answer(name: str) -> dict[str, Any]:
    """Compile a text and, if that succeeds, run it on a few events."""
    import ensue

    events = [{"type": each, "x": 1} for each in "ABABABABABAB"]
    text = texts()[name]
    ensue.run("SELECT * FROM S WHERE A ; B", events)
    before = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = f"{ensue.compile(text).run(events).count} matches"
        except ensue.EnsueError as error:
            code = getattr(error, "code", None)
            found = f"{type(error).__name__} {code or ''}".rstrip()
    return {"answer": found, "seconds": time.perf_counter() - before}


def _measure(lab: Lab) -> list[Row]:
    rows = []
    for name, text in texts().items():
        lab.say(name)
        try:
            rows.append({"text": name, "size": len(text), **lab.call(answer, name=name)})
        except FailedError as error:
            rows.append({"text": name, "size": len(text), "answer": f"**{error}**"})
    return rows


GROUP = Group(
    "hostile",
    "Hostile texts: time to refuse or answer",
    (
        Column("text", "text", "text"),
        Column("size", "size", "bytes"),
        Column("answer", "answer", "text"),
        Column("seconds", "time", "seconds"),
    ),
    _measure,
)
