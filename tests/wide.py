"""Random queries with any clauses and operators together, and streams in which they find something.

A pattern is made of a small core and a few ingredients, each of which is put around or beside what
is there already. So every two ingredients meet, in both orders, and patterns stay small. Clauses
and ways to run a query are drawn independently of each other. `features.py` says what the queries
have, and its test that no two features never meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hypothesis import strategies as st

from ensue.analysis.bind import bind
from ensue.errors import CeqlError, Source
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic import formula as f
from ensue.logic.build import to_formula
from tests.pairs import Row, conditional_absence, streams_for
from tests.strategies import (
    TYPES,
    aggregates,
    bound_names,
    computed_names,
    filtered,
    on_computed,
    relations,
    same_keys,
    trends,
    word,
)

PARAMETERS = {"low": 1, "some": [0, 1, 2]}
STREAMS = ("S", "R")
DECLARED = (("v", "int"), ("w", "double"), ("k", "string"), ("ts", "int"), ("n", "int"))


@dataclass(frozen=True)
class Case:
    """A query, a stream for it, and the way in which the one meets the other."""

    query: tree.Query
    rows: list[Row]
    positions: bool = False
    """Whether the output forgets variables."""
    exact: bool = False
    batches: tuple[int, ...] | None = None
    """Where the stream is cut into pushes; None: it is run as a whole."""
    snapshots: bool = False
    """Whether each push but the first goes to a session that was resumed."""
    lateness: int | None = None
    """How late events come."""
    arrivals: tuple[int, ...] = ()
    """In which order they come, if they come late."""
    beside: bool = False
    """Whether another query is run in the same pass."""
    formula: f.Formula | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        return format_query(self.query)

    @property
    def legal(self) -> bool:
        """Whether the query means something."""
        return self.formula is not None


# --- patterns --------------------------------------------------------------------------------

Draw = st.DrawFn
Grow = Callable[[Draw, tree.Pattern], tree.Pattern]


def _event(draw: Draw) -> tree.Pattern:
    event = tree.Event(word(draw(st.sampled_from(TYPES))))
    name = draw(st.sampled_from((None, "x", "y", "z")))
    return event if name is None else tree.Named(event, word(name))


def _beside(draw: Draw, one: tree.Pattern, other: tree.Pattern) -> tuple[tree.Pattern, ...]:
    return (one, other) if draw(st.booleans()) else (other, one)


def _sequence(contiguous: bool) -> Grow:
    return lambda draw, pattern: tree.Sequence(_beside(draw, pattern, _event(draw)), contiguous)


def _repeated(bounds: tuple[tuple[int, int | None], ...], *, contiguous: bool | None) -> Grow:
    def grow(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
        low, high = draw(st.sampled_from(bounds))
        closely = draw(st.booleans()) if contiguous is None else contiguous
        repeated = tree.Repeated(pattern, low, high, closely)
        if low:
            return repeated
        return tree.Sequence(_beside(draw, repeated, _event(draw)), draw(st.booleans()))

    return grow


def _maybe_empty(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    """Put what may be empty below an OR, an AS or a filter."""
    optional: tree.Pattern = tree.Repeated(pattern, 0, 1, contiguous=False)
    match draw(st.sampled_from(("OR", "OR", "AS", "FILTER"))):
        case "OR":
            optional = tree.Combined("OR", _beside(draw, optional, _event(draw)))
        case "AS":
            optional = _named(draw, optional)
        case _:
            optional = filtered(draw, optional)
    return tree.Sequence(_beside(draw, optional, _event(draw)), draw(st.booleans()))


def _combined(operator: Any) -> Grow:
    return lambda draw, pattern: tree.Combined(operator, _beside(draw, pattern, _event(draw)))


def _agreed(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    return tree.Combined("AND", _beside(draw, pattern, filtered(draw, pattern)))


def _applied(operator: str) -> Grow:
    return lambda draw, pattern: tree.Applied(word(operator), pattern)


def _unless(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    absent = _event(draw)
    if draw(st.booleans()):
        absent = tree.Sequence((absent, _event(draw)), draw(st.booleans()))
    return tree.Unless(pattern, absent)


def _one_more(event: Callable[[Draw], tree.Pattern]) -> Grow:
    def grow(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
        return tree.Sequence(_beside(draw, pattern, event(draw)), draw(st.booleans()))

    return grow


def _any_event(draw: Draw) -> tree.Pattern:
    return draw(
        st.sampled_from((tree.Event(None), tree.Named(tree.Event(None), word("z")))),
    )


def _not_such(draw: Draw) -> tree.Pattern:
    event = tree.Event(word(draw(st.sampled_from(TYPES))))
    return tree.Absent(filtered(draw, event) if draw(st.booleans()) else event)


def _named(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    return tree.Named(pattern, word(draw(st.sampled_from("xyz"))))


def _projected(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    every = bound_names(pattern) + computed_names(pattern)
    kept = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    return tree.Projected(pattern, tuple(map(word, kept)))


def _any_of_filters(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    sides = [filtered(draw, pattern), filtered(draw, pattern)]
    conditions = tuple(each.condition for each in sides if isinstance(each, tree.Filtered))
    return tree.Filtered(pattern, tree.Logical("OR", conditions))


def _parameter(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    attribute = tree.Path((word("v"),))
    predicate: tree.Expression = tree.Membership(attribute, tree.Parameter("some"), negated=False)
    if draw(st.booleans()):
        sign = draw(st.sampled_from(("<=", ">=", "!=")))
        predicate = tree.Comparison(sign, attribute, tree.Parameter("low"))
    name = word(draw(st.sampled_from(bound_names(pattern))))
    return tree.Filtered(pattern, tree.Restriction(name, predicate))


def _with_names(strategy: Callable[..., st.SearchStrategy[tree.Pattern]]) -> Grow:
    return lambda draw, pattern: draw(strategy(pattern, bound_names(pattern)))


def _filtered_aggregate(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    if not computed_names(pattern):
        pattern = draw(aggregates(pattern, bound_names(pattern)))
    return draw(on_computed(pattern, bound_names(pattern)))


INGREDIENTS: dict[str, Grow] = {
    ";": _sequence(contiguous=False),
    ":": _sequence(contiguous=True),
    "+": _repeated(((1, None),), contiguous=False),
    ":+": _repeated(((1, None), (1, 2), (2, 2)), contiguous=True),
    "{n,m}": _repeated(((1, 2), (2, 2), (2, 3), (2, None)), contiguous=None),
    "?": _repeated(((0, 1),), contiguous=None),
    "*": _repeated(((0, None),), contiguous=None),
    "empty match below": _maybe_empty,
    "OR": _combined("OR"),
    "AND": _agreed,
    "ALL": _combined("ALL"),
    "UNLESS": _unless,
    "UNLESS with a condition": lambda draw, pattern: draw(conditional_absence(pattern)),
    "ANY": _one_more(_any_event),
    "NOT": _one_more(_not_such),
    "AS": _named,
    "PROJECT": _projected,
    "FILTER": filtered,
    "FILTER OR": _any_of_filters,
    "FILTER $parameter": _parameter,
    "condition between events": _with_names(relations),
    "same, increasing": _with_names(trends),
    "PARTITION BY in the pattern": lambda draw, pattern: draw(same_keys(pattern)),
    "AGGREGATE": _with_names(aggregates),
    "FILTER on an aggregate": _filtered_aggregate,
    **{f"{name}( )": _applied(name) for name in ("START", "STRICT", "NEXT", "LAST", "MAX")},
}


@st.composite
def wide_patterns(draw: Draw, wished: frozenset[str] = frozenset()) -> tree.Pattern:
    """A core and three to five ingredients in any order, those that are wished among them."""
    x, y = (tree.Named(tree.Event(word(kind)), word(name)) for kind, name in ("Ax", "By"))
    pattern: tree.Pattern = tree.Sequence((x, y), contiguous=False)
    if draw(st.integers(0, 2)) == 2:
        pattern = _event(draw)
    own = sorted(wished & INGREDIENTS.keys())
    others = [name for name in INGREDIENTS if name not in own]
    room = max(4 - len(own), 1)
    own += draw(st.lists(st.sampled_from(others), min_size=1, max_size=room, unique=True))
    for name in draw(st.permutations(own)):
        if bound_names(pattern):
            pattern = INGREDIENTS[name](draw, pattern)
    return pattern


def _on_streams(draw: Draw, node: Any) -> Any:
    """Let some events of a pattern be of one stream."""
    if isinstance(node, tree.Event):
        stream = draw(st.sampled_from((None, *STREAMS)))
        return node if node.type is None or stream is None else replace(node, stream=word(stream))
    if isinstance(node, tuple):
        return tuple(_on_streams(draw, each) for each in node)
    if not isinstance(node, tree.Node):
        return node
    changed = {
        each.name: _on_streams(draw, getattr(node, each.name))
        for each in fields(node)
        if each.name in ("pattern", "absent", "items")
    }
    return replace(node, **changed) if changed else node


# --- queries ---------------------------------------------------------------------------------

_PATH = tree.Path((word("ts"),))
WINDOWS = {
    "WITHIN EVENTS": tuple(tree.Window(size, None, None) for size in (6, 3)),
    "WITHIN [attr]": tuple(tree.Window(size, None, _PATH) for size in (9, 5)),
    "WITHIN duration": tuple(
        tree.Window(None, tree.Duration(((size, word("SECONDS")),)), None) for size in (9, 5)
    ),
}


def _declarations() -> tuple[tree.StreamDeclaration, ...]:
    fields_ = tuple(
        tree.FieldDeclaration(tree.Path((word(name),)), word(kind)) for name, kind in DECLARED
    )
    events = tuple(tree.EventDeclaration(word(kind), fields_) for kind in TYPES)
    return tuple(tree.StreamDeclaration(word(name), events) for name in STREAMS)


@dataclass(frozen=True)
class Chooser:
    """Chooses what is wished, and else at random."""

    draw: Draw
    wished: frozenset[str]

    def has(self, name: str, one_in: int) -> bool:
        """Tell whether a feature is to be there."""
        return name in self.wished or self.draw(st.integers(1, one_in)) == one_in

    def one_of(self, options: dict[str, Any], *otherwise: Any) -> Any:
        """Choose one of the features that exclude each other, or none of them."""
        asked = [value for name, value in options.items() if name in self.wished]
        return self.draw(st.sampled_from(asked or (*otherwise, *options.values())))


def _selection(
    choose: Chooser, pattern: tree.Pattern, strategy: tree.Word | None
) -> tree.Selection:
    draw, names = choose.draw, bound_names(pattern)
    kinds = {"SELECT x": "x", "SELECT x[a]": "x[a]", "SELECT NONE": "none"}
    kind = choose.one_of(kinds, "all") if names else "all"
    shown: tuple[tree.Shown, ...] = ()
    if kind.startswith("x"):
        chosen = st.lists(st.sampled_from(names), min_size=1, unique=True)
        wanted = (tree.Path((word("v"),)), tree.Path((word("k"),)))
        shown = tuple(
            tree.Shown(word(name), wanted if (kind == "x[a]") == (at == 0) else None)
            for at, name in enumerate(draw(chosen))
        )
        if kind == "x":
            made = draw(st.lists(st.sampled_from(computed_names(pattern) or names), max_size=1))
            more = (tree.Shown(word(name)) for name in made if name not in names)
            shown = (*(replace(each, attributes=None) for each in shown), *more)
    columns: list[tree.Aggregate] = []
    if names and choose.has("computed column", 3):
        functions = ("sum", "count", "min", "max", "avg", "first", "last", "stddev")
        columns = draw(st.lists(_columns(names, functions), min_size=1, max_size=2))
    return tree.Selection(strategy, kind == "all", shown, _numbered(columns))


def _counts(choose: Chooser, pattern: tree.Pattern, strategy: tree.Word | None) -> tree.Selection:
    names = bound_names(pattern)
    columns = [tree.Aggregate(word("c"), word("count"), None)]
    if names and choose.has("totals", 2):
        functions = ("sum", "avg", "min", "max", "count")
        columns += choose.draw(st.lists(_columns(names, functions), min_size=1, max_size=2))
    return tree.Selection(strategy, False, (), _numbered(columns))


@st.composite
def _columns(draw: Draw, names: list[str], functions: tuple[str, ...]) -> tree.Aggregate:
    function = draw(st.sampled_from(functions))
    path = (draw(st.sampled_from(names)), draw(st.sampled_from("vw")))
    return tree.Aggregate(word(""), word(function), tree.Path(tuple(map(word, path))))


def _numbered(columns: list[tree.Aggregate]) -> tuple[tree.Aggregate, ...]:
    return tuple(replace(each, name=word(f"c{at}")) for at, each in enumerate(columns))


LISTS = {"SELECT x", "SELECT x[a]", "SELECT NONE", "computed column", "LIMIT"}
COUNTS = {"count(*)", "totals", "EVERY"}


@st.composite
def wide_queries(draw: Draw, wished: frozenset[str] = frozenset()) -> tree.Query:
    """A query of any clauses together, as far as they are legal together."""
    choose = Chooser(draw, wished)
    pattern = draw(wide_patterns(wished))
    sources = STREAMS if choose.has("two streams", 4) else STREAMS[:1]
    if len(sources) > 1:
        pattern = _on_streams(draw, pattern)
    strategies = {f"SELECT {name}": word(name) for name in ("STRICT", "NEXT", "LAST", "MAX")}
    strategy = choose.one_of(strategies, None, None)
    counts = bool(wished & COUNTS) or (not wished & LISTS and draw(st.integers(0, 2)) == 2)
    limit = every = None
    if counts and choose.has("EVERY", 3):
        every = tree.Duration(((4, word("SECONDS")),))
    elif not counts and choose.has("LIMIT", 4):
        limit = draw(st.integers(1, 2))
    partition = "kv" if choose.has("PARTITION BY two", 6) else ""
    partition = partition or ("k" if choose.has("PARTITION BY", 3) else "")
    return tree.Query(
        _declarations() if choose.has("CREATE STREAM", 5) else (),
        (_counts if counts else _selection)(choose, pattern, strategy),
        tuple(map(word, sources)),
        pattern,
        tuple(map(word, partition)),
        draw(st.sampled_from(choose.one_of(WINDOWS, (None,)))),
        choose.one_of({"CONSUME BY ANY": "ANY", "CONSUME BY PARTITION": "PARTITION"}, None, None),
        limit,
        every,
    )


# --- cases -----------------------------------------------------------------------------------


def meaning_of(query: tree.Query) -> f.Formula | None:
    """Return the formula of a query; None: the analysis refuses it."""
    source = Source(format_query(query))
    try:
        return to_formula(bind(parse_source(source), source, parameters=PARAMETERS))
    except CeqlError:
        return None


@st.composite
def wide_cases(
    draw: Draw, wished: frozenset[str] = frozenset(), longest: int = 6, *, streams: bool = True
) -> Case:
    """A query, a stream for it unless that is left out, and a way to run it.

    What is wished, by the names of features.py, is there if it is legal together.
    """
    choose = Chooser(draw, wished)
    query = draw(wide_queries(wished))
    formula = meaning_of(query)
    if formula is None:
        return Case(query, [])
    partition = [word.text for word in query.partition]
    rows = draw(streams_for(formula, longest, partition)) if streams else []
    if len(query.sources) > 1:
        # Of events with one time it is not said here which stream comes first.
        rows = [
            {"stream": draw(st.sampled_from(STREAMS)), **row, "ts": row["ts"] + at}
            for at, row in enumerate(rows)
        ]
    rows = [{**row, "n": at} for at, row in enumerate(rows)]
    case = Case(
        query,
        rows,
        positions=choose.has("positions", 4),
        exact=choose.has("exact", 4),
        beside=choose.has("beside another query", 4),
        formula=formula,
    )
    if choose.has("lateness", 4):
        bound = draw(st.integers(0, 3))
        delays = [draw(st.integers(0, bound)) for _ in rows]
        arrivals = sorted(range(len(rows)), key=lambda at: (rows[at]["ts"] + delays[at], at))
        case = replace(case, lateness=bound, arrivals=tuple(arrivals))
    snapshots = choose.has("snapshots", 4)
    if snapshots or choose.has("in batches", 3):
        cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
        case = replace(case, batches=tuple(cuts), snapshots=snapshots)
    return case
