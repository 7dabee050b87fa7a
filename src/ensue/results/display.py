"""Matches as tables for people: short cells, and as many columns as the terminal has room for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from ensue.analysis.context import count, listing
from ensue.logic.build import SELECTED
from ensue.results.tables import Layout

if TYPE_CHECKING:
    from ensue.results.matches import Match, Matches

_WIDEST_CELL = 32
_MOST_EVENTS = 20
"""Of a match with more events the table shows this many."""

_MOST_DIGITS = 6
_UNUSUAL = set("en")
"""Letters of numbers with an exponent, and of nan and inf."""

_GAP = 2
_NARROWEST = 12

_OWN = "\0"
"""Begins the names of columns that are ours, for an attribute may have the same name."""

_IDS = ("match_id", f"{_OWN}match_id")
"""Ids are shown whole or not at all, and not missed where there is no room for them."""

_LAST = tuple(f"{_OWN}{name}" for name in ("start_time", "end_time", "match_id"))

_MATCH, _POSITION, _VARIABLES = f"{_OWN}match", f"{_OWN}at", f"{_OWN}bound to"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: values by column; a new match starts at `first`."""

    values: dict[str, Any]
    first: bool = True


def print_matches(
    console: Console,
    matches: Matches,
    *,
    events: bool,
    most: int,
    type_column: str = "type",
    mentioned: Iterable[str] = (),
) -> None:
    """Print the first matches, event by event or one line each, and how many more there are."""
    table = MatchTable(events, most, type_column, mentioned)
    table.add(matches)
    table.print(console)


def show(matches: Matches, most: int, *, events: bool) -> None:
    """Print the first matches on standard output, and how many there are."""
    console = Console(highlight=False, markup=False, emoji=False)
    first = matches.head(most)
    print_matches(console, first, events=events, most=most)
    if not first:
        console.print("no matches")
    elif len(first) == most:
        console.print(f"the first {count(most, 'match', 'matches')}; matches.count says how many")


class MatchTable:
    """The first matches of those that come, event by event or one line each.

    Where there is not room for all columns, those that are mentioned come first.
    """

    def __init__(
        self, events: bool, most: int, type_column: str = "type", mentioned: Iterable[str] = ()
    ) -> None:
        self._events = events
        self._most = most
        self._type_column = type_column
        self._mentioned = set(mentioned)
        self._lines: list[Line] = []
        self._count = 0
        self._fixed: Sequence[str] = ()
        self._labels: Sequence[str] = ()

    def add(self, matches: Matches) -> None:
        """Save as many of these matches as there is room for."""
        room = self._most - self._count
        found = matches.count
        self._count += found
        if found and room > 0:
            for lines in self._of(matches, room):
                self._lines += lines

    def add_labelled(self, found: Iterable[tuple[Mapping[str, Any], Matches]]) -> None:
        """Save matches of several rules, by their ends, each with the metadata of its rule.

        Rows of totals come after them.
        """
        room = self._most - self._count
        every: list[tuple[float, list[Line]]] = []
        for label, matches in found:
            number = matches.count
            self._count += number
            if not number or room <= 0:
                continue
            own = {_OWN + name: _short(value) for name, value in label.items()}
            for lines in self._of(matches, room):
                first = lines[0]
                end = first.values.get("end", first.values.get(_MATCH, math.inf))
                if isinstance(end, str):
                    end = int(end.partition("..")[2])
                values = dict(first.values)
                if _MATCH not in values:
                    values.pop("query", None)
                every.append((end, [Line({**own, **values}), *lines[1:]]))
            self._labels = tuple(own)
        every.sort(key=lambda each: each[0])
        for _, lines in every[: max(room, 0)]:
            self._lines += lines

    def _of(self, matches: Matches, room: int) -> Iterator[list[Line]]:
        """Give the lines of each match."""
        schema = matches.schema
        self._mentioned.update(_OWN + name for name in schema.computed.get(SELECTED, ()))
        if self._events and schema.totals is None and (schema.variables or schema.computed):
            self._fixed = (_MATCH, _POSITION, _VARIABLES)
            for each in islice(matches, room):
                yield list(_event_lines(each, matches, self._type_column))
        else:
            for line in _match_lines(matches, room):
                self._fixed = tuple(islice(line.values, 2))
                yield [line]

    def print(self, console: Console) -> None:
        """Print the table, how many more there are, and what there was no room for; forget all."""
        lines, self._lines, found, self._count = self._lines, [], self._count, 0
        if not lines:
            return
        fixed = (*self._labels[:1], *self._fixed)
        hidden = _print(console, lines, fixed, {*self._mentioned, *self._labels})
        if found > self._most:
            console.print(f"… and {found - self._most:,} more")
        if hidden:
            console.print(f"no room for {listing(hidden)}", style="dim")


