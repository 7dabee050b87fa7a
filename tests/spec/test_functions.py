"""Section 4, the functions of strings, numbers, networks, places and times, and CASE."""

from __future__ import annotations

import ipaddress
import math
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensue.logic.functions import cidr_match, substring
from ensue.logic.numeric import single
from tests.spec.helpers import kept

TRUE = [0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("substring('market', 2, 3)", "'ark'"),
        ("substring('market', 0, 3)", "'mar'"),
        ("substring('market', -3)", "'ket'"),
        ("substring('market', -8, 4)", "'ma'"),
        ("substring('market', 7)", "''"),
        ("substring('market', 2, -1)", "''"),
        ("substring('日本語', 2, 1)", "'本'"),
        ("trim('  a b ')", "'a b'"),
        ("replace('banana', 'an', 'o')", "'booa'"),
        ("replace('banana', '', 'o')", "'banana'"),
        ("concat('a', 'b', 'c')", "'abc'"),
        ("split_part('a,b,,c', ',', 2)", "'b'"),
        ("split_part('a,b,,c', ',', 3)", "''"),
        ("split_part('a,b,,c', ',', -1)", "'c'"),
        ("split_part('a,b', ',', 3)", "''"),
        ("split_part('a,b', '', 1)", "'a,b'"),
        ("regexp_extract('pid=17;', 'pid=([0-9]+)')", "'17'"),
        ("regexp_extract('pid=17;', '[0-9]+')", "'17'"),
        ("regexp_extract('pid=17;', '([a-z]+)=([0-9]+)', 2)", "'17'"),
        ("regexp_extract('pid=17;', '(?P<name>[a-z]+)=([0-9]+)', 1)", "'pid'"),
        ("regexp_extract('pid=17;', '([a-z]+)=', 0)", "'pid='"),
        ("greatest(1, 2.5, 2)", "2.5"),
        ("greatest(NULL, 1)", "1"),
        ("least('b', 'a')", "'a'"),
        ("sign(-7)", "-1"),
        ("sign(0.0)", "0"),
        ("power(2, 10)", "1024"),
        ("round(ln(exp(2)))", "2"),
        (
            "date_diff('hour', TIMESTAMP '2026-01-31 09:30:00', TIMESTAMP '2026-01-31 12:00:00')",
            "2",
        ),
        (
            "date_diff('hour', TIMESTAMP '2026-01-31 12:00:00', TIMESTAMP '2026-01-31 09:30:00')",
            "-2",
        ),
        ("date_diff('month', DATE '2026-01-31', DATE '2026-02-28')", "0"),
        ("date_diff('month', DATE '2026-01-28', DATE '2026-02-28')", "1"),
        ("date_diff('months', DATE '2026-03-01', DATE '2026-01-31')", "-1"),
        ("date_diff('year', DATE '2024-02-29', DATE '2026-02-28')", "1"),
        ("cidr_match('10.1.2.3', '10.0.0.0/8')", "TRUE"),
        ("cidr_match('11.1.2.3', '10.0.0.0/8')", "FALSE"),
        ("cidr_match('fd00::1', 'fd00::/8')", "TRUE"),
        ("cidr_match('10.0.0.1', '::/0')", "FALSE"),
        ("geo_distance(10, 20, 10, 20)", "0"),
        ("CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' ELSE 'c' END", "'b'"),
        ("CASE WHEN NULL THEN 'a' ELSE 'c' END", "'c'"),
        ("case when 1 = 1 then case when 1 = 2 then 1 else 2 end end", "2"),
    ],
)
def test_a_function_has_the_value_that_sql_gives_it(expression: str, expected: str) -> None:
    assert kept(f"{expression} = {expected} AND v = 1", [1]) == TRUE


@pytest.mark.parametrize(
    "expression",
    [
        "concat('a', v)",
        "substring(v, 1)",
        "split_part('a', ',', 0)",
        "regexp_extract('a', 'b')",
        "cidr_match('10.1.2', '10.0.0.0/8')",
        "ln(0)",
        "power(-8, 0.5)",
        "power(0, -1)",
        "exp(1000)",
        "geo_distance(91, 0, 0, 0)",
        "greatest(v, NULL)",
        "CASE WHEN v = 1 THEN 1 END",
        "CASE WHEN FALSE THEN 1 END",
    ],
)
def test_what_has_no_value_is_null(expression: str) -> None:
    assert kept(f"{expression} IS NULL", [None]) == TRUE


def test_values_of_columns_choose_among_branches() -> None:
    assert kept("CASE WHEN v < 2 THEN v + 10 WHEN v < 4 THEN v ELSE 0 END > 2", [1, 2, 3, 4]) == [
        0,
        2,
    ]


@given(st.text(max_size=6), st.integers(-9, 9), st.integers(-2, 9))
def test_a_substring_has_the_characters_at_its_positions(
    text: str, start: int, length: int
) -> None:
    first = start if start > 0 else len(text) + start + 1 if start < 0 else 1
    wanted = range(first, first + length)
    assert substring(text, start, length) == "".join(
        char for position, char in enumerate(text, 1) if position in wanted
    )


@given(
    st.ip_addresses(),
    st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)),
    st.integers(0, 128),
)
def test_addresses_match_as_the_standard_library_says(address: Any, base: Any, prefix: int) -> None:
    network = ipaddress.ip_network(f"{base}/{min(prefix, base.max_prefixlen)}", strict=False)
    assert cidr_match(str(address), str(network)) == (address in network)


@given(st.floats(-90, 90), st.floats(-180, 180), st.floats(-90, 90), st.floats(-180, 180))
def test_distances_are_those_between_points_of_a_sphere(
    lat1: float, lon1: float, lat2: float, lon2: float
) -> None:
    def point(lat: float, lon: float) -> tuple[float, float, float]:
        a, b = math.radians(lat), math.radians(lon)
        return math.cos(a) * math.cos(b), math.cos(a) * math.sin(b), math.sin(a)

    chord = math.dist(point(lat1, lon1), point(lat2, lon2))
    expected = 2 * 6_371_008.8 * math.asin(min(chord / 2, 1))
    assert single("geo_distance", lat1, lon1, lat2, lon2) == pytest.approx(
        expected, rel=1e-6, abs=1e-2
    )


def test_differences_of_dates_are_exact_beyond_64_bits_of_nanoseconds() -> None:
    assert (
        kept(
            "date_diff('day', TIMESTAMP '1700-01-01 00:00:00', v) = 191413", [datetime(2224, 1, 28)]
        )
        == TRUE
    )
