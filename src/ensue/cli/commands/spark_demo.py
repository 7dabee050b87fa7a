"""`ensue demo --engine spark`: a day of trades in Parquet, several queries, one pass."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ensue.cli.terminal import UsageError, output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

QUERIES = {
    "reversal": """\
-- A large sale, then two large purchases of that stock, each at a higher price
SELECT sale[price, volume], first[price, volume], second[price, volume]
FROM Stock
WHERE (SELL AS sale FILTER sale[volume >= 10000])
    ; (BUY AS first FILTER first[volume >= 10000])
    ; (BUY AS second FILTER second[volume >= 10000])
  FILTER first.price > sale.price AND second.price > first.price
PARTITION BY [name]
WITHIN 20 SECONDS [stock_time]
""",
    "climb": """\
-- Four or more large trades of one stock, each at a higher price; of those with one end, the latest
SELECT LAST step[price]
FROM Stock
WHERE ((BUY OR SELL) AS step FILTER step[volume >= 10000]){4,} FILTER step[increasing(price)]
PARTITION BY [name]
WITHIN 20 SECONDS [stock_time]
""",
    "cascade": """\
-- The largest sales of three stocks shortly after one another, and no such purchase between
SELECT a[price, volume], b[price, volume], c[price, volume]
FROM Stock
WHERE ((SELL AS a ; SELL AS b ; SELL AS c)
       FILTER a[name = 'MSFT' AND volume >= 10000] AND b[name = 'INTC' AND volume >= 10000]
          AND c[name = 'ORCL' AND volume >= 10000])
  UNLESS (BUY FILTER BUY[volume >= 20000])
WITHIN 2 SECONDS [stock_time]
""",
}

_DAY = 23_400
"""Seconds from half past nine to four."""

_FILES = 8
_SHOWN = 3

_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Half of the time of so short a job would go into compiling Spark itself for the long run."""


def demo(events: int, seed: int) -> None:
    """Generate trades as Parquet, recognize all queries in them, and show what they find."""
    console = output()
    try:
        from ensue.spark import recognize, session
        from ensue.spark.kernels import start_workers
    except ImportError as error:
        raise UsageError(
            f"this demo needs PySpark: pip install 'ensue[spark]' ({error})"
        ) from error
    from ensue.cli.highlight import highlighted

    def start() -> SparkSession:
        spark = session(config={"spark.driver.defaultJavaOptions": _JVM})
        start_workers(spark)
        return spark

    for text in QUERIES.values():
        console.print(highlighted(text))
    with TemporaryDirectory(prefix="ensue-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _compile(console)
        # Nearly all of Spark's start is waiting for a JVM.
        with ThreadPoolExecutor(1) as threads:
            with _step(console, f"Generating {events:,} trades of one day as Parquet"):
                starting = threads.submit(start)
                _generate(folder / "trades", events, seed)
            with _step(console, "Waiting for Spark, which has been starting meanwhile"):
                spark = starting.result()
        before = clock.perf_counter()
        with _step(console, f"Recognizing {len(QUERIES)} queries in one call"):
            trades = spark.read.parquet(str(folder / "trades"))
            found = recognize(trades, QUERIES, time_unit="ms", tiebreak="id")
            found.write.parquet(str(folder / "found"))
        seconds = clock.perf_counter() - before
        _show(console, folder / "found")
        console.print(
            f"\n{events:,} trades, {len(QUERIES)} queries, {seconds:.1f} s: "
            f"{events / seconds:,.0f} trades a second",
            style="bold",
        )
        console.print(
            "\nThe same queries run without Spark: ensue demo --engine local, ensue run --help"
        )


def _compile(console: Console) -> None:
    """Compile kernels where there is none yet, and say so: the first run waits for them."""
    from ensue.engine.warming import warm
    from ensue.kernels.compile.cache import is_empty

    if is_empty():
        with _step(console, "Compiling kernels, once on this machine, about half a minute"):
            warm()


@contextmanager
def _step(console: Console, what: str) -> Iterator[None]:
    before = clock.perf_counter()
    with console.status(what):
        yield
    console.print(f"{what}: {clock.perf_counter() - before:.1f} s")


def _generate(folder: Path, events: int, seed: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ensue.datasets.stock import stock_schema, stock_trades

    folder.mkdir()
    size = -(-max(events, 1) // _FILES)
    rate = max(events, 1) / _DAY
    batches = stock_trades(events, seed=seed, rate=rate, batch_size=size)
    nothing = pa.RecordBatch.from_pylist([], schema=stock_schema())
    for number, batch in enumerate(batches if events else [nothing]):
        table = pa.Table.from_batches([batch])
        # Other columns have so many values that nobody gains by numbering them.
        numbered = ["type", "name", "volume"]
        pq.write_table(table, folder / f"{number}.parquet", use_dictionary=numbered)


def _show(console: Console, folder: Path) -> None:
    """Print the first matches of each query, and how many there are."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    # The rows are few: to read them needs no Spark.
    found = pq.read_table(folder).sort_by([("end_time", "ascending"), ("match_id", "ascending")])
    for name in QUERIES:
        own = found.filter(pc.equal(found["query"], name))
        console.print(f"\n{name}: {own.num_rows:,} matches", style="bold")
        for row in own.slice(0, _SHOWN).to_pylist():
            parts = [
                f"{variable} " + ", ".join(" × ".join(map(str, each.values())) for each in bound)
                for variable, bound in row.items()
                if isinstance(bound, list)
            ]
            key = f"{row['name']}  " if row["name"] else ""
            begin, end = _time(row["start_time"]), _time(row["end_time"])
            console.print(f"  {begin} to {end}  {key}" + "; ".join(parts))
        if own.num_rows > _SHOWN:
            console.print(f"  … and {own.num_rows - _SHOWN:,} more")


def _time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
