"""Snapshots: resumed anywhere, and refused when they are not what they should be."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ensue
from ensue.state import container as blocks
from tests.effort import FUZZ
from tests.engine.kept_snapshots import CASES, FOLDER, ROWS

HALF = len(ROWS) // 2


def told(matches: Any) -> list[Any]:
    """Say all there is to say about matches, or rows of totals."""
    return [
        (m.id, m.start, m.end, str(m.bindings), str(m.events()))
        if isinstance(m, ensue.Match)
        else (m.time, str(m.values))
        for m in matches
    ]


def uninterrupted(text: str, options: dict[str, Any]) -> list[Any]:
    """What is found in the second half of the events."""
    session = ensue.compile(text).open(**options)
    session.push(ROWS[:HALF])
    return told(session.push(ROWS[HALF:])) + told(session.finish())


def halfway(text: str, options: dict[str, Any]) -> bytes:
    session = ensue.compile(text).open(**options)
    session.push(ROWS[:HALF])
    return session.snapshot()


def gone_on(query: ensue.Query, block: bytes) -> list[Any]:
    session = query.resume(block)
    return told(session.push(ROWS[HALF:])) + told(session.finish())


# resuming


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_snapshots_of_every_version_can_be_resumed(path: Any) -> None:
    for case in json.loads(path.read_text()):
        block = base64.b64decode(case["snapshot"])
        if "SELECT NEXT" in case["query"]:
            with pytest.raises(ensue.SnapshotError, match="SELECT NEXT compared"):
                gone_on(ensue.compile(case["query"]), block)
            continue
        expected = uninterrupted(case["query"], case["options"])
        assert gone_on(ensue.compile(case["query"]), block) == expected, case["query"]


def test_there_are_snapshots_of_this_version() -> None:
    assert (FOLDER / f"version-{blocks.VERSION}.json").exists()


def test_a_snapshot_of_nothing_is_resumed_too() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B")
    session = query.resume(query.open().snapshot())
    assert session.push(ROWS).count == query.run(ROWS).count


def test_a_finished_session_stays_finished() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A ; B")
    session = query.open()
    session.finish()
    with pytest.raises(ensue.EventError, match="finished"):
        query.resume(session.snapshot()).push(ROWS)


def test_snapshots_do_not_disturb_a_session() -> None:
    for text, options in CASES:
        session = ensue.compile(text).open(**options)
        found: list[Any] = []
        for row in ROWS:
            found += told(session.push([row]))
            session.snapshot()
        found += told(session.finish())
        whole = ensue.compile(text).open(**options)
        assert found == told(whole.push(ROWS)) + told(whole.finish()), text


def test_equal_states_are_written_alike_in_every_process() -> None:
    code = (
        "import hashlib\n"
        "from tests.engine.test_snapshot import CASES, halfway\n"
        "print(*[hashlib.sha256(halfway(*case)).hexdigest() for case in CASES])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_counts_go_on() -> None:
    query = ensue.compile("SELECT * FROM S WHERE A AS a ; B FILTER a[1 / (v - 1) > 0]")
    session = query.open(time="t", lateness=0, on_error="collect")
    session.push([*ROWS, {"type": "A", "t": 0}, {"type": "A", "t": None}])
    resumed = query.resume(session.snapshot())
    kept = ("events", "matches", "late", "rejected", "waiting", "watermark", "rows", "nulls")
    assert {name: resumed.stats[name] for name in kept} == {
        name: session.stats[name] for name in kept
    }
    assert (resumed.stats["late"], resumed.stats["rejected"]) == (1, 1)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["p", "q", None, "p"]).dictionary_encode(),
        pa.array([1, 2, None, 1], pa.uint8()),
        pa.array([0.5, float("nan"), -0.0, 0.5]),
        pa.array([0, 1, None, 0], pa.timestamp("ns", "UTC")),
        pa.array([0, 1, None, 0], pa.date32()),
        pa.array([True, False, None, True]),
        pa.array([1, 2, None, 1], pa.decimal128(5, 2)),
        pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, None, {"a": 1, "b": "x"}]),
    ],
    ids=lambda column: str(column.type),
)
def test_keys_and_columns_of_every_type_are_kept(column: pa.Array) -> None:
    name = "k.a" if pa.types.is_struct(column.type) else "k"
    query = ensue.compile(f"SELECT * FROM S WHERE A AS a ; A AS b PARTITION BY [`{name}`]")
    table = pa.table({"type": ["A"] * 4, "k": column})
    session = query.open()
    session.push(table)
    expected = session.push(table)
    session = query.open()
    session.push(table)
    found = query.resume(session.snapshot()).push(table)
    assert told(found) == told(expected)
    assert found.to_arrow(events=True).equals(expected.to_arrow(events=True))


# refusing


def test_a_snapshot_of_another_query_is_refused() -> None:
    block = halfway("SELECT * FROM S WHERE A ; B", {})
    other = ensue.compile("SELECT * FROM S WHERE A ; C")
    with pytest.raises(ensue.SnapshotError, match=r"another query(?s:.*)A ; B"):
        other.resume(block)


def test_a_snapshot_under_other_parameters_or_another_schema_is_refused() -> None:
    text = "SELECT * FROM S WHERE A AS a FILTER a[v > $n]"
    session = ensue.compile(text, params={"n": 1}).open()
    session.push(ROWS)
    with pytest.raises(ensue.SnapshotError, match="another query"):
        ensue.compile(text, params={"n": 2}).resume(session.snapshot())
    with pytest.raises(ensue.SnapshotError, match="another schema"):
        ensue.compile(text, {"v": "int"}, {"n": 1}).resume(session.snapshot())


def test_the_same_query_written_otherwise_is_the_same() -> None:
    block = halfway("SELECT * FROM S WHERE A ; B", {})
    other = ensue.compile("select *\nfrom S where A;B -- the same")
    assert other.resume(block).push(ROWS[HALF:]).count > 0


def damaged(block: bytes) -> dict[str, bytes]:
    newer = bytearray(block)
    newer[9] += 1
    return {
        "nothing": b"",
        "text": b"once upon a time",
        "a pickle": b"\x80\x05K\x01.",
        "only the beginning": block[:20],
        "without its end": block[:-1],
        "with something after": block + b"\0",
        "newer, but not written so": bytes(newer),
    }


@pytest.mark.parametrize("how", damaged(b"\0" * 10))
def test_what_is_no_snapshot_is_refused(how: str) -> None:
    text, options = CASES[0]
    with pytest.raises(ensue.SnapshotError):
        ensue.compile(text).resume(damaged(halfway(text, options))[how])


def test_a_snapshot_is_bytes() -> None:
    with pytest.raises(ensue.SnapshotError, match="bytes"):
        ensue.compile(CASES[0][0]).resume("text")  # type: ignore[arg-type]


def test_a_newer_version_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "VERSION", blocks.VERSION + 1)
    block = halfway(*CASES[0])
    monkeypatch.undo()
    with pytest.raises(ensue.SnapshotError, match="newer"):
        ensue.compile(CASES[0][0]).resume(block)


# damage

MANY = 10_000 if FUZZ else 400


def flipped(block: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(block)
    for _ in range(int(rng.integers(1, 4))):
        changed[rng.integers(len(block))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def truncated(block: bytes, rng: np.random.Generator) -> bytes:
    return block[: int(rng.integers(len(block)))]


def spliced(block: bytes, rng: np.random.Generator) -> bytes:
    """Move a piece of a block somewhere else."""
    a, b, c = sorted(int(x) for x in rng.integers(0, len(block), 3))
    return block[:a] + block[b:c] + block[a:b] + block[c:]


def test_damaged_blocks_are_refused() -> None:
    rng = np.random.default_rng(5)
    whole = [(ensue.compile(text), halfway(text, options)) for text, options in CASES]
    ways = (flipped, truncated, spliced)
    for number in range(MANY):
        query, block = whole[number % len(whole)]
        broken = ways[number % len(ways)](block, rng)
        if broken != block:
            with pytest.raises(ensue.SnapshotError):
                query.resume(broken)


def test_states_that_do_not_hang_together_are_refused_or_do_no_harm() -> None:
    """Such blocks are not damaged but forged; even then no kernel may read what is not there."""
    rng = np.random.default_rng(7)
    refused = 0
    for number in range(MANY // 4):
        text, options = CASES[number % 7]
        sections = blocks.unpack(halfway(text, options))
        numbers = {
            name: array
            for name, array in sections.items()
            if name.startswith(("lane 0/0/graph", "lane 0/0/slots")) and array.size
        }
        array = numbers[rng.choice(sorted(numbers))]
        array.flat[rng.integers(array.size)] += rng.choice([-(10**6), -1, 1, 10**6])
        try:
            assert ensue.compile(text).resume(blocks.pack(sections)).push(ROWS[HALF:]).count >= 0
        except ensue.SnapshotError:
            refused += 1
    assert refused > MANY // 20
