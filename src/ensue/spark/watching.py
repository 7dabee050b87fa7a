"""What queries need and no event had, learnt from the job that finds the matches itself.

A batch job observes the events that its filter lets through, before they are shuffled: so every
action sees them all, whatever it does with the matches, and no job is added. Such an observation
costs about a tenth of a microsecond an event, which is little beside what Python does with it but
not beside a filter; that is why events that cannot matter are not looked at. The answer is there
when the first action is over. Nothing waits for it: it is looked for by the next call of this
package and at the end of the process, and warned of then.

A stream counts what is needed among all of its events, micro-batch by micro-batch, as metrics that
come with its progress.
"""

from __future__ import annotations

import atexit
import operator
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from py4j.protocol import Py4JError
from pyarrow import types as kinds
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812

from ensue.analysis.schema import AttributePath
from ensue.engine.unseen import Occurrences, sentences, silences
from ensue.errors import UnseenWarning, warn
from ensue.logic.required import (
    HasAttribute,
    HasType,
    HasValue,
    Leaf,
    Requirement,
    leaves,
)
from ensue.predicates.spark_literals import column
from ensue.predicates.vectors import path_column
from ensue.spark.program import Program, arrow_type_at

_MOST_BITS = 62
"""So many answers fit into one number."""

_PENDING = 64
"""So many observations are waited for; the oldest are forgotten."""

NEEDED = "__ensue_needed"
_HELD = "held"


def holds(leaf: Leaf, program: Program) -> Column:
    """Tell of an event whether it has what is asked for."""
    match leaf:
        case HasType(names=names):
            return type_column(program).isin(*sorted(names))
        case HasAttribute(path=path):
            known = path_column(program.columns.empty_table(), path) is not None
            return F.col(column(path)).isNotNull() if known else F.lit(False)
        case HasValue(path=path, values=values):
            if not is_text(program, path):
                return F.lit(True)
            return F.col(column(path)).isin(*sorted(values))


def is_text(program: Program, path: AttributePath) -> bool:
    """Tell whether a column has strings."""
    kind = arrow_type_at(program.columns, path)
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def type_column(program: Program) -> Column:
    """Return the types of events."""
    path = program.type_path
    return F.lit(program.sources[0]) if path is None else F.col(column(path))


# what is observed


@dataclass(eq=False)
class Watch:
    """What the queries of a pass need, and where Spark tells how many events had it."""

    required: Mapping[str, Requirement]
    asked: Sequence[Leaf]
    program: Program
    """Any of them: they read the same columns."""
    filtered: bool
    """Whether events that cannot matter are left out before."""
    name: str
    """What the metrics of a stream are called."""
    observation: Observation = field(default_factory=Observation)

    @classmethod
    def of(
        cls, programs: Sequence[Program], name: str, *, names: bool, filtered: bool
    ) -> Watch | None:
        """Return what is to be observed for some queries; None: nothing, or too much."""
        required = {each.name if names else "": each.required for each in programs}
        asked = list(dict.fromkeys(leaf for each in required.values() for leaf in leaves(each)))
        if not 0 < len(asked) <= _MOST_BITS:
            return None
        return cls(required, asked, programs[0], filtered, f"{name}-needed")

    def packed(self) -> Column:
        """Write what an event has of all that is needed as one number."""
        bits = [
            F.when(holds(leaf, self.program), F.lit(1 << bit)).otherwise(F.lit(0)).cast("long")
            for bit, leaf in enumerate(self.asked)
        ]
        return reduce(operator.add, bits)

    def observe(self, events: DataFrame) -> DataFrame:
        """Let Spark gather the numbers of all events while it does something with them."""
        return events.observe(self.observation, F.bit_or(NEEDED).alias(_HELD)).drop(NEEDED)

    def count(self, events: DataFrame, read: Collection[str]) -> DataFrame:
        """Let Spark count the events of a stream that have what is needed.

        Columns that are not `read` later go first: no optimizer takes them out below an
        observation.
        """
        own = {path[0] for path in map(path_of, self.asked) if path is not None}
        if self.program.type_path is not None:
            own.add(self.program.type_path[0])
        chosen = [name for name in events.columns if name in read or name in own]
        events = events.select(*(F.col(column((name,))) for name in chosen))
        counts = [F.count_if(holds(leaf, self.program)).alias(words(leaf)) for leaf in self.asked]
        return events.observe(self.name, F.count(F.lit(1)).alias("events"), *counts)

    def said(self) -> list[str] | None:
        """Say what no event of a batch job had; None: no action is over yet."""
        metrics = finished(self.observation)
        if metrics is None:
            return None
        held = metrics.get(_HELD)
        if _HELD not in metrics or (held is None and not self.filtered):
            return []  # there were no events at all
        found = self._silences(lambda bit, _: bool((held or 0) >> bit & 1))
        if not self.filtered:
            return found
        return [
            f"{each}, or none that meets the query's other conditions on it; "
            "ensue.spark.unseen(events, query) looks at all events"
            for each in found
        ]

    def said_by(self, progress: Iterable[Mapping[str, Any]]) -> list[str]:
        """Say what no event had in those micro-batches of a stream."""
        total: Counter[str] = Counter()
        for each in progress:
            row = each["observedMetrics"].get(self.name)
            if row is not None:
                total.update(row.asDict())
        if not total["events"]:
            return []
        return self._silences(lambda _, leaf: total[words(leaf)] > 0)

    def _silences(self, held: Callable[[int, Leaf], bool]) -> list[str]:
        seen = Occurrences()
        for bit, leaf in enumerate(self.asked):
            if not held(bit, leaf):
                seen.want(leaf)
        columns, of_type = self.program.columns.names, self.program.options.type
        return sentences(silences(seen, self.required, columns, of_type))


