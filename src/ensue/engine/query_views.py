"""What a query tells about itself and some events: funnels, near misses, strategies."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Unpack, cast

from ensue.options import EventsLike, Limits, ReadOptions, RecognizeArguments, chosen, takes

if TYPE_CHECKING:
    from ensue.engine.query import Query
    from ensue.insight.funnel import Funnel
    from ensue.insight.near_misses import NearMisses
    from ensue.insight.strategies import Strategies


class QueryViews:
    """Questions that a query answers about some events."""

    __slots__ = ()

    @takes(ReadOptions, Limits)
    def funnel(
        self,
        events: EventsLike,
        *,
        until: int | datetime | date | None = None,
        most_events: int | None = None,
        **options: Unpack[RecognizeArguments],
    ) -> Funnel:
        """Count how far events come in the pattern, step by step, and what stops the others.

        Args:
            events: what `run` takes.
            until: the time that has come after the last event, as for `run`.
            most_events: how many events to look at, from the first on. Default: a million, fewer
                where the query takes long, and 5,000 where matches are only known by listing; the
                funnel says when there are more.

        >>> from ensue import compile
        >>> query = compile("SELECT * FROM S WHERE A ; B ; C")
        >>> print(query.funnel([{"type": kind} for kind in "AABC"]))
        step  events  starts  runs
        1  A       2       2     2
        2  B       1       2     2
        3  C       1       2     2
        <BLANKLINE>
        2  matches of the pattern
        """
        from ensue.insight.funnel import funnel

        return funnel(
            cast("Query", self),
            events,
            chosen(ReadOptions, options),
            chosen(Limits, options),
            until,
            most_events,
        )

    @takes(ReadOptions, Limits)
    def near_misses(
        self,
        events: EventsLike,
        n: int = 5,
        *,
        until: int | datetime | date | None = None,
        most_events: int | None = None,
        **options: Unpack[RecognizeArguments],
    ) -> NearMisses:
        """Find the events that came nearest to a match, and the one thing that each lacked.

        Args:
            events: what `run` takes.
            n: how many near misses to return.
            until: the time that has come after the last event, as for `run`.
            most_events: how many events to look at, as for `funnel`.

        >>> from ensue import compile
        >>> query = compile("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER b.v > a.v")
        >>> print(query.near_misses([{"type": "A", "v": 5}, {"type": "B", "v": 4}], n=1))
        0..1  2 of 2 steps: a at 0, b at 1
            needed b.v > a.v, but 4 is not > 5
        """
        from ensue.insight.near_misses import near_misses

        return near_misses(
            cast("Query", self),
            events,
            n,
            chosen(ReadOptions, options),
            chosen(Limits, options),
            until,
            most_events,
        )

    @takes(ReadOptions, Limits)
    def strategies(
        self,
        events: EventsLike,
        *,
        until: int | datetime | date | None = None,
        **options: Unpack[RecognizeArguments],
    ) -> Strategies:
        """Find the matches by every strategy of SELECT: ALL, NEXT, LAST, MAX, FIRST and STRICT.

        Args:
            events: what `run` takes.
            until: the time that has come after the last event, as for `run`.

        >>> from ensue import compile
        >>> query = compile("SELECT * FROM S WHERE A ; B")
        >>> print(query.strategies([{"type": kind} for kind in "AABB"]))
        ALL     Matches(4)
        NEXT    Matches(2)
        LAST    Matches(2)
        MAX     Matches(4)
        FIRST   Matches(2)
        STRICT  Matches(1)
        """
        from ensue.insight.strategies import strategies

        read, limits = chosen(ReadOptions, options), chosen(Limits, options)
        return strategies(cast("Query", self), events, read, limits, until)

    def _repr_html_(self) -> str:
        from ensue.drawing.html import view
        from ensue.language.highlight import highlighted_html

        query = cast("Query", self)
        drawn = "" if query.plan.compiled is None else str(query.automaton.to_svg())
        return view(f"<pre>{highlighted_html(query.text)}</pre>", drawn)
