"""Any syntax tree at all, for the printer."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from ensue.language import tree
from tests.columns import aggregate
from tests.conditions import signs, word

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
            st.builds(tree.Comparison, signs, inner, inner),
            st.builds(tree.Logical, st.sampled_from(("AND", "OR")), chain),
            st.builds(tree.Membership, inner, several, st.booleans()),
            st.builds(tree.Membership, inner, st.just(tree.Parameter("p")), st.booleans()),
            st.builds(tree.Membership, inner, path, st.booleans()),
            st.builds(tree.Range, inner, inner, inner, st.booleans()),
            st.builds(tree.Match, st.sampled_from(("LIKE", "RLIKE")), inner, inner, st.booleans()),
            st.builds(tree.IsNull, inner, st.booleans()),
            st.builds(tree.Call, _names, st.lists(inner, max_size=2).map(tuple)),
            st.builds(tree.Call, _names, st.tuples(st.just(tree.Star()))),
            st.builds(tree.Call, _names, st.tuples(st.builds(tree.Distinct, path))),
            st.builds(tree.Case, st.tuples(st.tuples(inner, inner)), st.one_of(st.none(), inner)),
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
    column = st.builds(tree.Column, _names, any_expressions())
    columns = st.lists(column, min_size=1, max_size=2).map(tuple)

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
            st.builds(tree.Within, inner, any_windows()),
        )

    return st.recursive(leaf, extend, max_leaves=8)


def any_windows() -> st.SearchStrategy[tree.Window]:
    """Any window that can be written."""
    path = st.lists(_names, min_size=1, max_size=2).map(lambda parts: tree.Path(tuple(parts)))
    on = st.one_of(st.none(), path)
    return st.one_of(
        st.builds(tree.Window, st.integers(0, 100), st.none(), on),
        st.builds(tree.Window, st.none(), st.just(_DURATION), on),
    )


_DURATION = tree.Duration(((1, word("HOUR")), (Decimal("1.5"), word("MINUTES"))))


def any_queries() -> st.SearchStrategy[tree.Query]:
    """Any query that can be written, with every clause."""
    path = st.lists(_names, min_size=1, max_size=2).map(lambda parts: tree.Path(tuple(parts)))
    shown = st.builds(
        tree.Shown, _names, st.one_of(st.none(), st.lists(path, min_size=1, max_size=2).map(tuple))
    )
    column = st.builds(tree.Column, _names, any_expressions())
    star = st.builds(aggregate, _names, st.just(word("count")), st.none())
    strategy = st.sampled_from((None, "NEXT", "LAST", "MAX", "STRICT", "FIRST")).map(
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
        st.one_of(st.none(), any_windows()),
        st.sampled_from((None, "ANY", "PARTITION", "NONE")),
        st.one_of(st.none(), st.integers(1, 9)),
        st.one_of(st.none(), st.just(_DURATION)),
    )
