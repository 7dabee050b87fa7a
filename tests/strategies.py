"""Random queries and streams for hypothesis.

Queries are made as syntax trees, so that they are well formed by construction; `well_formed`
leaves out the few that the analysis refuses. Streams are short, with ties in time, NULLs, few
types and few values, so that most queries find something.

Strategies are made once and kept: hypothesis looks at each new one for longer than it draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from ensue.language import tree

TYPES = ("A", "B", "C")
ATTRIBUTES = ("v", "w")


def word(text: str) -> tree.Word:
    return tree.Word(text)


# --- streams ---------------------------------------------------------------------------------


@st.composite
def streams(draw: st.DrawFn, longest: int = 8) -> list[dict[str, Any]]:
    """Events with a type, an integer, a double, a key and a time that does not decrease."""
    count = draw(st.integers(0, longest))
    time = 0
    events = []
    for _ in range(count):
        time += draw(st.sampled_from((0, 1, 1, 2, 5)))
        events.append(
            {
                "type": draw(st.sampled_from(("A", "A", "B", "B", "C"))),
                "v": draw(st.sampled_from((0, 1, 2, 3, None))),
                "w": draw(st.sampled_from((0.5, 1.5, 2.5, float("nan")))),
                "k": draw(st.sampled_from(("p", "q", None))),
                "ts": time,
            }
        )
    return events


# --- predicates and conditions ---------------------------------------------------------------

_numbers = st.sampled_from((0, 1, 2, 3)).map(tree.Constant)
_attributes = st.sampled_from(ATTRIBUTES).map(lambda name: tree.Path((word(name),)))
_signs = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))


@cache
def predicates(depth: int = 2) -> st.SearchStrategy[tree.Expression]:
    """What may stand inside X[…]."""
    value = st.one_of(
        _attributes,
        _numbers,
        st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), _attributes, _numbers),
    )
    leaf = st.one_of(
        st.builds(tree.Comparison, _signs, _attributes, value),
        st.builds(tree.IsNull, _attributes, st.booleans()),
        st.builds(
            tree.Membership,
            _attributes,
            st.lists(_numbers, min_size=1, max_size=3).map(tuple),
            st.booleans(),
        ),
        st.builds(tree.Range, _attributes, _numbers, _numbers, st.booleans()),
        st.builds(
            tree.Comparison,
            st.sampled_from(("=", "!=")),
            st.just(tree.Path((word("k"),))),
            st.sampled_from(("p", "q")).map(tree.Constant),
        ),
    )
    if depth == 0:
        return leaf
    deeper = predicates(depth - 1)
    return st.one_of(
        leaf,
        leaf,
        st.builds(tree.Not, deeper),
        st.builds(
            tree.Logical,
            st.sampled_from(("AND", "OR")),
            st.lists(deeper, min_size=2, max_size=2).map(tuple),
        ),
    )


def bound_names(pattern: tree.Pattern) -> list[str]:
    """Return the variables that a pattern can bind to events of the stream."""
    from ensue.analysis.variables import Variables

    return sorted({name for atom in Variables().atoms(pattern) for name in atom.variables})


def computed_names(pattern: tree.Pattern) -> list[str]:
    """Return the variables that a pattern can bind to computed events."""
    from ensue.analysis.variables import Variables

    return sorted(Variables().computed(pattern))


@dataclass(frozen=True)
class Language:
    """Which parts of the language random patterns use."""

    contiguous: bool = True
    full: bool = True
    """AND, ALL, UNLESS, NOT, START, STRICT, NEXT, LAST, MAX."""
    conditions: bool = False
    """Conditions between events, same, increasing, …, PARTITION BY inside patterns."""
    aggregates: bool = False
    optional: bool = True
    guarded: bool = False
    """Whole patterns stand under UNLESS with a condition between events on its right."""


@cache
@st.composite
def patterns(draw: st.DrawFn, language: Language, depth: int = 3) -> tree.Pattern:
    """A random pattern that is well formed."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(_leaves(language))
    kinds = ["sequence"] * 4 + ["or"] * 2 + ["plus"] * 2 + ["as"] * 2 + ["filter"] * 2
    kinds += ["count", "project"]
    if language.full:
        kinds += ["and", "all", "unless", "select", "select"]
    if language.conditions:
        kinds += ["trend", "trend", "relation", "relation", "relation", "key"]
    if language.full and language.conditions:
        kinds += ["correlated"]
    if language.aggregates:
        kinds += ["aggregate"] * 3 + ["computed"] * 2
    kind = draw(st.sampled_from(kinds))
    inner = patterns(language, depth - 1)
    contiguous = language.contiguous and draw(st.booleans())
    match kind:
        case "sequence":
            return draw(_sequences(language, depth, contiguous))
        case "or" | "all" | "and":
            items = (draw(inner), draw(inner))
            if kind == "and" and draw(st.booleans()):
                items = (items[0], filtered(draw, items[0]))
            return tree.Combined(kind.upper(), items)
        case "plus":
            return tree.Repeated(draw(inner), 1, None, contiguous)
        case "count":
            low = draw(st.integers(1, 2))
            high = draw(st.sampled_from((low, low + 1, None)))
            return tree.Repeated(draw(inner), low, high, contiguous)
        case "unless":
            return tree.Unless(draw(inner), draw(patterns(language, min(depth - 1, 1))))
        case "select":
            name = draw(st.sampled_from(("START", "STRICT", "NEXT", "LAST", "MAX")))
            return tree.Applied(word(name), draw(inner))
    pattern = draw(inner)
    names = bound_names(pattern)
    if not names:
        return pattern
    match kind:
        case "correlated":
            return draw(correlated(pattern))
        case "as":
            return tree.Named(pattern, word(draw(st.sampled_from("xyz"))))
        case "filter":
            return filtered(draw, pattern)
        case "project":
            every = names + computed_names(pattern)
            kept = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
            return tree.Projected(pattern, tuple(map(word, kept)))
        case "computed" if computed_names(pattern):
            return draw(on_computed(pattern, names))
        case "trend":
            return draw(trends(pattern, names))
        case "relation":
            return draw(relations(pattern, names))
        case "key":
            return draw(same_keys(pattern))
        case _:
            return draw(aggregates(pattern, names))


