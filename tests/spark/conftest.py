"""One Spark for all tests of a process."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import ensue.spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores; a task that fails is tried once again.

    Java compiles quickly instead of well: no test asks the same long enough to win that back.
    Spark's handler of SIGINT ends jobs and raises; other tests of the process send that signal.
    """
    handler = signal.getsignal(signal.SIGINT)
    config = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = ensue.spark.session("local[2,2]", config=config)
        signal.signal(signal.SIGINT, handler)
        yield running
        running.stop()
