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


def _measure(lab: Lab) -> list[Row]:
    often = 3 if lab.quick else 7
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ensue-bench-") as folder:
        # As where Ensue is installed: compiled to bytecode once, like everything that pip installs.
        bytecode = {"PYTHONDONTWRITEBYTECODE": ""}
        _seconds(_COUNT, bytecode, lab.timeout)
        own = {**bytecode, "ENSUE_CACHE_DIR": folder}
        for name, script, environment, times in (
            ("Python alone", "print()", {}, often),
            ("import numpy, pyarrow, numba", "import numpy, pyarrow, numba; print()", {}, often),
            ("import ensue", "import ensue; print()", bytecode, often),
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
    return rows


def _targets(rows: Sequence[Row]) -> list[Target]:
    reached = {row["what"]: row.get("seconds") for row in rows}
    return [
        at_most(_COLD, 10.0, reached.get(_COLD), "seconds", ""),
        at_most(_WARM + ", any later process", 1.2, reached.get(_WARM), "seconds", ""),
        at_most(_BESIDE_PANDAS, 1.2, reached.get(_BESIDE_PANDAS), "seconds", ""),
    ]


GROUP = Group(
    "startup",
    "From starting Python to the answer",
    (Column("what", "what", "text"), Column("seconds", "time", "seconds")),
    _measure,
    _targets,
)