def filtered(draw: st.DrawFn, pattern: tree.Pattern) -> tree.Pattern:
    names = bound_names(pattern)
    if not names:
        return pattern
    one = st.builds(tree.Restriction, st.sampled_from(names).map(word), predicates())
    condition = draw(
        st.one_of(
            one,
            one,
            st.builds(
                tree.Logical,
                st.sampled_from(("AND", "OR")),
                st.lists(one, min_size=2, max_size=2).map(tuple),
            ),
        )
    )
    return tree.Filtered(pattern, condition)


@cache
def _leaves(language: Language) -> st.SearchStrategy[tree.Pattern]:
    event = st.sampled_from((*TYPES, *TYPES, None)).map(
        lambda name: tree.Event(None if name is None else word(name))
    )
    named = st.builds(tree.Named, event, st.sampled_from("xyz").map(word))
    leaves: list[st.SearchStrategy[tree.Pattern]] = [event, named, named]
    if language.full:
        leaves.append(st.builds(tree.Absent, st.builds(lambda e: e, event)))
    return st.one_of(leaves)


@cache
@st.composite
def _sequences(draw: st.DrawFn, language: Language, depth: int, contiguous: bool) -> tree.Pattern:
    items = draw(st.lists(patterns(language, depth - 1), min_size=2, max_size=3))
    if language.optional and draw(st.integers(0, 4)) == 0:
        index = draw(st.integers(0, len(items) - 1))
        high = draw(st.sampled_from((1, 2, None)))
        optional = tree.Repeated(items[index], 0, high, contiguous)
        items[index] = draw(_around_optional(optional, language, depth))
    return tree.Sequence(tuple(items), contiguous)


