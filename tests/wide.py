"""Random queries with any clauses and operators together, and streams in which they find something.

A pattern is made of a small core and a few ingredients, each of which is put around or beside what
is there already. So every two ingredients meet, in both orders, and patterns stay small. Clauses
and ways to run a query are drawn independently of each other. `features.py` says what the queries
have, and its test that no two features never meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from ensue.analysis.bind import bind_levels
from ensue.errors import CeqlError, Source
from ensue.language import tree
from ensue.language.parser import parse_source
from ensue.language.printer import format_query
from ensue.logic import formula as f
from ensue.logic.build import to_formula
from tests.columns import aggregate, computed
from tests.conditions import (
    TYPES,
    bound_names,
    computed_names,
    word,
)
from tests.pairs import Row, streams_for
from tests.strategies import filtered
from tests.wide_derived import reader, reading
from tests.wide_patterns import STREAMS, TIME_PATH, Draw, any_one, on_streams, wide_patterns

PARAMETERS = {"low": 1, "some": [0, 1, 2]}
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
    whole_numbers: bool = False
    """Whether pushes without a fraction bring integers where others bring doubles."""
    lateness: int | None = None
    """How late events come."""
    arrivals: tuple[int, ...] = ()
    """In which order they come, if they come late."""
    beside: bool = False
    """Whether another query is run in the same pass."""
    reader: tree.Query | None = None
    """What reads the matches of the query as a derived stream, with all that it stands on."""
    formula: f.Formula | None = field(default=None, compare=False, repr=False)

    @property
    def whole(self) -> tree.Query:
        """All of it: the query, and what reads it."""
        return self.query if self.reader is None else self.reader

    @property
    def text(self) -> str:
        return format_query(self.whole)

    @property
    def legal(self) -> bool:
        """Whether the query means something."""
        return self.formula is not None


# --- queries ---------------------------------------------------------------------------------

WINDOWS = {
    "WITHIN EVENTS": tuple(tree.Window(size, None, None) for size in (6, 3)),
    "WITHIN [attr]": tuple(tree.Window(size, None, TIME_PATH) for size in (9, 5)),
    "WITHIN duration": tuple(
        tree.Window(None, tree.Duration(((size, word("SECONDS")),)), None) for size in (9, 5)
    ),
}

_DEADLINES = (
    tree.Window(1, None, None),
    tree.Window(2, None, TIME_PATH),
    tree.Window(None, tree.Duration(((2, word("SECONDS")),)), None),
)
"""So short that events of a small stream pass them."""


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
    columns: list[tree.Column] = []
    expressions = choose.has("expression over aggregates", 4)
    if names and (choose.has("computed column", 3) or expressions):
        functions = ("sum", "count", "min", "max", "avg", "first", "last", "stddev")
        functions += ("product", "median", "percentile", "count distinct", "list")
        column = _columns(names, functions, expressions)
        columns = draw(st.lists(column, min_size=1, max_size=2))
    return tree.Selection(strategy, kind == "all", shown, _numbered(columns))


def _counts(choose: Chooser, pattern: tree.Pattern, strategy: tree.Word | None) -> tree.Selection:
    names = bound_names(pattern)
    columns = [aggregate(word("c"), word("count"), None)]
    expressions = choose.has("expression over aggregates", 4)
    if names and (choose.has("totals", 2) or expressions):
        functions = ("sum", "avg", "min", "max", "count")
        column = _columns(names, functions, expressions)
        columns += choose.draw(st.lists(column, min_size=1, max_size=2))
    return tree.Selection(strategy, False, (), _numbered(columns))


@st.composite
def _columns(
    draw: Draw, names: list[str], functions: tuple[str, ...], expressions: bool
) -> tree.Column:
    function = draw(st.sampled_from(functions))
    path = (draw(st.sampled_from(names)), draw(st.sampled_from("vw")))
    column = aggregate(word(""), word(function), tree.Path(tuple(map(word, path))))
    return draw(computed(column)) if expressions else column


def _numbered(columns: list[tree.Column]) -> tuple[tree.Column, ...]:
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
        pattern = on_streams(draw, pattern)
    strategies = {
        f"SELECT {name}": word(name) for name in ("STRICT", "NEXT", "LAST", "MAX", "FIRST")
    }
    strategy = choose.one_of(strategies, None, None)
    counts = bool(wished & COUNTS) or (not wished & LISTS and draw(st.integers(0, 2)) == 2)
    limit = every = None
    if counts and choose.has("EVERY", 3):
        every = tree.Duration(((4, word("SECONDS")),))
    elif not counts and choose.has("LIMIT", 4):
        limit = draw(st.integers(1, 2))
    not_followed = _not_followed(choose, sources) if choose.has("NOT FOLLOWED BY", 6) else None
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
        not_followed,
    )


def _not_followed(choose: Chooser, sources: tuple[str, ...]) -> tree.NotFollowed:
    """Something that must not follow within any kind of window."""
    draw = choose.draw
    absent = any_one(draw)
    if draw(st.booleans()):
        absent = filtered(draw, absent)
    if len(sources) > 1:
        absent = on_streams(draw, absent)
    return tree.NotFollowed(absent, draw(st.sampled_from(_DEADLINES)))


# --- cases -----------------------------------------------------------------------------------


def meaning_of(query: tree.Query) -> f.Formula | None:
    """Return the formula of a query; None: the analysis refuses it."""
    source = Source(format_query(query))
    try:
        levels = bind_levels(parse_source(source), source, parameters=PARAMETERS)
        return [to_formula(level.bound) for level in levels][-1]
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
    formula, sources = meaning_of(query), query.sources
    if formula is None:
        return Case(query, [])
    partition = [word.text for word in query.partition]
    rows = draw(streams_for(formula, longest, partition)) if streams else []
    last = None
    if choose.has("FROM a derived stream", 5):
        query = reading(draw, query)
    if choose.has("CREATE STREAM AS", 5):
        last = reader(draw, query)
    if meaning_of(last or query) is None:
        return Case(query, [], reader=last)
    if len(sources) > 1:
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
        reader=last,
        formula=formula,
    )
    if choose.has("lateness", 4):
        bound = draw(st.integers(0, 3))
        delays = [draw(st.integers(0, bound)) for _ in rows]
        arrivals = sorted(range(len(rows)), key=lambda at: (rows[at]["ts"] + delays[at], at))
        case = replace(case, lateness=bound, arrivals=tuple(arrivals))
    snapshots = choose.has("snapshots", 4)
    if snapshots or choose.has("in batches", 3) or "integers become doubles" in wished:
        cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
        whole = choose.has("integers become doubles", 3)
        case = replace(case, batches=tuple(cuts), snapshots=snapshots, whole_numbers=whole)
    return case
