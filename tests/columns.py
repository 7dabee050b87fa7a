"""Computed columns for random queries: aggregates of expressions, and expressions over them."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from ensue.language import tree

_TWO, _ONE, _THIRD = tree.Constant(2), tree.Constant(1), tree.Constant(Decimal("0.3"))


def aggregate(name: tree.Word, function: tree.Word, argument: tree.Path | None) -> tree.Column:
    """Return the column name = function(argument), or count(*)."""
    given: tree.Expression = tree.Star() if argument is None else argument
    match function.text:
        case "count distinct":
            return tree.Column(name, tree.Call(tree.Word("count"), (tree.Distinct(given),)))
        case "percentile":
            return tree.Column(name, tree.Call(function, (given, _THIRD)))
    return tree.Column(name, tree.Call(function, (given,)))


def _call(name: str, *arguments: tree.Expression) -> tree.Call:
    return tree.Call(tree.Word(name), arguments)


@st.composite
def arguments(draw: st.DrawFn, path: tree.Path) -> tree.Expression:
    """Draw an expression over a numeric attribute."""
    return draw(
        st.sampled_from(
            (
                path,
                path,
                tree.Arithmetic("*", path, path),
                tree.Arithmetic("-", _TWO, path),
                tree.Arithmetic("/", path, tree.Arithmetic("-", path, _ONE)),
                _call("abs", tree.Negative(path)),
                _call("coalesce", path, _TWO),
                tree.Case(((tree.Comparison(">", path, _ONE), path),), None),
            )
        )
    )


def varied(column: tree.Column) -> st.SearchStrategy[tree.Column]:
    """Draw an expression over an aggregate of numbers, or the column as it is."""
    return st.one_of(st.just(column), st.just(column), computed(column))


@st.composite
def computed(draw: st.DrawFn, column: tree.Column) -> tree.Column:
    """Draw a column of an expression over an aggregate of numbers."""
    call = column.expression
    assert isinstance(call, tree.Call)
    path = call.arguments[0]
    if not isinstance(path, tree.Path) or len(path.parts) < 2 or call.function.text == "list":
        return column
    one = tree.Call(call.function, (draw(arguments(path)), *call.arguments[1:]))
    other = _call(draw(st.sampled_from(("sum", "count", "max"))), draw(arguments(path)))
    expression = draw(
        st.sampled_from(
            (
                tree.Arithmetic("-", one, other),
                tree.Arithmetic("/", one, other),
                tree.Arithmetic("+", one, tree.Arithmetic("*", other, other)),
                _call("greatest", one, other),
                _call("round", _call("coalesce", tree.Arithmetic("%", one, other), _TWO)),
                tree.Case(((tree.Comparison("<", one, other), one),), other),
            )
        )
    )
    return tree.Column(column.name, expression)
