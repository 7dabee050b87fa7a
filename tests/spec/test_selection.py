"""Section 5, SELECT: lists, payloads, strategies after the projection, output="positions"."""

from __future__ import annotations

import pytest

import ensue
from tests.spec.helpers import found, run, spans, stream, supports

ABBC = stream("A B1 B2 C")


def test_a_star_shows_all_bindings() -> None:
    assert found("A AS x ; C", ABBC) == [(0, 3, {"A": [0], "x": [0], "C": [3]})]
    assert found("A AS x ; C", ABBC, select="ALL *") == found("A AS x ; C", ABBC)


def test_a_name_used_twice_is_one_variable() -> None:
    events = stream("A1 B2")
    assert found("A AS x ; B AS x", events) == [(0, 1, {"A": [0], "B": [1], "x": [0, 1]})]
    assert found("A AS B ; B", events) == [(0, 1, {"A": [0], "B": [0, 1]})]
    assert found("A AS B ; B FILTER B[v > 1]", events) == []


def test_variables_are_a_projection_and_the_interval_stays() -> None:
    assert found("A ; B AS y ; C", ABBC, select="y") == [
        (0, 3, {"y": [1]}),
        (0, 3, {"y": [2]}),
    ]


def test_event_types_can_be_selected_as_variables() -> None:
    assert found("A AS x ; B ; C", ABBC, select="A, C") == [(0, 3, {"A": [0], "C": [3]})]


def test_any_can_be_selected_as_a_variable() -> None:
    assert found("A : ANY", ABBC, select="ANY") == [(0, 1, {"ANY": [1]})]


def test_matches_that_become_equal_by_the_projection_are_one() -> None:
    assert found("A AS x ; B+ ; C", ABBC, select="x") == [(0, 3, {"x": [0]})]


def test_none_leaves_start_and_end_only() -> None:
    matches = run("A ; B+ ; C", ABBC, select="NONE")
    assert [(m.start, m.end, m.bindings) for m in matches] == [(0, 3, {})]
    assert matches.to_arrow(ids=False).column_names == ["start_time", "end_time", "start", "end"]


@pytest.mark.parametrize("select", ["y[v]", "x, y[v]", "y[v], x[v]"])
def test_attributes_choose_the_payload(select: str) -> None:
    (match, *more) = run("A AS x ; B AS y ; C", ABBC, select=select)
    assert len(more) == 1
    values = sorted(each.events("y")[0]["v"] for each in (match, *more))
    assert values == [1, 2]
    assert match.events("y")[0].keys() == {"v"}


def test_attributes_do_not_choose_which_complex_events_there_are() -> None:
    events = stream("A B7 B7 C")
    assert found("A ; B AS y ; C", events, select="y[v]") == [
        (0, 3, {"y": [1]}),
        (0, 3, {"y": [2]}),
    ]


def test_without_attributes_the_payload_is_the_whole_event() -> None:
    events = [{"type": "A", "v": 1, "name": "x"}]
    (match,) = run("A AS a", events, select="a")
    assert match.events("a") == events


def test_several_attributes_of_interest_in_the_table_of_events() -> None:
    events = [{"type": "A", "v": 1, "w": 2, "name": "x"}]
    table = run("A AS a", events, select="a[v, name]").to_arrow(events=True)
    assert table.column("a").to_pylist() == [[{"v": 1, "name": "x"}]]


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("NEXT y", {(1,)}),
        ("LAST y", {(3,)}),
        ("NEXT z", {(2,)}),
        ("LAST z", {(4,)}),
        ("MAX y", {(1,), (3,)}),
        ("ALL z", {(2,), (4,)}),
        ("NEXT y, z", {(1, 2)}),
        ("LAST y, z", {(3, 4)}),
        ("STRICT y, z", {(1, 2), (3, 4)}),
    ],
)
def test_a_strategy_chooses_among_projected_matches(
    select: str, expected: set[tuple[int, ...]]
) -> None:
    # y and z are (1, 2), (1, 4) or (3, 4)
    events = stream("A B C B C D")
    assert supports("A ; B AS y ; C AS z ; D", events, select=select) == expected


def test_strict_after_the_projection_and_strict_inside_differ() -> None:
    pattern = "A ; B+ AS y ; C"
    assert supports(pattern, ABBC, select="STRICT y") == {(1,), (2,), (1, 2)}
    assert supports(f"STRICT({pattern})", ABBC, select="y") == {(1, 2)}
    events = stream("A B X B C")
    assert supports(pattern, events, select="STRICT y") == {(1,), (3,)}


def test_to_show_part_of_chosen_matches_write_the_strategy_inside() -> None:
    # among whole matches {0, 1, 2, 5} comes next; z alone could not tell
    events = stream("A B C B C D")
    pattern = "A ; B AS y ; C AS z ; D"
    assert supports(f"NEXT({pattern})", events, select="z") == {(2,)}
    assert supports(f"LAST({pattern})", events, select="y") == {(3,)}


def test_equal_supports_do_not_beat_each_other() -> None:
    pattern = "(A AS x OR A AS y) ; B"
    for strategy in ("NEXT", "LAST", "MAX"):
        assert len(found(pattern, stream("A B"), select=f"{strategy} *")) == 2


