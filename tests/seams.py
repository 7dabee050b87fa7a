"""The private names that tests replace: all of them, each with the reason.

A test that needs to see what happens at a size that takes gigabytes, at a moment that nobody can
hit, or between two calls goes through one of these. A name that moves is mended here, once.
Mutations are beside this: to replace anything at all is what they are for.
"""

from __future__ import annotations

import pkgutil
from typing import Any, NamedTuple

import pytest


class Seam(NamedTuple):
    """A private name, and why it is replaced."""

    place: str
    why: str

    def put(self, patch: pytest.MonkeyPatch, value: object) -> None:
        """Replace it until the patch is undone."""
        patch.setattr(self.place, value)

    @property
    def original(self) -> Any:
        """What is there now."""
        return pkgutil.resolve_name(self.place)


CSV_BLOCK = Seam(
    "ensue.io.csv._BLOCK",
    "Bytes read at once: small blocks end in the middle of lines and quotes.",
)
JSONL_BLOCK = Seam(
    "ensue.io.jsonl._BLOCK",
    "Bytes read at once: small blocks end in the middle of lines.",
)
MANY_KEYS = Seam(
    "ensue.stream.keys.MANY_KEYS",
    "So many partition keys stay in a dictionary: the table of more takes thousands to see.",
)
ARROW_ROWS = Seam(
    "ensue.io.arrow._BATCH_ROWS",
    "Rows read at once: a small file is then many batches.",
)
PARQUET_WAITING = Seam(
    "ensue.cli.run.writing._ParquetSink._MOST_BUFFERED",
    "Matches kept before they are written: few make many row groups.",
)
POLL_SLEEP = Seam(
    "ensue.cli.run.local.sleep",
    "Waiting between two looks at a followed file. Only this name: other threads sleep too.",
)
TEXT_WRITE = Seam(
    "ensue.cli.run.writing.TextSink._write",
    "How a table of matches is written: a run can die half way through.",
)
MANY_TIED = Seam(
    "ensue.stream.store._TIED_ROWS_WORTH_DROPPING",
    "Rows of one time that are worth being counted and dropped: a few.",
)
MANY_ROWS = Seam(
    "ensue.stream.store._THINS_FROM_ROWS",
    "Rows from which those that no partial match needs are looked for: any.",
)
MERGED_AT_ONCE = Seam(
    "ensue.stream.store._MERGED_AT_ONCE",
    "Batches of about one size that are put together into one: two.",
)
REFERENCE_BATCH = Seam(
    "ensue.operators.reference._LEAST_PART_EVENTS",
    "Events that the reference operator reads at once, at least.",
)
REFERENCE_READ = Seam(
    "ensue.operators.reference.ReferenceOperator._read_part",
    "What it reads at once, to be watched.",
)
ANNOUNCED = Seam(
    "ensue.kernels.compile.announcing._announced",
    "Which sets of kernels were announced in this process already.",
)
LAZY_STEPS = Seam(
    "ensue.kernels.tables._LAZY",
    "Whether steps that all configurations take alike are applied later: never.",
)
FIRST_NODES = Seam(
    "ensue.kernels.match.driver._FIRST_NODES",
    "Nodes of a graph before it grows: a few are soon full.",
)
HARVEST = Seam(
    "ensue.kernels.match.driver.MatchDriver._harvest",
    "What is taken out of the graph of an evaluation, to be watched.",
)
EXPANDED_PART = Seam(
    "ensue.kernels.graph.expand._PART",
    "Nodes of products that are multiplied out together: few.",
)
COUNTING_PATIENCE = Seam(
    "ensue.kernels.graph.segment._WALKED_STEPS",
    "Steps of listing before matches are counted without it: none.",
)
WORTH_LENDING = Seam(
    "ensue.kernels.graph.arena.Arena._is_worth_lending",
    "Whether a graph is lent to a result instead of copied.",
)
CHOSEN_FIRST_NODES = Seam(
    "ensue.kernels.graph.chooser._FIRST_NODES",
    "Nodes of the graph of chosen matches before it grows: a few are soon full.",
)
CHOSEN_NODES_A_HIT = Seam(
    "ensue.kernels.graph.chooser._NODES_A_HIT",
    "Nodes of that graph for each hit: too few.",
)
CHOSEN_LEAST_ROOM = Seam(
    "ensue.kernels.graph.chooser._LEAST_ROOM",
    "Nodes that chosen matches may have in any case: some are chosen as they are listed.",
)
CHOSEN_ROOM = Seam(
    "ensue.kernels.graph.chooser._ROOM",
    "How much larger than the match graph chosen matches may be: not at all.",
)
CHOSEN_PART = Seam(
    "ensue.kernels.graph.chooser._PART",
    "Nodes of chosen matches that are listed together: few.",
)
NODES_A_HIT = Seam(
    "ensue.kernels.graph.arena._NODES_A_HIT",
    "Nodes for each hit up to which a graph is worth lending: any number.",
)
LONG_BATCH = Seam(
    "ensue.predicates.sharing._SKIPS_FROM",
    "Rows of a batch from which events that matter to no query are left out.",
)
MOSTLY_SHARED = Seam(
    "ensue.predicates.sharing._SKIPS_UP_TO",
    "The share of events that may matter for that: all.",
)
ABSENCE_SLACK = Seam(
    "ensue.operators.absence._UNUSED_MATCHES",
    "Matches right of UNLESS kept in vain before they are dropped: none.",
)
ABSENCE_PAIRS = Seam(
    "ensue.results.absent_matches._PAIRS_AT_ONCE",
    "Pairs of both sides of an UNLESS compared in one block: few.",
)
LEAST_SNAPSHOT = Seam(
    "ensue.spark.streaming.log._LEAST_SNAPSHOT",
    "Bytes of a log of states that are replayed rather than replaced.",
)
SMALL_ALPHABET = Seam(
    "ensue.predicates.symbols._EVENT_BY_EVENT",
    "Events that are looked at one by one: none, or all.",
)
RARE_SYMBOL = Seam(
    "ensue.predicates.symbols._CACHED_LOOKUPS",
    "Distinct strings that are looked up one by one: none, or all.",
)
SLICE_ROWS = Seam(
    "ensue.engine.slicing._LEAST_ROWS",
    "Events of a slice that is worth a thread: one.",
)
SLICE_GAIN = Seam(
    "ensue.engine.slicing._LEAST_GAIN",
    "How many times the events before a slice it must have: any number.",
)
ADOPTED_KERNELS = Seam(
    "ensue.spark.kernels._adopted",
    "The kernels that a worker has looked at: none yet.",
)
REACH_ROWS = Seam(
    "ensue.operators.reach._LEAST_ROWS",
    "So many events are looked through for the parts that a query can match in.",
)
REACH_RARE = Seam(
    "ensue.operators.reach._RARE",
    "An event is rare if it is one in so many: in a short stream all may be.",
)
FEW_PATHS = Seam(
    "ensue.kernels.graph.distinct._FEW_PATHS",
    "So many paths of an event are listed as they are: none, so that all are joined.",
)
THINNING_STEPS = Seam(
    "ensue.kernels.graph.distinct._MOST_STEPS",
    "So many nodes are looked at to join paths: few, so that it gives up.",
)