@st.composite
def _around_optional(
    draw: st.DrawFn, optional: tree.Pattern, language: Language, depth: int
) -> tree.Pattern:
    """What may be empty, also below operators that leave the empty match as it is."""
    match draw(st.sampled_from(("plain",) * 4 + ("or", "or", "as", "filter", "plus", "both"))):
        case "or":
            return tree.Combined("OR", (optional, draw(patterns(language, min(depth - 1, 1)))))
        case "as" if bound_names(optional):
            return tree.Named(optional, word(draw(st.sampled_from("xyz"))))
        case "filter":
            return filtered(draw, optional)
        case "plus":
            return tree.Repeated(optional, 1, draw(st.sampled_from((2, None))), contiguous=False)
        case "both":
            return tree.Sequence((optional, optional), contiguous=False)
        case _:
            return optional


@st.composite
def trends(draw: st.DrawFn, pattern: tree.Pattern, names: list[str]) -> tree.Pattern:
    kinds = ("same", "increasing", "decreasing", "nondecreasing", "nonincreasing")
    attribute = draw(st.one_of(_attributes, st.just(tree.Path((word("k"),)))))
    call = tree.Call(word(draw(st.sampled_from(kinds))), (attribute,))
    return tree.Filtered(pattern, tree.Restriction(word(draw(st.sampled_from(names))), call))


@st.composite
def relations(draw: st.DrawFn, pattern: tree.Pattern, names: list[str]) -> tree.Pattern:
    def side(name: str) -> tree.Expression:
        path = tree.Path((word(name), word(draw(st.sampled_from(ATTRIBUTES)))))
        if draw(st.integers(0, 3)) == 0:
            return tree.Arithmetic(draw(st.sampled_from("+-*")), path, draw(_numbers))
        return path

    def relation() -> tree.Expression:
        left = draw(st.sampled_from(names))
        others = [name for name in names if name != left]
        # An event compared with itself is worth a try now and then.
        right = draw(st.sampled_from(others * 4 + [left]))
        match draw(st.sampled_from(("plain",) * 8 + ("sum", "distance", "string", "string"))):
            case "sum":
                three = tree.Arithmetic("+", side(left), side(draw(st.sampled_from(names))))
                return tree.Comparison(draw(_signs), three, side(right))
            case "distance":
                apart = tree.Arithmetic("-", side(left), side(right))
                distance = tree.Call(word("abs"), (apart,))
                return tree.Comparison(draw(_signs), distance, draw(_numbers))
            case "string":
                keys = [tree.Path((word(name), word("k"))) for name in (left, right)]
                return tree.Comparison(draw(_signs), keys[0], keys[1])
        return tree.Comparison(draw(_signs), side(left), side(right))

    condition = relation()
    if draw(st.integers(0, 3)) == 0:
        operator = draw(st.sampled_from(("AND", "OR")))
        condition = tree.Logical(operator, (condition, relation()))
    return tree.Filtered(pattern, condition)


@st.composite
def conditioned(draw: st.DrawFn, pattern: tree.Pattern) -> tree.Pattern:
    """A pattern under a condition between events, or several."""
    names = bound_names(pattern)
    if not names:
        return pattern
    for _ in range(draw(st.sampled_from((1, 1, 2)))):
        kind = draw(st.sampled_from(("relation", "relation", "relation", "trend", "key")))
        if kind == "relation":
            pattern = draw(relations(pattern, names))
        else:
            pattern = draw(trends(pattern, names) if kind == "trend" else same_keys(pattern))
    return pattern


