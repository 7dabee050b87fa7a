"""What a query finds, and why, as the page shows it: numbers, texts and pictures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from ensue.drawing.svg import Picture, styles
from ensue.errors import EnsueError
from ensue.insight.evaluation import first_events
from ensue.insight.funnel import Funnel, funnel
from ensue.insight.near_misses import NearMisses, near_misses
from ensue.insight.show import ending_text, number
from ensue.insight.stepping import Moment, Stepping, step_levels
from ensue.insight.strategies import strategies
from ensue.play.asking import Asked, RequestError, found, loaded
from ensue.play.bounds import MOST_DRAWN, MOST_MATCHES
from ensue.results.display import cell
from ensue.results.match import Match
from ensue.results.matches import Matches
from ensue.results.notebook import named_twice
from ensue.results.timeline import matches_timeline

Answer = dict[str, Any]

_MOST_COMPARED = 8
"""Matches of each strategy that are drawn."""

_NEAR = 5

_MOST_EXPLAINED = 10_000
"""Events that funnels and near misses look at."""


def svg(picture: Picture) -> str:
    """Write a picture without its style, which the page has."""
    return str(picture).replace(styles(), "")


def matches(request: Answer) -> Answer:
    """Find the matches: their number, the first of them as rows, and on a time axis."""
    begin = time.perf_counter()
    asked = Asked.of(request)
    answer = found(asked)
    everything = answer.matches
    seconds = time.perf_counter() - begin
    first = everything.head(MOST_MATCHES)
    table = first.to_arrow(ids=False)
    listed = list(first) if first.schema.totals is None else []
    names = _columns(first, listed, table.column_names)
    marks = loaded(asked).is_table
    return {
        "count": number(everything.count),
        "listed": table.num_rows,
        "totals": first.schema.totals is not None,
        "seconds": seconds,
        "columns": names,
        "rows": [
            [cell(value) for value in row.values()] for row in table.select(names).to_pylist()
        ],
        "matches": [_match(each, marks) for each in listed],
        "svg": svg(matches_timeline(listed[:MOST_DRAWN], len(listed) > MOST_DRAWN))
        if listed
        else None,
        "unseen": list(answer.unseen),
        "events": loaded(asked).events.sample.events,
    }


def _columns(matches: Matches, listed: Sequence[Match], names: Sequence[str]) -> list[str]:
    """Return the columns that are shown.

    The interval stands in front. A variable that is named like a type is left out where all of its
    events have another name, too.
    """
    if matches.schema.totals is not None:
        return [name for name in names if name != "query"]
    left_out = {"query", "start", "end", *(() if matches.has_time else ("start_time", "end_time"))}
    left_out |= named_twice(listed, matches.schema.variables)
    return [name for name in names if name not in left_out]


def _match(match: Match, marks: bool) -> Answer:
    positions = match.positions if marks else []
    return {"start": match.start, "end": match.end, "positions": positions}


def match(request: Answer) -> Answer:
    """Show one match: its own time axis, and why it is one."""
    asked, index = Asked.of(request), request.get("number")
    if not isinstance(index, int) or not 0 <= index < MOST_MATCHES:
        raise RequestError("there is no match with this number")
    chosen = found(asked).matches[index]
    if not isinstance(chosen, Match):
        raise RequestError("rows of totals are no single matches")
    return {"svg": svg(chosen.timeline()), "text": str(chosen.explain())}


def compare(request: Answer) -> Answer:
    """Find the matches by every strategy, side by side."""
    ready = loaded(Asked.of(request))
    marks = ready.is_table
    compared = strategies(ready.query, ready.events, ready.read, ready.limits, ready.until)
    answers = []
    for name, each in compared.matches.items():
        try:
            first = list(islice(each, _MOST_COMPARED))
            answers.append(
                {
                    "name": name,
                    "count": number(each.count),
                    "matches": [
                        {**_match(each_match, marks), "text": _bindings(each_match)}
                        for each_match in first
                    ],
                    "svg": svg(matches_timeline(first, more=each.count > len(first))),
                }
            )
        except EnsueError as error:
            answers.append({"name": name, "count": "?", "matches": [], "problem": str(error)})
    return {"strategies": answers}


def _bindings(match: Match) -> str:
    """Write the positions of each variable."""
    names: dict[str, list[int]] = {}
    for event in match.explain().events:
        for name in event.variables:
            names.setdefault(name, []).append(event.position)
    return "  ".join(f"{name} {' '.join(map(str, at))}" for name, at in names.items())


def step(request: Answer) -> Answer:
    """Follow the query event by event, and those of its derived streams."""
    ready = loaded(Asked.of(request))
    levels = step_levels(ready.query, ready.events, ready.read, ready.limits, ready.until)
    return {
        "ordered": ready.read.lateness is not None or isinstance(ready.events.source, dict),
        "levels": [_stepping(each) for each in levels],
    }


def _stepping(stepping: Stepping) -> Answer:
    drawing = stepping.automaton
    return {
        "stream": stepping.stream,
        "svg": None if drawing is None else svg(drawing.to_svg()),
        "why": stepping.why,
        "more": stepping.more,
        "late": list(stepping.late),
        "moments": [_moment(each) for each in stepping.moments],
    }


def _moment(moment: Moment) -> Answer:
    return {
        "position": moment.position,
        "row": moment.row,
        "event": {name: cell(value) for name, value in moment.event.items() if value is not None},
        "did": _did(moment),
        "matches": moment.matches,
        "states": ["start" if each == 0 else f"q{each}" for each in moment.states],
        "runs": number(moment.runs),
        "partial": [
            {
                "start": each.start,
                "state": each.state,
                "runs": number(each.runs),
                "bindings": each.bindings,
            }
            for each in moment.partial
        ],
    }


def _did(moment: Moment) -> list[str]:
    """Say in sentences what an event did."""

    def runs(count: int) -> str:
        return f"{number(count)} partial match{'' if count == 1 else 'es'}"

    told: list[str] = []
    if moment.started:
        told.append("begins a partial match")
    told += [f"is bound to {name} in {runs(count)}" for name, count in moment.bound.items()]
    if moment.matches:
        several = "match" if moment.matches == 1 else "matches"
        told.append(f"completes {number(moment.matches)} {several}")
    elif moment.completed:
        told.append(f"completes {runs(moment.completed)}, of which none is a match in the end")
    if moment.expired:
        told.append(f"{runs(moment.expired)} ended: the window is over")
    if moment.stopped:
        told.append(f"{runs(moment.stopped)} ended: the next event had to be another one")
    if moment.refused:
        told.append(f"{runs(moment.refused)} ended: a condition with earlier events does not hold")
    if moment.consumed:
        told.append(f"{runs(moment.consumed)} forgotten by CONSUME BY")
    return told or ["does nothing: no partial match takes it"]


def why(request: Answer) -> Answer:
    """Count how far events come, and find what came nearest to a match."""
    ready = loaded(Asked.of(request))
    query, read = ready.query, ready.read
    # A funnel runs the query a few times for each step.
    events = first_events(ready.events, _MOST_EXPLAINED)
    steps = funnel(query, events, read, ready.limits, ready.until)
    nearest = near_misses(query, events, _NEAR, read, ready.limits, ready.until)
    return {"funnel": _funnel(steps), "near": _near(nearest, ready.is_table)}


def _funnel(found: Funnel) -> Answer:
    most = max((step.starts or 0 for step in found.steps), default=0) or 1
    return {
        "steps": [
            {
                "number": each.number,
                "text": each.text,
                "events": number(each.events),
                "of_type": number(each.of_type),
                "starts": number(each.starts),
                "share": (each.starts or 0) / most,
                "runs": number(each.runs),
                "endings": [ending_text(ending) for ending in each.endings],
            }
            for each in found.steps
        ],
        "stages": [
            {"clause": each.clause, "matches": number(each.matches)} for each in found.stages
        ],
        "sample": f"{found.sample}" if found.sample.more else "",
    }


def _near(found: NearMisses, marks: bool) -> Answer:
    notes = str(found).splitlines()[len(found) * 2 :] if found.found else str(found).splitlines()
    return {
        "misses": [
            {
                "steps": each.steps,
                "of_steps": each.of_steps,
                "obstacle": each.obstacle,
                "reason": each.reason,
                "bound": ", ".join(
                    f"{', '.join(event.variables)} at {event.position}"
                    for event in each.match.explain().events
                ),
                "positions": each.match.positions if marks else [],
                "svg": svg(each.match.timeline()),
            }
            for each in found
        ],
        "notes": notes,
    }
