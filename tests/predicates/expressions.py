"""Random predicates as text, over columns of every kind, and random tables to ask them of."""

from __future__ import annotations

import math
from collections.abc import Collection
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

Text = st.SearchStrategy[str]

LEAST, MOST = -(2**63), 2**63 - 1
TYPES = ("A", "B", "C", None)

# --- values ----------------------------------------------------------------------------------

_INTEGERS = st.one_of(
    st.sampled_from((0, 1, -1, 2, 7, -7, 2**31, 2**32, 2**53, 2**53 + 1, -(2**53) - 1)),
    st.sampled_from((LEAST, LEAST + 1, MOST, MOST - 1, 3_037_000_500, -3_037_000_499)),
    st.integers(-9, 9),
    st.integers(LEAST, MOST),
)
_DOUBLES = st.one_of(
    st.sampled_from((0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.0, 0.49999999999999994, 1e-300)),
    st.sampled_from((math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 2.0**53, 2.0**63)),
    st.sampled_from((4503599627370497.5, 9007199254740993.0, -(2.0**63), 1e22)),
    st.floats(),
)
_STRINGS = st.one_of(
    st.sampled_from(
        ("", "a", "A", "ab", "aB", "Ab", "b", "a%", "a_b", "\\", "é", "É", "ß", "x\ny")
    ),
    st.sampled_from(("ﬁ", "İ", "日本", "日", "🦊", "a🦊b", "e\u0301", "Σς", "a\0b", " a", "a'b")),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=3),
)
_BOOLEANS = st.booleans()
_DECIMALS = st.one_of(
    st.sampled_from(tuple(map(Decimal, ("0.000", "1.500", "0.100", "7.000", "-7.000")))),
    st.sampled_from((Decimal("9007199254740993.000"), Decimal("-99999999999999999.999"))),
    st.decimals(-(10**16), 10**16, places=3),
)
_SECONDS = st.one_of(
    st.sampled_from((0, 1, -1, 59, 60, 3599, 3600, 86_399, 86_400, -86_400, -86_401)),
    st.sampled_from((951_782_400, 951_868_799, 1_769_850_600, 1_798_761_599, -2_208_988_801)),
    st.integers(-9_000_000_000, 9_000_000_000),
)
_LATER_SECONDS = st.one_of(_SECONDS, st.sampled_from((9_300_000_000, -9_300_000_000)))
_DAYS = st.one_of(st.sampled_from((0, 1, -1, 11_016, 20_484, -25_568)), st.integers(-9999, 99_999))
_LENGTHS = st.one_of(
    st.sampled_from((0, 1, -1, 60, 300, 3600, 86_400)), st.integers(-(10**9), 10**9)
)


def _scaled(seconds: st.SearchStrategy[int], unit: int) -> st.SearchStrategy[int]:
    return st.builds(lambda whole, rest: whole * unit + rest, seconds, st.integers(0, unit - 1))


_SMALL = st.none() | st.integers(-9, 9)


def _several(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(values, values, st.none()), max_size=3)


NESTED = pa.struct(
    [
        ("x", pa.int64()),
        ("y", pa.struct([("z", pa.string()), ("d", pa.float64())])),
    ]
)

COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int64(), _INTEGERS),
    "j": (pa.int64(), st.one_of(st.integers(-9, 9), _INTEGERS)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "unsigned": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "d": (pa.float64(), _DOUBLES),
    "e": (pa.float64(), st.sampled_from((0.0, -0.0, 0.5, 1.0, 2.0, 7.0, -3.5))),
    "single": (pa.float32(), st.floats(width=32)),
    "b": (pa.bool_(), _BOOLEANS),
    "c": (pa.bool_(), _BOOLEANS),
    "s": (pa.string(), _STRINGS),
    "u": (pa.large_string(), _STRINGS),
    "view": (pa.string_view(), _STRINGS),
    "t": (pa.dictionary(pa.int32(), pa.string()), _STRINGS),
    "t8": (pa.dictionary(pa.int8(), pa.large_string()), _STRINGS),
    "di": (pa.dictionary(pa.int16(), pa.int64()), _INTEGERS),
    "at_s": (pa.timestamp("s"), _LATER_SECONDS),
    "at_ms": (pa.timestamp("ms"), _scaled(_LATER_SECONDS, 1000)),
    "at_us": (pa.timestamp("us", "UTC"), _scaled(_SECONDS, 10**6)),
    "at_ns": (pa.timestamp("ns", "America/Santiago"), _scaled(_SECONDS, 10**9)),
    "day": (pa.date32(), _DAYS),
    "lasts": (pa.duration("s"), _LENGTHS),
    "lasts_us": (pa.duration("us"), _scaled(_LENGTHS, 10**6)),
    "m": (pa.decimal128(20, 3), _DECIMALS),
    "n": (
        NESTED,
        st.fixed_dictionaries(
            {
                "x": st.none() | _INTEGERS,
                "y": st.none() | st.fixed_dictionaries({"z": _STRINGS, "d": _DOUBLES}),
            }
        ),
    ),
    "strings": (pa.list_(pa.string()), _several(_STRINGS)),
    "encoded": (pa.list_(pa.dictionary(pa.int32(), pa.string())), _several(_STRINGS)),
    "ints": (pa.large_list(pa.int64()), _several(_INTEGERS)),
    "doubles": (pa.list_(pa.float64()), _several(_DOUBLES)),
    "pairs": (
        pa.list_(pa.int16(), 2),
        st.lists(st.none() | st.integers(-9, 9), min_size=2, max_size=2),
    ),
    "flags": (pa.list_(pa.bool_()), _several(_BOOLEANS)),
    "empty": (pa.list_(pa.null()), _several(st.none())),
    "moments": (pa.list_(pa.timestamp("s")), _several(_SECONDS)),
    "never": (pa.int64(), st.none()),
    "nothing": (pa.null(), st.none()),
}
"""What a table may have. The name `absent` is nobody's."""

SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])

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
    st.sampled_from((0, 1, 2, 3, 7, 2**53, 2**53 + 1, MOST, LEAST, -7)), _INTEGERS
).map(_signed)
DOUBLE_LITERALS = _among(
    *"0.0 0.5 1.5 2.5 7.0 (-0.0) (-2.5) 1e308 1e-320 1e22 9007199254740993.0 9.3e18 0.1".split()
)
STRING_LITERALS = _STRINGS.map(_quoted)
TIME_LITERALS = _among(
    "TIMESTAMP '2026-01-31 09:30:00'",
    "TIMESTAMP '1970-01-01 00:00:00.000001'",
    "TIMESTAMP '2000-02-29T23:59:59+02:00'",
    "TIMESTAMP '1890-12-31 00:00:00'",
    "DATE '2026-01-31'",
    "DATE '1969-12-31'",
)
DURATION_LITERALS = _among("5 MINUTES", "1 DAY 1 HOUR", "0 SECONDS", "1.5 HOURS", "1 NANOSECOND")


_LIST_COLUMNS = "strings encoded ints doubles pairs flags empty moments".split()


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
        _call("length", _among(*_LIST_COLUMNS)),
        parts,
        _call("coalesce", inner, inner),
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
        _call("coalesce", inner, inner),
        _call("coalesce", inner, inner, inner),
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
        _call("lower", inner),
        _call("upper", inner),
        _call("coalesce", inner, inner),
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
        _call("coalesce", inner, inner),
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


# --- every operator on every kind of column --------------------------------------------------

_NULL_TESTS = ("{0} IS NULL", "{0} IS NOT NULL")
_ON_NUMBERS = (
    *_NULL_TESTS,
    *"{0}=7 {0}!={0} {0}<0.5 7<={0} {0}+1>2 {0}-{0}=0 {0}*{0}>=49 {0}/{0}=1 {0}%2=1".split(),
    *"-{0}<0 abs({0})>=7 round({0})=1 floor({0})<2 ceil({0})>-3 sqrt({0})>1".split(),
    *"coalesce({0},1)=1 coalesce({0},0.5)<=0.5 2%{0}=2".split(),
    "{0} IN (0, 7, NULL)",
    "{0} NOT IN (0, 1.5, 9007199254740993)",
    "{0} BETWEEN -7 AND 7",
    "{0} NOT BETWEEN j AND d",
)
_ON_STRINGS = (
    *_NULL_TESTS,
    *"{0}='a' 'a'!={0} {0}<'b' 'a'<={0} {0}=s t>={0} {0}={0}".split(),
    *"lower({0})='a' upper({0})>'A' length({0})=1 coalesce({0},'a')='a'".split(),
    *"starts_with({0},'a') ends_with({0},'b') contains({0},'') contains({0},s)".split(),
    "{0} IN ('a', 'b', '')",
    "{0} NOT IN ('a', 'é')",
    "{0} NOT IN ('a', NULL)",
    "{0} LIKE 'a%'",
    "{0} NOT LIKE '_'",
    "{0} RLIKE '^[a-z]'",
    "{0} BETWEEN 'A' AND 'a'",
)
_ON_TIMES = (
    *_NULL_TESTS,
    *"hour({0})=23 minute({0})>30 day({0})<15 month({0})=2 year({0})<1970".split(),
    *"day_of_week({0})>5 {0}=day {0}<at_ns {0}>=at_s coalesce({0},day)=day".split(),
    "{0} > TIMESTAMP '2026-01-31 09:30:00'",
    "{0} + 5 MINUTES > DATE '2000-02-29'",
    "{0} - 1 DAY < at_ms",
    "{0} - day >= 0 SECONDS",
    "{0} NOT IN (DATE '1970-01-01', NULL)",
)
_ON_DURATIONS = (
    *_NULL_TESTS,
    *"{0}={0} {0}-{0}<{0} {0}*2>lasts {0}/2<lasts_us {0}/lasts=1 -{0}<{0}".split(),
    "{0} >= 5 MINUTES",
    "{0} + 1 HOUR > 3 SECONDS",
    "day + {0} > at_s",
)
_ON_BOOLEANS = (
    *_NULL_TESTS,
    *"{0}=TRUE {0}!=c {0}<c coalesce({0},c)=TRUE".split(),
    "NOT {0}",
    "{0} AND c",
    "{0} OR c",
    "NOT {0} OR NOT c",
    "NULL AND {0}",
    "{0} OR NULL",
    "{0} IN (TRUE)",
    "{0} NOT IN (FALSE, NULL)",
)
_ON_LISTS = (
    *_NULL_TESTS,
    "length({0}) = 2",
    "length(coalesce({0}, {0})) > 0",
    "NULL IN {0}",
    "NULL NOT IN {0}",
    "length({0}) > i",
)
_ON_LISTS_OF_STRINGS = (*"contains({0},'a') contains({0},s)".split(), "'a' IN {0}", "t NOT IN {0}")
_ON_LISTS_OF_NUMBERS = (
    *"contains({0},7) contains({0},0.5)".split(),
    "7 IN {0}",
    "9007199254740993 NOT IN {0}",
    "0.5 NOT IN {0}",
    "j IN {0}",
    "d + 1 IN {0}",
    "m IN {0}",
)
_NUMBER_COLUMNS = "i j short unsigned di n.x never d e single m n.y.d absent nothing NULL".split()
_STRING_COLUMNS = "s t u t8 view n.y.z type absent nothing NULL".split()
_TIME_COLUMNS = "at_s at_ms at_us at_ns day absent nothing".split()

