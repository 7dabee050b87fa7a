"""Whether Spark's workers can run Ensue, found out before a job fails deep in a stack.

Workers run a Python of their own: PYSPARK_PYTHON, or spark.pyspark.python, else the python3 of
their machine. Where that is not this very Python on this very machine, a job of one row looks,
once for each session.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ensue.errors import EnsueError
from ensue.spark.classic import context_of

_NEEDED = ("pyarrow", "numba", "pandas", "ensue")
_ELSEWHERE = "elsewhere"
_LOOKED: WeakKeyDictionary[SparkSession, str] = WeakKeyDictionary()
"""The Python of each session whose workers are known to do."""


class WorkerError(EnsueError, RuntimeError):
    """Spark's workers cannot run Ensue."""


def check_workers(spark: SparkSession) -> None:
    """Raise a WorkerError that says what to set where workers lack what Ensue needs."""
    python = _worker_python(spark)
    if python == sys.executable or _LOOKED.get(spark) == python:
        return
    try:
        row = spark.range(1).select(F.udf(_probe(_NEEDED), "string", useArrow=False)()).first()
    except Exception as error:
        # Spark has many classes for a job that failed, and no other way to tell these two apart.
        if "PYTHON_VERSION_MISMATCH" not in str(error) and "Cannot run program" not in str(error):
            raise
        told = "cannot be started" if "Cannot run program" in str(error) else "is another version"
        name = "the workers' Python" if python == _ELSEWHERE else python
        raise WorkerError(f"{name} {told}; {_remedy()}") from error
    assert row is not None
    if row[0]:
        raise WorkerError(f"Spark's workers run {row[0]}; {_remedy()}")
    _LOOKED[spark] = python


def _worker_python(spark: SparkSession) -> str:
    """Return the path of the workers' Python where they run on this machine."""
    context = context_of(spark)
    if context is None or not (context.master or "").startswith("local"):
        return _ELSEWHERE
    return shutil.which(context.pythonExec) or context.pythonExec


def _probe(needed: tuple[str, ...]) -> Callable[[], str | None]:
    """Return what looks for modules on a worker; it is shipped whole, without a word of Ensue."""

    def probe() -> str | None:
        import importlib.util
        import platform
        import sys

        for name in needed:
            if importlib.util.find_spec(name) is None:
                version = platform.python_version()
                return f"{sys.executable} (Python {version}), which has no module '{name}'"
        return None

    return probe


def _remedy() -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return (
        f"set PYSPARK_PYTHON or spark.pyspark.python, before the session starts, to a Python "
        f"{version} that has ensue[spark], on this machine {sys.executable}; on a cluster install "
        "it on every machine, or ship it by spark.archives (docs/spark.md, On a cluster)"
    )