def test_after_the_projection_to_none_every_support_is_empty() -> None:
    for strategy in ("NEXT", "LAST", "MAX", "STRICT"):
        assert spans("A ; B+ ; C", ABBC, select=f"{strategy} NONE") == [(0, 3)]


# computed columns


def test_computed_columns_stand_beside_everything_that_can_be_selected() -> None:
    events = stream("A B5 B7 C")
    for select in ("*", "y", "x, y[v]"):
        matches = run("A AS x ; B{2} AS y ; C", events, select=f"{select}, max(y.v) AS top")
        assert matches.to_arrow().column("top").to_pylist() == [7]


def test_several_computed_columns_are_columns_of_one_row() -> None:
    columns = "min(y.v) AS low, max(y.v) AS high, count(y) AS n, first(x.v) AS f"
    matches = run("A AS x ; B{2} AS y ; C", stream("A3 B5 B7 C"), select=f"NONE, {columns}")
    (row,) = matches.to_arrow().select(["low", "high", "n", "f"]).to_pylist()
    assert row == {"low": 5, "high": 7, "n": 2, "f": 3}


def test_computed_columns_may_be_about_variables_that_are_not_shown() -> None:
    table = run("A AS x ; B{2} AS y", stream("A B5 B7"), select="x, sum(y.v) AS s").to_arrow()
    assert table.column("x").to_pylist() == [[0]]
    assert table.column("s").to_pylist() == [12]
    assert "y" not in table.column_names


def test_matches_that_differ_only_in_a_computed_column_are_different() -> None:
    pattern = "A ; B AS y ; C"
    different = run(pattern, stream("A B5 B6 C"), select="NONE, max(y.v) AS top")
    assert sorted(different.to_arrow().column("top").to_pylist()) == [5, 6]
    equal = run(pattern, stream("A B5 B5 C"), select="NONE, max(y.v) AS top")
    assert equal.to_arrow().column("top").to_pylist() == [5]


def test_a_computed_column_does_not_count_in_the_support() -> None:
    # both supports are empty after NONE, so neither beats the other
    matches = run("A ; B AS y ; C", stream("A B5 B6 C"), select="MAX NONE, max(y.v) AS top")
    assert matches.count == 2


def test_a_strategy_chooses_after_computed_columns_are_made() -> None:
    table = run("A ; B+ AS y ; C", ABBC, select="MAX y, sum(y.v) AS s").to_arrow()
    assert table.select(["y", "s"]).to_pylist() == [{"y": [1, 2], "s": 3}]


# positions


def test_positions_forget_variables() -> None:
    pattern = "(A AS x OR A AS y) ; B"
    events = stream("A B")
    assert run(pattern, events).count == 2
    (match,) = run(pattern, events, output="positions")
    assert (match.start, match.end, match.positions) == (0, 1, [0, 1])


def test_positions_forget_computed_events() -> None:
    pattern = "(A AGGREGATE Y[n = count(A)]) OR (A AGGREGATE Y[n = count(A)])"
    assert run(pattern, stream("A")).count == 2
    assert run(pattern, stream("A"), output="positions").count == 1


def test_positions_are_of_what_select_leaves() -> None:
    matches = run("A ; B AS y ; C", ABBC, select="y", output="positions")
    assert sorted(m.positions for m in matches) == [[1], [2]]
    assert run("A ; B AS y ; C", ABBC, select="NONE", output="positions").count == 1


def test_positions_are_forgotten_after_the_strategy_and_before_limit() -> None:
    # four matches end in B, two by two with the same support
    pattern = "(A AS x OR A AS y) ; B LIMIT 2"
    matches = run(pattern, stream("A A B"), output="positions")
    assert [(m.start, m.positions) for m in matches] == [(1, [1, 2]), (0, [0, 2])]


def test_positions_in_a_table() -> None:
    table = run("A ; C", ABBC, output="positions").to_arrow()
    assert table.column("start").to_pylist() == [0]
    assert table.column("end").to_pylist() == [3]
    assert table.column("positions").to_pylist() == [[0, 3]]
    assert "A" not in table.column_names


# errors


@pytest.mark.parametrize(
    ("select", "kind"),
    [
        ("z", ensue.CeqlNameError),
        ("A, z", ensue.CeqlNameError),
        ("max(z.v) AS top", ensue.CeqlNameError),
        ("variance(A.v) AS m", ensue.CeqlError),
        ("A[wrong]", ensue.CeqlNameError),
        ("max(A.wrong) AS top", ensue.CeqlNameError),
        ("sum(A.name) AS s", ensue.CeqlTypeError),
        ("", ensue.CeqlSyntaxError),
    ],
)
def test_what_cannot_be_selected_is_an_error(select: str, kind: type[ensue.CeqlError]) -> None:
    with pytest.raises(kind):
        ensue.compile(f"SELECT {select} FROM S WHERE A", {"v": "int", "name": "string"})


def test_an_output_that_does_not_exist_is_told() -> None:
    with pytest.raises(ValueError, match="positions"):
        run("A", stream("A"), output="position")