@st.composite
def correlated(draw: st.DrawFn, pattern: tree.Pattern) -> tree.Pattern:
    """A pattern UNLESS one whose conditions name variables of the first."""
    from ensue.analysis.variables import Variables

    if isinstance(pattern, tree.Event | tree.Named):
        # Nothing else happens in the interval of a single event.
        pattern = tree.Sequence((pattern, tree.Event(word(draw(st.sampled_from(TYPES))))), False)
    events: list[tree.Pattern] = [
        tree.Named(tree.Event(word(draw(st.sampled_from(TYPES)))), word(name))
        for name in "mn"[: draw(st.sampled_from((1, 1, 2)))]
    ]
    if draw(st.integers(0, 4)) == 0:
        events[-1] = tree.Repeated(events[-1], 1, None, contiguous=False)
    absent = events[0]
    if len(events) > 1 and draw(st.integers(0, 2)):
        absent = tree.Sequence(tuple(events), contiguous=False)
    elif len(events) > 1:
        absent = tree.Combined("OR", tuple(events))
    own = bound_names(absent)
    outer = [
        name
        for name in bound_names(pattern)
        if name not in own and not Variables().may_repeat(pattern, name)
    ]
    if not outer:
        return tree.Unless(pattern, absent)
    value = st.sampled_from((*ATTRIBUTES, "v", "k")).map(word)

    def condition() -> tree.Expression:
        name, other, attribute = (
            word(draw(st.sampled_from(own))),
            word(draw(st.sampled_from(outer))),
            draw(value),
        )
        mine, theirs = tree.Path((name, attribute)), tree.Path((other, attribute))
        match draw(st.integers(0, 9)):
            case 0:
                return tree.Restriction(other, draw(predicates(0)))
            case 1 if attribute.text != "k":
                three = tree.Arithmetic("+", mine, theirs)
                return tree.Comparison(draw(_signs), three, draw(_numbers))
            case 2 | 3 | 4:
                return tree.Comparison(draw(_signs), theirs, mine)
            case _:
                return tree.Comparison("=", mine, theirs)

    conditions = condition()
    if draw(st.integers(0, 3)) == 0:
        operator = draw(st.sampled_from(("AND", "AND", "OR")))
        conditions = tree.Logical(operator, (conditions, condition()))
    return tree.Unless(pattern, tree.Filtered(absent, conditions))


@st.composite
def same_keys(draw: st.DrawFn, pattern: tree.Pattern) -> tree.Pattern:
    from ensue.analysis.variables import Variables

    names = sorted({min(atom.variables) for atom in Variables().atoms(pattern)})
    attribute = draw(st.sampled_from(("v", "k")))
    keys = tuple(tree.Path((word(name), word(attribute))) for name in names)
    return tree.Partitioned(pattern, keys)


@st.composite
def aggregates(draw: st.DrawFn, pattern: tree.Pattern, names: list[str]) -> tree.Pattern:
    functions = ("sum", "count", "min", "max", "avg", "range", "first", "last", "stddev")
    columns = []
    for index in range(draw(st.integers(1, 2))):
        function = draw(st.sampled_from(functions))
        variable = draw(st.sampled_from(names + computed_names(pattern)))
        attribute = draw(st.sampled_from("vw")) if variable in names else "b0"
        path = tree.Path((word(variable), word(attribute)))
        columns.append(tree.Aggregate(word(f"b{index}"), word(function), path))
    name = draw(st.sampled_from("YZ"))
    aggregated = tree.Aggregated(pattern, word(name), tuple(columns))
    if draw(st.booleans()):
        return aggregated
    predicate = tree.Comparison(draw(_signs), tree.Path((word("b0"),)), draw(_numbers))
    return tree.Filtered(aggregated, tree.Restriction(word(name), predicate))


@st.composite
def on_computed(draw: st.DrawFn, pattern: tree.Pattern, names: list[str]) -> tree.Pattern:
    """A condition on computed events, wherever in the pattern they are made."""
    name = word(draw(st.sampled_from(computed_names(pattern))))
    path = tree.Path((word("b0"),))
    match draw(st.integers(0, 3)):
        case 0:
            kind = draw(st.sampled_from(("same", "increasing", "nonincreasing")))
            condition: tree.Expression = tree.Restriction(name, tree.Call(word(kind), (path,)))
        case 1:
            other = word(draw(st.sampled_from(names)))
            mine, theirs = tree.Path((name, word("b0"))), tree.Path((other, word("v")))
            condition = tree.Comparison(draw(_signs), mine, theirs)
        case _:
            compared = tree.Comparison(draw(_signs), path, draw(_numbers))
            condition = tree.Restriction(name, compared)
    return tree.Filtered(pattern, condition)


