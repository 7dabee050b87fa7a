"""Compiled kernels travel with the job, so that the executors need not compile them again.

The driver sends what its own cache has, less than a megabyte, by Spark's distribution of files: an
executor fetches them with its first task. Its workers use them where they fit, that is where their
own cache would have the same name (kernels/compile/cache.py). Where not, they compile, as they
would have, and say so in their log and, but over Spark Connect, in that of the driver.
"""

from __future__ import annotations

import hashlib
import logging
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark import AccumulatorParam, SparkFiles, TaskContext
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from ensue.errors import CeqlWarning, warn
from ensue.spark.classic import context_of

_LOG = logging.getLogger("ensue.spark")

_ROWS = 10_000
"""More than there are cores."""

_Notices = frozenset[str]


class _Notice(AccumulatorParam[_Notices]):
    """Brings sentences of the workers to the driver, which logs each of them once."""

    def zero(self, value: _Notices) -> _Notices:
        """Return that nothing was said."""
        return frozenset()

    def addInPlace(self, value1: _Notices, value2: _Notices) -> _Notices:  # noqa: N802
        """Add what was said."""
        if TaskContext.get() is None:
            for each in sorted(value2 - value1):
                _LOG.warning(each)
        return value1 | value2


@dataclass(frozen=True)
class Shipped:
    """Kernels that were sent to the executors."""

    file: str
    notices: Accumulator[_Notices] | None
    """Where workers say what the driver should know; None over Spark Connect."""

    def adopt(self) -> str | None:
        """Take the kernels over, in a worker; return why not if they do not fit."""
        if self.file in _adopted:
            return _adopted[self.file]
        # Compiled code is looked for at its first use: whoever reads queries only loads no Numba.
        from ensue.kernels.compile import cache as kept

        path = Path(SparkFiles.get(self.file))
        missing = None if path.is_file() else f"Spark has not brought {path}"
        problem = _adopted[self.file] = missing or kept.unpack(path)
        if problem is not None:
            text = (
                f"the kernels of the driver do not fit on {socket.gethostname()}, which compiles "
                f"its own, some seconds for each kind of query ({problem})"
            )
            _LOG.warning(text)
            if self.notices is not None:
                self.notices.add(frozenset({text}))
        return problem


_adopted: dict[str, str | None] = {}
"""By file: why the kernels in it do not fit; None where they do."""

_shipped: WeakKeyDictionary[SparkSession, dict[str, Shipped]] = WeakKeyDictionary()


def ship(spark: SparkSession) -> Shipped | None:
    """Send the kernels that are compiled here; None where there is none, or no need.

    Local Spark has the same cache. A session is sent the same kernels once.
    """
    context = context_of(spark)
    if context is not None and _is_here(context.master):
        return None
    from ensue.kernels.compile import cache as kept

    packed = kept.pack()
    if packed is None:
        return None
    file = f"ensue-kernels-{hashlib.sha256(packed).hexdigest()[:16]}.zip"
    known = _shipped.setdefault(spark, {})
    if file not in known:
        path = Path(_outbox().name, file)
        path.write_bytes(packed)
        known[file] = _sent(spark, path)
    return known[file]


@cache
def _outbox() -> TemporaryDirectory[str]:
    """Return a folder that lasts as long as this process: executors ask for files at any time."""
    return TemporaryDirectory(prefix="ensue-kernels-")


def _sent(spark: SparkSession, path: Path) -> Shipped:
    context = context_of(spark)
    if context is None:
        spark.addArtifacts(str(path), file=True)
        return Shipped(path.name, None)
    context.addFile(str(path))
    nothing: _Notices = frozenset()
    return Shipped(path.name, context.accumulator(nothing, _Notice()))


def _is_here(master: str | None) -> bool:
    """Tell whether the executors of a master are the driver's own process.

    >>> _is_here("local[2]"), _is_here("local-cluster[2,1,1024]"), _is_here("yarn")
    (True, False, False)
    """
    return master is not None and master.partition("[")[0] == "local"


def warm(spark: SparkSession) -> None:
    """Compile all kernels here, once, and bring them to the executors of a session.

    The kernels of every later job travel with it anyway, as far as they are compiled here; after
    this they all are, the executors have them, and their Python workers run. A warning names the
    executors that they do not fit and that compile their own. On local Spark this only compiles
    and starts the workers.
    """
    from ensue.engine import warming

    warming.warm()
    start_workers(spark)


def start_workers(spark: SparkSession) -> None:
    """Start Python workers, one a core, and have them load what every query needs."""
    shipped = ship(spark)

    def load(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark ends a worker that has not read all of its rows.
        for _ in batches:
            pass
        from ensue.engine import warming

        problem = None if shipped is None else shipped.adopt()
        warming.take(warming.STEPS[0])
        told: dict[str, list[Any]] = {"host": [socket.gethostname()], "problem": [problem]}
        yield pa.RecordBatch.from_pydict(told, schema=pa.schema(dict.fromkeys(told, pa.string())))

    # By default as many partitions as there are cores.
    rows = spark.range(_ROWS).mapInArrow(load, "host string, problem string").collect()
    for host, problem in sorted({(row["host"], row["problem"]) for row in rows if row["problem"]}):
        warn(f"{host} compiles its own kernels: {problem}", CeqlWarning)
