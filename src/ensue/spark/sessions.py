"""A Spark session with defaults that suit one machine; any other session does as well."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from ensue.spark.java import cache_folder, java_home

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
# A shell has a level of its own, and says so when it is another.
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
"""


def session(
    master: str | None = None,
    *,
    name: str = "ensue",
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return the running session, or start one.

    Args:
        master: where to run; local[*] unless Spark's own configuration says otherwise.
        name: how the application calls itself.
        config: more settings, which win over those made here.
    """
    running = SparkSession.getActiveSession()
    if running is not None and master is None and not config:
        return running
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    # Workers would take the system's Python, which knows nothing of Ensue.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    chosen = master or os.environ.get("MASTER") or "local[*]"
    for key, value in {**_settings(chosen), **(config or {})}.items():
        builder = builder.config(key, value)
    return builder.master(chosen).getOrCreate()


def _settings(master: str) -> dict[str, str]:
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        # Any other bound is compared with the size of the batch after every row, which takes a
        # quarter of the time in which Java hands over rows.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # Else RocksDB reads every value before it is replaced or removed.
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        # More tasks than cores even out keys of different weight; 200 of them only cost time.
        options["spark.sql.shuffle.partitions"] = str(2 * _cores(master))
        options["spark.driver.bindAddress"] = "127.0.0.1"
        options["spark.driver.host"] = "127.0.0.1"
        options["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={_log_settings()}"
    return options


def _cores(master: str) -> int:
    """Tell how many cores a local master takes.

    >>> _cores("local"), _cores("local[3]"), _cores("local[2,4]")
    (1, 3, 2)
    """
    if "[" not in master:
        return 1
    cores = master.partition("[")[2].rstrip("]").split(",")[0].strip()
    return os.cpu_count() or 1 if cores == "*" else int(cores)


def _log_settings() -> str:
    """Save that only errors are worth a line, where the JVM can read it."""
    path = cache_folder() / "log4j2-quiet.properties"
    if not path.is_file() or path.read_text(encoding="utf-8") != _QUIET:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_QUIET, encoding="utf-8")
    return path.as_uri()
