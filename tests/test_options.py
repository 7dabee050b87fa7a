"""Options are declared once, and every entry point takes them from there."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import ensue
from ensue import options as declared
from ensue.cli.commands.run import run as run_command

PAIRS = "SELECT * FROM S WHERE A ; B"
MANY = "SELECT count(*) AS n FROM S WHERE A+ ; B WITHIN 100 EVENTS"

GROUPS: list[tuple[declared.Group, type]] = [
    (declared.ReadOptions, declared.ReadArguments),
    (declared.ResultOptions, declared.ResultArguments),
    (declared.Limits, declared.LimitArguments),
    (declared.ErrorOptions, declared.ErrorArguments),
    (declared.ThreadOptions, declared.ThreadArguments),
]


@pytest.mark.parametrize(("group", "arguments"), GROUPS)
def test_arguments_eq_fields(group: declared.Group, arguments: type) -> None:
    known, typed = get_type_hints(group), get_type_hints(arguments)
    optional = group is declared.Limits
    expected = {
        declared.argument_name(group, each): known[each.name] | None
        if optional
        else known[each.name]
        for each in fields(group)
    }
    assert typed == expected


def test_all_entry_points_show_the_same_options() -> None:
    def shown(function: Any) -> dict[str, object]:
        return {name: each.default for name, each in inspect.signature(function).parameters.items()}

    of_run = [
        declared.ReadOptions,
        declared.ResultOptions,
        declared.Limits,
        declared.ThreadOptions,
    ]
    expected = {
        declared.argument_name(group, each): each.default
        for group in of_run
        for each in fields(group)
    }
    for function in (ensue.run, ensue.open, ensue.Query.run, ensue.Query.open, run_command):
        assert expected.items() <= shown(function).items(), function
    for function in (ensue.run, ensue.open, ensue.Query.run, ensue.Query.open):
        assert all(f"\n    {name}: " in (function.__doc__ or "") for name in expected)


def test_unknown_option_is_an_error_with_the_nearest() -> None:
    with pytest.raises(
        TypeError, match=r"run\(\) has no option latenes=; did you mean lateness=\?"
    ):
        ensue.run(PAIRS, [], latenes="ts")  # type: ignore[call-overload]


def test_options_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        ensue.compile(PAIRS).run([], "kind")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"time_unit": "h"}, "time_unit= must be 's', 'ms', 'us' or 'ns', not 'h'"),
        ({"lateness": "soon"}, "lateness='soon' is not a duration; write '10 seconds'"),
        ({"output": "all"}, "output= must be 'bindings' or 'positions', not 'all'"),
        ({"max_states": -1}, "max_states= must be a number from 0 on, not -1"),
        ({"threads": 0}, "threads= must be a number from 1 on, not 0"),
        ({"max_bytes": True}, "max_bytes= must be a number from 0 on, not True"),
    ],
)
def test_wrong_value_is_an_error_before_any_event(wrong: dict[str, Any], message: str) -> None:
    def never() -> Any:
        raise AssertionError("an event was read")
        yield

    query = ensue.compile(PAIRS)
    for start in (lambda: query.run(never(), **wrong), lambda: query.open(**wrong)):
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            start()


def test_column_that_is_no_name_is_an_error() -> None:
    with pytest.raises(TypeError, match="time= is the name of a column, not 3"):
        ensue.run(PAIRS, [], time=3)  # type: ignore[call-overload]


def test_exact_counts_of_many_queries() -> None:
    events = [{"type": "A"}] * 70 + [{"type": "B"}]
    expected = 2**70 - 1
    assert ensue.run({"n": MANY}, events, exact=True)["n"][0]["n"] == expected
    session = ensue.open({"n": MANY}, exact=True)
    assert session.push(events)["n"][0]["n"] == expected


def test_warning_points_at_the_callers_line() -> None:
    text = "SELECT * FROM S WHERE A+"
    for start in (
        lambda: ensue.compile(text),
        lambda: ensue.run(text, []),
        lambda: ensue.open({"a": text}),
    ):
        with pytest.warns(ensue.CeqlWarning) as caught:
            start()
        assert caught[0].filename == __file__
