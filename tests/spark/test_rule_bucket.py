"""Rules of a stream's bucket, without Spark: each has the matches of its life, whatever changes."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.errors import SnapshotError
from ensue.options import Limits, ReadOptions
from ensue.rules.files import RuleText
from ensue.spark.rules.bucket import RULE_SET, RuleBucket, RuleState
from ensue.spark.rules.looking import Look
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rows import rule_schema
from ensue.spark.rules.rule_set import RuleSet
from ensue.spark.streaming.messages import message_of, table_of
from tests import seams
from tests.spark.frames import SCHEMA
from tests.spark.test_bucket import (
    ABSENT,
    CONSUMED,
    EVENTS,
    INTERVALS,
    PLAIN,
    START,
    UNBOUNDED,
    Stored,
    bucket,
    events,
)

LONG = (
    "SELECT * FROM S WHERE A AS x ; B AS y FILTER x[v = 3] AND y[v = 3] "
    "PARTITION BY [g] WITHIN 60 [ts]"
)
OPTIONS = ReadOptions(time="ts", time_unit="ms", tiebreak="id")
BATCHES = 12


def recipe(**more: Any) -> Recipe:
    return Recipe(SCHEMA, OPTIONS, **{"limits": Limits(), "key": ("g",), **more})


def rule_bucket(**more: Any) -> RuleBucket:
    return RuleBucket(recipe(**more), rule_schema(pa.int64()), (1, 1))


def rule_set(texts: Mapping[str, str], **more: Any) -> RuleSet:
    return Look(dict, recipe(**more)).judged(
        {name: RuleText(text, name) for name, text in texts.items()}
    )


CHANGES: dict[int, dict[str, str]] = {
    0: {"kept": LONG, "start": START, "gone": PLAIN},
    3: {"kept": LONG, "start": START, "gone": PLAIN, "every": INTERVALS, "consumed": CONSUMED},
    5: {"kept": LONG, "start": UNBOUNDED, "every": INTERVALS, "consumed": CONSUMED},
    8: {"kept": LONG, "start": EVENTS, "every": INTERVALS, "gone": ABSENT, "consumed": UNBOUNDED},
}
"""The rules from some micro-batches on."""


def watermark_of(batch: int) -> int:
    return 1000 + 10 * batch - (10 if batch % 3 else 0)


def lives() -> dict[tuple[str, str], tuple[int, int]]:
    """Return when each version of a rule lives: from one watermark to another."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    end = watermark_of(BATCHES) + 1000
    reached = [0, *map(watermark_of, range(BATCHES))]
    for batch, rules in CHANGES.items():
        for name, text in rules.items():
            found.setdefault((name, text), (reached[batch], end))
        for (name, text), (begin, until) in found.items():
            if until == end and rules.get(name) != text:
                found[name, text] = begin, reached[batch]
    return found


def local(text: str, begin: int, end: int) -> Counter[Any]:
    """Find what the local engine finds among the events of a life."""
    whole = pa.concat_tables([events(batch) for batch in range(BATCHES)])
    times = whole["ts"].to_numpy()
    own = whole.filter(pa.array((times >= begin) & (times < end)))
    found = ensue.run(text, own, time="ts", time_unit="ms", tiebreak="id")
    if found.schema.totals is None:
        return Counter(match.id for match in found)
    return Counter((row.partition["g"], row.time, row["n"]) for row in found)


def answers(tables: list[pa.Table]) -> dict[tuple[str, str], Counter[Any]]:
    """Return the matches, or the totals, of each version of a rule."""
    found: dict[tuple[str, str], Counter[Any]] = {}
    for row in (row for table in tables for row in table.to_pylist()):
        answer: Any = row["match_id"]
        if answer is None:
            payload = json.loads(row["payload"])
            answer = (json.loads(row["partition"])["g"], row["end_time"], payload["n"])
        found.setdefault((row["rule"], row["version"]), Counter())[answer] += 1
    return found


