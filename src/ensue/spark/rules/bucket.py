"""The rules of a bucket of keys from micro-batch to micro-batch, apart from Spark.

All rules read one log of events (see streaming/log.py), each with operators of its own:

    head          version, watermark, the chunks, and where each rule stands
    chunk n       the events that a micro-batch brought
    set of rules  their texts, written when they change
    snapshot      of one rule, where no window of time bounds what it needs

Invariant: the operators of a rule at the head's version are those that result from its snapshot,
if there is one, and all logged events from its `since` up to the head's watermark, in order.

Every set of rules comes to all buckets, and takes effect before the events of its micro-batch. A
rule reads the events that the watermark passes from then on, and until the micro-batch that takes
it away: so its life is a range of event time, the same in all buckets, and where a rule is
replaced each event is read by one version.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from uuid import uuid4

import numpy as np
import pyarrow as pa

from ensue.errors import SnapshotError
from ensue.spark.kernels import Shipped
from ensue.spark.order import Key, order_of, sorted_rows
from ensue.spark.pipeline import Found, check_times, with_types
from ensue.spark.rules.looking import reason, sentence
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rule_set import RuleSet, VersionedRule
from ensue.spark.rules.running import KIND, RuleHead, Running, Standing, program_of
from ensue.spark.streaming.bucket import DEFAULT_BUCKETS, Fetch, Step
from ensue.spark.streaming.idle import IdleClock
from ensue.spark.streaming.late import Millisecond, edge_of, late_rows, moment_after, split_late
from ensue.spark.streaming.log import Chunk, Log, pays, read_sections
from ensue.spark.streaming.messages import compressed, message_of, table_of
from ensue.spark.streaming.metrics import Counts
from ensue.state.container import pack
from ensue.stream.reorder import times_of
from ensue.stream.waiting import AFTER_ALL_TIMES, BEFORE_ALL_TIMES, WaitingEvents

_LOG = logging.getLogger("ensue.spark")

RULE_SET = -2
"""The number under which the set of rules is stored among the chunks; snapshots are below it."""


@dataclass(frozen=True)
class RuleBucket:
    """What happens to one bucket of keys, apart from Spark."""

    recipe: Recipe
    schema: pa.Schema
    """The columns of all rows."""
    millisecond: Millisecond
    late: str | None = None
    """The column for events that come too late, where they are wanted."""
    count: int = DEFAULT_BUCKETS
    idle_timeout: int | None = None
    kernels: Shipped | None = None

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides what the state means, apart from the rules themselves."""
        recipe, columns = self.recipe, self.recipe.columns.to_string(show_schema_metadata=False)
        options = recipe.options
        read = (options.type, options.time, options.time_unit, options.tiebreak)
        params = sorted((name, repr(value)) for name, value in (recipe.params or {}).items())
        meant = (read, recipe.key, recipe.positions_only, params, str(recipe.schema))
        every = f"{meant} {columns} {self.late is None} {self.count}"
        return hashlib.sha256(every.encode()).hexdigest()

    @property
    def is_portable(self) -> bool:
        """Whether other processes than Spark's workers may have it: rules have no functions."""
        return True

    def without_kernels(self) -> RuleBucket:
        """Return the bucket for processes that have taken them over, or do not need them."""
        return replace(self, kernels=None)

    @cached_property
    def order(self) -> tuple[Key, ...]:
        """What events are sorted by: ties by all columns, since any rule may read them."""
        return order_of(self.recipe.events, self.recipe.columns.names, given=False)

    def begin(self) -> RuleState:
        """Return the state before the first event, without rules."""
        if self.kernels is not None:
            self.kernels.adopt()
        timeout = self.idle_timeout
        return RuleState(self, idle=None if timeout is None else IdleClock(timeout))

    def versions(self, block: bytes) -> tuple[str]:
        """Return the version of a stored head: others would need sets of rules that are gone."""
        return (self._head(block).version,)

    def _head(self, block: bytes) -> RuleHead:
        sections = read_sections(block)
        if sections["kind"] != KIND or sections["identity"] != self.identity:
            raise SnapshotError(
                "the checkpoint was made by queries and not by rules, or with other options, "
                "other columns, another key= or another number of tasks=: start the stream with a "
                "new checkpointLocation, or go back to what it was made with"
            )
        return RuleHead.decode(sections)

    def restore(self, block: bytes, fetch: Fetch) -> RuleState:
        """Rebuild the state from its head; chunks and snapshots are fetched by their numbers."""
        head, state = self._head(block), self.begin()
        state.log.first, state.watermark = head.first, head.watermark
        if state.idle is not None and head.idle is not None:
            state.idle.load(head.idle)
        state.load_rules(head.rules, fetch)
        for number in range(head.first, head.following):
            message = fetch(number)
            table = table_of(message)
            times = self.times(table)
            state.log.append(Chunk(len(message), int(times.max())))
            state.waiting.add(with_types(table, self.recipe.events), times)
        # What this completes was given when the chunks were new, so it is not listed.
        for _ in state.release(edge_of(head.watermark, self.millisecond)):
            pass
        return state

    def times(self, table: pa.Table) -> np.ndarray:
        """Return the times of events; EventError where one has none."""
        check_times(table, self.recipe.events.time)
        return times_of(table, self.recipe.events.time)


