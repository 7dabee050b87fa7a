"""A cluster of two hosts: a master and two workers of Spark's own, at two addresses of one machine.

Spark never starts the second attempt at a task on the host of the first one, and all executors of
`local-cluster` are on one host.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from ensue.spark.java import java_home
from tests.spark.processes import environment, free_port
from tests.waiting import wait_until

HOSTS = ("127.0.0.1", "127.0.0.2")


@contextmanager
def two_hosts(folder: Path) -> Iterator[str]:
    """Give the address of a cluster whose two workers have a core each."""
    for host in HOSTS:
        with socket.socket() as one:
            try:
                one.bind((host, 0))
            except OSError:
                pytest.skip(f"this machine does not have the address {host}")
    port = free_port()
    master = f"spark://{HOSTS[0]}:{port}"
    with ExitStack() as running:
        at = ["--host", HOSTS[0], "--port", str(port), "--webui-port", "0"]
        running.enter_context(_started("master.Master", at, folder / "master"))
        for number, host in enumerate(HOSTS):
            at = ["--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            work = folder / f"worker-{number}"
            running.enter_context(
                _started("worker.Worker", [*at, "--work-dir", str(work), master], work)
            )
        yield master


@contextmanager
def _started(daemon: str, arguments: list[str], folder: Path) -> Iterator[None]:
    """Run one of Spark's daemons until the block is left; it is ready when its log says so."""
    folder.mkdir()
    log = folder / "log"
    home = java_home()
    java = {} if home is None else {"JAVA_HOME": str(home)}
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    with log.open("wb") as told:
        process = subprocess.Popen(
            [*command, f"org.apache.spark.deploy.{daemon}", *arguments],
            stdout=told,
            stderr=told,
            start_new_session=True,
            env=environment(**java),
        )
    try:
        sign = "I have been elected leader" if "master" in daemon else "Successfully registered"
        wait_until(lambda: sign in log.read_text(), f"{daemon} is ready", process)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
