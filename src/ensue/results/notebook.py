"""Matches as HTML for notebooks: a table whose matches open, with timelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import TYPE_CHECKING

from ensue.analysis.context import count
from ensue.drawing.html import Cell, details, table, view
from ensue.drawing.svg import styles
from ensue.results.display import cell

if TYPE_CHECKING:
    from ensue.results.match import Match
    from ensue.results.matches import Matches

_MOST_COLUMNS = 16


def matches_html(first: Matches, number: int | None, whole: bool, most: int) -> str:
    """Show the first matches.

    Args:
        first: the first matches, at most as many as are shown.
        number: how many there are; None: that is not known yet.
        whole: whether there are no more than that.
        most: how many are shown.
    """
    rows = first.to_arrow()
    known = "matches of a stream" if number is None else count(number, "match", "matches")
    more = f", the first {most}" if number is None or number > most else ""
    heading = f"<p>{'' if whole else 'at least '}{known}{more}</p>"
    if first.schema.totals is not None or not rows.num_rows:
        body = table(
            rows.column_names[:_MOST_COLUMNS],
            ([cell(each) for each in row.values()][:_MOST_COLUMNS] for row in rows.to_pylist()),
        )
        return view(heading, body)
    left_out = {"match_id", "start", "end"} | named_twice(list(first), first.schema.variables)
    names = [
        name
        for name in rows.column_names
        if name not in left_out and (first.has_time or not name.endswith("_time"))
    ][:_MOST_COLUMNS]
    lines: list[list[Cell]] = []
    for match, row in zip(first, rows.select(names).to_pylist(), strict=True):
        lines.append([f"{match.start}..{match.end}", *(cell(each) for each in row.values())])
        # The picture above has the style already.
        lines.append([details("events", match_details(match).replace(styles(), ""))])
    return view(heading, str(first.timeline()), table(["match", *names], lines))


def named_twice(matches: Sequence[Match], variables: Collection[str]) -> set[str]:
    """Return the variables that are types whose events all have another name, too."""
    if not matches:
        return set()
    types = set(matches[0].chunk.stream.types.unique().to_pylist())
    named = [name for name in variables if name not in types]

    def is_named(match: Match, name: str) -> bool:
        others = {at for other in named for at in match.bindings.get(other, ())}
        return set(match.bindings.get(name, ())) <= others

    return {
        name for name in types & set(variables) if all(is_named(match, name) for match in matches)
    }


def match_details(match: Match) -> str:
    """Show the timeline of a match and why it is one."""
    explanation = f"<pre>{escape(str(match.explain()))}</pre>"
    return f"{match.timeline()}{explanation}"