SIMPLE: dict[str, list[str]] = {
    f"{column} as {kind}": [text.format(column) for text in texts]
    for kind, columns, texts in (
        ("a number", _NUMBER_COLUMNS, _ON_NUMBERS),
        ("a string", _STRING_COLUMNS, _ON_STRINGS),
        ("a time", _TIME_COLUMNS, _ON_TIMES),
        ("a duration", ["lasts", "lasts_us"], _ON_DURATIONS),
        ("a boolean", ["b", "absent", "nothing"], _ON_BOOLEANS),
        ("a list", _LIST_COLUMNS, _ON_LISTS),
        ("strings", ["strings", "encoded", "empty", "absent"], _ON_LISTS_OF_STRINGS),
        ("numbers", ["ints", "doubles", "pairs", "empty", "absent"], _ON_LISTS_OF_NUMBERS),
    )
    for column in columns
}
"""For each column, what is asked of it."""

# --- tables ----------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, names: Collection[str], most: int = 6) -> tuple[pa.Table, pa.Array]:
    """Some columns in several chunks, sliced or not, and the type of every event."""
    rows = draw(st.sampled_from((3, 1, 2, most, 0)))
    before, after = draw(st.sampled_from(((0, 0), (0, 0), (1, 0), (2, 1))))
    columns: dict[str, pa.ChunkedArray] = {}
    for name in names:
        kind, values = COLUMNS[name]
        alone = draw(st.integers(0, 9)) == 9
        every = st.none() if alone else st.one_of(values, values, values, st.none())
        # What stands before and after in a chunk is sliced away.
        chunks = []
        for length in _pieces(draw, rows):
            size = before + length + after
            drawn = draw(st.lists(every, min_size=size, max_size=size))
            chunks.append(_column(draw, drawn, kind).slice(before, length))
        columns[name] = pa.chunked_array(chunks, kind)
    columns[_FILLER] = pa.chunked_array([pa.array([0] * rows, pa.int64())])
    types = draw(st.lists(st.sampled_from(TYPES), min_size=rows, max_size=rows))
    return pa.table(columns), pa.array(types, pa.string())


_FILLER = "\0rows"
"""A table without columns would have no rows."""


def _pieces(draw: st.DrawFn, rows: int) -> list[int]:
    cut = draw(st.integers(0, rows))
    return draw(st.sampled_from(([rows], [cut, rows - cut], [cut, 0, rows - cut])))


def _column(draw: st.DrawFn, values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return _dictionary(draw, values, kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)


def _dictionary(draw: st.DrawFn, values: list[Any], kind: pa.DataType) -> pa.Array:
    """Encode values by a dictionary that may hold NULLs, twins, and what nobody uses."""
    entries = [*values, *reversed(values)]
    if not draw(st.booleans()):
        entries = [each for each in entries if each is not None]
    places = [
        draw(
            st.sampled_from(
                [at for at, each in enumerate(entries) if each == value] + [None] * (value is None)
            )
        )
        for value in values
    ]
    return pa.DictionaryArray.from_arrays(
        pa.array(places, kind.index_type), pa.array(entries, kind.value_type)
    )
