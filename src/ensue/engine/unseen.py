"""Types, attributes and values that a query asks for and no event had.

A query that misspells a type finds nothing, and silence looks like a result. Each pipeline notes
what its queries require (see logic/required.py) until the events have had it; from then on this
costs nothing. Meanwhile the vectors that predicates are evaluated on are looked at once more, never
the rows of a column of strings. At the end of input, what no event had is named in a warning.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.context import nearest
from ensue.errors import UnseenWarning, warn
from ensue.logic.required import (
    HasAttribute,
    HasType,
    HasValue,
    Leaf,
    Path,
    Requirement,
    leaves,
    unmet,
)
from ensue.messages import Message, Option
from ensue.predicates.evaluate import Batch
from ensue.predicates.vectors import Strings, path_column

_LARGE_BATCH_ROWS = 1 << 12
_MOST_SMALL = 1 << 8
"""Batches of fewer events are gathered until there are that many, or so many batches."""

_FIRST = 1 << 8
"""What is wanted is looked for among so many events before it is among the others."""

_SAMPLE = 1 << 13
"""Other values are collected from so many events of a batch."""

_MOST_KEPT = 1000
_LONGEST = 100
"""So many values of a column are kept to be shown, none longer than this."""

_MOST_SHOWN = 20
_MOST_WARNINGS = 10
_MOST_NAMED = 5


@dataclass(slots=True)
class Occurrences:
    """What is still to be seen, and what was seen instead."""

    types: set[HasType] = field(default_factory=set)
    values: dict[Path, set[HasValue]] = field(default_factory=dict)
    attributes: set[HasAttribute] = field(default_factory=set)
    known: bool = True
    """False: earlier events may have had what is missing, so that nothing is known."""
    _small: list[Batch] = field(default_factory=list)
    """Small batches that are still to be looked at."""
    _gathered: int = 0
    """How many events they have."""
    _looked_at: dict[Path | None, set[str | None]] = field(default_factory=dict)
    """Strings of a column (None: types) that small batches had and that were looked at."""
    _previous: dict[Path | None, pa.Array] = field(default_factory=dict)
    """The dictionary of a column in the batch before."""
    _lacking: dict[Path | None, pa.Array] = field(default_factory=dict)
    """The last dictionary of a column all of whose values are kept and none is wanted."""
    _others: dict[Path | None, dict[str, None]] = field(default_factory=dict)
    """Some values of a column (None: types) that events had."""
    _last: dict[Path | None, pa.Array] = field(default_factory=dict)
    """Of a column, the last dictionary all of whose values are kept."""

    def want(self, required: Requirement) -> None:
        """Look for what one more query requires."""
        self._looked_at.clear()
        self._lacking.clear()
        for leaf in leaves(required):
            match leaf:
                case HasType():
                    self.types.add(leaf)
                case HasAttribute():
                    self.attributes.add(leaf)
                case HasValue(path=path):
                    self.values.setdefault(path, set()).add(leaf)

    @property
    def waiting(self) -> bool:
        """Whether anything is still to be seen."""
        return bool(self.types or self.attributes or self.values)

    def holds(self, leaf: Leaf) -> bool:
        """Tell whether some event had what is asked for."""
        match leaf:
            case HasType():
                return leaf not in self.types
            case HasAttribute():
                return leaf not in self.attributes
            case HasValue(path=path):
                return leaf not in self.values.get(path, ())

    def read(self, batch: Batch) -> None:
        """Look at what some events have, now or with those that follow."""
        if batch.length >= _LARGE_BATCH_ROWS:
            self._look(batch)
        elif batch.length and not self._has_nothing_new(batch):
            self._small.append(batch)
            self._gathered += batch.length
            if self._gathered >= _LARGE_BATCH_ROWS or len(self._small) == _MOST_SMALL:
                self.catch_up()

    def _has_nothing_new(self, batch: Batch) -> bool:
        """Tell whether a few events have strings that were looked at before, and no others.

        Those that were not are looked at now, as long as they are not too many to be kept.
        """
        if self.attributes:
            return False
        for column in [*self.values, None] if self.types else [*self.values]:
            texts = batch.known_texts.get(column)
            if texts is None:
                if not self._lacks_wanted(batch, column):
                    return False
                continue
            known = self._looked_at.setdefault(column, set())
            if not known.issuperset(texts):
                if len(known) >= _MOST_KEPT:
                    return False
                self._look(batch)
                known.update(texts)
        return True

    def _lacks_wanted(self, batch: Batch, column: Path | None) -> bool:
        """Tell whether a column has the dictionary of the batch before, without what is wanted."""
        strings = batch.known_strings(column)
        if strings is None:
            return False
        distinct, again = strings.distinct, self._previous.get(column)
        self._previous[column] = distinct
        if distinct is again and distinct is not self._lacking.get(column):
            self._look(batch)
        return distinct is self._lacking.get(column)

    def catch_up(self) -> None:
        """Look at the small batches that are still to be looked at."""
        small, self._small, self._gathered = self._small, [], 0
        if small:
            self._look(_joined(small))

    def _look(self, batch: Batch) -> None:
        if self.types:
            self._read_types(batch)
        for leaf in [*self.attributes]:
            column = path_column(batch.table, leaf.path)
            if column is not None and column.null_count < len(column):
                self.attributes.discard(leaf)
        for path in [*self.values]:
            self._read_values(batch, path)

    def _read_types(self, batch: Batch) -> None:
        wanted = {name for leaf in self.types for name in leaf.names}
        found = self._distinct(None, batch.types, wanted)
        self.types = {leaf for leaf in self.types if not leaf.names & found}

    def _read_values(self, batch: Batch, path: Path) -> None:
        column = path_column(batch.table, path)
        if column is None or pa.types.is_null(column.type):
            return
        waiting = self.values[path]
        wanted = {value for leaf in waiting for value in leaf.values}
        if not _is_text(column.type):
            # Only strings are checked.
            found = wanted
        else:
            vector = batch.vector(path)
            found = self._distinct(path, vector, wanted) if isinstance(vector, Strings) else wanted
        left = {leaf for leaf in waiting if not leaf.values & found}
        if left:
            self.values[path] = left
        else:
            del self.values[path]

    def _distinct(self, column: Path | None, strings: Strings, wanted: set[str]) -> set[str]:
        """Note the values of many events; return those that are wanted.

        A dictionary may have strings that no row has; what is wanted is mostly found soon.
        """
        distinct = strings.distinct
        asked = pc.is_in(distinct, value_set=pa.array(sorted(wanted), pa.string()))
        places = np.flatnonzero(asked.to_numpy(zero_copy_only=False)).tolist()
        codes = strings.codes
        first = set(codes[:_FIRST].tolist())
        found = {
            distinct[place].as_py()
            for place in places
            if place in first or (codes[_FIRST:] == place).any()
        }
        self._note(column, strings)
        if not places and distinct is self._last.get(column):
            self._lacking[column] = distinct
        return found

    def _note(self, column: Path | None, strings: Strings) -> None:
        """Keep some of the values that there are."""
        kept, distinct = self._others.setdefault(column, {}), strings.distinct
        if len(kept) >= _MOST_KEPT or distinct is self._last.get(column):
            return
        texts = distinct.slice(0, _MOST_KEPT).to_pylist()
        new = [
            place
            for place, text in enumerate(texts)
            if text is not None and text not in kept and len(text) <= _LONGEST
        ]
        if new:
            present = np.zeros(len(distinct), bool)
            present[strings.codes[:: len(strings.codes) // _SAMPLE + 1]] = True
            kept.update((texts[place], None) for place in new if present[place])
        else:
            self._last[column] = distinct

    # snapshots

    def save(self) -> dict[str, Any]:
        """Return what is still to be seen as plain values."""
        self.catch_up()
        return {
            "known": self.known,
            "types": tuple(sorted(tuple(sorted(leaf.names)) for leaf in self.types)),
            "attributes": tuple(sorted(leaf.path for leaf in self.attributes)),
            "values": tuple(
                sorted(
                    (path, tuple(sorted(leaf.values)))
                    for path, some in self.values.items()
                    for leaf in some
                )
            ),
            "others": tuple(
                (column, tuple(sorted(kept)[:_MOST_SHOWN]))
                for column, kept in sorted(self._others.items(), key=lambda each: each[0] or ())
                if (self.types if column is None else column in self.values)
            ),
        }

    def load(self, saved: Mapping[str, Any] | None) -> None:
        """Go on from there; older snapshots do not tell."""
        self.types, self.attributes, self.values = set(), set(), {}
        self.known = saved is not None and saved["known"]
        if saved is None or not self.known:
            return
        self.types = {HasType(frozenset(names)) for names in saved["types"]}
        self.attributes = {HasAttribute(tuple(path)) for path in saved["attributes"]}
        for path, values in saved["values"]:
            leaf = HasValue(tuple(path), frozenset(values))
            self.values.setdefault(leaf.path, set()).add(leaf)
        self._others = {column: dict.fromkeys(kept) for column, kept in saved["others"]}

    # words

    def note(self, column: Path | None, values: Iterable[str]) -> None:
        """Keep some values that events had in a column, as another scan found them."""
        kept = self._others.setdefault(column, {})
        kept.update((each, None) for each in values if len(each) <= _LONGEST)

    def others(self, column: Path | None) -> list[str]:
        """Return some values that events had in a column (None: as their types)."""
        return list(self._others.get(column, ()))


def _joined(batches: list[Batch]) -> Batch:
    """Put small batches together; most have the same columns."""
    if len(batches) == 1:
        return batches[0]
    tables = [each.table for each in batches]
    types = [_types(each) for each in batches]
    if len({each.type for each in types}) > 1:
        types = [each.cast(pa.string()) for each in types]
    try:
        table = pa.concat_tables(tables)
    except pa.ArrowInvalid:
        table = pa.concat_tables(tables, promote_options="permissive")
    return Batch(table, pa.chunked_array([chunk for each in types for chunk in each.chunks]))


def _types(batch: Batch) -> pa.ChunkedArray:
    given = batch.given_types
    if isinstance(given, Strings):
        return pa.chunked_array([given.distinct.take(pa.array(given.codes))])
    return given


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


@dataclass(frozen=True, slots=True)
class Silence:
    """What no event had, in words, and the queries that have no match because of it."""

    sentence: str
    queries: tuple[str, ...]


def silences(
    seen: Occurrences,
    required: Mapping[str, Requirement],
    columns: Collection[str],
    type_column: str,
) -> list[Silence]:
    """Say what no event had, for each query that needs it."""
    seen.catch_up()
    if not seen.known or not seen.waiting:
        return []
    found: dict[Leaf, list[str]] = {}
    for name, each in required.items():
        missing = unmet(each, seen.holds)
        for leaf in missing:
            # Of an attribute that no event has, values are not worth a sentence of their own.
            if not (isinstance(leaf, HasValue) and HasAttribute(leaf.path) in missing):
                found.setdefault(leaf, []).append(name)
    return [
        Silence(_sentence(leaf, seen, columns, type_column), tuple(names))
        for leaf, names in found.items()
    ]


def sentences(found: Iterable[Silence]) -> list[str]:
    """Write what no event had, each thing once, with the queries that miss it."""
    by_sentence: dict[str, list[str]] = {}
    for each in found:
        by_sentence.setdefault(each.sentence, []).extend(each.queries)
    found_missing = []
    for sentence, names in list(by_sentence.items())[:_MOST_WARNINGS]:
        named = [f"'{name}'" for name in names if name]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        who = f"{'query' if len(named) == 1 else 'queries'} {', '.join(named[:_MOST_NAMED])}{more}"
        found_missing.append(Message(sentence, f" ({who})") if named else sentence)
    left = len(by_sentence) - _MOST_WARNINGS
    if left > 0:
        found_missing.append(f"{left} more types, attributes or values occur in no event")
    return found_missing


def warn_of(found: Iterable[Silence]) -> None:
    """Warn of what no event had, at the line of the user's code that called Ensue."""
    for sentence in sentences(found):
        warn(sentence, UnseenWarning)


