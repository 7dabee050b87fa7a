"""`ensue run --engine spark`: the same query over folders of files, on Spark."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensue.cli.flags import as_flag, flag
from ensue.cli.run.options import Format, RunOptions
from ensue.cli.run.rules import RuleSet
from ensue.cli.terminal import UsageError, count, output, remark, remarks, say
from ensue.messages import spelled
from ensue.options import ReadOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ensue.engine.query import Query

_FORMATS = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
}


def refuse_local_options(options: RunOptions, given: Mapping[str, Any]) -> None:
    """Stop at an option that needs the local engine, with what Spark has in its place."""
    used = {
        "--follow": options.follow,
        "--until": options.until is not None,
        "--checkpoint": options.checkpoint is not None,
        "--on-error": options.rejected is not None,
        "--long": options.long,
        "--positions": not options.show_events and given["output"] != "positions",
        **{
            flag(name): bool(given[name])
            for name in ("exact", "time_format", "nulls", "delimiter", "threads")
        },
    }
    for option, is_used in used.items():
        if is_used:
            raise UsageError(f"{option} goes with --engine local only: {_INSTEAD[option]}")


_LOCAL = ("exact", "threads")
"""Options that Spark has no argument for."""

_NOT_ON_SPARK = ("exact", "time_format", "nulls", "delimiter")
_READER = "read the files with spark.read in Python, and call ensue.spark.recognize"
_STREAM = "call ensue.spark.recognize on a streaming DataFrame in Python"
_INSTEAD = {
    "--follow": f"to follow events on Spark, {_STREAM}",
    "--until": "call ensue.spark.recognize with until=",
    "--checkpoint": "a run on Spark starts from the beginning; for one that is continued after a "
    f"failure, {_STREAM} and write it with a checkpointLocation",
    "--on-error": f"Spark's readers have a mode for lines that cannot be read; {_READER}",
    "--long": "write -o matches.parquet, and explode the arrays of events there",
    "--positions": "on Spark matches hold their events; --output positions leaves out their "
    "variables",
    "--exact": "Spark has no numbers of that size; its counts stop at 2^63 - 1",
    "--time-format": f"Spark's readers have timestampFormat; {_READER}",
    "--null": f"Spark's readers have nullValue; {_READER}",
    "--delimiter": f"Spark's readers have sep; {_READER}",
    "--threads": "--master 'local[4]' gives Spark four cores",
}
"""What to do on Spark instead of giving an option."""


def execute(
    query: Query | RuleSet,
    paths: Mapping[str, Sequence[str]],
    given: Mapping[str, Any],
    options: RunOptions,
    *,
    master: str | None,
    only_explain: bool,
) -> None:
    """Recognize a query in files, and write or show what was found."""
    files = _files(paths)
    kind = _kind(files)
    spark = _session(master)
    events = _read(spark, kind, files)
    from ensue.spark import explain, missing, recognize, unseen
    from ensue.spark.watching import forget

    asked = query.rules if isinstance(query, RuleSet) else query
    read: Any = {each.name: given[each.name] for each in fields(ReadOptions)}
    if only_explain:
        say(explain(events, asked, **read))
        return
    format, out = options.format, options.out
    before = clock.perf_counter()
    matches = recognize(events, asked, **{n: v for n, v in given.items() if n not in _LOCAL})
    found = matches
    if isinstance(query, RuleSet):
        found = _labelled(found, query)
    if format is Format.PARQUET:
        with remarks().status("Looking for matches"):
            found.write.mode("errorifexists").parquet(str(out))
        number = spark.read.parquet(str(out)).count()
    else:
        with remarks().status("Looking for matches"):
            table = found.toArrow()
        number = table.num_rows
        if format is Format.TABLE:
            _print(table, out, options.limit_rows)
        else:
            _write(table, format, out)
    seconds = clock.perf_counter() - before
    said = missing(matches) or []
    forget(matches)
    if not number:
        said = unseen(events, asked, **read)
    for sentence in said:
        remark(f"warning: {spelled(sentence, as_flag)}")
    remark(
        f"{count(number, 'match', 'matches')}, {seconds:.2f} s on {spark.conf.get('spark.master')}"
    )


def _labelled(found: DataFrame, rules: RuleSet) -> DataFrame:
    """Add the labels of the rule of each row, after its name."""
    from ensue.spark.columns import with_labels

    labels = {
        label: {name: getattr(rule, label) for name, rule in rules.rules.items()}
        for label in rules.labels
    }
    return with_labels(found, labels)


def _files(paths: Mapping[str, Sequence[str]]) -> list[str]:
    if set(paths) != {""}:
        raise UsageError("--engine spark reads one table with all streams, not STREAM=FILE")
    if "-" in paths[""]:
        raise UsageError("--engine spark reads files and folders, not standard input")
    return list(paths[""])


def _kind(files: Sequence[str]) -> str:
    """Return the format of files and folders, by their names or by those inside."""
    found: set[str] = set()
    for file in files:
        path = Path(file)
        names = [file] if not path.is_dir() else [each.name for each in path.rglob("*")]
        for kind, ends in _FORMATS.items():
            if any(name.lower().endswith(ends) for name in names):
                found.add(kind)
    if len(found) != 1:
        problem = "have more than one format" if found else "are neither Parquet nor CSV nor JSON"
        raise UsageError(f"{', '.join(files)}: these {problem}")
    return found.pop()


def _session(master: str | None) -> SparkSession:
    with remarks().status("Starting Spark"):
        try:
            from ensue.spark import session
        except ImportError as error:
            raise UsageError(
                f"--engine spark needs PySpark: pip install 'ensue[spark]' ({error})"
            ) from error
        return session(master, config={"spark.ui.showConsoleProgress": "true"})


def _read(spark: SparkSession, kind: str, files: list[str]) -> DataFrame:
    if kind == "csv":
        return spark.read.csv(files, header=True, inferSchema=True)
    return spark.read.json(files) if kind == "json" else spark.read.parquet(*files)


def _write(table: Any, kind: str, out: Path | None) -> None:
    """Write rows as JSON lines or CSV."""
    from ensue.cli.run.writing import open_sink
    from ensue.results.tables import Layout

    found: Any = _Found(table)
    with open_sink(kind, out, layout=Layout(events=True)) as sink:
        sink.write(found)
        sink.finish(found)


class _Found:
    """Rows that are written as matches are."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def tables(self, _: object) -> list[Any]:
        """Give all rows at once."""
        return [self._table]

    def empty_table(self, _: object) -> Any:
        """Give the columns without the rows."""
        return self._table.slice(0, 0)


def _print(table: Any, out: Path | None, most: int) -> None:
    """Print the first matches as they are, one line each."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    names = [name for name in table.column_names if name != "match_id"]
    for name in names:
        shown.add_column(name)
    for row in table.slice(0, most).to_pylist():
        shown.add_row(*(_cell(row[name]) for name in names))
    if out is None:
        output().print(shown)
    else:
        from ensue.io.replacing import replacing

        with replacing(out) as target, target.open("w", encoding="utf-8") as file:
            output(file).print(shown)
    if table.num_rows > most:
        remark(f"… and {table.num_rows - most:,} more")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_cell(each) for each in value)
    if isinstance(value, dict):
        return " ".join(str(each) for each in value.values())
    return "" if value is None else str(value)
