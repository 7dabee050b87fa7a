"""What mutations have in common: where they are registered, and how kernels are mutated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

Patch = pytest.MonkeyPatch
Mutation = Callable[[Patch], None]

MUTATIONS: dict[str, Mutation] = {}


def mutation(apply: Mutation) -> Mutation:
    """Have a mutation tried."""
    MUTATIONS[apply.__name__] = apply
    return apply


def noticed_by(module: str) -> dict[str, Any]:
    """Let a module mutate kernels in a process without Numba; return what it notices of each."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    noticed: dict[str, Any] = json.loads(run.stdout)
    return noticed
