"""Columns of all types, with values that are hard for them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

LEAST, MOST = -(2**63), 2**63 - 1

INTEGER_VALUES = st.one_of(
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
ADDRESSES = ("10.1.2.3", "192.168.0.1", "::1", "fd00::17", "10.1.2", "010.1.2.3")
STRING_VALUES = st.one_of(
    st.sampled_from(
        ("", "a", "A", "ab", "aB", "Ab", "b", "a%", "a_b", "\\", "é", "É", "ß", "x\ny")
    ),
    st.sampled_from(("ﬁ", "İ", "日本", "日", "🦊", "a🦊b", "e\u0301", "Σς", "a\0b", " a", "a'b")),
    st.sampled_from(ADDRESSES),
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
    "i": (pa.int64(), INTEGER_VALUES),
    "j": (pa.int64(), st.one_of(st.integers(-9, 9), INTEGER_VALUES)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "unsigned": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "d": (pa.float64(), _DOUBLES),
    "e": (pa.float64(), st.sampled_from((0.0, -0.0, 0.5, 1.0, 2.0, 7.0, -3.5))),
    "single": (pa.float32(), st.floats(width=32)),
    "b": (pa.bool_(), _BOOLEANS),
    "c": (pa.bool_(), _BOOLEANS),
    "s": (pa.string(), STRING_VALUES),
    "u": (pa.large_string(), STRING_VALUES),
    "view": (pa.string_view(), STRING_VALUES),
    "t": (pa.dictionary(pa.int32(), pa.string()), STRING_VALUES),
    "t8": (pa.dictionary(pa.int8(), pa.large_string()), STRING_VALUES),
    "di": (pa.dictionary(pa.int16(), pa.int64()), INTEGER_VALUES),
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
                "x": st.none() | INTEGER_VALUES,
                "y": st.none() | st.fixed_dictionaries({"z": STRING_VALUES, "d": _DOUBLES}),
            }
        ),
    ),
    "strings": (pa.list_(pa.string()), _several(STRING_VALUES)),
    "encoded": (pa.list_(pa.dictionary(pa.int32(), pa.string())), _several(STRING_VALUES)),
    "ints": (pa.large_list(pa.int64()), _several(INTEGER_VALUES)),
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