@pytest.mark.parametrize("survival", [0.0, 0.6, 1.0])
def test_rules_that_change_eq_local_over_their_lives(
    survival: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seams.LEAST_SNAPSHOT.put(monkeypatch, 5_000)
    chance, stored, found = random.Random(7), Stored(), []
    live: RuleState | None = None
    versions = {}
    for batch in range(BATCHES):
        # With a chance a micro-batch meets the operators of the last; else another worker has it.
        if live is None or chance.random() >= survival:
            live = restored(stored)
        rules = None
        if batch in CHANGES:
            changed = rule_set(CHANGES[batch])
            versions |= {(n, CHANGES[batch][n]): each.version for n, each in changed.rules.items()}
            rules = changed.encode()
        step = live.step([message_of(events(batch))], watermark_of(batch), None, rules)
        stored.take(step)
        found += map(table_of, step.rows)
    numbers = {each for each in stored.chunks if each < RULE_SET}
    unbounded = [each.snapshot for each in live.head().rules if each.snapshot]
    assert numbers == set(unbounded) != set()
    found += list(restored(stored).rest())
    actual = answers(found)
    for (name, text), (begin, end) in lives().items():
        expected = local(text, begin, end)
        assert expected
        assert actual.pop((name, versions[name, text])) == expected, (name, text)
    assert not actual


def restored(stored: Stored, **more: Any) -> RuleState:
    if stored.head is None:
        return rule_bucket(**more).begin()
    return rule_bucket(**more).restore(stored.head, stored.chunks.__getitem__)


def test_the_log_is_shared_and_as_long_as_the_longest_window() -> None:
    stored, sizes = Stored(), []
    rules = rule_set({f"r{n}": PLAIN.replace("20", str(20 - n)) for n in range(10)})
    state = rule_bucket().begin()
    for batch in range(40):
        told = rules.encode() if batch == 0 else None
        stored.take(state.step([message_of(events(batch))], 1000 + 10 * batch, None, told))
        sizes.append(stored.size)
    assert max(sizes[20:]) < 1.2 * max(sizes[5:20])
    alone, one = Stored(), bucket(PLAIN).begin()
    for batch in range(40):
        alone.take(one.step([message_of(events(batch))], 1000 + 10 * batch))
    assert stored.size < 1.5 * alone.size


@pytest.mark.parametrize("survives", [True, False], ids=["live", "rebuilt"])
def test_a_text_that_cannot_be_used_leaves_the_earlier_version_at_work(survives: bool) -> None:
    stored, state, found = Stored(), rule_bucket().begin(), []
    good = rule_set({"one": LONG, "two": PLAIN})
    bad = rule_set({"one": "SELECT * FRM S", "new": "SELECT * FROM S WHERE A ; B WITHIN 9 [ts]"})
    assert set(bad.skipped) == {"one", "new"}
    assert "the PARTITION BY" in bad.skipped["new"] or "this rule needs all" in bad.skipped["new"]
    for batch, rules in enumerate([good, None, bad, None, None, None]):
        if not survives:
            state = restored(stored)
        told = None if rules is None else rules.encode()
        step = state.step([message_of(events(batch))], 1000 + 10 * batch, None, told)
        stored.take(step)
        found += map(table_of, step.rows)
    versions, skipped = map(json.loads, step.texts)
    assert versions == {"one": good.rules["one"].version}
    assert {each["rule"]: each["why"] for each in skipped} == dict(bad.skipped)
    actual = answers(found)[("one", good.rules["one"].version)]
    assert actual == local(LONG, 0, 1050) != Counter()


@pytest.mark.parametrize("survives", [True, False], ids=["live", "rebuilt"])
def test_a_rule_that_fails_is_stopped_and_the_others_go_on(survives: bool) -> None:
    few = {"limits": Limits(configurations=20)}
    greedy = "SELECT * FROM S WHERE A AS x ; B AS y FILTER y.id = x.id PARTITION BY [g]"
    stored, state, found = Stored(), rule_bucket(**few).begin(), []
    rules = rule_set({"greedy": greedy, "plain": LONG}, **few)
    assert set(rules.rules) == {"greedy", "plain"}
    for batch in range(6):
        if not survives:
            state = restored(stored, **few)
        told = rules.encode() if batch == 0 else None
        step = state.step([message_of(events(batch))], 1000 + 10 * batch, None, told)
        stored.take(step)
        found += map(table_of, step.rows)
    versions, (skipped,) = map(json.loads, step.texts)
    assert versions == rules.versions
    assert skipped["rule"] == "greedy"
    assert "max_configurations" in skipped["why"]
    assert answers(found)[("plain", rules.rules["plain"].version)] == local(LONG, 0, 1050)
    # Nothing is kept for it, and another version begins anew.
    assert len(stored.chunks) < 9
    again = rule_set({"greedy": PLAIN, "plain": LONG}, **few).encode()
    assert json.loads(state.step([], 1050, None, again).texts[1]) == []


def test_state_of_other_options_or_of_queries_is_refused() -> None:
    stored = Stored()
    stored.take(
        rule_bucket()
        .begin()
        .step([message_of(events(0))], 0, None, rule_set({"a": PLAIN}).encode())
    )
    for more in ({"key": ("g", "v")}, {"params": {"least": 1}}, {"positions_only": True}):
        with pytest.raises(SnapshotError, match="new checkpointLocation"):
            restored(stored, **more)
    queries = Stored()
    queries.take(bucket(PLAIN).begin().step([message_of(events(0))], 0))
    with pytest.raises(SnapshotError, match="new checkpointLocation"):
        restored(queries)
    with pytest.raises(SnapshotError):
        stored.restore(bucket(PLAIN))
