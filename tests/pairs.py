"""Random pairs of a query and a stream in which the query finds something.

A random stream seldom has more than a stray event for a random query. So the stream is made for
the query: a witness of the pattern, event by event, each with values that the filters on it
accept, with other events strewn between. Nothing promises that the witness survives the window,
the strategy or an UNLESS; it often enough does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from ensue.analysis.bind import bind
from ensue.analysis.conditions import Each
from ensue.analysis.expressions import Attribute, EventType, Expression, Value
from ensue.errors import CeqlError, Source
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic import formula as f
from ensue.logic.build import to_formula
from ensue.logic.evaluate import evaluate
from tests import effort
from tests.conditions import TYPES, bound_names, conditioned, correlated, word
from tests.strategies import Language, patterns

Row = dict[str, Any]

KEYS = ("p", "q", None)
VALUES: tuple[Row, ...] = tuple(
    {"v": v, "w": w, "k": k}
    for v, w, k in product((0, 1, 2, 3, None), (0.5, 1.5, 2.5, float("nan")), KEYS)
)


@dataclass(frozen=True)
class Wanted:
    """An event that a pattern looks for."""

    type: str | None
    variables: frozenset[str]
    predicates: tuple[Expression, ...] = ()
    stream: str | None = None
    between: bool = False
    """The pattern did not ask for it."""


# --- queries ---------------------------------------------------------------------------------


def reach(pattern: tree.Pattern) -> int:
    """Return how many events a match of a pattern may bind, whichever side of an OR it takes."""
    match pattern:
        case tree.Event():
            return 1
        case tree.Absent():
            return 0
        case tree.Repeated(pattern=inner, high=high):
            return reach(inner) * (3 if high is None else high)
        case tree.Sequence(items=items) | tree.Combined(operator="ALL", items=items):
            return sum(map(reach, items))
        case tree.Combined(items=items):
            return min(map(reach, items))
        case _:
            return reach(pattern.pattern)


def _from_start(node: tree.Node) -> bool:
    """Tell whether a pattern says START somewhere, so that nothing can come before it."""
    if isinstance(node, tree.Applied) and node.function.text == "START":
        return True
    return any(map(_from_start, tree.children(node)))


@cache
@st.composite
def rich_patterns(draw: st.DrawFn, language: Language, depth: int = 3) -> tree.Pattern:
    """A random pattern whose matches can bind three events or more."""
    pattern = draw(patterns(language, depth))
    while reach(pattern) < 3:
        contiguous = language.contiguous and draw(st.integers(0, 3)) == 3
        event: tree.Pattern = tree.Event(word(draw(st.sampled_from(TYPES))))
        match draw(st.integers(0, 3)):
            case 1:
                event = tree.Named(event, word(draw(st.sampled_from("xyz"))))
            case 2:
                event = tree.Repeated(event, 1, None, contiguous)
        items = (pattern, event)
        if draw(st.booleans()) and not _from_start(pattern):
            items = (event, pattern)
        pattern = tree.Sequence(items, contiguous)
    return pattern


@st.composite
def conditional_absence(draw: st.DrawFn, pattern: tree.Pattern) -> tree.Pattern:
    """A pattern UNLESS one with conditions between events, which may be under an UNLESS itself."""

    def absent() -> tree.Pattern:
        events: list[tree.Pattern] = [
            tree.Named(tree.Event(word(draw(st.sampled_from(TYPES)))), word(name))
            for name in "xyz"[: draw(st.sampled_from((2, 2, 3)))]
        ]
        if draw(st.integers(0, 3)) == 0:
            events[-1] = tree.Repeated(events[-1], 1, None, contiguous=False)
        return draw(conditioned(tree.Sequence(tuple(events), contiguous=False)))

    if draw(st.booleans()):
        related = draw(correlated(pattern))
        if isinstance(related, tree.Unless) and isinstance(related.absent, tree.Filtered):
            return related
    happens = absent()
    if draw(st.integers(0, 3)) == 0:
        happens = tree.Unless(happens, absent())
    return tree.Unless(pattern, happens)


def _units(size: int) -> tree.Window:
    return tree.Window(size, None, tree.Path((word("ts"),)))


WINDOWS = (
    None,
    None,
    *(tree.Window(size, None, None) for size in (6, 5, 3)),
    *(_units(size) for size in (9, 6, 4)),
)
STRATEGIES = (None, None, None, "NEXT", "LAST", "MAX", "STRICT", "FIRST")


@cache
@st.composite
def rich_queries(
    draw: st.DrawFn, language: Language, depth: int = 3, partitioned: bool = False
) -> tree.Query:
    """A random query on a rich pattern; WITHIN counts events or units of `ts`."""
    pattern = draw(rich_patterns(language, depth))
    if language.conditions:
        pattern = draw(conditioned(pattern))
    if language.guarded:
        pattern = draw(conditional_absence(pattern))
    names = bound_names(pattern)
    strategy = draw(st.sampled_from(STRATEGIES))
    shown: tuple[tree.Shown, ...] = ()
    if draw(st.integers(0, 5)) == 5:
        chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        shown = tuple(tree.Shown(word(name)) for name in chosen)
    return tree.Query(
        (),
        tree.Selection(None if strategy is None else word(strategy), not shown, shown, ()),
        (word("S"),),
        pattern,
        (word("k"),) if partitioned else draw(st.sampled_from(((), (), (word("k"),)))),
        draw(st.sampled_from(WINDOWS)),
        draw(st.sampled_from((None, None, None, None, "ANY", "PARTITION"))),
        None,
        None,
    )


# --- streams ---------------------------------------------------------------------------------


@st.composite
def witnesses(draw: st.DrawFn, formula: f.Formula) -> list[Wanted]:
    """Events that a formula looks for, in order: a match, if nothing else forbids it."""

    def each_of(formulas: tuple[f.Formula, ...]) -> list[Wanted]:
        return [event for each in formulas for event in draw(witnesses(each))]

    match formula:
        case f.Atom(type=kind, stream=stream, variable=name):
            return [Wanted(kind, frozenset({name}), stream=stream)]
        case f.Absent(formula=inner):
            named = {each.type for each in f.subformulas(inner) if isinstance(each, f.Atom)}
            others = [kind for kind in TYPES if kind not in named] or TYPES
            return [Wanted(draw(st.sampled_from(others)), frozenset())]
        case f.Empty():
            return []
        case f.Named(formula=inner, variable=name):
            return [
                replace(event, variables=event.variables | {name}) if event.variables else event
                for event in draw(witnesses(inner))
            ]
        case f.Repeat(formula=inner):
            return each_of((inner,) * draw(st.sampled_from((3, 2, 1))))
        case f.Sequence(items=items):
            return each_of(items)
        case f.All(items=items):
            return each_of(tuple(draw(st.permutations(items))))
        case f.Or(items=items):
            return draw(witnesses(draw(st.sampled_from(items))))
        case f.And(items=items):
            return draw(witnesses(items[-1]))
        case f.Filter(formula=inner, conditions=conditions):
            return [_filtered(event, conditions) for event in draw(witnesses(inner))]
        case f.Project(formula=inner, variables=names):
            return [
                replace(event, variables=event.variables & names)
                for event in draw(witnesses(inner))
            ]
        case f.Unless(formula=inner, absent=absent) if not f.is_unary(absent):
            # Both, with what must not happen inside: whether it does is up to its conditions.
            kept = draw(witnesses(inner))
            return [*kept[:1], *draw(witnesses(absent)), *kept[1:]]
        case _:
            return draw(witnesses(formula.formula))


def _filtered(event: Wanted, conditions: tuple[f.Atomic, ...]) -> Wanted:
    more = tuple(
        each.predicate
        for each in conditions
        if isinstance(each, Each) and each.variable in event.variables
    )
    return replace(event, predicates=(*event.predicates, *more))


def _accepted(event: Wanted, kind: str, row: Row) -> bool:
    def lookup(name: Attribute | EventType) -> Value:
        value: Any = kind if isinstance(name, EventType) else row.get(name.path[0])
        return None if value != value else value

    return all(evaluate(each, lookup) is True for each in event.predicates)


@st.composite
def streams_for(
    draw: st.DrawFn, formula: f.Formula, longest: int, partition: Sequence[str] = ()
) -> list[Row]:
    """A witness of a formula with other events between, as `strategies.streams` writes them.

    With attributes of a partition, the witness is in one, and most of what comes between is not.
    """
    wanted = draw(witnesses(formula))[:longest]
    others = (2, 1, 3) if partition else (1, 0, 2)
    for _ in range(min(draw(st.sampled_from(others)), longest + bool(partition) - len(wanted))):
        places = st.integers(0, len(wanted))
        if partition and len(wanted) > 1:
            places = st.one_of(st.integers(1, len(wanted) - 1), places)
        elif not partition:
            places = st.one_of(st.sampled_from((0, len(wanted))), places)
        place = draw(places)
        other = Wanted(draw(st.sampled_from(TYPES)), frozenset(), between=True)
        wanted.insert(place, other)
    key = {"k": draw(st.sampled_from(KEYS[:2])), "v": draw(st.integers(0, 3))}
    time = 0
    rows = []
    for event in wanted:
        kind = event.type or draw(st.sampled_from(TYPES))
        choices = [row for row in VALUES if _accepted(event, kind, row)]
        if partition and not (event.between and draw(st.integers(0, 3)) == 3):
            inside = [row for row in choices if all(row[name] == key[name] for name in partition)]
            outside = [row for row in choices if row not in inside]
            choices = (outside if event.between else inside) or choices
        time += draw(st.sampled_from((1, 0, 1, 2, 3)))
        values = draw(st.sampled_from(choices or VALUES))
        of = {} if event.stream is None else {"stream": event.stream}
        rows.append({"type": kind, **values, "ts": time, **of})
    return rows


@dataclass(frozen=True)
class Pair:
    """A query and a stream for it."""

    query: tree.Query
    rows: list[Row]

    @property
    def text(self) -> str:
        return format_query(self.query)


@st.composite
def pairs(
    draw: st.DrawFn,
    language: Language | None = None,
    longest: int = 7,
    *,
    partitioned: bool = False,
) -> Pair:
    """A query, and a stream in which it is likely to find a match of three or more events.

    With `partitioned` it has a PARTITION BY, as one in three has else.
    """
    query = draw(rich_queries(language or Language(), partitioned=partitioned))
    source = Source(format_query(query))
    try:
        formula = to_formula(bind(parse_source(source), source))
    except CeqlError:
        return Pair(query, [])
    return Pair(query, draw(streams_for(formula, longest, [word.text for word in query.partition])))


@cache
def related_pairs() -> st.SearchStrategy[Pair]:
    """Queries with conditions between events, of all kinds and of the plainer ones."""
    plain = Language(contiguous=False, full=False, conditions=True)
    guarded = Language(contiguous=False, full=False, guarded=True)
    every = (Language(conditions=True), plain, plain, guarded)
    return st.one_of(*map(pairs, every))


@cache
def collected(
    count: int, number: int, longest: int = 7, drawn: st.SearchStrategy[Pair] | None = None
) -> tuple[Pair, ...]:
    """Draw pairs that are the same in every run: the number says which.

    Pairs that come twice are left out, so there are somewhat fewer than `count`.
    """
    every = effort.drawn(pairs(longest=longest) if drawn is None else drawn, count, number)
    return tuple({f"{pair.text}\n{pair.rows}": pair for pair in every if pair.rows}.values())