@dataclass
class RuleState:
    """The rules of a bucket, and the events that wait for the watermark."""

    bucket: RuleBucket
    idle: IdleClock | None = None
    log: Log = field(default_factory=lambda: Log(None))
    waiting: WaitingEvents = field(default_factory=WaitingEvents)
    watermark: int = 0
    """How far the operators have come, in milliseconds."""
    rules: dict[str, VersionedRule] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    """The operators of rules; those that failed have none."""
    stopped: dict[str, str] = field(default_factory=dict)
    """Rules that failed, and why: they read no more events until they are replaced."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Rules that could not be used when the set was looked at, and why."""
    unneeded: list[int] = field(default_factory=list)
    """The numbers of snapshots whose rules are gone."""
    is_new: bool = True
    """Whether nothing is stored yet."""
    timers: frozenset[int] | None = None
    """When a timer is set, in milliseconds; None: that is not known here."""

    def catch_up(self, block: bytes, fetch: Fetch) -> bool:
        """Do nothing: these operators are found by the version of the head itself."""
        return True

    # rules

    def change(self, wanted: RuleSet) -> None:
        """Take over a set of rules.

        A rule of the same version goes on, and so does one whose new text cannot be used.
        """
        kept = {name: self.rules[name] for name in wanted.skipped if name in self.rules}
        rules = {**kept, **wanted.rules}
        for name in list(self.rules):
            if name not in rules or rules[name].version != self.rules[name].version:
                self._drop(name)
                self.stopped.pop(name, None)
                del self.rules[name]
        begin = edge_of(self.watermark, self.bucket.millisecond)
        for name, rule in rules.items():
            if name not in self.rules:
                self._start(Standing(name, rule.version, begin, self.log.following), rule)
        self.running = dict(sorted(self.running.items()))
        self.skipped = dict(wanted.skipped)

    def _start(self, standing: Standing, rule: VersionedRule) -> None:
        name = standing.name
        self.rules[name] = rule
        if standing.stopped is not None:
            self.stopped[name] = standing.stopped
            return
        try:
            program = program_of(name, rule, self.bucket.recipe, self.bucket.identity)
            self.running[name] = Running.begin(standing, program)
        except Exception as error:
            # It could be used where it was looked at: by another release of Ensue.
            self._stop(name, error)

    def _stop(self, name: str, error: Exception) -> None:
        """Let a rule go that failed, such as by a limit; the others go on.

        Whatever it failed by: a micro-batch that is run again has the same rules, so that a rule
        which fails the stream would fail it for ever. What may pass is left to Spark, which tries
        the task again.
        """
        if isinstance(error, MemoryError | OSError | SnapshotError):
            raise error
        self._drop(name)
        self.stopped[name] = reason(error)
        _LOG.warning("%s", sentence(name, self.stopped[name]), exc_info=error)

    def _drop(self, name: str) -> None:
        gone = self.running.pop(name, None)
        if gone is not None and gone.standing.snapshot:
            self.unneeded.append(gone.standing.snapshot)

    def load_rules(self, standings: Iterable[Standing], fetch: Fetch) -> None:
        """Go on with the rules that are stored."""
        known = RuleSet.decode(read_sections(fetch(RULE_SET))["rules"])
        self.is_new, self.skipped = False, dict(known.skipped)
        for each in standings:
            self._start(each, known.rules[each.name])
            if each.snapshot and each.name in self.running:
                self.running[each.name].load(fetch(each.snapshot))

    # micro-batches

    def step(
        self,
        messages: Iterable[bytes],
        watermark: int,
        tick: int | None = None,
        rules: str | None = None,
    ) -> Step:
        """Take in a micro-batch; return the rows and what is to be stored.

        The `tick` tells the time of day to a clock of idle streams, and `rules` is a new set.
        """
        if self.idle is not None:
            watermark = self.idle.advance(watermark, tick)
        edge = edge_of(watermark, self.bucket.millisecond)
        written: dict[int, bytes] = {}
        if rules is not None:
            self.change(RuleSet.decode(rules))
        if self.is_new or rules is not None:
            known = RuleSet(self.rules, self.skipped).encode()
            written[RULE_SET] = pack({"kind": "set of rules", "rules": known})
            self.is_new = False
        new = split_late(messages, edge, self.bucket.times)
        if new.kept:
            together = pa.concat_tables(new.kept).combine_chunks()
            times = self.bucket.times(together)
            written[self.log.append(Chunk(len(new.message), int(times.max())))] = new.message
            self.waiting.add(with_types(together, self.bucket.recipe.events), times)
        nulls = sum(each.pipeline.nulls for each in self.running.values())
        found = list(late_rows(new.late, self.bucket.late, self.bucket.schema))
        matches = [table for each in self.release(edge) for table in self._listed(*each)]
        self.watermark = watermark
        self._write_snapshots(edge, written)
        needed = min([edge, *(each.needs(edge) for each in self.running.values())])
        # A chunk may come and go at once.
        dropped = self.log.drop_before(needed)
        removed = [number for number in dropped if written.pop(number, None) is None]
        removed, self.unneeded = removed + self.unneeded, []
        counts = Counts(
            events=sum(table.num_rows for table in new.kept),
            late=sum(table.num_rows for table in new.late),
            nulls=sum(each.pipeline.nulls for each in self.running.values()) - nulls,
            state=self.log.nbytes + sum(e.standing.size for e in self.running.values()),
            matches=(sum(table.num_rows for table in matches),),
        )
        rows = [message_of(table) for table in found + matches]
        return Step(rows, counts, self.head(), written, removed, self.alarms(), self._texts())

    def release(self, edge: int, *, finish: bool = False) -> Iterator[tuple[Running, Found]]:
        """Let all rules read what the watermark has passed; give what that completes."""
        arrived = self.waiting.release(edge)
        table = times = None
        if arrived is not None:
            order = sorted_rows(arrived.batch.table, self.bucket.order)
            table, times = arrived.batch.table.take(pa.array(order)), arrived.times[order]
        for name, each in list(self.running.items()):
            found: Found = iter(())
            try:
                if table is not None and times is not None:
                    found = each.read(table, times)
                if finish:
                    found = chain(found, each.pipeline.finish())
                elif edge > BEFORE_ALL_TIMES:
                    found = chain(found, each.pipeline.advance(edge))
            except Exception as error:
                self._stop(name, error)
                continue
            yield each, found

    def _listed(self, running: Running, found: Found) -> list[pa.Table]:
        """List what a rule has found; a rule that fails gives none of it."""
        try:
            return list(running.rows(found, self.bucket.schema))
        except Exception as error:
            self._stop(running.standing.name, error)
            return []

    def _write_snapshots(self, edge: int, written: dict[int, bytes]) -> None:
        """Write snapshots of rules that would else have to read more and more events again."""
        if edge == BEFORE_ALL_TIMES:
            return
        used = [each.standing.snapshot for each in self.running.values()]
        for each in self.running.values():
            if each.horizon is not None:
                continue
            standing, following = each.standing, self.log.following
            count = min(following - standing.counted, len(self.log.chunks))
            latest = list(self.log.chunks)[len(self.log.chunks) - count :]
            if pays(sum(chunk.size for chunk in latest), standing.size):
                block = compressed(each.block())
                number = standing.snapshot or min([RULE_SET, *used]) - 1
                used.append(number)
                written[number] = block
                each.standing = standing._replace(
                    since=edge, counted=following, snapshot=number, size=len(block)
                )

    def head(self) -> RuleHead:
        """Return what is stored of the bucket beside its chunks."""
        standings = [each.standing for each in self.running.values()]
        standings += [
            Standing(name, self.rules[name].version, 0, 0, stopped=why)
            for name, why in self.stopped.items()
        ]
        return RuleHead(
            self.bucket.identity,
            uuid4().hex,
            self.watermark,
            self.log.first,
            self.log.following,
            tuple(standings),
            None if self.idle is None else self.idle.save(),
        )

    def alarms(self) -> list[int]:
        """Return when, in milliseconds of the watermark, there is something to do."""
        earliest = self.waiting.earliest
        times = [] if earliest is None else [earliest]
        times += [time for each in self.running.values() for time in each.pipeline.due_times()]
        moments = [moment_after(time, self.bucket.millisecond) for time in times]
        return [max(moment, self.watermark + 1) for moment in moments]

    def rest(self) -> Iterator[pa.Table]:
        """Give the rows that are certain when no more events come."""
        for each, found in self.release(AFTER_ALL_TIMES, finish=True):
            yield from self._listed(each, found)

    def _texts(self) -> tuple[str, str]:
        """Return the versions of all rules, and which do not run, and why, as JSON."""
        versions = {name: rule.version for name, rule in sorted(self.rules.items())}
        silent = {**self.skipped, **self.stopped}
        skipped = [{"rule": name, "why": why} for name, why in sorted(silent.items())]
        return json.dumps(versions), json.dumps(skipped)
