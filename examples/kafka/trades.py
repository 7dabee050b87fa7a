"""Trades as messages: generated, as JSON, keyed by the stock's name."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from ensue.datasets import stock_table

_MIDNIGHT = datetime(2026, 1, 5, tzinfo=UTC)


def generate(count: int, *, rate: float, seed: int = 0) -> pa.Table:
    """Generate trades at about `rate` a second; `at` is their time."""
    table = stock_table(count, seed=seed, rate=rate)
    times = [_MIDNIGHT + timedelta(milliseconds=each) for each in table["stock_time"].to_pylist()]
    columns = {name: table[name].to_pylist() for name in ("id", "type", "name", "price", "volume")}
    return pa.table({**columns, "at": pa.array(times, pa.timestamp("us", "UTC"))})


def messages(table: pa.Table) -> list[tuple[str, str]]:
    """Return a key and a value for each trade, in the order of the table.

    The key is what the query partitions by. Kafka keeps the order of messages of one key.
    """
    return [
        (row["name"], json.dumps({**row, "at": row["at"].isoformat()})) for row in table.to_pylist()
    ]


def heartbeat(at: datetime) -> tuple[str, str]:
    """Return a message that lets time pass: an event of a type that no query knows, of no stock.

    A match comes out when the watermark has passed it, and Spark moves the watermark with events.
    """
    return "", json.dumps({"type": "HEARTBEAT", "at": at.isoformat()})
