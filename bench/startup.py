"""From starting Python to the answer."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from bench.lab import Lab
from bench.processes import ROOT, FailedError
from bench.tables import Column, Group, Row, Target, at_most

_EVENTS = '[{"type": name} for name in "SELL BUY BUY SELL".split()]'
_COUNT = f'import ensue; print(ensue.run("SELECT * FROM S WHERE SELL ; BUY", {_EVENTS}).count)'
_ARROW = _COUNT.replace(".count", ".to_arrow().num_rows")

# pandas is none of Ensue's requirements, but pyarrow imports it with its first array when it is
# installed, as it is here.
_PLAIN = """
import sys
class Hidden:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, Hidden())
"""

_ROWS = """
import resource
import ensue
rows = [
    {"type": kind, "v": value, "t": time}
    for time, (kind, value) in enumerate(zip("ABABBACBAB", (1, 1, 2, 2, 1, 3, 3, 3, 2, 3)))
]
"""
_FIRST = {
    "a pattern": "SELECT * FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS",
    "a strategy": "SELECT NEXT * FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS",
    "a condition with =": "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v = b.v WITHIN 9 EVENTS",
    "a condition with <": "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 9 EVENTS",
    "two conditions": "SELECT * FROM S WHERE A AS a ; B AS b ; C AS c "
    "FILTER a.v = b.v AND b.v < c.v WITHIN 9 EVENTS",
    "a condition with !=": "SELECT * FROM S WHERE A AS a ; B AS b FILTER a.v != b.v "
    "WITHIN 9 EVENTS",
    "a condition on a difference": "SELECT * FROM S WHERE A AS a ; B AS b "
    "FILTER b.v - a.v > 1 WITHIN 9 EVENTS",
    "a step between two that are equal": "SELECT * FROM S WHERE A AS a ; B AS b ; A AS c "
    "FILTER a.v = c.v WITHIN 9 EVENTS",
    "a step between two that are ordered": "SELECT * FROM S WHERE A AS a ; B AS b ; C AS c "
    "FILTER a.v < c.v WITHIN 9 EVENTS",
    "a computed column over a condition": "SELECT *, b.v - a.v AS d FROM S "
    "WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 9 EVENTS",
    "LAST over a condition": "SELECT LAST * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v "
    "WITHIN 9 EVENTS",
    "FIRST over a condition": "SELECT FIRST * FROM S WHERE A AS a ; B AS b FILTER a.v < b.v "
    "WITHIN 9 EVENTS",
    "MAX over a condition": "SELECT MAX * FROM S WHERE A AS a ; B+ AS b FILTER a.v = b.v "
    "WITHIN 9 EVENTS",
    "UNLESS over a condition": "SELECT * FROM S WHERE (A AS a ; C AS c) "
    "UNLESS ((B AS b ; A AS d) FILTER b.v = d.v) WITHIN 9 EVENTS",
    "AGGREGATE": "SELECT * FROM S WHERE ((A AS a ; B+ AS b) AGGREGATE Y[s = sum(b.v)]) "
    "FILTER Y[s < 6] WITHIN 9 EVENTS",
    "count(*)": "SELECT count(*), sum(b.v) AS s FROM S WHERE A AS a ; B AS b WITHIN 9 EVENTS",
    "count(*) over a condition": "SELECT count(*), sum(b.v) AS s FROM S "
    "WHERE A AS a ; B AS b FILTER a.v = b.v WITHIN 9 EVENTS",
    "count(*) over a condition with <": "SELECT count(*), sum(b.v) AS s FROM S "
    "WHERE A AS a ; B AS b FILTER a.v < b.v WITHIN 9 EVENTS",
    "EVERY": "SELECT count(*) FROM S WHERE A AS a ; B AS b WITHIN 9 [t] EVERY 2 SECONDS",
}
"""The kinds of queries by the kernels that they need."""

_FIRST_EVER = "the first query ever: "

_MOST_CPU = 8.0

_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""As where Ensue is installed: compiled to bytecode once, like everything that pip installs."""

_COLD, _WARM = "the first query ever, kernels compiled", "a small query, .to_arrow()"
_BESIDE_PANDAS = "the same where pandas is installed, which pyarrow then imports"


def _seconds(script: str, environment: Mapping[str, str], timeout: float) -> float:
    """Return how long it takes until a script has printed its answer."""
    before = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - before
        process.wait(timeout)
    if process.returncode:
        raise FailedError(f"exit code {process.returncode}")
    return seconds


def _first(text: str, lab: Lab) -> float:
    """Return the CPU seconds that a process needs for a query when nothing is compiled yet.

    Not by the clock: a machine that does other things too would be measured with it.
    """
    script = (
        f"{_PLAIN}{_ROWS}"
        f"found = ensue.run({text!r}, rows, time='t', time_unit='s')\n"
        "found.count, found.to_arrow()\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime)\n"
    )
    with tempfile.TemporaryDirectory(prefix="ensue-bench-") as folder:
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            env={**os.environ, **_BYTECODE, "ENSUE_CACHE_DIR": folder},
            cwd=ROOT,
            timeout=lab.timeout,
        )
    if done.returncode:
        raise FailedError(f"exit code {done.returncode}")
    return float(done.stdout)


def _measure(lab: Lab) -> list[Row]:
    often = 3 if lab.quick else 7
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ensue-bench-") as folder:
        _seconds(_COUNT, _BYTECODE, lab.timeout)
        own = {**_BYTECODE, "ENSUE_CACHE_DIR": folder}
        for name, script, environment, times in (
            ("Python alone", "print()", {}, often),
            ("import numpy, pyarrow, numba", "import numpy, pyarrow, numba; print()", {}, often),
            ("import ensue", "import ensue; print()", _BYTECODE, often),
            (_COLD, _PLAIN + _ARROW, own, 1),
            ("a small query, .count", _PLAIN + _COUNT, own, often),
            (_WARM, _PLAIN + _ARROW, own, often),
            (_BESIDE_PANDAS, _ARROW, own, often),
        ):
            lab.say(name)
            try:
                seconds = min(_seconds(script, environment, lab.timeout) for _ in range(times))
            except FailedError as error:
                rows.append({"what": name, "failed": str(error)})
            else:
                rows.append({"what": name, "seconds": seconds})
    for name, text in _FIRST.items():
        what = _FIRST_EVER + name
        lab.say(what)
        try:
            rows.append({"what": what, "cpu": min(_first(text, lab) for _ in range(3))})
        except FailedError as error:
            rows.append({"what": what, "failed": str(error)})
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    reached = {row["what"]: row.get("seconds") for row in rows}
    return [
        at_most(_COLD, 10.0, reached.get(_COLD), "seconds", ""),
        *(
            at_most(f"{row['what']}, CPU", _MOST_CPU, row.get("cpu"), "seconds", "")
            for row in rows
            if row["what"].startswith(_FIRST_EVER)
        ),
        at_most(_WARM + ", any later process", 1.2, reached.get(_WARM), "seconds", ""),
        at_most(_BESIDE_PANDAS, 1.2, reached.get(_BESIDE_PANDAS), "seconds", ""),
    ]


GROUP = Group(
    "startup",
    "From starting Python to the answer",
    (
        Column("what", "what", "text"),
        Column("seconds", "time", "seconds"),
        Column("cpu", "CPU", "seconds"),
    ),
    _measure,
    _targets,
)
