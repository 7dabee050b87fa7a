"""`ensue demo`: a query, the stream it is run on, and what it finds."""

from __future__ import annotations

import time as clock
from enum import StrEnum
from typing import Annotated

import typer

from ensue.cli.terminal import exit_codes, output

QUERY = """\
-- A large sale, then two large purchases of that stock, each at a higher price
SELECT sale, first, second
FROM Stock
WHERE (SELL AS sale FILTER sale[volume >= 1000])
    ; (BUY AS first FILTER first[volume >= 1000])
    ; (BUY AS second FILTER second[volume >= 1000])
  FILTER first.price > sale.price AND second.price > first.price
PARTITION BY [name]
WITHIN 50 MILLISECONDS [stock_time]
"""

_SHOWN = 5

_NEXT = """\
Try next:
  ensue generate stock --events 500 -o trades.csv
  ensue run "SELECT * FROM S WHERE SELL : BUY PARTITION BY [name]" trades.csv
  ensue run --help\
"""


class Engine(StrEnum):
    """Where to run the demo."""

    LOCAL = "local"
    SPARK = "spark"


_USUAL = {Engine.LOCAL: 2_000, Engine.SPARK: 10_000_000}


def demo(
    events: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="How many trades to generate.  \\[default: 2,000, or 10,000,000 on Spark]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other trades.")] = 0,
    engine: Annotated[
        Engine, typer.Option(metavar="ENGINE", help="local, or spark: a day of trades in Parquet.")
    ] = Engine.LOCAL,
) -> None:
    """Generate stock trades, run a query on them, and show what it finds.

    Examples:
      ensue demo
      ensue demo --events 1000 --seed 7
    """
    with exit_codes():
        events = _USUAL[engine] if events is None else events
        if engine is Engine.SPARK:
            from ensue.cli.commands.spark_demo import demo as spark_demo

            spark_demo(events, seed)
            return
        import ensue
        from ensue.cli.highlight import highlighted
        from ensue.cli.run.local import summary
        from ensue.datasets import stock_table
        from ensue.results.display import print_matches

        console = output()
        console.print(highlighted(QUERY))
        trades = stock_table(events, seed=seed)
        before = clock.perf_counter()
        with console.status(f"Looking for it in {events:,} trades"):
            matches = ensue.run(QUERY, trades, time_unit="ms")
        seconds = clock.perf_counter() - before
        print_matches(console, matches, events=True, most=_SHOWN)
        console.print(f"\n{summary(matches.stats, seconds, rows=False)}", style="bold")
        console.print(f"\n{_NEXT}")