@st.composite
def queries(draw: st.DrawFn, language: Language, depth: int = 3) -> tree.Query:
    """A random query; WITHIN counts events or units of `ts`."""
    pattern = draw(patterns(language, depth))
    names = bound_names(pattern)
    strategy = draw(st.sampled_from((None, None, None, "NEXT", "LAST", "MAX", "STRICT")))
    everything = not names or draw(st.booleans())
    shown: tuple[tree.Shown, ...] = ()
    if not everything:
        chosen = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        shown = tuple(tree.Shown(word(name)) for name in chosen)
    selection = tree.Selection(None if strategy is None else word(strategy), everything, shown, ())
    window = draw(
        st.sampled_from(
            (
                None,
                tree.Window(1, None, None),
                tree.Window(3, None, None),
                tree.Window(2, None, tree.Path((word("ts"),))),
                tree.Window(6, None, tree.Path((word("ts"),))),
            )
        )
    )
    return tree.Query(
        (),
        selection,
        (word("S"),),
        pattern,
        draw(st.sampled_from(((), (), (word("k"),)))),
        window,
        draw(st.sampled_from((None, None, "ANY", "PARTITION"))),
        None,
        None,
    )


# --- any tree at all, for the printer --------------------------------------------------------

_names = st.one_of(
    st.sampled_from(("A", "B", "x", "type", "START", "MINUTES", "select", "two words", "a`b")),
    st.text(
        st.characters(exclude_characters="\n", exclude_categories=("Cs",)), min_size=1, max_size=5
    ),
).map(word)
_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 2**63 - 1),
    st.decimals("0", "1e30", places=3),
    st.sampled_from(tuple(map(Decimal, ("1.", "1.50", "1E+3", "2e-7")))),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
).map(tree.Constant)


def any_expressions() -> st.SearchStrategy[tree.Expression]:
    """Any expression that can be written, whether it makes sense or not."""
    path = st.lists(_names, min_size=1, max_size=3).map(lambda parts: tree.Path(tuple(parts)))
    amount = st.tuples(st.one_of(st.integers(0, 100), st.just(Decimal("1.5"))), _names)
    leaf = st.one_of(
        _values,
        path,
        st.sampled_from(("p", "list")).map(tree.Parameter),
        st.lists(amount, min_size=1, max_size=2).map(lambda parts: tree.Duration(tuple(parts))),
        st.builds(
            tree.Instant, st.sampled_from(("TIMESTAMP", "DATE")), st.text("'0-9", max_size=4)
        ),
    )

    def extend(inner: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.Expression]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        chain = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(tree.Negative, inner),
            st.builds(tree.Not, inner),
            st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
            st.builds(tree.Comparison, _signs, inner, inner),
            st.builds(tree.Logical, st.sampled_from(("AND", "OR")), chain),
            st.builds(tree.Membership, inner, several, st.booleans()),
            st.builds(tree.Membership, inner, st.just(tree.Parameter("p")), st.booleans()),
            st.builds(tree.Membership, inner, path, st.booleans()),
            st.builds(tree.Range, inner, inner, inner, st.booleans()),
            st.builds(tree.Match, st.sampled_from(("LIKE", "RLIKE")), inner, inner, st.booleans()),
            st.builds(tree.IsNull, inner, st.booleans()),
            st.builds(tree.Call, _names, st.lists(inner, max_size=2).map(tuple)),
            st.builds(tree.Restriction, _names, inner),
        )

    return st.recursive(leaf, extend, max_leaves=8)


