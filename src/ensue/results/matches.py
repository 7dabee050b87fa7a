"""Matches: all that a query found, as objects, rows and tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from ensue.errors import EventError, renamed
from ensue.io.rejected import Rejected
from ensue.options import Limits
from ensue.plan.result_schema import ResultSchema
from ensue.results.chunk import ResultChunk
from ensue.results.input_summary import InputSummary
from ensue.results.match import Match, Total
from ensue.results.match_set import UNKNOWN
from ensue.results.slices import counted_up_to, sliced, too_many, whole_number
from ensue.results.tables import Layout

if TYPE_CHECKING:
    import pandas
    import polars

    from ensue.drawing.svg import Picture

__all__ = ["Match", "Matches", "Total"]

MAX_ROWS = 5_000_000
"""So many rows are listed at most, unless the caller asks for more."""

_SHOWN_MATCHES = 20

_REITERABLE_EVENTS = 100_000
"""Matches of a stream of up to so many events can be iterated as often as one likes."""

_COUNTS_FROM_BYTES = 1 << 28
"""When this many bytes are listed, it is time to count how many rows there will be."""

_MOST_COUNTING_STEPS = 1 << 30
"""Counting that takes more steps stops when it is known that there are too many."""

_UNLISTED, _UNCOUNTED = 10_000, 1_000_000_000
"""A repr says "at least" of more matches than are listed, or counted, for it."""


class Matches:
    """All matches of a query on a stream, in the order of their ends or deadlines.

    Those of a stream that is read in batches are found on demand. Iterating a long one frees what
    was given out, so that it can be iterated once; count, to_arrow() and their kin keep everything.
    """

    def __init__(
        self,
        schema: ResultSchema,
        chunks: Iterator[ResultChunk],
        account: InputSummary,
        *,
        live: bool,
    ) -> None:
        self.schema = schema
        self._more: Iterator[ResultChunk] | None = chunks
        self._kept: list[ResultChunk] = []
        self._account = account
        self._given_out = 0
        self._freed = False
        if not live:
            self._keep_all()

    def _keep_all(self) -> list[ResultChunk]:
        """Find everything that is still to be found and keep it."""
        self._refuse_if_freed()
        if self._more is not None:
            self._kept.extend(self._more)
            self._more = None
        return self._kept

    def _refuse_if_freed(self) -> None:
        if self._freed:
            raise EventError(
                "these matches of a long stream were iterated and are gone; keep them by "
                "list(matches), or ask for matches.count or matches.to_arrow() first"
            )

    @property
    def count(self) -> int:
        """How many matches (or rows of totals) there are; they are not listed."""
        if self._freed and self._more is None:
            return self._given_out
        return sum(chunk.count for chunk in self._keep_all())

    def __len__(self) -> int:
        if self.count > sys.maxsize:
            raise OverflowError("more matches than len() can say; use matches.count")
        return self.count

    def __bool__(self) -> bool:
        return any(self._keep_all())

    def __iter__(self) -> Iterator[Any]:
        self._refuse_if_freed()
        for chunk in self._kept:
            yield from chunk
        while self._more is not None:
            piece_or_end = next(self._more, None)
            if piece_or_end is None:
                self._more = None
                return
            self._remember(piece_or_end)
            for match in piece_or_end:
                self._given_out += 1
                yield match

    def _remember(self, chunk: ResultChunk) -> None:
        """Keep a chunk while the stream is short; of a long one keep none."""
        if not self._freed and chunk.stream.first < _REITERABLE_EVENTS:
            self._kept.append(chunk)
        elif not self._freed:
            self._given_out = sum(each.count for each in self._kept)
            self._kept.clear()
            self._freed = True

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Matches: ...

    def __getitem__(self, index: int | slice) -> Any:
        """Return the match of this number, from 0, or those of a slice.

        The first ones are found quickly; those before an index are listed to get there.
        """
        if isinstance(index, slice):
            return self._slice(index)
        index = whole_number(index)
        chunks = self._keep_all()
        if index < 0:
            index += self.count
        left = max(index, 0)
        for chunk in chunks:
            for match in islice(chunk, left, None):
                return match
            left -= chunk.count
        raise IndexError(f"there are {self.count:,} matches, none with the number {index}")

    def head(self, n: int = 5) -> Matches:
        """Return the first `n` matches; the others are not listed, nor is more of a stream read."""
        return self[: max(whole_number(n), 0)]

    def with_budget(self, *, max_matches: int) -> Matches:
        """Return the same matches with another budget, after a BudgetError from listing them.

        Where a filter refuses matches that have to be listed for it, `max_matches` bounds how many
        of one completing event are. The events need not be read again for a larger one.
        """
        limits = Limits(matches=max_matches)
        chunks = (chunk.with_budget(limits.matches) for chunk in self._chunks())
        return Matches(self.schema, chunks, self._account, live=self._more is not None)

    def _slice(self, index: slice) -> Matches:
        if index.step not in (None, 1):
            raise ValueError("a slice of matches has no step; list(matches)[::2] has one")
        begin, end = index.start or 0, index.stop
        if begin < 0 or end is None or end < 0:
            begin, end, _ = index.indices(self.count)
        chunks: list[ResultChunk] = []
        for chunk in self._chunks():
            size = counted_up_to(chunk, end)
            if begin < size:
                chunks.append(sliced(chunk, begin, min(size, end)))
            begin, end = max(begin - size, 0), end - size
            if end <= 0:
                break
        if not chunks:
            chunks = [sliced(chunk, 0, 0)]
        return Matches(self.schema, iter(chunks), self._account, live=False)

    def _chunks(self) -> Iterator[ResultChunk]:
        """Find and keep one chunk after the other; there is at least one."""
        self._refuse_if_freed()
        yield from list(self._kept)
        while self._more is not None:
            chunk = next(self._more, None)
            if chunk is None:
                self._more = None
            else:
                self._kept.append(chunk)
                yield chunk

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled as a list of matches with their events."""
        self._refuse_more_than(MAX_ROWS, "pickled")
        chunks = [
            chunk.kept(list(chunk.matches)) if self.schema.totals is None else chunk.settled()
            for chunk in self._keep_all()
        ]
        return _unpickled, (self.schema, chunks, self._account)

    def __repr__(self) -> str:
        if self._freed or self._more is not None:
            return "Matches(of a stream)"
        number, whole = self._known(_UNLISTED, _UNCOUNTED)
        return f"Matches({'' if whole else 'at least '}{number:,})"

    @property
    def late(self) -> pa.Table:
        """Events that came too late to take part."""
        chunks = self._keep_all()
        late = self._account.late or [chunks[-1].stream.table.slice(0, 0)]
        return pa.concat_tables(late, promote_options="permissive")

    @property
    def rejected(self) -> list[Rejected]:
        """Events that could not be read or take part, each with the reason."""
        self._keep_all()
        return self._account.rejected

    @property
    def aside(self) -> list[Rejected]:
        """The deprecated name of `rejected`."""
        return renamed("aside", "rejected", self.rejected)

    @property
    def stats(self) -> dict[str, int]:
        """How many events, matches and late events there were, and NULLs from arithmetic."""
        matches, account = self.count, self._account
        return {
            "events": account.events,
            "matches": matches,
            "late": sum(each.num_rows for each in account.late),
            "nulls": account.tally.nulls,
        }

    @property
    def has_time(self) -> bool:
        """Whether the events have a time column."""
        return self._keep_all()[-1].stream.time_column is not None

    def tables(self, layout: Layout | None = None) -> Iterator[pa.Table]:
        """Give what `to_arrow` returns bit by bit, listing only some matches at a time."""
        layout = layout or Layout()
        for chunk in self._keep_all():
            yield from chunk.tables(layout)

    def empty_table(self, layout: Layout | None = None) -> pa.Table:
        """Give a table of no matches, with all its columns."""
        return self._keep_all()[-1].empty_table(layout or Layout())

    def to_arrow(
        self,
        *,
        events: bool = False,
        long: bool = False,
        ids: bool = True,
        columns: Sequence[str] | None = None,
        max_rows: int | None = MAX_ROWS,
    ) -> pa.Table:
        """Return one row a match, or one row an event.

        A row has the name of the query, if it has one, the partition attributes, `start_time`,
        `end_time`, of NOT FOLLOWED BY the `deadline`, and `match_id`, the positions `start` and
        `end`, then each variable and the computed columns.

        Args:
            events: give the rows of the events of a variable, instead of their positions.
            long: give one row for each event of a match, with its attributes and its variables.
            ids: give the match ids, which take longer than all other columns of a short match.
            columns: the columns to give, instead of all.
            max_rows: refuse, by a BudgetError, to list more rows than this; None: no bound.
        """
        if isinstance(columns, str):
            raise TypeError(f"columns= is a list of names: [{columns!r}]")
        layout = Layout(
            events,
            long,
            frozenset() if ids else frozenset({"match_id"}),
            None if columns is None else tuple(columns),
        )
        tables, rows, size, counts = [], 0, 0, max_rows is not None
        self._refuse_more_than(max_rows, "listed", counts=False)
        for table in self.tables(layout):
            tables.append(table)
            rows += table.num_rows
            size += table.nbytes
            if max_rows is not None and counts and (size > _COUNTS_FROM_BYTES or rows > max_rows):
                counts = False
                self._refuse_more_than(max_rows, "listed")
            if max_rows is not None and rows > max_rows:
                raise too_many(f"more than {max_rows:,}", "rows", max_rows, "listed")
        if not tables:
            tables = [self.empty_table(layout)]
        return pa.concat_tables(tables, promote_options="permissive")

    def _refuse_more_than(self, most: int | None, done: str, *, counts: bool = True) -> None:
        """Refuse to list more matches than this, where their number is known without listing.

        With `counts` they are counted on the match graph for that.
        """
        if most is None:
            return
        number, whole = self._known(0, most if counts else 0)
        if number > most:
            raise too_many(f"{'' if whole else 'at least '}{number:,}", "matches", most, done)

    def _known(self, listed: int, counted: int) -> tuple[int, bool]:
        """Return how many matches there are at least, and whether that is all.

        Those of a chunk are listed up to a number, where they have to be listed to be counted, or
        else counted up to another one; beyond that only if it is quick.
        """
        number, whole = 0, True
        for chunk in self._keep_all():
            found = chunk.matches
            if self.schema.totals is not None or not found.effort:
                number += chunk.count
            elif found.effort == UNKNOWN:
                some = counted_up_to(chunk, listed + 1) if listed else found.least
                number, whole = number + some, whole and 0 < listed >= some
            elif found.effort <= _MOST_COUNTING_STEPS and counted:
                number += found.count
            elif counted:
                some = found.at_least(counted)
                number, whole = number + some, whole and some <= counted
            else:
                number, whole = number + found.least, False
        return number, whole

    def to_list(self, *, max_rows: int | None = MAX_ROWS) -> list[Any]:
        """Return all matches as a list; a loop needs no memory for more than one."""
        self._refuse_more_than(max_rows, "listed")
        found = list(islice(iter(self), None if max_rows is None else max_rows + 1))
        if max_rows is not None and len(found) > max_rows:
            raise too_many(f"more than {max_rows:,}", "matches", max_rows, "listed")
        return found

    def to_pandas(
        self,
        *,
        events: bool = False,
        long: bool = False,
        ids: bool = True,
        columns: Sequence[str] | None = None,
        max_rows: int | None = MAX_ROWS,
    ) -> pandas.DataFrame:
        """Return what `to_arrow` returns as a pandas frame."""
        table = self.to_arrow(events=events, long=long, ids=ids, columns=columns, max_rows=max_rows)
        return table.to_pandas()

    def to_polars(
        self,
        *,
        events: bool = False,
        long: bool = False,
        ids: bool = True,
        columns: Sequence[str] | None = None,
        max_rows: int | None = MAX_ROWS,
    ) -> polars.DataFrame:
        """Return what `to_arrow` returns as a polars frame."""
        import polars

        table = self.to_arrow(events=events, long=long, ids=ids, columns=columns, max_rows=max_rows)
        frame = polars.from_arrow(table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def show(self, n: int = _SHOWN_MATCHES, *, events: bool = True) -> None:
        """Print the first `n` matches event by event, or with `events=False` each on one line."""
        from ensue.results.display import show

        show(self, n, events=events)

    def timeline(self, n: int = _SHOWN_MATCHES) -> Picture:
        """Draw the first `n` matches on one time axis, each event in the colour of its variable."""
        from ensue.results.timeline import matches_timeline

        if self.schema.totals is not None:
            raise TypeError("rows of SELECT count(*) have no events to draw; SELECT * has them")
        first = list(self.head(n + 1))
        return matches_timeline(first[:n], more=len(first) > n)

    def _repr_html_(self) -> str:
        from ensue.results.notebook import matches_html

        first = self.head(_SHOWN_MATCHES)
        live = self._freed or self._more is not None
        number, whole = (0, True) if live else self._known(_UNLISTED, _UNCOUNTED)
        return matches_html(first, None if live else number, whole, _SHOWN_MATCHES)


def _unpickled(schema: ResultSchema, chunks: list[ResultChunk], account: InputSummary) -> Matches:
    return Matches(schema, iter(chunks), account, live=False)
