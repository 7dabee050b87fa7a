"""Messages name options as values, and every interface spells them its own way."""

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.main import get_command

import ensue
from ensue import options as declared
from ensue.cli.app import app
from ensue.cli.flags import as_flag
from ensue.errors import CeqlError
from ensue.messages import Message, Option, Parameter, Setting, message_of, spelled
from ensue.rules.settings import as_setting

SOURCE = Path(ensue.__file__).parent

DECLARED = [
    declared.argument_name(group, each)
    for group in (
        declared.ReadOptions,
        declared.ResultOptions,
        declared.Limits,
        declared.ErrorOptions,
    )
    for each in fields(group)
]

SETTINGS: list[tuple[Setting, str, str, str]] = [
    (Option("schema"), "schema=", "--schema", "'schema'"),
    (Option("max_matches"), "max_matches=", "--max-matches", "'max_matches'"),
    (Option("nulls"), "nulls=", "--null", "'nulls'"),
    (Option("lateness", "5 s"), "lateness='5 s'", "--lateness '5 s'", "lateness = '5 s'"),
    (Option("delimiter", "\t"), r"delimiter='\t'", r"--delimiter '\t'", r"delimiter = '\t'"),
    (
        Option("on_error", "collect"),
        "on_error='collect'",
        "--on-error collect FILE",
        "on_error = 'collect'",
    ),
    (Parameter("low"), "params={'low': …}", "--param low=…", "params.low"),
    (Parameter("low", [3]), "params={'low': [3]}", "--param 'low=[3]'", "params.low = [3]"),
]


@pytest.mark.parametrize(("setting", "python", "flag", "key"), SETTINGS, ids=str)
def test_setting_is_spelt_for_its_reader(
    setting: Setting, python: str, flag: str, key: str
) -> None:
    message = Message("pass ", setting, " or not")
    assert message == f"pass {python} or not"
    assert spelled(message, as_flag) == f"pass {flag} or not"
    assert spelled(message, as_setting) == f"pass {key} or not"


@pytest.mark.parametrize("name", DECLARED)
def test_every_declared_option_has_a_flag_of_the_command(name: str) -> None:
    group: Any = get_command(app)
    flags = {flag for each in group.commands["run"].params for flag in each.opts}
    assert str(Option(name)) == f"{name}="
    assert as_flag(Option(name)) in flags


def test_message_keeps_its_options_within_others_and_in_pickles() -> None:
    inner = Message("pass ", Option("time"))
    outer = pickle.loads(pickle.dumps(Message("trades.csv: ", inner)))
    assert outer == "trades.csv: pass time="
    assert spelled(outer, as_flag) == "trades.csv: pass --time"


def test_text_without_options_stays_as_it_is() -> None:
    assert spelled("pass time=", as_flag) == "pass time="


PAIR = "SELECT * FROM S WHERE A ; B"
LISTED = """
    SELECT count(*) AS n FROM S WHERE (A ; (B AS b)+ ; C)
    AGGREGATE Y[mean = avg(b.x)] FILTER Y[mean > 0] WITHIN 100 EVENTS
"""
MANY = [{"type": kind, "x": number} for number, kind in enumerate("A" * 9 + "B" * 9 + "C")]


def _unsorted() -> None:
    ensue.run(PAIR, [{"type": "A", "at": 2}, {"type": "B", "at": 1}], time="at")


def _without_unit() -> None:
    events = pa.table({"type": ["A"], "at": pa.array([1], pa.timestamp("s"))})
    ensue.run(PAIR, events, time="at", lateness=5)


def _without_time() -> None:
    ensue.compile(PAIR).open(lateness="5 s").push([{"type": "A"}])


def _integers() -> None:
    ensue.run(f"{PAIR} WITHIN 5 SECONDS [at]", [{"type": "A", "at": 1}])


RAISED: list[tuple[Callable[[], object], str, str]] = [
    (_unsorted, "or pass lateness= to have", "or pass --lateness to have"),
    (_without_unit, "write lateness='5 seconds'", "write --lateness '5 seconds'"),
    (_without_time, "lateness= needs a time column: pass time=", "--lateness needs a time"),
    (_integers, "set time_unit= to 's'", "set --time-unit to 's'"),
    (
        lambda: ensue.compile(f"{PAIR} FILTER A[x > $low]"),
        "pass params={'low': …}",
        "pass --param low=…",
    ),
    (
        lambda: ensue.compile(f"{PAIR} FILTER A[x IN $of]", params={"of": "a"}),
        "give params={'of': ['a']}",
        """give --param 'of=["a"]'""",
    ),
    (
        lambda: ensue.run(f"{PAIR} FILTER A[x = 1 OR y = 2]", MANY, max_states=0),
        "max_states= raises",
        "--max-states raises",
    ),
    (
        lambda: ensue.run(PAIR, MANY * 9999, max_bytes=10**6),
        "max_bytes= raises",
        "--max-bytes raises",
    ),
    (
        lambda: ensue.run(f"{PAIR} FILTER A.x = B.x", MANY, max_configurations=2),
        "max_configurations= raises",
        "--max-configurations raises",
    ),
    (lambda: ensue.run(LISTED, MANY, max_matches=3), "max_matches= raises", "--max-matches raises"),
]


@pytest.mark.parametrize(("act", "python", "flag"), RAISED, ids=[each[1] for each in RAISED])
def test_advice_is_spelt_late(act: Callable[[], object], python: str, flag: str) -> None:
    with pytest.raises(ensue.EnsueError) as caught:
        act()
    error = caught.value
    assert python in str(error)
    if isinstance(error, CeqlError):
        assert flag in error.render(spelling=as_flag)
    else:
        assert flag in spelled(message_of(error), as_flag)


ADVICE = re.compile(rf"(?<![\w-])(?:{'|'.join([*DECLARED, 'schema', 'params'])})=")


def _texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """Give the texts of a program that are no docstrings."""
    documented = {
        id(each.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    }
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and id(each) not in documented:
            yield each


def test_no_text_spells_an_option_by_itself() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{each.lineno}: {each.value!r}"
        for path in SOURCE.rglob("*.py")
        if path.name not in ("messages.py", "bucket.py")
        for each in _texts(ast.parse(path.read_text(encoding="utf-8")))
        if ADVICE.search(str(each.value))
    ]
    assert found == []
