"""`ensue demo --engine spark`: a day of trades in Parquet, several queries, one pass."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ensue.cli.terminal import UsageError, output

if TYPE_CHECKING:
    from rich.console import Console

QUERIES = {
    "reversal": """\
-- A large sale, then two large purchases of that stock, each at a higher price
SELECT sale[price, volume], first[price, volume], second[price, volume]
FROM Stock
WHERE (SELL AS sale FILTER sale[volume >= 5000])
    ; (BUY AS first FILTER first[volume >= 5000])
    ; (BUY AS second FILTER second[volume >= 5000])
  FILTER first.price > sale.price AND second.price > first.price
PARTITION BY [name]
WITHIN 30 SECONDS [stock_time]
""",
    "climb": """\
-- Four or more large trades of one stock, each at a higher price; the longest such runs
SELECT MAX step[price]
FROM Stock
WHERE ((BUY OR SELL) AS step FILTER step[volume >= 5000]){4,} FILTER step[increasing(price)]
PARTITION BY [name]
WITHIN 30 SECONDS [stock_time]
""",
    "cascade": """\
-- The largest sales of three stocks shortly after one another, and no such purchase between
SELECT a[price, volume], b[price, volume], c[price, volume]
FROM Stock
WHERE ((SELL AS a ; SELL AS b ; SELL AS c)
       FILTER a[name = 'MSFT' AND volume >= 5000] AND b[name = 'INTC' AND volume >= 5000]
          AND c[name = 'ORCL' AND volume >= 5000])
  UNLESS (BUY FILTER BUY[volume >= 10000])
WITHIN 2 SECONDS [stock_time]
""",
}

_DAY = 23_400
"""Seconds from half past nine to four."""

_FILES = 8
_SHOWN = 3


def demo(events: int, seed: int) -> None:
    """Generate trades as Parquet, recognize all queries in them, and show what they find."""
    console = output()
    try:
        from ensue.spark import recognize, session
    except ImportError as error:
        raise UsageError(
            f"this demo needs PySpark: pip install 'ensue[spark]' ({error})"
        ) from error
    from ensue.cli.highlight import highlighted

    for text in QUERIES.values():
        console.print(highlighted(text))
    with TemporaryDirectory(prefix="ensue-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with _step(console, f"Generating {events:,} trades of one day as Parquet"):
            _generate(folder / "trades", events, seed)
        with _step(console, "Starting Spark on this machine"):
            spark = session()
        trades = spark.read.parquet(str(folder / "trades"))
        before = clock.perf_counter()
        with _step(console, f"Recognizing {len(QUERIES)} queries in one call"):
            found = recognize(trades, QUERIES, time_unit="ms", tiebreak="id")
            found.write.parquet(str(folder / "found"))
        seconds = clock.perf_counter() - before
        _show(console, spark.read.parquet(str(folder / "found")))
        console.print(
            f"\n{events:,} trades, {len(QUERIES)} queries, {seconds:.1f} s: "
            f"{events / seconds:,.0f} trades a second",
            style="bold",
        )
        console.print(
            "\nThe same queries run without Spark: ensue demo --engine local, ensue run --help"
        )


@contextmanager
def _step(console: Console, what: str) -> Iterator[None]:
    before = clock.perf_counter()
    with console.status(what):
        yield
    console.print(f"{what}: {clock.perf_counter() - before:.1f} s")


def _generate(folder: Path, events: int, seed: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ensue.datasets import stock_table

    table = stock_table(events, seed=seed, rate=max(events, 1) / _DAY)
    plain = [
        (each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type)
        for each in table.schema
    ]
    table = table.cast(pa.schema(plain))
    folder.mkdir()
    size = -(-max(events, 1) // _FILES)
    for number in range(_FILES):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")


def _show(console: Console, found: Any) -> None:
    """Print the first matches of each query, and how many there are."""
    counts = dict(found.groupBy("query").count().collect())
    for name in QUERIES:
        number = counts.get(name, 0)
        console.print(f"\n{name}: {number:,} matches", style="bold")
        rows = found.filter(found["query"] == name).orderBy("end_time", "match_id").limit(_SHOWN)
        for row in rows.collect():
            parts = [
                f"{variable} " + ", ".join(" × ".join(map(str, event)) for event in events)
                for variable, events in row.asDict().items()
                if isinstance(events, list)
            ]
            key = f"{row['name']}  " if row["name"] else ""
            console.print(
                f"  {_time(row.start_time)} to {_time(row.end_time)}  {key}" + "; ".join(parts)
            )
        if number > _SHOWN:
            console.print(f"  … and {number - _SHOWN:,} more")


def _time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
