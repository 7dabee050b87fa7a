"""Random queries and streams for hypothesis.

Queries are made as syntax trees, so that they are well formed by construction; `well_formed`
leaves out the few that the analysis refuses. Streams are short, with ties in time, NULLs, few
types and few values, so that most queries find something.

Strategies are made once and kept: hypothesis looks at each new one for longer than it draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from ensue.language import tree
from tests.conditions import (
    TYPES,
    aggregates,
    bound_names,
    computed_names,
    correlated,
    on_computed,
    predicates,
    relations,
    same_keys,
    trends,
    word,
)

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


INNER_WINDOWS = (
    *(tree.Window(size, None, None) for size in (1, 2, 4)),
    *(tree.Window(size, None, tree.Path((word("ts"),))) for size in (1, 2, 4)),
)
"""Windows of parts of patterns."""


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
    windows: bool = False
    """Windows of parts of patterns."""
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
    if language.windows:
        kinds += ["within"] * 3
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
        case "within":
            return tree.Within(draw(inner), draw(st.sampled_from(INNER_WINDOWS)))
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
def queries(draw: st.DrawFn, language: Language, depth: int = 3) -> tree.Query:
    """A random query; WITHIN counts events or units of `ts`."""
    pattern = draw(patterns(language, depth))
    names = bound_names(pattern)
    strategy = draw(st.sampled_from((None, None, None, "NEXT", "LAST", "MAX", "STRICT", "FIRST")))
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
