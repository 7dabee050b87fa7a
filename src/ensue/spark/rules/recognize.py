"""recognize(events, rules=…): a DataFrame of events and rules that may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from ensue.errors import CeqlWarning, warn
from ensue.messages import Message, Option
from ensue.options import Lateness
from ensue.spark import batch
from ensue.spark.classic import context_of
from ensue.spark.columns import with_late
from ensue.spark.distribution import timed_distribution
from ensue.spark.kernels import ship
from ensue.spark.program import arrow_type_at
from ensue.spark.pushdown import NOTHING_PUSHED, pushed
from ensue.spark.rules.asking import question
from ensue.spark.rules.bucket import RuleBucket
from ensue.spark.rules.looking import Look, RulesLike, place_of, sentence
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rows import rule_schema
from ensue.spark.rules.rule_set import RuleSet
from ensue.spark.rules.source import rule_sets
from ensue.spark.streaming import job
from ensue.spark.streaming.bucket import DEFAULT_BUCKETS
from ensue.spark.streaming.exchange import SealedBucket
from ensue.spark.streaming.idle import TICK
from ensue.spark.streaming.metrics import observed
from ensue.spark.streaming.packing import BUCKET, RULES
from ensue.spark.streaming.processor import Processor
from ensue.spark.types import spark_schema
from ensue.spark.watching import Watch, keep
from ensue.spark.workers import check_workers

METRICS = "ensue-rules"
_SKIPPED = "ensue_skipped"
_ALL_SKIPPED = f"""
    to_json(array_distinct(flatten(transform(
        collect_set({_SKIPPED}), each -> from_json(each, 'array<struct<rule: string, why: string>>')
    ))))
"""


@dataclass(frozen=True, slots=True)
class RuleJob:
    """The arguments of `recognize` that matter to rules."""

    recipe: Recipe
    tasks: int | None
    late: str | None
    flush: str | None
    lateness: Lateness | None
    idle_timeout: int | None
    pushdown: bool

    def run(self, events: DataFrame, rules: RulesLike) -> DataFrame:
        """Find the matches of all rules."""
        spark, recipe = events.sparkSession, self.recipe
        is_remote = context_of(spark) is None
        look = Look(place_of(rules, spark, is_remote=is_remote), recipe)
        distribution = recipe.distribution
        check_workers(spark)
        schema = rule_schema(arrow_type_at(recipe.columns, recipe.events.time))
        if self.late is not None:
            schema = with_late(schema, self.late, recipe.columns)
        bucket = RuleBucket(
            recipe,
            schema,
            job.millisecond(recipe.events),
            self.late,
            self.tasks or DEFAULT_BUCKETS,
            self.idle_timeout,
            ship(spark),
        )
        if self.flush is not None:
            return job.rest(events, [bucket], schema, self.flush)
        found = look()
        for name, why in found.skipped.items():
            warn(sentence(name, why), CeqlWarning)
        if not events.isStreaming:
            return self._batch(events, found, bucket)
        if distribution.kind == "one":
            warn(
                Message("one task reads all events of a stream of rules without ", Option("key")),
                CeqlWarning,
            )
        ask = _Encoded(look) if is_remote else question(_Encoded(look))
        return self._stream(events, rule_sets(spark, ask), bucket)

    def _batch(self, events: DataFrame, found: RuleSet, bucket: RuleBucket) -> DataFrame:
        """Recognize a set of rules in a finite DataFrame, in as few passes as for queries."""
        schema = bucket.schema
        programs = [self.recipe.program(name, rule.text) for name, rule in found.rules.items()]
        if not programs:
            return events.sparkSession.createDataFrame([], spark_schema(schema))
        spread = [(timed_distribution(program), program) for program in programs]
        answers: list[DataFrame] = []
        watches: list[Watch | None] = []
        for each in batch.shared_scans(spread, bucket.kernels):
            push = pushed(each.programs) if self.pushdown else NOTHING_PUSHED
            filtered = push.keep is not None
            watch = Watch.of(each.programs, METRICS, names=True, filtered=filtered)
            own = replace(each, versions=found.versions)
            watches.append(watch)
            answers.append(
                batch.run(events, own, schema, names=True, tasks=self.tasks, push=push, watch=watch)
            )
        matches = reduce(DataFrame.unionByName, answers)
        keep(matches, watches)
        return matches

    def _stream(self, events: DataFrame, sets: DataFrame, bucket: RuleBucket) -> DataFrame:
        """Let every set of rules go to all buckets, beside the events."""
        scan = batch.SharedScan(self.recipe.distribution, (self.recipe.events,))
        wanted, numbers = job.bucketed(
            events,
            scan,
            lateness=self.lateness,
            idle_timeout=self.idle_timeout,
            buckets=bucket.count,
            push=NOTHING_PUSHED,
            all_columns=True,
        )
        every = _to_all(sets, numbers)
        marked = wanted.withColumn(RULES, F.lit(None).cast("string"))
        both = marked.unionByName(every, allowMissingColumns=True)
        processor = Processor(SealedBucket.of(bucket), (TICK, RULES), (RULES, _SKIPPED))
        # All buckets have the same rules; one that fails may do so in some buckets only.
        versions, skipped = F.max(RULES).alias("rules"), F.expr(_ALL_SKIPPED).alias("skipped")
        metrics = [*observed(None), versions, skipped]
        matches = job.processed(both, processor, bucket.schema, METRICS, metrics)
        keep(matches, [])
        return matches


@dataclass(slots=True)
class _Encoded:
    """A look whose answer is text, for a process that has nothing but texts."""

    look: Look

    def __call__(self) -> str:
        """Look."""
        return self.look().encode()


def _to_all(sets: DataFrame, numbers: Sequence[int]) -> DataFrame:
    """Give a copy of each row to every bucket."""
    return sets.select(RULES, F.explode(F.array(*map(F.lit, numbers))).alias(BUCKET))