def _short(value: Any) -> Any:
    """Write the tags of a rule in one cell."""
    return ", ".join(value) if isinstance(value, tuple) else value


# The lines


def _event_lines(match: Match, matches: Matches, type_column: str) -> Iterator[Line]:
    """Write a match as one line an event; the first line has what is about the whole match."""
    computed = list(matches.schema.computed)
    lines = _bound_events(match, type_column)
    lines += [
        {_VARIABLES: name, **row} for name in computed if name for row in match.computed(name)
    ]
    lines = lines or [{}]
    lines[0] = {_MATCH: f"{match.start}..{match.end}", **lines[0]}
    if SELECTED in computed:
        for row in match.computed():
            lines[0].update({_OWN + name: value for name, value in row.items()})
    whole: dict[str, Any] = {} if match.query is None else {"query": match.query}
    whole |= {name: value for name, value in match.partition.items() if name not in lines[0]}
    if matches.has_time:
        whole |= {"start_time": match.start_time, "end_time": match.end_time}
    whole["match_id"] = match.id
    for name, value in whole.items():
        lines[0].setdefault(_OWN + name, value)
    for number, values in enumerate(lines[:_MOST_EVENTS]):
        yield Line(values, first=number == 0)
    if len(lines) > _MOST_EVENTS:
        rest = count(len(lines) - _MOST_EVENTS, "more event")
        yield Line({_VARIABLES: f"… {rest}"}, first=False)


def _bound_events(match: Match, type_column: str) -> list[dict[str, Any]]:
    attributes: dict[int, dict[str, Any]] = {}
    variables: dict[int, list[str]] = {}
    for name, positions in match.bindings.items():
        for position, row in zip(positions, match.events(name), strict=True):
            attributes.setdefault(position, {}).update(_dotted(row))
            variables.setdefault(position, []).append(name)
    lines = []
    for position, row in sorted(attributes.items()):
        # The type is a variable too, but there is a column that says it already.
        own = [name for name in variables[position] if name != row.get(type_column)]
        names = ", ".join(own or variables[position])
        lines.append({_POSITION: position, _VARIABLES: names, **row})
    return lines


