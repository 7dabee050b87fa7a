"""Random rules that change at random: each finds in its lives what the local engine finds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest

import ensue
from ensue.options import Limits, ReadOptions
from ensue.rules.files import RuleText
from ensue.spark.rules.bucket import RuleBucket, RuleState
from ensue.spark.rules.looking import Look
from ensue.spark.rules.recipe import Recipe
from ensue.spark.rules.rows import rule_schema
from ensue.spark.rules.rule_set import RuleSet
from ensue.spark.streaming.messages import message_of, table_of
from tests import seams
from tests.effort import FUZZ
from tests.spark.frames import SCHEMA
from tests.spark.random_queries import SEED, batch
from tests.spark.test_bucket import Stored
from tests.spark.test_streaming import pieces, shuffled
from tests.strategies import Language

RECIPE = Recipe(SCHEMA, ReadOptions(time="ts", tiebreak="id"), Limits(), key=("g",))
LATENESS, NAMES, FOREVER = 6, "abcd", 10**9

Life = tuple[str, str, int, int]
"""The name and the text of a rule, and the times of its events: from one to before another."""


def judged(texts: dict[str, str]) -> RuleSet:
    return Look(dict, RECIPE).judged({name: RuleText(text, name) for name, text in texts.items()})


def changes(texts: list[str], chance: random.Random) -> Iterator[dict[str, str] | None]:
    """Give the rules of one micro-batch after the other; None: they stay."""
    rules: dict[str, str] = {}
    while True:
        for name in NAMES:
            if chance.random() < 0.2:
                rules[name] = chance.choice(texts)
            elif chance.random() < 0.1:
                rules.pop(name, None)
        yield dict(rules) if chance.random() < 0.8 else None


def test_rules_at_random_eq_local(monkeypatch: pytest.MonkeyPatch) -> None:
    seams.LEAST_SNAPSHOT.put(monkeypatch, 2_000)
    assert sum(map(compared, range(200 if FUZZ else 6))) > 0


def compared(number: int) -> int:
    """Compare some random rules, and return how many matches they have found."""
    chance = random.Random(SEED + number)
    drawn = batch("keys", 6, 8000 + number, Language(conditions=number % 2 == 1))
    texts, table = list(drawn.queries.values()), drawn.table
    keyed = table.filter(pa.compute.is_valid(table["g"]))
    # Events that are left out let time pass as well, so the watermark is that of all.
    made = RuleBucket(RECIPE, rule_schema(pa.int64()), (1, 1))
    stored, live, found = Stored(), None, list[pa.Table]()
    open_lives: dict[str, tuple[str, int]] = {}
    lives: list[Life] = []
    watermark = reached = 0
    rules = changes(texts, chance)
    for piece in pieces(shuffled(keyed, LATENESS, chance), 8, chance):
        if live is None or chance.random() < 0.5:
            live = restored(made, stored)
        wanted = next(rules)
        if wanted is not None:
            for name in list(open_lives):
                text, begin = open_lives[name]
                if wanted.get(name) != text:
                    lives.append((name, text, begin, reached))
                    del open_lives[name]
            for name, text in wanted.items():
                open_lives.setdefault(name, (text, reached))
        told = None if wanted is None else judged(wanted).encode()
        step = live.step([message_of(piece)], watermark, None, told)
        assert step.counts.late == 0
        stored.take(step)
        found += map(table_of, step.rows)
        reached, watermark = watermark, max(watermark, max(piece["ts"].to_pylist()) - LATENESS)
    found += restored(made, stored).rest()
    lives += [(name, text, begin, FOREVER) for name, (text, begin) in open_lives.items()]
    expected: dict[str, Counter[str]] = {}
    for name, text, begin, end in lives:
        times = keyed["ts"].to_numpy()
        own = keyed.filter(pa.array((times >= begin) & (times < end)))
        ids = Counter(match.id for match in ensue.run(text, own, time="ts", tiebreak="id"))
        version = judged({name: text}).rules[name].version
        expected.setdefault(f"{name} {version}", Counter()).update(ids)
    actual: dict[str, Counter[str]] = {}
    for row in (row for rows in found for row in rows.to_pylist()):
        actual.setdefault(f"{row['rule']} {row['version']}", Counter())[row["match_id"]] += 1
    expected = {key: ids for key, ids in expected.items() if ids}
    assert actual == expected, f"seed {SEED}, number {number}"
    return sum(ids.total() for ids in actual.values())


def restored(made: RuleBucket, stored: Stored) -> RuleState:
    if stored.head is None:
        return made.begin()
    return made.restore(stored.head, stored.chunks.__getitem__)
