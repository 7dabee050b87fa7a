"""What the page asks: a query, events as text, and how they are read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import from_python
from ensue.engine.run import find_matches
from ensue.engine.text_options import text_options
from ensue.errors import CeqlWarning, EventError, Source, UnseenWarning
from ensue.insight.evaluation import KeptEvents, keep_events
from ensue.io.columns import TextOptions
from ensue.io.events import EventSource, of_reader
from ensue.io.readers import open_pipe
from ensue.options import Limits, ReadOptions, with_settings
from ensue.play.bounds import MOST_EVENTS, MOST_TEXT, QUERY_LIMITS
from ensue.results.matches import Matches
from ensue.rules.files import split_rule
from ensue.rules.load import Rule, compiled
from ensue.stream.times import Time

_READ = tuple(each.name for each in fields(ReadOptions))
NAME = "query"
"""What messages call the text of the editor."""


class RequestError(ValueError):
    """A request that the page does not make, or settings that mean nothing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, events and settings, as texts."""

    query: str
    events: str
    settings: str
    """As JSON."""
    limits: Limits = QUERY_LIMITS

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Asked:
        """Read a request."""
        query, events = request.get("query", ""), request.get("events", "")
        settings = request.get("settings") or {}
        if not isinstance(query, str) or not isinstance(events, str):
            raise RequestError("query and events are texts")
        if not isinstance(settings, dict):
            raise RequestError("settings are an object")
        if len(events.encode(errors="replace")) > MOST_TEXT:
            raise RequestError(
                f"the playground takes {MOST_TEXT >> 20} MB of events; use `ensue run` for more"
            )
        limits = Limits(**request["limits"]) if "limits" in request else QUERY_LIMITS
        return cls(query, events, json.dumps(settings, sort_keys=True), limits)

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not empty."""
        known: dict[str, Any] = json.loads(self.settings)
        return {name: value for name, value in known.items() if value not in (None, "", [], {})}

    @property
    def params(self) -> dict[str, Any]:
        """The values of parameters."""
        params = self.given.get("params", {})
        if not isinstance(params, dict):
            raise RequestError('parameters are written as JSON, such as {"low": 1.5}')
        return params

    @property
    def read(self) -> ReadOptions:
        """How the events are read, as far as the page says it."""
        given = {name: value for name, value in self.given.items() if name in _READ}
        if isinstance(given.get("lateness"), str) and given["lateness"].isdecimal():
            given["lateness"] = int(given["lateness"])
        if "delimiter" not in given:
            found = _delimiter(self.events)
            given |= {"delimiter": found} if found else {}
        return ReadOptions(**given)

    @property
    def until(self) -> Time | None:
        """The time that has come after the last event."""
        until = self.given.get("until")
        if until is None:
            return None
        text = str(until).strip()
        if text.lstrip("-").isdecimal():
            return int(text)
        try:
            return datetime.fromisoformat(text)
        except ValueError as error:
            raise RequestError(
                f"'until' is a number or a time such as 2026-01-31 09:30:00, not {text!r}"
            ) from error


def _delimiter(text: str) -> str | None:
    """Guess what separates the values of a table that was pasted; None: a comma, or JSON."""
    line = text.lstrip("\ufeff").split("\n", 1)[0]
    if "," in line or line.lstrip().startswith(("{", "[")):
        return None
    return next((each for each in ("\t", ";", "|") if each in line), None)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A compiled query and the events that it reads."""

    query: Rule
    events: KeptEvents
    read: ReadOptions
    until: Time | None
    limits: Limits

    @property
    def is_table(self) -> bool:
        """Whether positions of matches are those of the events on the page."""
        return not self.query.tree.derived and not isinstance(self.events.source, dict)


@lru_cache(maxsize=4)
def compiled_query(query: str, settings: str) -> Rule:
    """Compile the text of the editor, which may have the header of a rule."""
    asked = Asked(query, "", settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        rule = split_rule(Source(query, NAME))
        # Events have other attributes too, and these are looked for when they are there.
        given = asked.given.get("schema")
        schema = None if given is None else from_python(given, partial=True)
        return compiled("", rule, schema, asked.params)


def open_text(text: str, options: TextOptions) -> EventSource:
    """Open events that are written as CSV, as JSON lines or as a list of objects."""
    data = as_lines(text).encode("utf-8", "surrogatepass")
    return of_reader(open_pipe(BytesIO(data), options, name="events"))


def as_lines(text: str) -> str:
    """Write a JSON list of objects as JSON lines, and leave everything else."""
    if not text.lstrip().startswith("["):
        return text
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EventError(f"events: not JSON: {error}") from error
    if not all(isinstance(row, dict) for row in rows):
        raise EventError("events: a list of events has objects only, such as [{'type': 'A'}]")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@lru_cache(maxsize=2)
def loaded(asked: Asked) -> Loaded:
    """Compile the query and read the events for it."""
    query = compiled_query(asked.query, asked.settings)
    read = with_settings(asked.read, query.settings)
    source = open_text(asked.events, text_options([query], read))
    kept = keep_events(query, source, read, MOST_EVENTS)
    if kept.sample.more:
        raise EventError(f"the playground takes {MOST_EVENTS:,} events; use `ensue run` for more")
    column = asked.given.get("stream")
    if isinstance(column, str) and len(query.streams) > 1:
        kept = KeptEvents(by_stream(kept.source, column, query.streams), kept.sample)
    return Loaded(query, kept, read, asked.until, asked.limits)


def by_stream(source: object, column: str, streams: Sequence[str]) -> dict[str, EventSource]:
    """Divide events among the streams of a query, by the column that names their stream."""
    assert isinstance(source, EventSource)
    table = pa.Table.from_batches(source.batches, source.schema)
    if column not in table.column_names:
        raise RequestError(f"there is no column '{column}' that could name the streams")
    names = table.column(column).cast(pa.string())
    unknown = sorted({str(each) for each in pc.unique(names).to_pylist()} - set(streams))
    if unknown:
        raise RequestError(
            f"'{column}' has '{unknown[0]}', which is no stream of FROM: {', '.join(streams)}"
        )
    parts = {}
    for name in streams:
        own = table.filter(pc.equal(names, name)).drop_columns([column])
        parts[name] = EventSource(own.schema, tuple(own.to_batches()), source.closed, own.num_rows)
    return parts


@dataclass(frozen=True, slots=True)
class Found:
    """The matches of a query, and what it looked for in vain."""

    matches: Matches
    unseen: tuple[str, ...]


@lru_cache(maxsize=2)
def found(asked: Asked) -> Found:
    """Find the matches."""
    ready = loaded(asked)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UnseenWarning)
        matches = find_matches(
            ready.query,
            ready.events.source,
            ready.read,
            positions_only=False,
            limits=asked.limits,
            until=ready.until,
        )
        matches.has_time  # noqa: B018 -- reads all events
    return Found(matches, tuple(str(each.message) for each in heard))