def _dotted(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """List the attributes of an event, nested ones by their dotted names.

    >>> dict(_dotted({"user": {"name": "ann", "id": 3}, "n": 1}))
    {'user.name': 'ann', 'user.id': 3, 'n': 1}
    """
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{before}{name}.")
        else:
            yield before + name, value


def _match_lines(matches: Matches, most: int) -> Iterator[Line]:
    """Write a match as one line: positions for each variable, or totals."""
    timeless = not matches.has_time and matches.schema.totals is None
    layout = Layout(without=frozenset({"start_time", "end_time"} if timeless else ()))
    for table in matches.tables(layout):
        rows = _for_people(table.slice(0, most)).to_pylist()
        most -= len(rows)
        for row in rows:
            yield Line(row)
        if not most:
            return


def _for_people(table: pa.Table) -> pa.Table:
    """Put what is short and tells most first, and the id last."""
    names = [name for name in table.column_names if name != "match_id"]
    first = [name for name in ("start", "end") if name in names]
    rest = [name for name in names if name not in first]
    last = ["match_id"] if "match_id" in table.column_names else []
    shown: pa.Table = table.select([*first, *rest, *last])
    return shown


# The table


def _print(
    console: Console, lines: Sequence[Line], fixed: Sequence[str], mentioned: set[str]
) -> list[str]:
    """Print a table; return the columns that there was no room for."""
    names = list(dict.fromkeys([*fixed, *(name for line in lines for name in line.values)]))
    names.sort(key=lambda name: name in _LAST)
    cells = {name: _cells([line.values.get(name) for line in lines]) for name in names}
    widths = {name: max(map(cell_len, [_head(name), *texts])) for name, texts in cells.items()}
    shown = _fitting(widths, console.width, fixed, mentioned)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for name, width in shown.items():
        numbers = all(_is_number(line.values.get(name)) for line in lines)
        style = "dim" if name == _POSITION else "cyan" if name == _VARIABLES else None
        justify: JustifyMethod = "right" if numbers else "left"
        table.add_column(
            Text(_head(name)), justify=justify, style=style, max_width=width, no_wrap=True
        )
    grouped = not all(line.first for line in lines)
    for index in range(len(lines)):
        last = index + 1 == len(lines) or lines[index + 1].first
        row = (Text(cells[name][index]) for name in shown)
        table.add_row(*row, end_section=grouped and last)
    console.print(table)
    return [_head(name) for name in names if name not in shown and name not in _IDS]


def _head(name: str) -> str:
    return cell(name.removeprefix(_OWN))


def _fitting(
    widths: Mapping[str, int], room: int, fixed: Sequence[str], mentioned: set[str]
) -> dict[str, int]:
    """Choose the columns that fit, in their order, and the width of each.

    Mentioned columns come first; one that does not fit gets what room is left in the end, if
    that is enough to be of use. A table of rich by itself would shorten every column instead, and
    of events with ten attributes no value would be whole on a terminal of 80 characters.

    >>> _fitting({"match": 6, "a": 9, "b": 20, "c": 9}, 32, ["match"], {"c"})
    {'match': 6, 'a': 9, 'c': 9}
    """
    shown = {name: widths[name] for name in fixed}
    left = room - sum(width + _GAP for width in shown.values()) + _GAP
    for name in sorted(widths, key=lambda name: not mentioned.issuperset(name.split("."))):
        if name not in shown and widths[name] + _GAP <= left:
            shown[name] = widths[name]
            left -= widths[name] + _GAP
    if left >= _NARROWEST + _GAP:
        rest = (name for name in widths if name not in shown and name not in _IDS)
        shown.update(dict.fromkeys(islice(rest, 1), left - _GAP))
    return {name: shown[name] for name in widths if name in shown}


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cells(values: Sequence[Any]) -> list[str]:
    """Write the values of a column; fractions with the same number of digits, up to six.

    >>> _cells([25.985, 26.0, None])
    ['25.985', '26.000', '']
    """
    texts = [cell(value) for value in values]
    floats = [at for at, value in enumerate(values) if isinstance(value, float)]
    digits = max((len(texts[at].partition(".")[2]) for at in floats), default=0)
    if digits <= _MOST_DIGITS and not any(_UNUSUAL & set(texts[at]) for at in floats):
        for at in floats:
            texts[at] = f"{values[at]:.{digits}f}"
    return texts


def cell(value: Any) -> str:
    """Write a value in a few characters.

    >>> cell(0.1 + 0.2), cell([3, 7, 12]), cell(None), cell(True), cell({"user": "ann"})
    ('0.3', '3 7 12', '', 'true', '{"user": "ann"}')
    """
    match value:
        case None:
            text = ""
        case bool():
            text = str(value).lower()
        case float():
            text = f"{value:.12g}"
        case list() if all(isinstance(each, int) for each in value):
            return _shortened_list(value)
        case list() | dict():
            text = json.dumps(value, default=cell, ensure_ascii=False)
        case date():
            text = str(value).replace("+00:00", "Z")
        case _:
            text = str(value)
    printable = "".join(char if char.isprintable() else "·" for char in " ".join(text.split()))
    if cell_len(printable) <= _WIDEST_CELL:
        return printable
    return set_cell_size(printable, _WIDEST_CELL - 1).rstrip() + "…"


def _shortened_list(numbers: Iterable[int]) -> str:
    """Write as many numbers as fit, and how many there are in all."""
    texts = [str(number) for number in numbers]
    whole = " ".join(texts)
    if len(whole) <= _WIDEST_CELL:
        return whole
    end = f" … ({len(texts):,})"
    kept = whole[: _WIDEST_CELL - len(end) + 1].rpartition(" ")[0]
    return kept + end