def _sentence(leaf: Leaf, seen: Occurrences, columns: Collection[str], type_column: str) -> str:
    match leaf:
        case HasType(names=names):
            text = f"no event has type {_either(names)}"
            others = _there_are(names, seen.others(None))
            # Any other type column would have to be there; it may be a field of a struct.
            if type_column == "type" and type_column not in columns:
                absent = f", because there is no column '{type_column}': pass "
                return Message(text, others, absent, Option("type"))
            return text + others
        case HasValue(path=path, values=values):
            others = _there_are(values, seen.others(path))
            return f"no event has {'.'.join(path)} = {_either(values)}{others}"
        case HasAttribute(path=path):
            name = ".".join(path)
            if path[0] in columns:
                return f"the attribute '{name}' is NULL in all events"
            near = nearest(name, columns)
            hint = f"; did you mean '{near}'?" if near else _there_are({name}, columns)
            return f"no event has attribute '{name}'{hint}"


def _either(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" or {len(ordered) - _MOST_NAMED} others" if len(ordered) > _MOST_NAMED else ""
    return " or ".join(f"'{name}'" for name in ordered[:_MOST_NAMED]) + more


def _there_are(wanted: Iterable[str], others: Iterable[str]) -> str:
    """List what there is, what is most like the wanted first."""
    known = list(others)
    if not known:
        return ""
    folded = {each.lower(): each for each in reversed(known)}
    near = [
        folded[close]
        for each in sorted(wanted)
        for close in difflib.get_close_matches(each.lower(), folded, n=3)
    ]
    ordered = list(dict.fromkeys([*near, *known]))
    more = ", …" if len(ordered) > _MOST_SHOWN else ""
    verb = "is" if len(ordered) == 1 else "are"
    return f"; there {verb} {', '.join(ordered[:_MOST_SHOWN])}{more}"
