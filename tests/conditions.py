"""Random predicates and conditions, around patterns that are there."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from ensue.language import tree
from tests.columns import aggregate, varied

TYPES = ("A", "B", "C")
ATTRIBUTES = ("v", "w")


def word(text: str) -> tree.Word:
    return tree.Word(text)


_numbers = st.sampled_from((0, 1, 2, 3)).map(tree.Constant)
_attributes = st.sampled_from(ATTRIBUTES).map(lambda name: tree.Path((word(name),)))
signs = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))


@cache
def predicates(depth: int = 2) -> st.SearchStrategy[tree.Expression]:
    """What may stand inside X[…]."""
    value = st.one_of(
        _attributes,
        _numbers,
        st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), _attributes, _numbers),
    )
    leaf = st.one_of(
        st.builds(tree.Comparison, signs, _attributes, value),
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
                return tree.Comparison(draw(signs), three, side(right))
            case "distance":
                apart = tree.Arithmetic("-", side(left), side(right))
                distance = tree.Call(word("abs"), (apart,))
                return tree.Comparison(draw(signs), distance, draw(_numbers))
            case "string":
                keys = [tree.Path((word(name), word("k"))) for name in (left, right)]
                return tree.Comparison(draw(signs), keys[0], keys[1])
        return tree.Comparison(draw(signs), side(left), side(right))

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
                return tree.Comparison(draw(signs), three, draw(_numbers))
            case 2 | 3 | 4:
                return tree.Comparison(draw(signs), theirs, mine)
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
    functions += ("product", "median", "percentile", "count distinct")
    columns = []
    for index in range(draw(st.integers(1, 2))):
        function = draw(st.sampled_from(functions))
        variable = draw(st.sampled_from(names + computed_names(pattern)))
        attribute = draw(st.sampled_from("vw")) if variable in names else "b0"
        path = tree.Path((word(variable), word(attribute)))
        columns.append(draw(varied(aggregate(word(f"b{index}"), word(function), path))))
    name = draw(st.sampled_from("YZ"))
    aggregated = tree.Aggregated(pattern, word(name), tuple(columns))
    if draw(st.booleans()):
        return aggregated
    predicate = tree.Comparison(draw(signs), tree.Path((word("b0"),)), draw(_numbers))
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
            condition = tree.Comparison(draw(signs), mine, theirs)
        case _:
            compared = tree.Comparison(draw(signs), path, draw(_numbers))
            condition = tree.Restriction(name, compared)
    return tree.Filtered(pattern, condition)
