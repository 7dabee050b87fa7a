"""Run a rule test and compare what was found with what was expected.

The columns that any of the expected matches names are compared, no others; a match that does not
name one of them has nothing there. Matches are compared as a bag, for those with one end come in
no specified order. Numbers are compared to 12 digits.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from ensue.cli.terminal import count
from ensue.cli.testing.files import RuleTest
from ensue.errors import CeqlError, CeqlWarning, EnsueError, UnseenWarning
from ensue.messages import message_of, spelled
from ensue.rules.settings import as_setting

if TYPE_CHECKING:
    from ensue.options import EventsLike
    from ensue.results.matches import Matches

Row = dict[str, Any]

MOST_LISTED = 100_000
"""Beyond so many matches, none is listed."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out of a test."""

    test: RuleTest
    problem: str | None = None
    """Why the query could not be run, or not be compared."""
    count: int = 0
    found: list[Row] = field(default_factory=list, repr=False)
    """All that was found, in the columns that are compared; empty where only the count counts."""
    missing: list[Row] = field(default_factory=list)
    extra: list[Row] = field(default_factory=list)
    unseen: tuple[str, ...] = ()
    """What the query needs and no event has."""

    @property
    def passed(self) -> bool:
        """Whether everything is as expected."""
        return (
            self.problem is None
            and not self.missing
            and not self.extra
            and (self.test.count is None or self.test.count == self.count)
        )


def judge(test: RuleTest, *, update: bool = False) -> Verdict:
    """Run a test; with `update` it need not say yet what to expect."""
    if test.matches is None and test.count is None and not update:
        return Verdict(
            test,
            "it does not say what to expect; write matches = [...] or count = N, or have it "
            "written by ensue test --update",
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", CeqlWarning)
        warnings.simplefilter("always", UnseenWarning)
        verdict = _judged(test)
    unseen = [each for each in caught if issubclass(each.category, UnseenWarning)]
    for each in caught:
        if each not in unseen:
            warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    return replace(verdict, unseen=tuple(str(each.message) for each in unseen))


def _judged(test: RuleTest) -> Verdict:
    try:
        matches = _matches(test)
        found = matches.count
        if test.matches is None and (test.count is not None or found > MOST_LISTED):
            return Verdict(test, count=found)
        if found > MOST_LISTED:
            return Verdict(
                test, f"{found:,} matches are too many to compare; write count = N", found
            )
        rows = _rows(matches)
        names = matches.to_arrow().column_names
    except CeqlError as error:
        return Verdict(test, error.render(spelling=as_setting))
    except EnsueError as error:
        return Verdict(test, spelled(message_of(error), as_setting))
    return _compared(test, found, rows, names)


def _matches(test: RuleTest) -> Matches:
    from ensue.engine.query import compile

    try:
        query = compile(test.query.text, test.schema, test.params, name=test.query.name)
    except TypeError as error:
        raise EnsueError(f"'schema': {error}") from error
    return query.run(cast("EventsLike", test.events), **test.options)


def _rows(matches: Matches) -> list[Row]:
    """Return one row a match, without what is empty."""
    import pyarrow as pa

    table = matches.to_arrow()
    if not matches.has_time and matches.schema.totals is None:
        table = table.drop_columns(["start_time", "end_time"])
    for at, column in enumerate(table.schema):
        # Python's datetimes have no nanoseconds.
        if isinstance(column.type, pa.TimestampType) and column.type.unit == "ns":
            coarse = table.column(at).cast(pa.timestamp("us", column.type.tz), safe=False)
            table = table.set_column(at, column.name, coarse)
    return [
        {name: value for name, value in row.items() if value not in (None, [])}
        for row in table.to_pylist()
    ]


def _compared(test: RuleTest, found: int, rows: list[Row], names: Sequence[str]) -> Verdict:
    expected = test.matches or []
    columns = list(dict.fromkeys(name for match in expected for name in match))
    columns = columns or sorted(set(names) - {"query", "match_id"}, key=_place(names))
    for name in columns:
        if name not in names:
            known = ", ".join(names)
            return Verdict(test, f"matches have no column '{name}'; they have {known}", found)
    shown = [{name: row[name] for name in columns if name in row} for row in rows]
    if test.matches is None:
        return Verdict(test, count=found, found=shown)
    missing = _beyond(expected, shown, columns)
    return Verdict(test, None, found, shown, missing, _beyond(shown, expected, columns))


def _place(names: Sequence[str]) -> Callable[[str], tuple[bool, int]]:
    """Order columns: the positions of a match first."""
    return lambda name: (name not in ("start", "end"), names.index(name))


def _beyond(rows: Iterable[Row], others: Iterable[Row], columns: Sequence[str]) -> list[Row]:
    """Return the rows for which there is no equal one among the others, each used once."""
    left = Counter(_key(row, columns) for row in others)
    beyond = []
    for row in rows:
        key = _key(row, columns)
        if left[key]:
            left[key] -= 1
        else:
            beyond.append(row)
    return beyond


def _key(row: Mapping[str, Any], columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(_plain(row.get(name)) for name in columns)


def _plain(value: Any) -> Any:
    """Give a value a form that compares and hashes as people would compare it.

    >>> _plain(0.1 + 0.2) == _plain(0.3), _plain([]) == _plain(None)
    (True, True)
    >>> _plain("2026-01-31 09:30:00Z") == _plain(datetime(2026, 1, 31, 9, 30, tzinfo=UTC))
    True
    """
    match value:
        case bool() | None:
            return value
        case float() | Decimal():
            return float(f"{value:.12g}")
        case dict():
            return tuple(sorted((name, _plain(each)) for name, each in value.items())) or None
        case list():
            return tuple(map(_plain, value)) or None
        case str() if _DATE.match(value):
            try:
                return _plain(datetime.fromisoformat(value))
            except ValueError:
                return value
        case datetime():
            return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
        case date():
            return datetime(value.year, value.month, value.day).isoformat()
        case _:
            return value


# Words


_MOST_SHOWN = 20


def report(verdict: Verdict) -> list[str]:
    """Say what is wrong, in lines: a sentence, then - what is missing and + what is too much."""
    if verdict.problem is not None:
        return verdict.problem.splitlines()
    test = verdict.test
    wanted = test.count if test.count is not None else len(test.matches or ())
    lines = [f"expected {count(wanted, 'match', 'matches')}, found {verdict.count:,}"]
    if test.matches is not None and wanted == verdict.count and verdict.missing:
        lines = [f"{count(len(verdict.missing), 'match is', 'matches are')} not as expected"]
    for sign, rows, word in (("-", verdict.missing, "missing"), ("+", verdict.extra, "too much")):
        lines += [f"{sign} {shown(row)}" for row in rows[:_MOST_SHOWN]]
        if len(rows) > _MOST_SHOWN:
            lines.append(f"{sign} … and {len(rows) - _MOST_SHOWN:,} more {word}")
    return [*lines, *verdict.unseen]


def shown(row: Mapping[str, Any]) -> str:
    """Write a match on one line.

    >>> shown({"start": 0, "end": 3, "b": [1, 2], "top": 27.5})
    'start=0 end=3 b=[1, 2] top=27.5'
    """
    return " ".join(f"{name}={_shown(value)}" for name, value in row.items()) or "(nothing bound)"


def _shown(value: Any) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)
