"""`ensue generate`: realistic streams of events, made to order."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ensue.cli.terminal import UsageError, count, exit_codes, remark, remarks
from ensue.io.files import with_compressed

if TYPE_CHECKING:
    import pyarrow as pa

generate = typer.Typer(
    no_args_is_help=True,
    help="Generate streams of events, for example ensue generate stock -o trades.csv",
)

_ENDS = (*with_compressed(".csv", ".jsonl", ".ndjson"), ".parquet", ".pq")


@generate.callback()
def _group() -> None:
    """Keep `stock` a command of its own, also while there is no other."""


@generate.command()
def stock(
    events: Annotated[int, typer.Option(metavar="N", min=0, help="How many trades.")] = 1000,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="A file that ends in .csv, .jsonl or .parquet; without one, CSV is written to "
            "standard output.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other trades.")] = 0,
    rate: Annotated[float, typer.Option(metavar="N", help="Trades a second, about.")] = 4800.0,
    symbols: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="What is traded.  \\[default: ten symbols]"),
    ] = None,
) -> None:
    """Generate stock trades: type (BUY or SELL), id, name, volume, price, stock_time in ms.

    The same seed gives the same trades, and fewer trades are the first ones of more.

    Examples:
      ensue generate stock --events 1_000_000 -o trades.parquet
      ensue generate stock --events 5 --seed 7 --symbols MSFT,IBM
    """
    with exit_codes():
        from ensue.datasets.stock import SYMBOLS, stock_schema, stock_trades

        _refuse_bad_target(out)
        names = SYMBOLS if symbols is None else symbols.split(",")
        try:
            batches = stock_trades(events, seed=seed, rate=rate, symbols=names)
        except ValueError as error:
            raise UsageError(str(error)) from error
        if out is None:
            _write_csv(batches, stock_schema())
            return
        from ensue.io.write import write_events

        rows = write_events(_with_progress(batches, events), out, schema=stock_schema())
        remark(f"{out}: {count(rows, 'event')}")


def _refuse_bad_target(out: Path | None) -> None:
    if out is None:
        return
    if not out.name.lower().endswith(_ENDS):
        raise UsageError(f"-o {out}: the name must end in .csv, .jsonl or .parquet")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"-o {out}: there is no such folder")


def _write_csv(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
    from pyarrow import csv

    with csv.CSVWriter(sys.stdout.buffer, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _with_progress(batches: Iterable[pa.RecordBatch], events: int) -> Iterator[pa.RecordBatch]:
    """Hand on batches; on a terminal, show how far they have come."""
    console = remarks()
    if not console.is_terminal:
        yield from batches
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("trades", total=events)
        for batch in batches:
            yield batch
            progress.advance(task, batch.num_rows)
