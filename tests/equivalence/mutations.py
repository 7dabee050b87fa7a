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


class Registry(dict[str, Mutation]):
    """Mutations to be tried, by their names: a decorator of the functions that make them."""

    def __call__(self, apply: Mutation) -> Mutation:
        self[apply.__name__] = apply
        return apply


mutation = Registry()
"""Those of the engine, tried in test_mutations.py."""


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
