"""Mutations of the kernels that count, add up, aggregate and prune: each must be noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys


def test_mutations_of_totals_are_noticed() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.equivalence.mutated_totals"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    noticed = json.loads(run.stdout)
    assert noticed.pop("none") is None
    assert len(noticed) >= 17
    assert all(noticed.values()), noticed
