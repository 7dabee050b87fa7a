"""Python processes with a Spark of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a Spark of a few seconds: its JVM had better compile little."""
    quick = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    return {**os.environ, **quick, **more}


def answer(*arguments: str, folder: Path, **more: str) -> Any:
    """Run Python in a folder, with more in its environment; return the JSON it prints at last."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=folder,
        env=environment(**more),
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def free_port() -> int:
    """Return a port where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
