"""Which kernels a query compiles, and what is said of that."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from ensue.kernels.compile.announcing import announce
from ensue.kernels.memory import read_only
from tests import seams

_LOADED = """
import json
from importlib import import_module

import pyarrow as pa

import ensue
from ensue.kernels.compile.announcing import SETS

ROWS = [
    {"type": kind, "v": value, "t": time}
    for time, (kind, value) in enumerate(zip("ABABBA", (1, 1, 2, 2, 1, 3)))
]
LIST = "SELECT * FROM S WHERE A AS a ; B AS b"
TOTAL = "SELECT count(*), sum(b.v) AS s FROM S WHERE A AS a ; B AS b"


def loaded():
    modules = {name: vars(import_module(f"ensue.kernels.{name}")) for name in SETS}
    return {
        f"{name}.{key}": len(value.signatures)
        for name, names in modules.items()
        for key, value in names.items()
        if hasattr(value, "signatures") and value.py_func.__module__ == f"ensue.kernels.{name}"
        if value.signatures
    }


def run(text, **options):
    for events in (ROWS, pa.Table.from_pylist(ROWS), ROWS[:3]):
        found = ensue.run(text, events, **options)
        found.count, found.to_arrow()
    return loaded()


steps = [
    run(TOTAL + " WITHIN 4 EVENTS"),
    run(TOTAL + " WITHIN 4 [t] EVERY 2 SECONDS", time="t", time_unit="s"),
    run(LIST),
    run("SELECT a, sum(b.v) AS s FROM S WHERE A AS a ; B+ AS b WITHIN 9 EVENTS"),
    run(LIST + " FILTER a.v = b.v WITHIN 9 EVENTS"),
    run(LIST + " FILTER a.v < b.v WITHIN 9 EVENTS"),
]
ensue.warm()
print(json.dumps([*steps, loaded()]))
"""

_DECLARED = """
from importlib import import_module
from types import UnionType
from typing import get_type_hints

import numba
import numpy as np

import ensue
from ensue.kernels.compile.announcing import SETS


def differences(declared, kind):
    if isinstance(declared, UnionType):
        declared = declared.__args__[0]  # X | None
    if isinstance(kind, numba.types.NamedTuple):
        fields = get_type_hints(kind.instance_class, include_extras=True)
        for name, part in zip(kind.fields, kind.types):
            for each in differences(fields[name], part):
                yield f"{kind.instance_class.__qualname__}.{name}{each}"
    elif isinstance(kind, numba.types.Array) and hasattr(declared, "__metadata__"):
        (expected,) = declared.__metadata__
        if numba.from_dtype(np.dtype(expected)) != kind.dtype:
            yield f": declared {expected.__name__}, but {kind.dtype}"


ensue.warm()
seen = 0
for module in SETS:
    for value in vars(import_module(f"ensue.kernels.{module}")).values():
        for given in getattr(value, "signatures", ()):
            hints = get_type_hints(value.py_func, include_extras=True)
            for name, kind in zip(value.py_func.__code__.co_varnames, given):
                seen += 1
                for each in differences(hints[name], kind):
                    print(f"{value.py_func.__name__}({name}): {each}")
assert seen > 30, seen
"""


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_query_compiles_what_its_plan_needs_once_and_warm_the_rest() -> None:
    command = [sys.executable, "-c", _LOADED]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    *steps, warm = json.loads(done.stdout)
    conditions = {"match.correlate.correlate"}
    for found in steps[:-1]:
        assert set(found.values()) == {1}, "no kernel is compiled for two types"
    # But for arguments that may be None: search trees, lazy steps, and bounds.
    assert {name for name, count in steps[-1].items() if count > 1} == conditions
    assert {name for name, count in warm.items() if count > 1} == {
        *conditions,
        "graph.enumerate.list_matches",
    }
    assert max(warm.values()) == 3
    total, every, listed, computed, equal, less = map(set, steps)
    patterns = {"match.evaluate.evaluate", "graph.compact.mark", "graph.compact.gather"}
    listing = {"graph.enumerate.list_matches", "graph.enumerate.count_matches"}
    assert total == every == {"count.count.count_matches"}
    assert listed - total == patterns | listing
    assert {each.rpartition(".")[0] for each in computed - listed} <= {
        "aggregate",
        "graph.enumerate",
    }
    assert equal - computed == conditions
    assert less == equal
    assert set(warm) == {
        *less,
        "aggregate.fold_real",
        "aggregate.fold_whole",
        "graph.choose.choose_paths",
        "graph.choose.join_roots",
        "graph.first.complete_starts",
        "graph.order.note_newest",
        "graph.order.note_order",
        "count.count.expire",
        "graph.enumerate.split_by_variable",
        "match.waiting.decide",
        "match.evaluate.carry_latest",
        "match.evaluate.count_ordinals",
        "graph.path_totals.weigh_paths",
        "graph.bounded.bound_paths",
        "hashing.find_numbers",
        "hashing.hash_strings",
        "hashing.take_slots",
    }


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_kernels_are_compiled_for_the_types_that_their_tuples_declare() -> None:
    command = [sys.executable, "-c", _DECLARED]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == ""


def test_arrays_that_are_only_read_have_one_type() -> None:
    array = np.arange(3)
    view = read_only(array)
    assert not view.flags.writeable
    assert array.flags.writeable
    assert read_only(view) is view
    assert np.shares_memory(view, array)


@pytest.mark.parametrize("watched", ["terminal", "notebook", "log"])
def test_compiling_is_announced_once_for_a_set_of_kernels(
    watched: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    seams.ANNOUNCED.put(monkeypatch, set())
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: watched == "terminal")
    shell = object() if watched == "notebook" else None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with caplog.at_level(logging.INFO, logger="ensue"):
        for module in ("match.evaluate", "match.correlate", "match.index", "match.evaluate"):
            announce(f"ensue.kernels.{module}")
    said = [record.message for record in caplog.records]
    assert len(said) == 2
    assert "kernels for patterns: about 2 seconds, once on this machine" in said[0]
    assert "conditions between events" in said[1]
    expected = "" if watched == "log" else "".join(f"{each}\n" for each in said)
    assert capsys.readouterr().err == expected


def test_nothing_is_said_where_there_is_no_standard_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seams.ANNOUNCED.put(monkeypatch, set())
    monkeypatch.setattr(sys, "stderr", None)
    with caplog.at_level(logging.INFO, logger="ensue"):
        announce("ensue.kernels.match.evaluate")
    assert len(caplog.records) == 1