def path_of(leaf: Leaf) -> AttributePath | None:
    """Return the attribute that is asked for; None: the type is."""
    return None if isinstance(leaf, HasType) else leaf.path


def words(leaf: Leaf) -> str:
    """Write what an event may have."""
    match leaf:
        case HasType(names=names):
            return f"type {' or '.join(map(repr, sorted(names)))}"
        case HasAttribute(path=path):
            return f"attribute {'.'.join(path)!r}"
        case HasValue(path=path, values=values):
            return f"{'.'.join(path)} = {' or '.join(map(repr, sorted(values)))}"


# answers

_pending: list[Watch] = []
_of_frame: weakref.WeakKeyDictionary[DataFrame, list[Watch]] = weakref.WeakKeyDictionary()


def keep(found: DataFrame, watches: Iterable[Watch | None]) -> None:
    """Remember what is observed while the matches in a DataFrame are found."""
    known = [each for each in watches if each is not None]
    _of_frame[found] = known
    if not found.isStreaming:
        _pending.extend(known)
        del _pending[:-_PENDING]


@atexit.register
def report() -> None:
    """Warn of what no event had in the batch jobs that are over by now."""
    for each in _pending[:]:
        said = each.said()
        if said is not None:
            _pending.remove(each)
            for sentence in said:
                warn(sentence, UnseenWarning)


def watches_of(found: DataFrame) -> list[Watch]:
    """Return what is observed while the matches in a DataFrame are found."""
    known = _of_frame.get(found)
    if known is None:
        raise ValueError("this is not a DataFrame that recognize() returned; pass that one itself")
    return known


def missing(
    found: DataFrame, progress: Iterable[Mapping[str, Any]] | None = None
) -> list[str] | None:
    """Say what queries need and no event had, after `recognize` has been at work.

    Args:
        found: the DataFrame that `recognize` returned. Of a batch job, its first action counts.
        progress: of a stream, the progress of some micro-batches: `query.recentProgress`.

    Returns:
        Sentences, none where every query could have a match; None before the first action.
    """
    known = watches_of(found)
    if found.isStreaming:
        if progress is None:
            raise ValueError("of a stream, pass its progress too: query.recentProgress")
        every = list(progress)
        return [sentence for each in known for sentence in each.said_by(every)]
    answers = [each.said() for each in known]
    if any(each is None for each in answers):
        return None
    forget(found)
    return [sentence for each in answers if each is not None for sentence in each]


def forget(found: DataFrame) -> None:
    """Warn no more of what no event had while the matches in a DataFrame were found."""
    known = watches_of(found)
    _pending[:] = [each for each in _pending if each not in known]


def finished(observation: Observation) -> dict[str, Any] | None:
    """Return the metrics of an observation without waiting; None: there are none yet.

    `Observation.get` waits for an action, which may never come. Over Spark Connect it does not. It
    is an error where Spark knew without reading that there are no events, and when the JVM is gone:
    then there is nothing to tell.
    """
    java = getattr(observation, "_jo", None)
    if java is None:
        return observation.get or None
    try:
        return observation.get if java.future().isCompleted() else None
    except (Py4JError, OSError):
        return {}
