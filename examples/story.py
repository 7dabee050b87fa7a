"""What the six stories share: their command line, their rules, and their job on Spark.

A story is a folder with `data.py` (a generator of events), `rules/` (with their tests), `run.py`,
`job.py` and `story.ipynb`. Each of its scripts takes `--events` and `--seed`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import ensue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
Generator = Callable[[int, int], pa.Table]


class Clock:
    """The time of a generated stream, which goes on by random steps."""

    def __init__(self, chance: random.Random, step: float) -> None:
        self.chance, self.step, self.now = chance, step, START

    def tick(self) -> datetime:
        """Go on by one step on average, and return the time."""
        self.now += timedelta(milliseconds=int(self.chance.expovariate(1 / self.step) * 1000) + 1)
        return self.now


def table(events: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return events as a table, in the order of their times and numbered by `id`."""
    rows = sorted(events, key=lambda event: event["at"])
    numbered = [{"id": number, **row} for number, row in enumerate(rows)]
    names = list(dict.fromkeys(name for row in numbered for name in row))
    columns = {name: [row.get(name) for row in numbered] for name in names}
    return pa.table({**columns, "at": pa.array(columns["at"], pa.timestamp("us", "UTC"))})


def rules_of(folder: str | Path) -> dict[str, ensue.Rule]:
    """Return the rules of a story: of the folder of one of its files."""
    return ensue.load_rules(Path(folder).parent / "rules")


def alerts(events: pa.Table, rules: Mapping[str, ensue.Rule]) -> Iterator[tuple[str, ensue.Match]]:
    """Run all rules in one pass, and yield what each one finds."""
    for name, found in ensue.run(rules, events).items():
        for match in found:
            yield name, match


def main(file: str, generate: Generator, describe: Callable[[str, ensue.Match], str]) -> None:
    """Run the script of a story: generate events, run the rules, print a line for each alert."""
    options = arguments()
    rules = rules_of(file)
    events = generate(options.events, options.seed)
    found = list(alerts(events, rules))
    for name, match in found:
        print(f"{rules[name].severity:<7} {rules[name].title}: {describe(name, match)}")
    print(f"{len(found)} alerts in {len(events):,} events")


def spark_main(
    file: str, generate: Generator, job: Callable[[DataFrame, Mapping[str, ensue.Rule]], DataFrame]
) -> None:
    """Run the Spark job of a story on generated events, and show the first rows."""
    from ensue.spark import session

    options = arguments()
    job(frame(session(), generate(options.events, options.seed)), rules_of(file)).show(
        truncate=False
    )


def frame(spark: SparkSession, events: pa.Table) -> DataFrame:
    """Return events as a DataFrame of Spark."""
    return spark.createDataFrame(events.to_pandas())


def arguments() -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000, help="how many events to generate")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other events")
    return parser.parse_args()
