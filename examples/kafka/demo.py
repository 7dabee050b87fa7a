"""`make kafka-demo`: a broker, trades that come as time passes, a job on Spark, and its alerts.

Everything runs on this machine, in a folder that is gone afterwards. Ctrl-C stops it early.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import ensue
from examples.kafka import job
from examples.kafka.broker import KAFKA, Broker, Writer, broker_jars
from examples.kafka.jars import JarsError
from examples.kafka.trades import generate, heartbeat, messages

EVENTS, ALERTS = "trades", "alerts"


class Shown:
    """Prints alerts as they come, each once: what was seen by its id is dropped."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.ids: set[str] = set()
        self._more = threading.Condition()

    def show(self, values: Iterator[str]) -> None:
        """Print all there is to come."""
        for value in values:
            alert = json.loads(value)
            with self._more:
                if alert["match_id"] not in self.ids:
                    print(line(alert), flush=True)
                self.ids.add(alert["match_id"])
                self._more.notify_all()

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until so many different alerts were shown; tell whether they were."""
        with self._more:
            return self._more.wait_for(lambda: len(self.ids) >= count, seconds)


def line(alert: dict[str, Any]) -> str:
    """Write an alert in one line."""
    parts = [
        f"{variable} " + ", ".join(f"{each['volume']} at {each['price']:.2f}" for each in events)
        for variable, events in alert.items()
        if isinstance(events, list)
    ]
    return f"  {alert['end_time'][11:23]}  {alert['name']:5} {'; '.join(parts)}"


def send(write: Writer, trades: pa.Table) -> None:
    """Send trades as fast as they were made: each when as much time has passed here as there."""
    times = trades["at"].to_pylist()
    began = time.monotonic()
    for at, message in zip(times, messages(trades), strict=True):
        ahead = (at - times[0]).total_seconds() - (time.monotonic() - began)
        if ahead > 0:
            write.flush()
            time.sleep(ahead)
        write(*message)


def run(folder: Path, trades: pa.Table, stack: ExitStack) -> None:
    """Run broker, job, reader and writer, and compare with what the engine finds by itself."""
    with step("Starting a broker"):
        broker = stack.enter_context(Broker(folder / "broker"))
        write = stack.enter_context(broker.writer(EVENTS))
        write(*heartbeat(trades["at"][0].as_py()))  # so that the topic is there
        write.flush()
    shown = Shown()
    values = stack.enter_context(broker.reader(ALERTS))
    threading.Thread(target=shown.show, args=(values,), daemon=True).start()
    log = folder / "spark.log"
    with step("Starting Spark, and compiling what the query needs the first time"):
        with errors_in(log):
            spark = job.with_connector()
        stack.callback(spark.stop)
        job.alerts(spark.createDataFrame(trades.slice(0, 100).to_pandas(), job.EVENT)).count()
    events = job.read(spark, broker.servers, EVENTS, 1_000_000)
    found = job.write(job.alerts(events), broker.servers, ALERTS, str(folder / "checkpoint"))
    stream = found.start()
    print(f"\nAlerts of the topic {ALERTS!r}, as they come:\n", flush=True)
    send(write, trades)
    write(*heartbeat(trades["at"][-1].as_py() + timedelta(minutes=1)))
    write.flush()
    expected = {each.id for each in ensue.run(job.QUERY, trades, time="at", tiebreak="id")}
    while not shown.wait(len(expected), seconds=1):
        if not stream.isActive:
            raise SystemExit(f"the job has stopped: {log.read_text()[-4000:]}")
    stream.processAllAvailable()
    if shown.ids != expected:
        raise SystemExit(f"{len(shown.ids ^ expected)} alerts are not those of the engine")
    stream.stop()
    print(
        f"\n{trades.num_rows:,} trades, {len(shown.ids):,} alerts; the engine without Kafka "
        "and Spark finds the same, by match_id."
    )


@contextmanager
def errors_in(log: Path) -> Iterator[None]:
    """Let processes that start here write their complaints to a file."""
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Say what is done, and how long it took."""
    print(f"{what} …", end=" ", flush=True)
    before = time.monotonic()
    yield
    print(f"{time.monotonic() - before:.1f} s", flush=True)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="make kafka-demo")
    parser.add_argument("--seconds", type=float, default=30, help="how long trades come")
    parser.add_argument("--rate", type=float, default=200, help="trades a second")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other trades")
    told = parser.parse_args()
    print(job.QUERY)
    try:
        with step(f"Fetching Kafka {KAFKA} and Spark's connector, once"):
            broker_jars()
            job.connector()
    except JarsError as error:
        raise SystemExit(f"\n{error}") from None
    trades = generate(round(told.seconds * told.rate), rate=told.rate, seed=told.seed)
    try:
        with tempfile.TemporaryDirectory(prefix="ensue-kafka-", ignore_cleanup_errors=True) as name:
            stack = ExitStack()
            try:
                run(Path(name), trades, stack)
            finally:
                with step("Stopping Spark and the broker"):
                    stack.close()
    except KeyboardInterrupt:
        raise SystemExit("stopped") from None


if __name__ == "__main__":
    main()
