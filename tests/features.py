"""What random queries have: features, and a table of how often any two of them meet.

`python -m tests.features` prints the table. Two features that cannot meet are declared with the
reason and with a text that the language refuses.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from ensue.analysis.derived import given_streams
from ensue.language import tree
from tests.wide import Case
from tests.wide_patterns import INGREDIENTS

Has = Callable[[Case], bool]


def nodes(node: tree.Node) -> Iterator[tree.Node]:
    """Walk a tree from the outside in."""
    yield node
    for child in tree.children(node):
        yield from nodes(child)


def _pattern(test: Callable[[tree.Node], bool]) -> Has:
    """Look for something anywhere in the pattern."""
    return lambda case: any(map(test, nodes(case.query.pattern)))


def _repeats(low: int, high: int | None, contiguous: bool | None = None) -> Has:
    def test(node: tree.Node) -> bool:
        return (
            isinstance(node, tree.Repeated)
            and (node.low, node.high) == (low, high)
            and contiguous in (None, node.contiguous)
        )

    return _pattern(test)


def _conditions(case: Case) -> Iterator[tree.Expression]:
    for node in nodes(case.query.pattern):
        if isinstance(node, tree.Filtered):
            yield node.condition


def _between(condition: tree.Node) -> bool:
    """Tell whether a condition compares events with each other, outside brackets."""
    match condition:
        case tree.Restriction():
            return False
        case tree.Comparison():
            return True
        case _:
            return any(map(_between, tree.children(condition)))


def _trend(condition: tree.Node) -> bool:
    return any(
        isinstance(each, tree.Restriction) and isinstance(each.predicate, tree.Call)
        for each in nodes(condition)
    )


def _computed(case: Case) -> bool:
    made = {n.variable.text for n in nodes(case.query.pattern) if isinstance(n, tree.Aggregated)}
    return any(
        isinstance(node, tree.Restriction) and node.variable.text in made
        for condition in _conditions(case)
        for node in nodes(condition)
    )


def _plain(case: Case) -> bool:
    return any(
        isinstance(node, tree.Restriction) and not isinstance(node.predicate, tree.Call)
        for condition in _conditions(case)
        for node in nodes(condition)
    )


def _any_of(condition: tree.Expression) -> bool:
    return isinstance(condition, tree.Logical) and condition.operator == "OR"


def _forbids_conditions(node: tree.Node) -> bool:
    return isinstance(node, tree.Unless) and any(
        isinstance(each, tree.Partitioned)
        or (
            isinstance(each, tree.Filtered) and (_between(each.condition) or _trend(each.condition))
        )
        for each in nodes(node.absent)
    )


def _passes_the_empty_match(node: tree.Node) -> bool:
    return isinstance(node, tree.Combined | tree.Named | tree.Filtered) and any(
        isinstance(each, tree.Repeated) and each.low == 0 for each in tree.children(node)
    )


def _sequence(contiguous: bool) -> Has:
    return _pattern(lambda n: isinstance(n, tree.Sequence) and n.contiguous == contiguous)


def _combined(operator: str) -> Has:
    return _pattern(lambda n: isinstance(n, tree.Combined) and n.operator == operator)


def _operator(name: str) -> Has:
    return _pattern(lambda n: isinstance(n, tree.Applied) and n.function.text == name)


def _strategy(name: str) -> Has:
    def has(case: Case) -> bool:
        strategy = case.query.select.strategy
        return strategy is not None and strategy.text == name

    return has


def _counts(case: Case) -> bool:
    return any(each.counts_matches for each in case.query.select.columns)


def _window(test: Callable[[tree.Window], bool]) -> Has:
    return lambda case: case.query.window is not None and test(case.query.window)


def _inner_window(test: Callable[[tree.Window], bool]) -> Has:
    return _pattern(lambda n: isinstance(n, tree.Within) and test(n.window))


_WINDOWS: dict[str, Callable[[tree.Window], bool]] = {
    "EVENTS": lambda w: w.amount is not None and w.attribute is None,
    "[attr]": lambda w: w.amount is not None and w.attribute is not None,
    "duration": lambda w: w.duration is not None,
}

PATTERN: dict[str, Has] = {
    ";": _sequence(contiguous=False),
    ":": _sequence(contiguous=True),
    "+": _repeats(1, None, contiguous=False),
    ":+": _pattern(lambda n: isinstance(n, tree.Repeated) and n.contiguous and n.low > 0),
    "{n,m}": _pattern(lambda n: isinstance(n, tree.Repeated) and n.low > 0 and n.high is not None),
    "?": _repeats(0, 1),
    "*": _repeats(0, None),
    "empty match below": _pattern(_passes_the_empty_match),
    "OR": _combined("OR"),
    "AND": _combined("AND"),
    "ALL": _combined("ALL"),
    "UNLESS": _pattern(lambda n: isinstance(n, tree.Unless)),
    "UNLESS with a condition": _pattern(_forbids_conditions),
    "ANY": _pattern(lambda n: isinstance(n, tree.Event) and n.type is None),
    "NOT": _pattern(lambda n: isinstance(n, tree.Absent)),
    "AS": _pattern(lambda n: isinstance(n, tree.Named) and not isinstance(n.pattern, tree.Event)),
    "PROJECT": _pattern(lambda n: isinstance(n, tree.Projected)),
    "FILTER": _plain,
    "FILTER OR": lambda case: any(map(_any_of, _conditions(case))),
    "FILTER $parameter": _pattern(lambda n: isinstance(n, tree.Parameter)),
    "condition between events": lambda case: any(map(_between, _conditions(case))),
    "same, increasing": lambda case: any(map(_trend, _conditions(case))),
    "PARTITION BY in the pattern": _pattern(lambda n: isinstance(n, tree.Partitioned)),
    "AGGREGATE": _pattern(lambda n: isinstance(n, tree.Aggregated)),
    "FILTER on an aggregate": _computed,
    **{f"{name}( )": _operator(name) for name in ("START", "STRICT", "NEXT", "LAST", "MAX")},
    **{f"(WITHIN {kind})": _inner_window(test) for kind, test in _WINDOWS.items()},
}
"""What stands in a pattern."""

CLAUSES: dict[str, Has] = {
    **{f"SELECT {name}": _strategy(name) for name in ("STRICT", "NEXT", "LAST", "MAX", "FIRST")},
    "SELECT x": lambda case: any(e.attributes is None for e in case.query.select.shown),
    "SELECT x[a]": lambda case: any(e.attributes is not None for e in case.query.select.shown),
    "SELECT NONE": lambda case: (
        not (case.query.select.everything or case.query.select.shown or _counts(case))
    ),
    "computed column": lambda case: bool(case.query.select.columns) and not _counts(case),
    "expression over aggregates": lambda case: any(
        not isinstance(each.expression, tree.Call)
        or each.expression.function.text in ("greatest", "round")
        for each in case.query.select.columns
    ),
    "count(*)": _counts,
    "totals": lambda case: _counts(case) and len(case.query.select.columns) > 1,
    "EVERY": lambda case: case.query.every is not None,
    "PARTITION BY": lambda case: bool(case.query.partition),
    "PARTITION BY two": lambda case: len(case.query.partition) > 1,
    **{f"WITHIN {kind}": _window(test) for kind, test in _WINDOWS.items()},
    "CONSUME BY ANY": lambda case: case.query.consume == "ANY",
    "CONSUME BY PARTITION": lambda case: case.query.consume == "PARTITION",
    "LIMIT": lambda case: case.query.limit is not None,
    "NOT FOLLOWED BY": lambda case: case.query.not_followed is not None,
    "two streams": lambda case: len(given_streams(case.query)) > 1,
    "CREATE STREAM": lambda case: bool(case.query.streams),
    "FROM a derived stream": lambda case: bool(case.query.derived),
    "CREATE STREAM AS": lambda case: case.reader is not None,
}
"""What stands around it."""

WAYS: dict[str, Has] = {
    "positions": lambda case: case.positions,
    "exact": lambda case: case.exact,
    "in batches": lambda case: case.batches is not None,
    "snapshots": lambda case: case.snapshots,
    "integers become doubles": lambda case: case.whole_numbers,
    "lateness": lambda case: case.lateness is not None,
    "beside another query": lambda case: case.beside,
}
"""How a query is run."""

FEATURES: dict[str, Has] = PATTERN | CLAUSES | WAYS

Pairs = frozenset[str]


class Illegal(NamedTuple):
    """Why two features cannot meet, and a query that tries: it is refused, or says no more."""

    reason: str
    query: str
    same_as: str = ""
    """What the query says; nothing: it is refused."""


def _illegal() -> dict[Pairs, Illegal]:
    found: dict[Pairs, Illegal] = {}

    def declare(
        one: Iterable[str], other: Iterable[str], reason: str, query: str, same_as: str = ""
    ) -> None:
        for a in one:
            for b in other:
                if a != b:
                    found.setdefault(frozenset((a, b)), Illegal(reason, query, same_as))

    counting = ("count(*)", "totals", "EVERY")
    where = "FROM S WHERE A AS x"
    shown = "one row for all matches of an event has no variables of one match"
    declare(counting, ("SELECT x",), shown, f"SELECT x, count(*) {where}")
    declare(counting, ("SELECT x[a]",), shown, f"SELECT x[v], count(*) {where}")
    declare(
        counting,
        ("SELECT NONE",),
        "beside count(*) there are no variables, so NONE says nothing",
        f"SELECT NONE, count(*) {where}",
        f"SELECT count(*) {where}",
    )
    declare(
        counting,
        ("computed column",),
        "beside count(*) stand totals over all matches, not columns of one match",
        f"SELECT count(*), first(x.v) AS c {where}",
    )
    declare(
        counting,
        ("LIMIT",),
        "count(*) counts all matches, LIMIT keeps a few",
        f"SELECT count(*) {where} LIMIT 1",
    )
    for variables in ("x", "x[v]"):
        declare(
            ("SELECT NONE",),
            (f"SELECT {variables.replace('v', 'a')}",),
            "NONE is the empty list",
            f"SELECT NONE, {variables} {where}",
        )
    strategies = [name for name in CLAUSES if name in map("SELECT {}".format, STRATEGIES)]
    for a, b in combinations(strategies, 2):
        both = f"{a} {b.removeprefix('SELECT ')} * {where}"
        declare((a,), (b,), "there is one strategy", both)
    windows = {"EVENTS": "3 EVENTS", "[attr]": "3 [ts]", "duration": "3 SECONDS"}
    for a, b in combinations(windows, 2):
        both = f"SELECT * {where} WITHIN {windows[a]} WITHIN {windows[b]}"
        declare((f"WITHIN {a}",), (f"WITHIN {b}",), "there is one window", both)
    declare(
        ("CONSUME BY ANY",),
        ("CONSUME BY PARTITION",),
        "there is one CONSUME BY",
        f"SELECT * {where} CONSUME BY ANY CONSUME BY PARTITION",
    )
    declare(
        ("CREATE STREAM AS",),
        ("EVERY",),
        "no event completes an interval, so its rows have no place in a stream",
        f"CREATE STREAM E AS SELECT count(*) {where} EVERY 4 SECONDS ; SELECT * FROM E WHERE E",
    )
    return found


STRATEGIES = ("STRICT", "NEXT", "LAST", "MAX", "FIRST")
ILLEGAL = _illegal()
LEGAL = [pair for pair in map(frozenset, combinations(FEATURES, 2)) if pair not in ILLEGAL]


def _named(pair: Pairs) -> str:
    return " with ".join(sorted(pair, key=list(FEATURES).index))


def features_of(case: Case) -> frozenset[str]:
    """Return what a case has."""
    return frozenset(name for name, has in FEATURES.items() if has(case))


class Table:
    """How often two features meet."""

    def __init__(self) -> None:
        self.size = 0
        self.alone: Counter[str] = Counter()
        self.together: Counter[Pairs] = Counter()

    def add(self, case: Case) -> None:
        """Count what a case has."""
        own = features_of(case)
        self.size += 1
        self.alone.update(own)
        self.together.update(map(frozenset, combinations(own, 2)))

    def missing(self) -> list[str]:
        """List the legal pairs that never met, and illegal ones that did."""
        never = [_named(pair) for pair in LEGAL if not self.together[pair]]
        wrongly = [
            f"{_named(pair)}: they met, though {illegal.reason}"
            for pair, illegal in ILLEGAL.items()
            if self.together[pair]
        ]
        return never + wrongly

    def __str__(self) -> str:
        """Write a row for each feature: a number, or -- where two cannot meet."""
        names = list(FEATURES)
        width = max(map(len, names))
        lines = [f"{self.size} queries; how many have both features, -- where that is illegal", ""]
        lines.append(" " * (width + 5) + " ".join(f"{n:>3}" for n in range(1, len(names) + 1)))
        for number, name in enumerate(names, start=1):
            cells = [self._cell(name, other) for other in names[:number]]
            lines.append(f"{number:>3}  {name:<{width}}" + " ".join(cells))
        return "\n".join(lines)

    def _cell(self, one: str, other: str) -> str:
        if one == other:
            return f"{self.alone[one]:>3}"
        pair = frozenset((one, other))
        return " --" if pair in ILLEGAL else f"{self.together[pair]:>3}"


assert INGREDIENTS.keys() == PATTERN.keys(), "every ingredient is a feature"


def main() -> int:
    """Print the table of the queries that the tests run."""
    from tests.equivalence.test_features import sample

    table = sample()
    missing = table.missing()
    lines = [str(table), "", f"{len(missing)} pairs are missing", *missing]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