def any_patterns() -> st.SearchStrategy[tree.Pattern]:
    """Any pattern that can be written, whether it makes sense or not."""
    leaf = st.one_of(
        st.builds(tree.Event, _names),
        st.builds(tree.Event, _names, _names),
        st.just(tree.Event(None)),
    )
    path = st.lists(_names, min_size=2, max_size=3).map(lambda parts: tree.Path(tuple(parts)))
    columns = st.lists(st.builds(tree.Aggregate, _names, _names, path), min_size=1, max_size=2).map(
        tuple
    )

    def extend(inner: st.SearchStrategy[tree.Pattern]) -> st.SearchStrategy[tree.Pattern]:
        chain = st.lists(inner, min_size=2, max_size=3).map(tuple)
        bounds = st.sampled_from(((0, None), (1, None), (2, None), (0, 1), (2, 2), (1, 4)))
        return st.one_of(
            st.builds(tree.Sequence, chain, st.booleans()),
            st.builds(tree.Combined, st.sampled_from(("OR", "AND", "ALL")), chain),
            st.builds(tree.Unless, inner, inner),
            st.builds(tree.Named, inner, _names),
            st.builds(lambda p, b, c: tree.Repeated(p, *b, c), inner, bounds, st.booleans()),
            st.builds(tree.Absent, inner),
            st.builds(tree.Applied, _names, inner),
            st.builds(tree.Filtered, inner, any_expressions()),
            st.builds(tree.Aggregated, inner, _names, columns),
            st.builds(tree.Projected, inner, st.lists(_names, min_size=1, max_size=3).map(tuple)),
            st.builds(tree.Partitioned, inner, st.lists(path, min_size=1, max_size=2).map(tuple)),
        )

    return st.recursive(leaf, extend, max_leaves=8)


def any_queries() -> st.SearchStrategy[tree.Query]:
    """Any query that can be written, with every clause."""
    path = st.lists(_names, min_size=1, max_size=2).map(lambda parts: tree.Path(tuple(parts)))
    shown = st.builds(
        tree.Shown, _names, st.one_of(st.none(), st.lists(path, min_size=1, max_size=2).map(tuple))
    )
    column = st.builds(tree.Aggregate, _names, _names, path)
    star = st.builds(tree.Aggregate, _names, st.just(word("count")), st.none())
    strategy = st.sampled_from((None, "NEXT", "LAST", "MAX", "STRICT")).map(
        lambda name: None if name is None else word(name)
    )
    selection = st.one_of(
        st.builds(
            tree.Selection,
            strategy,
            st.booleans(),
            st.just(()),
            st.lists(column, max_size=2).map(tuple),
        ),
        st.builds(
            tree.Selection,
            strategy,
            st.just(False),
            st.lists(shown, min_size=1, max_size=2).map(tuple),
            st.lists(column, max_size=2).map(tuple),
        ),
        st.builds(tree.Selection, strategy, st.just(False), st.just(()), st.tuples(star)),
    )
    duration = st.just(tree.Duration(((1, word("HOUR")), (Decimal("1.5"), word("MINUTES")))))
    window = st.one_of(
        st.none(),
        st.builds(tree.Window, st.integers(0, 100), st.none(), st.one_of(st.none(), path)),
        st.builds(tree.Window, st.none(), duration, st.one_of(st.none(), path)),
    )
    field = st.builds(tree.FieldDeclaration, path, _names)
    event = st.builds(tree.EventDeclaration, _names, st.lists(field, max_size=2).map(tuple))
    stream = st.builds(
        tree.StreamDeclaration, _names, st.lists(event, min_size=1, max_size=2).map(tuple)
    )
    return st.builds(
        tree.Query,
        st.lists(stream, max_size=2).map(tuple),
        selection,
        st.lists(_names, min_size=1, max_size=2).map(tuple),
        any_patterns(),
        st.lists(_names, max_size=2).map(tuple),
        window,
        st.sampled_from((None, "ANY", "PARTITION", "NONE")),
        st.one_of(st.none(), st.integers(1, 9)),
        st.one_of(st.none(), duration),
    )
