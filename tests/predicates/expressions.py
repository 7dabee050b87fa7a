"""Random predicates as text, over columns of every kind."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.predicates.columns import INTEGER_VALUES, LEAST, MOST, STRING_VALUES

Text = st.SearchStrategy[str]


# --- expressions -----------------------------------------------------------------------------


def _among(*names: str) -> Text:
    return st.sampled_from(names)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _signed(number: int) -> str:
    return str(number) if number >= 0 else f"(-{-number})"


def _call(name: str, *arguments: Text) -> Text:
    return st.tuples(*arguments).map(lambda parts: f"{name}({', '.join(parts)})")


def _infix(signs: str, left: Text, right: Text) -> Text:
    return st.builds(lambda a, sign, b: f"({a} {sign} {b})", left, _among(*signs.split()), right)


UNKNOWN = _among("absent", "nothing", "NULL", "n.absent")

INTEGER_LITERALS = st.one_of(
    st.sampled_from((0, 1, 2, 3, 7, 2**53, 2**53 + 1, MOST, LEAST, -7)), INTEGER_VALUES
).map(_signed)
DOUBLE_LITERALS = _among(
    *"0.0 0.5 1.5 2.5 7.0 (-0.0) (-2.5) 1e308 1e-320 1e22 9007199254740993.0 9.3e18 0.1".split()
)
STRING_LITERALS = STRING_VALUES.map(_quoted)
TIME_LITERALS = _among(
    "TIMESTAMP '2026-01-31 09:30:00'",
    "TIMESTAMP '1970-01-01 00:00:00.000001'",
    "TIMESTAMP '2000-02-29T23:59:59+02:00'",
    "TIMESTAMP '1890-12-31 00:00:00'",
    "DATE '2026-01-31'",
    "DATE '1969-12-31'",
)
SMALL = st.integers(-4, 4).map(_signed)
DATE_UNITS = "'nanosecond' 'seconds' 'HOUR' 'day' 'weeks' 'month' 'year'".split()
GROUPED = _among("'(a)'", "'^(.)(b)?'", "'([a-z]+)|(.)'", "'(a|(b))$'", "'[(](.)'")
NETWORKS = _among("'10.0.0.0/8'", "'192.168.0.1/32'", "'::/0'", "'fd00::/8'", "'0.0.0.0/0'")
DURATION_LITERALS = _among("5 MINUTES", "1 DAY 1 HOUR", "0 SECONDS", "1.5 HOURS", "1 NANOSECOND")


LIST_COLUMNS = "strings encoded ints doubles pairs flags empty moments".split()


@cache
def integers(depth: int) -> Text:
    leaves = st.one_of(
        _among("i", "j", "short", "unsigned", "di", "n.x", "never"), INTEGER_LITERALS
    )
    if depth == 0:
        return leaves
    inner = integers(depth - 1)
    moments = times(depth - 1)
    parts = st.builds(
        lambda name, time: f"{name}({time})",
        _among("hour", "minute", "day", "month", "year", "day_of_week"),
        moments,
    )
    rounded = st.builds(
        lambda name, number: f"{name}({number})", _among("abs", "round", "floor", "ceil"), inner
    )
    return st.one_of(
        leaves,
        _infix("+ - * %", inner, inner),
        _infix("+ - * %", inner, inner),
        inner.map(lambda number: f"(-{number})"),
        rounded,
        _call("length", strings(depth - 1)),
        _call("length", _among(*LIST_COLUMNS)),
        parts,
        _call("sign", inner),
        _call("date_diff", _among(*DATE_UNITS), moments, moments),
        choices(inner),
        _call("coalesce", UNKNOWN, inner),
    )


@cache
def numbers(depth: int) -> Text:
    """Integers, doubles and decimals."""
    leaves = st.one_of(
        integers(0), _among("d", "d", "e", "single", "m", "n.y.d"), DOUBLE_LITERALS, UNKNOWN
    )
    if depth == 0:
        return leaves
    inner = numbers(depth - 1)
    rounded = st.builds(
        lambda name, number: f"{name}({number})",
        _among("abs", "round", "floor", "ceil", "sqrt"),
        inner,
    )
    return st.one_of(
        leaves,
        integers(depth),
        _infix("+ - * / %", inner, inner),
        _infix("+ - * / %", inner, inner),
        inner.map(lambda number: f"(-{number})"),
        rounded,
        rounded,
        choices(inner),
        choices(inner),
        _call("power", inner, inner),
        st.builds(lambda name, number: f"{name}({number})", _among("ln", "exp", "sign"), inner),
        _call("geo_distance", inner, numbers(0), _among("d", "e", "45.5"), _among("e", "-100")),
        _infix("/", durations(depth - 1), durations(depth - 1)),
    )


@cache
def strings(depth: int) -> Text:
    leaves = st.one_of(
        _among("s", "t", "u", "t8", "view", "n.y.z", "type"),
        _among("s", "t"),
        STRING_LITERALS,
        UNKNOWN,
    )
    if depth == 0:
        return leaves
    inner = strings(depth - 1)
    return st.one_of(
        leaves,
        st.builds(lambda name, text: f"{name}({text})", _among("lower", "upper", "trim"), inner),
        choices(inner),
        _call("concat", inner, strings(0)),
        _call("concat", inner, strings(0), inner),
        _call("substring", inner, st.one_of(SMALL, integers(0))),
        _call("substring", inner, SMALL, st.one_of(SMALL, SMALL, _among("j"))),
        _call("replace", inner, strings(0), strings(0)),
        _call("split_part", inner, strings(0), SMALL),
        _call("regexp_extract", inner, GROUPED),
        _call("regexp_extract", inner, GROUPED, _among("0", "1")),
    )


@cache
def times(depth: int) -> Text:
    leaves = st.one_of(
        _among("at_s", "at_ms", "at_us", "at_ns", "day"), TIME_LITERALS, _among("absent", "nothing")
    )
    if depth == 0:
        return leaves
    inner = times(depth - 1)
    return st.one_of(
        leaves,
        _infix("+ -", inner, durations(depth - 1)),
        _infix("+", durations(depth - 1), inner),
        choices(inner),
    )


@cache
def durations(depth: int) -> Text:
    leaves = st.one_of(_among("lasts", "lasts_us"), DURATION_LITERALS)
    if depth == 0:
        return leaves
    inner = durations(depth - 1)
    return st.one_of(
        leaves,
        _infix("-", _among("at_s", "at_ms", "at_us", "at_ns", "day"), times(depth - 1)),
        _infix("+ -", inner, inner),
        _infix("* /", inner, numbers(0)),
        _infix("*", numbers(0), inner),
        inner.map(lambda duration: f"(-{duration})"),
        choices(inner),
    )


def choices(value: Text) -> Text:
    """Choose among values: coalesce, greatest, least and CASE."""
    test = _among("b", "NOT c", "s = t", "i > 0", "d IS NULL", "NULL")
    return st.one_of(
        _call("coalesce", value, value),
        _call("coalesce", value, value, value),
        _call("greatest", value, value),
        _call("least", value, value, value),
        st.builds(lambda p, a: f"CASE WHEN {p} THEN {a} END", test, value),
        st.builds(
            lambda p, a, q, b, c: f"CASE WHEN {p} THEN {a} WHEN {q} THEN {b} ELSE {c} END",
            test,
            value,
            test,
            value,
            value,
        ),
    )


def _lists(value: Text, literals: Text) -> Text:
    several = st.lists(
        st.one_of(literals, literals, st.just("NULL"), value), min_size=1, max_size=4
    )
    return several.map(lambda choices: f"({', '.join(choices)})")


def _members(value: Text, lists: Text) -> Text:
    """Look for a value in a list that is an attribute."""
    return st.one_of(
        st.builds(lambda a, no, b: f"({a} {no}IN {b})", value, _among("", "NOT "), lists),
        st.builds(lambda a, b: f"contains({b}, {a})", value, lists),
    )


@cache
def predicates(depth: int) -> Text:
    """What may stand inside X[…], except a lone name."""
    signs = "= == != <> < <= > >="
    negation = _among("", "NOT ")
    number, string, time = numbers(2), strings(2), times(2)
    likes = st.text("aAbé%_\\x🦊", max_size=4).map(_quoted)
    regexes = _among("a", "^a", "b$", "[a-z]+", ".", "^$", "(?i)A", "a|é", "\\\\", "x.y", "(?s)x.y")
    pieces = st.one_of(STRING_LITERALS, strings(1))
    leaves = [
        _infix(signs, number, number),
        _infix(signs, integers(2), integers(2)),
        _infix(signs, string, string),
        _infix("= != < >=", string, STRING_LITERALS),
        _infix(signs, time, time),
        _infix(signs, durations(2), durations(1)),
        _infix("= != < >=", _among("b", "c", "TRUE", "FALSE"), _among("b", "c", "TRUE", "absent")),
        st.builds(
            lambda value, no: f"({value} IS {no}NULL)",
            st.one_of(number, string, time, durations(1), _among("b", "n.y.z", "absent")),
            negation,
        ),
        st.builds(
            lambda value, no, low, high: f"({value} {no}BETWEEN {low} AND {high})",
            numbers(1),
            negation,
            numbers(1),
            numbers(0),
        ),
        st.builds(
            lambda value, low, high: f"({value} IN RANGE ({low}, {high}))",
            integers(1),
            numbers(0),
            numbers(0),
        ),
        st.builds(
            lambda value, no, low, high: f"({value} {no}BETWEEN {low} AND {high})",
            string,
            negation,
            strings(0),
            STRING_LITERALS,
        ),
        st.builds(
            lambda value, no, choices: f"({value} {no}IN {choices})",
            numbers(1),
            negation,
            _lists(numbers(0), st.one_of(INTEGER_LITERALS, DOUBLE_LITERALS)),
        ),
        st.builds(
            lambda value, no, choices: f"({value} {no}IN {choices})",
            strings(1),
            negation,
            _lists(strings(0), STRING_LITERALS),
        ),
        st.builds(
            lambda value, no, choices: f"({value} {no}IN {choices})",
            times(1),
            negation,
            _lists(times(0), TIME_LITERALS),
        ),
        st.builds(
            lambda value, no, pattern: f"({value} {no}LIKE {pattern})", string, negation, likes
        ),
        st.builds(
            lambda value, no, pattern: f"({value} {no}RLIKE {_quoted(pattern)})",
            string,
            negation,
            regexes,
        ),
        st.builds(
            lambda name, value, piece: f"{name}({value}, {piece})",
            _among("starts_with", "ends_with", "contains"),
            string,
            pieces,
        ),
        _call("cidr_match", string, NETWORKS),
        _members(strings(1), _among("strings", "encoded", "empty", "absent")),
        _members(numbers(1), _among("ints", "doubles", "pairs", "empty")),
        _members(_among("b", "c", "TRUE", "FALSE", "NULL"), _among("flags", "empty")),
        _members(times(1), _among("moments", "empty")),
        st.builds(
            lambda value, no, choices: f"({value} {no}IN {choices})",
            _among("b", "c"),
            negation,
            _among("(TRUE)", "(FALSE, NULL)", "(TRUE, FALSE)", "(NULL)"),
        ),
    ]
    leaf = st.one_of(leaves)
    if depth == 0:
        return leaf
    inner = st.one_of(
        predicates(depth - 1), predicates(depth - 1), _among("b", "c", "NULL", "TRUE")
    )
    return st.one_of(
        leaf,
        leaf,
        inner.map(lambda one: f"(NOT {one})"),
        _infix("AND OR", inner, inner),
        _infix("AND OR", inner, inner),
        st.builds(lambda a, b, c: f"({a} OR {b} AND {c})", inner, inner, inner),
        st.builds(lambda a, b: f"(coalesce({a}, {b}) = TRUE)", inner, inner),
    )
