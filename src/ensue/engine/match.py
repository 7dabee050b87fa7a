"""Matches: all that a query found, as objects, rows and tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ensue.engine.piece import Match, Piece, Shape, Total
from ensue.errors import EventError
from ensue.io.rejected import Rejected
from ensue.logic.evaluate import Tally

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Match", "Matches", "Total"]

_SHOWN = 20

_SHORT = 100_000
"""Matches of a stream of up to so many events can be iterated as often as one likes."""


@dataclass(slots=True)
class Account:
    """What became of the events behind some matches."""

    tally: Tally = field(default_factory=Tally)
    events: int = 0
    """How many got a position."""
    late: list[pa.Table] = field(default_factory=list)
    aside: list[Rejected] = field(default_factory=list)

    def add(self, late: pa.Table | None, aside: Iterable[Rejected]) -> None:
        """Write down rows that do not take part."""
        if late is not None:
            self.late.append(late)
        self.aside.extend(aside)


class Matches:
    """All matches of a query on a stream, in the order of their ends.

    Those of a stream that is read bit by bit are found as somebody asks for them. Iterating a long
    one frees what was given out, so that it can be iterated once; count, to_arrow() and their kin
    keep everything.
    """

    def __init__(
        self, shape: Shape, pieces: Iterator[Piece], account: Account, *, live: bool
    ) -> None:
        self.shape = shape
        self._more: Iterator[Piece] | None = pieces
        self._kept: list[Piece] = []
        self._account = account
        self._given_out = 0
        self._freed = False
        if not live:
            self._keep_all()

    def _keep_all(self) -> list[Piece]:
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
        return sum(piece.count for piece in self._keep_all())

    def __len__(self) -> int:
        if self.count > sys.maxsize:
            raise OverflowError("more matches than len() can say; use matches.count")
        return self.count

    def __bool__(self) -> bool:
        return any(self._keep_all())

    def __iter__(self) -> Iterator[Any]:
        self._refuse_if_freed()
        for piece in self._kept:
            yield from piece
        while self._more is not None:
            piece_or_end = next(self._more, None)
            if piece_or_end is None:
                self._more = None
                return
            self._remember(piece_or_end)
            for match in piece_or_end:
                self._given_out += 1
                yield match

    def _remember(self, piece: Piece) -> None:
        """Keep a piece while the stream is short; of a long one keep none."""
        if not self._freed and piece.stream.first < _SHORT:
            self._kept.append(piece)
        elif not self._freed:
            self._given_out = sum(each.count for each in self._kept)
            self._kept.clear()
            self._freed = True

    def __getitem__(self, index: int) -> Any:
        """Return the match of this number, from 0; the first ones are found quickly."""
        pieces = self._keep_all()
        if index < 0:
            index += self.count
        left = max(index, 0)
        for piece in pieces:
            for match in islice(piece, left, None):
                return match
            left -= piece.count
        raise IndexError(f"there are {self.count:,} matches, none with the number {index}")

    def __repr__(self) -> str:
        return "Matches(of a stream)" if self._more is not None else f"Matches({self.count:,})"

    @property
    def late(self) -> pa.Table:
        """Events that came too late to take part."""
        pieces = self._keep_all()
        late = self._account.late or [pieces[-1].stream.table.slice(0, 0)]
        return pa.concat_tables(late, promote_options="permissive")

    @property
    def rejected(self) -> list[Rejected]:
        """Events that could not be read or take part, each with the reason."""
        self._keep_all()
        return self._account.aside

    @property
    def aside(self) -> list[Rejected]:
        """The same as `rejected`, under the name that it had before."""
        return self.rejected

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

    def tables(self, *, events: bool = False) -> Iterator[pa.Table]:
        """Give what `to_arrow` returns bit by bit, listing only some matches at a time."""
        for piece in self._keep_all():
            yield from piece.tables(events=events)

    def to_arrow(self, *, events: bool = False) -> pa.Table:
        """Return one row a match: positions per variable, or with `events` their rows."""
        tables = list(self.tables(events=events))
        if not tables:
            tables = [self._kept[-1].empty_table(events=events)]
        return pa.concat_tables(tables, promote_options="permissive")

    def to_pandas(self, *, events: bool = False) -> pandas.DataFrame:
        """Return one row a match as a pandas frame."""
        return self.to_arrow(events=events).to_pandas()

    def to_polars(self, *, events: bool = False) -> polars.DataFrame:
        """Return one row a match as a polars frame."""
        import polars

        frame = polars.from_arrow(self.to_arrow(events=events))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def _repr_html_(self) -> str:
        pieces = self._keep_all()
        first = next((table for piece in pieces for table in piece.tables(events=False)), None)
        table = (pieces[-1].empty_table(events=False) if first is None else first).slice(0, _SHOWN)
        head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>"
            for row in table.to_pylist()
        )
        more = f", the first {_SHOWN}" if self.count > _SHOWN else ""
        return (
            f"<p>{self.count:,} matches{more}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )
