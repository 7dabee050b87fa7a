"""Random patterns of a small core and a few ingredients, any two of which meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st

from ensue.language import tree
from tests.conditions import (
    TYPES,
    aggregates,
    bound_names,
    computed_names,
    on_computed,
    relations,
    same_keys,
    trends,
    word,
)
from tests.pairs import conditional_absence
from tests.strategies import filtered

STREAMS = ("S", "R")
TIME_PATH = tree.Path((word("ts"),))

Draw = st.DrawFn
Grow = Callable[[Draw, tree.Pattern], tree.Pattern]


def any_one(draw: Draw) -> tree.Pattern:
    event = tree.Event(word(draw(st.sampled_from(TYPES))))
    name = draw(st.sampled_from((None, "x", "y", "z")))
    return event if name is None else tree.Named(event, word(name))


def _beside(draw: Draw, one: tree.Pattern, other: tree.Pattern) -> tuple[tree.Pattern, ...]:
    return (one, other) if draw(st.booleans()) else (other, one)


def _sequence(contiguous: bool) -> Grow:
    return lambda draw, pattern: tree.Sequence(_beside(draw, pattern, any_one(draw)), contiguous)


def _repeated(bounds: tuple[tuple[int, int | None], ...], *, contiguous: bool | None) -> Grow:
    def grow(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
        low, high = draw(st.sampled_from(bounds))
        closely = draw(st.booleans()) if contiguous is None else contiguous
        repeated = tree.Repeated(pattern, low, high, closely)
        if low:
            return repeated
        return tree.Sequence(_beside(draw, repeated, any_one(draw)), draw(st.booleans()))

    return grow


def _maybe_empty(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    """Put what may be empty below an OR, an AS or a filter."""
    optional: tree.Pattern = tree.Repeated(pattern, 0, 1, contiguous=False)
    match draw(st.sampled_from(("OR", "OR", "AS", "FILTER"))):
        case "OR":
            optional = tree.Combined("OR", _beside(draw, optional, any_one(draw)))
        case "AS":
            optional = _named(draw, optional)
        case _:
            optional = filtered(draw, optional)
    return tree.Sequence(_beside(draw, optional, any_one(draw)), draw(st.booleans()))


def _combined(operator: Any) -> Grow:
    return lambda draw, pattern: tree.Combined(operator, _beside(draw, pattern, any_one(draw)))


def _agreed(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    return tree.Combined("AND", _beside(draw, pattern, filtered(draw, pattern)))


def _applied(operator: str) -> Grow:
    return lambda draw, pattern: tree.Applied(word(operator), pattern)


def _unless(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
    absent = any_one(draw)
    if draw(st.booleans()):
        absent = tree.Sequence((absent, any_one(draw)), draw(st.booleans()))
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


def _within(kind: str) -> Grow:
    sizes = {"EVENTS": (1, 2, 4), "[attr]": (2, 3, 5), "duration": (2, 3, 5)}[kind]

    def grow(draw: Draw, pattern: tree.Pattern) -> tree.Pattern:
        size = draw(st.sampled_from(sizes))
        window = tree.Window(size, None, None if kind == "EVENTS" else TIME_PATH)
        if kind == "duration":
            window = tree.Window(None, tree.Duration(((size, word("SECONDS")),)), None)
        return tree.Within(pattern, window)

    return grow


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
    **{f"(WITHIN {kind})": _within(kind) for kind in ("EVENTS", "[attr]", "duration")},
}


@st.composite
def wide_patterns(draw: Draw, wished: frozenset[str] = frozenset()) -> tree.Pattern:
    """A core and three to five ingredients in any order, those that are wished among them."""
    x, y = (tree.Named(tree.Event(word(kind)), word(name)) for kind, name in ("Ax", "By"))
    pattern: tree.Pattern = tree.Sequence((x, y), contiguous=False)
    if draw(st.integers(0, 2)) == 2:
        pattern = any_one(draw)
    own = sorted(wished & INGREDIENTS.keys())
    others = [name for name in INGREDIENTS if name not in own]
    room = max(4 - len(own), 1)
    own += draw(st.lists(st.sampled_from(others), min_size=1, max_size=room, unique=True))
    for name in draw(st.permutations(own)):
        if bound_names(pattern):
            pattern = INGREDIENTS[name](draw, pattern)
    return pattern


def on_streams(draw: Draw, node: Any) -> Any:
    """Let some events of a pattern be of one stream."""
    if isinstance(node, tree.Event):
        stream = draw(st.sampled_from((None, *STREAMS)))
        return node if node.type is None or stream is None else replace(node, stream=word(stream))
    if isinstance(node, tuple):
        return tuple(on_streams(draw, each) for each in node)
    if not isinstance(node, tree.Node):
        return node
    changed = {
        each.name: on_streams(draw, getattr(node, each.name))
        for each in fields(node)
        if each.name in ("pattern", "absent", "items")
    }
    return replace(node, **changed) if changed else node
