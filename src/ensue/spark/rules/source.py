"""Rules as a streaming source of Spark: the set of rules is its offset.

Spark asks a source for its latest offset when a micro-batch begins, and logs the offsets of all
sources in the checkpoint before it runs it. So the rules of a micro-batch are logged with it, once
for its number, on whatever file system the checkpoint is; one that is run again after a failure is
given the same rules, and events and rules come together as rows of one micro-batch. The source has
a row where the offset has changed, and none else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from ensue.spark.rules.rule_set import RuleSet, text_at
from ensue.spark.streaming.packing import RULES


def _available_now() -> tuple[type, ...]:
    """Return what marks a source for `trigger(availableNow=True)`, from Spark 4.2 on.

    Before that, a stream with such a trigger is one micro-batch.
    """
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:
        return ()
    return (SupportsTriggerAvailableNow,)


class _Reader(DataSourceStreamReader, *_available_now()):  # type: ignore[misc]
    """Reads sets of rules."""

    def __init__(self, look: Callable[[], str]) -> None:
        self._look = look
        self._fixed: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Begin without rules."""
        return RuleSet().offset()

    def prepareForTriggerAvailableNow(self) -> None:
        """Keep to the rules of this moment."""
        self._fixed = self.latestOffset()

    def latestOffset(self, *_: object) -> dict[str, Any]:
        """Look at the rules."""
        return self._fixed or RuleSet.decode(self._look()).offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Give the set at the end where it is not the one at the start."""
        return [] if start == end else [InputPartition(text_at(end))]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        """Give it as a row."""
        yield (partition.value,)


def rule_sets(spark: SparkSession, look: Callable[[], str]) -> DataFrame:
    """Return a stream of sets of rules, in the column RULES, one for every change."""
    name = f"ensue_rules_{uuid4().hex}"

    class RuleSets(DataSource):
        """A source of its own for each stream, since Spark passes nothing but texts to sources."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return f"{RULES} string"

        def streamReader(self, schema: object) -> DataSourceStreamReader:
            return _Reader(look)

    spark.dataSource.register(RuleSets)
    return spark.readStream.format(name).load()
