"""`ensue run` with rules: many queries in one pass, and one stream of what they find."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ensue.cli.terminal import UsageError, count, remark
from ensue.engine.query import Query
from ensue.engine.query import open as open_queries
from ensue.engine.query import resume as resume_queries
from ensue.io.rejected import Rejected
from ensue.options import OnError
from ensue.results.joining import fitted, joined_fields
from ensue.results.tables import Layout
from ensue.stream.times import Time

if TYPE_CHECKING:
    from ensue.engine.sessions import Sessions
    from ensue.results.matches import Matches
    from ensue.rules.load import Rule

QUERY = "query"
LABELS = ("title", "severity", "tags")
"""Settings of a rule that are columns of its results, where some rule has them."""

_MOST_SORTED = 100_000
"""Of more matches in one push, those of each rule come together."""

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that run together."""

    rules: Mapping[str, Rule]
    uniform: bool
    """Whether all rows have the same columns, as in CSV and Parquet."""

    @property
    def queries(self) -> list[Query]:
        """The queries of the rules."""
        return list(self.rules.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """The settings that are columns of results."""
        return tuple(
            label for label in LABELS if any(getattr(each, label) for each in self.rules.values())
        )

    def identity(self) -> dict[str, Any]:
        """Return what identifies these rules."""
        return {
            name: [str(rule), sorted((key, repr(value)) for key, value in rule.settings.items())]
            for name, rule in self.rules.items()
        }

    @property
    def params(self) -> dict[str, Any]:
        """The values of all parameters."""
        return {
            f"{name}: {key}": value
            for name, rule in self.rules.items()
            for key, value in rule.params.items()
        }

    def open(self, *, on_error: OnError, **options: Any) -> RuleSession:
        """Open a session of all rules."""
        return RuleSession(self, open_queries(self.rules, on_error=on_error, **options))

    def resume(self, snapshot: bytes, *, on_error: OnError, **limits: Any) -> RuleSession:
        """Go on from a snapshot."""
        return RuleSession(self, resume_queries(self.rules, snapshot, on_error=on_error, **limits))


@dataclass(slots=True)
class RuleSession:
    """A session of all rules, whose results are one stream."""

    rules: RuleSet
    session: Sessions

    def push(self, events: object, *, first_row: int = 0) -> RuleMatches:
        """Read events, and return what they complete."""
        return RuleMatches(self.rules, self.session.push(events, first_row=first_row))

    def advance(self, time: Time) -> RuleMatches:
        """Advance time without events, and return what that completes."""
        return RuleMatches(self.rules, self.session.advance(time))

    def finish(self, *, at: Time | None = None) -> RuleMatches:
        """Signal the end of input, and return what that completes."""
        return RuleMatches(self.rules, self.session.finish(at=at))

    def snapshot(self) -> bytes:
        """Return the state of all rules."""
        return self.session.snapshot()

    @property
    def stats(self) -> dict[str, Any]:
        """What was seen and found."""
        return self.session.stats


@dataclass(slots=True)
class RuleMatches:
    """The matches of all rules that one step completed, in the order of their ends."""

    rules: RuleSet
    found: Mapping[str, Matches]

    @property
    def rejected(self) -> list[Rejected]:
        """Events that could not take part, each once, though several rules have met it."""
        known: dict[object, Rejected] = {}
        for matches in self.found.values():
            for each in matches.rejected:
                known.setdefault(each.row if each.row is not None else id(each), each)
        return list(known.values())

    def labelled(self) -> Iterator[tuple[dict[str, Any], Matches]]:
        """Give the matches of each rule with its labels."""
        for name, matches in self.found.items():
            rule = self.rules.rules[name]
            yield {QUERY: name, **{key: getattr(rule, key) for key in self.rules.labels}}, matches

    def tables(self, layout: Layout) -> Iterator[pa.Table]:
        """Give rows, those that end first before the others."""
        schema = self._schema(layout) if self.rules.uniform else None
        if sum(matches.count for matches in self.found.values()) > _MOST_SORTED:
            for label, matches in self.labelled():
                for table in matches.tables(layout):
                    yield _fit(_with_label(table, label), schema)
            return
        tables = [
            _fit(_with_label(table, label), schema)
            for label, matches in self.labelled()
            for table in matches.tables(layout)
            if table.num_rows
        ]
        yield from _in_order(tables, schema)

    def empty_table(self, layout: Layout) -> pa.Table:
        """Return no rows, of columns that all have."""
        return self._schema(layout).empty_table()

    def _schema(self, layout: Layout) -> pa.Schema:
        """Return the columns that the rows of all rules have together."""
        schemas = []
        for label, matches in self.labelled():
            table = next(matches.tables(layout), None)
            table = matches.empty_table(layout) if table is None else table
            schemas.append(_with_label(table.slice(0, 0), label).schema)
        fields = joined_fields(schemas, "write JSON lines: --format json")
        return pa.schema(list(fields.items()))


_KINDS = {"tags": pa.list_(pa.string())}


def _with_label(table: pa.Table, label: Mapping[str, Any]) -> pa.Table:
    """Put the labels of the rule before the other columns."""
    columns: dict[str, Any] = {}
    for key, value in label.items():
        kind = _KINDS.get(key, pa.string())
        given = list(value) if isinstance(value, tuple) else value
        taken = key != QUERY and key in table.column_names
        repeated = pa.array([given] * table.num_rows, kind)
        columns[f"rule_{key}" if taken else key] = repeated
    for name in table.column_names:
        columns.setdefault(name, table.column(name))
    return pa.table(columns)


def _fit(table: pa.Table, schema: pa.Schema | None) -> pa.Table:
    return table if schema is None else fitted(table, schema)


def _in_order(tables: Sequence[pa.Table], schema: pa.Schema | None) -> Iterator[pa.Table]:
    """Merge tables, each in order, by the position at which matches end."""
    if not tables:
        return
    ends = np.concatenate([_ends(each) for each in tables])
    order = np.argsort(ends, kind="stable")
    if schema is not None:
        yield pa.concat_tables(tables).take(pa.array(order))
        return
    sizes = [each.num_rows for each in tables]
    of = np.repeat(np.arange(len(tables)), sizes)[order]
    row = np.concatenate([np.arange(size) for size in sizes])[order]
    # Rows of one table that follow each other stay together.
    cuts = np.flatnonzero((np.diff(of) != 0) | (np.diff(row) != 1)) + 1
    for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(of)], strict=True):
        yield tables[of[begin]].slice(int(row[begin]), end - begin)


def _ends(table: pa.Table) -> np.ndarray:
    """Return where matches end; rows of totals come after them."""
    if "end" in table.column_names and pa.types.is_integer(table.schema.field("end").type):
        ends: np.ndarray = table.column("end").to_numpy()
        return ends
    return np.full(table.num_rows, np.iinfo(np.int64).max)


def refuse_other_streams(queries: Collection[Query]) -> None:
    """Stop when rules do not read the same streams."""
    sources = [tuple(each.streams) for each in queries]
    several = next((each for each in sources if len(each) > 1), None)
    if several is not None and len(set(sources)) > 1:
        raise UsageError(
            f"some rules read the streams {', '.join(several)}, and others do not; rules that run "
            "together read one stream each, or all the same streams"
        )


def remark_counts(counts: Mapping[str, int]) -> None:
    """Say how much each rule has found."""
    found = {name: number for name, number in counts.items() if number}
    for name, number in list(found.items())[:_MOST_NAMED]:
        remark(f"  {name}: {count(number, 'match', 'matches')}")
    if len(found) > _MOST_NAMED:
        remark(f"  … and {len(found) - _MOST_NAMED:,} more rules")
    silent = len(counts) - len(found)
    if silent:
        remark(f"  {count(silent, 'rule')} without a match")
