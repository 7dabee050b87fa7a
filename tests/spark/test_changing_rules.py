"""Streams whose rules change: each version finds in its life what the local engine finds."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import ensue
from ensue.errors import CeqlWarning
from ensue.spark import missing, recognize
from tests.spark.frames import frame_of
from tests.spark.patience import FINISH, TOO_SLOW, TRIES
from tests.spark.test_failures import driver, numbers
from tests.spark.test_streaming import Source, shuffled, trades
from tests.waiting import PATIENCE, wait_until

WITHIN = "PARTITION BY [g] WITHIN 12 [ts]"
PAIRS = f"SELECT * FROM S WHERE A AS x ; B AS y FILTER x[v = 1] {WITHIN}"
TRIPLES = f"SELECT * FROM S WHERE A AS x ; B AS y ; A AS z FILTER x[v = 2] {WITHIN} LIMIT 2"
LAST = f"SELECT LAST * FROM S WHERE B AS x ; B AS y {WITHIN}"
OPTIONS: dict[str, Any] = {"time": "ts", "tiebreak": "id", "key": "g", "tasks": 2}

Lives = dict[tuple[str, str], tuple[int, int]]


def lives(checkpoint: Path) -> Lives:
    """Read from the log of a checkpoint when each version of a rule lived, in event time."""
    found: Lives = {}
    reached, end = 0, 10**9
    offsets = checkpoint / "offsets"
    for number in sorted(int(each.name) for each in offsets.iterdir() if each.name.isdecimal()):
        _, metadata, *sources = (offsets / str(number)).read_text().splitlines()
        (rules,) = (json.loads(line) for line in sources if line.startswith('{"versions"'))
        for each in rules["versions"].items():
            found.setdefault(each, (reached, end))
        for (name, version), (begin, until) in found.items():
            # One whose new text cannot be used goes on.
            goes_on = rules["versions"].get(name) == version or name in rules["skipped"]
            if until == end and not goes_on:
                found[name, version] = begin, reached
        reached = json.loads(metadata)["batchWatermarkMs"]
    return found


def expected(table: pa.Table, text: str, life: tuple[int, int]) -> Counter[str]:
    times = table["ts"].to_numpy()
    own = table.filter(pa.array((times >= life[0]) & (times < life[1])))
    found = ensue.run(text, own, time="ts", tiebreak="id")
    return Counter(match.id for match in found)


def ids(rows: list[Any]) -> dict[tuple[str, str], Counter[str]]:
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        found.setdefault((row.rule, row.version), Counter())[row.match_id] += 1
    return found


def check(
    rows: list[Any], checkpoint: Path, table: pa.Table, texts: Mapping[str, list[str]]
) -> Lives:
    """Compare the rows of all versions, which come in the order of these texts."""
    actual, known, seen = ids(rows), lives(checkpoint), Counter[str]()
    for (name, version), life in known.items():
        text = texts[name][seen[name]]
        seen[name] += 1
        answer = expected(table, text, life)
        assert answer, (name, life)
        assert actual.pop((name, version)) == answer, (name, life)
    assert not actual
    assert seen == Counter({name: len(each) for name, each in texts.items()})
    return known


@pytest.mark.pipelines
def test_rules_of_a_function_change_while_a_stream_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance, source = random.Random(5), Source(spark, tmp_path / "events")
    table = trades(240, chance)
    arrived = shuffled(table, 4, chance)
    parts = [arrived.slice(80 * number, 80) for number in range(3)]
    source.write(parts[0])
    bad = "SELECT * FROM S WHERE A ; B WITHIN 3 [ts]"
    rules = {"kept": PAIRS, "changed": TRIPLES, "gone": LAST}
    options = {**OPTIONS, "lateness": 4}
    found = recognize(source.frame(), rules=lambda: dict(rules), **options)
    stream = (
        found.writeStream.format("parquet")
        .option("path", str(tmp_path / "found"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    query, progress = stream.start(), list[Any]()

    def settle() -> None:
        """Wait until the stream has seen all events and the rules of this moment."""
        nonlocal query
        for _ in range(TRIES):
            try:
                query.processAllAvailable()
                return
            except Exception as error:
                if TOO_SLOW not in str(error):
                    raise
                progress.extend(query.recentProgress)
                query = stream.start()
        raise AssertionError("no Python worker started in time")

    try:
        settle()
        rules["changed"] = LAST
        del rules["gone"]
        source.write(parts[1])
        settle()
        rules |= {"new": TRIPLES, "kept": PAIRS.replace("FILTER", "FILTERR"), "bad": bad}
        source.write(parts[2])
        settle()
        progress += query.recentProgress
    finally:
        query.stop()
    every = [each["observedMetrics"].get("ensue-rules") for each in progress]
    # A micro-batch that touches no bucket has nothing to tell of rules.
    told = [row for row in every if row is not None and row.rules is not None]
    assert missing(found, []) == []
    versions = json.loads(told[-1].rules)
    skipped = {each["rule"]: each["why"] for each in json.loads(told[-1].skipped)}
    assert json.loads(told[0].skipped) == []
    assert set(versions) == {"kept", "changed", "new"}
    assert set(skipped) == {"kept", "bad"}
    assert "events are spread by key=['g']" in skipped["bad"]
    rows = spark.read.parquet(str(tmp_path / "found")).collect()
    assert sum(row.matches for row in told) == len(rows)
    # The rules of the last events are in the checkpoint, whatever there is now.
    checkpoint = tmp_path / "checkpoint"
    rest = recognize(source.frame(), rules=dict, flush=str(checkpoint), **options).collect()
    assert rest
    rows += rest
    texts = {"kept": [PAIRS], "changed": [TRIPLES, LAST], "gone": [LAST], "new": [TRIPLES]}
    check(rows, checkpoint, table, texts)


DRIVER = f"""
import sys, warnings
warnings.simplefilter("ignore")
from ensue.spark import recognize, session
spark = session("local[2]", config={{"spark.sql.shuffle.partitions": "1"}})
folder = sys.argv[1]
schema = spark.read.parquet(folder + "/events").schema
events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
events = events.parquet(folder + "/events")
found = recognize(events, rules=folder + "/rules", lateness=4, **{OPTIONS})
stream = found.writeStream.format("parquet").option("path", folder + "/found")
stream = stream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
{FINISH}
"""


@pytest.mark.pipelines
def test_a_micro_batch_that_is_run_again_has_the_rules_of_the_first_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance, source = random.Random(2), Source(spark, tmp_path / "events")
    table = trades(240, chance)
    arrived = shuffled(table, 4, chance)
    for number in range(3):
        source.write(arrived.slice(80 * number, 80))
    source.flush(1000)
    checkpoint, rules = tmp_path / "checkpoint", tmp_path / "rules"
    rules.mkdir()
    for name, text in {"kept": PAIRS, "changed": TRIPLES, "gone": LAST}.items():
        (rules / f"{name}.ceql").write_text(text)
    with driver(DRIVER, tmp_path) as first:
        # As soon as the second batch is planned, they die, in the middle of it.
        wait_until((checkpoint / "offsets" / "1").exists, "the second batch is planned", first)
    assert numbers(checkpoint / "offsets") - numbers(checkpoint / "commits")
    (rules / "gone.ceql").unlink()
    (rules / "changed.ceql").write_text(LAST)
    (rules / "new.ceql").write_text(TRIPLES)
    with driver(DRIVER, tmp_path) as again:
        assert again.wait(PATIENCE) == 0
    rows = spark.read.parquet(str(tmp_path / "found")).collect()
    texts = {"kept": [PAIRS], "changed": [TRIPLES, LAST], "gone": [LAST], "new": [TRIPLES]}
    known = check(rows, checkpoint, table, texts)
    # The batch that was run twice had the rules of the first time.
    metadata = json.loads((checkpoint / "offsets" / "1").read_text().splitlines()[1])
    ends = {end for (name, _), (_, end) in known.items() if name == "gone"}
    assert ends == {metadata["batchWatermarkMs"]}


def test_rules_on_a_finite_dataframe_eq_local(spark: SparkSession, tmp_path: Path) -> None:
    table = trades(120, random.Random(3))
    counted = f"+++\nseverity = 'low'\n+++\nSELECT count(*) AS n FROM S WHERE A AS x ; B {WITHIN}"
    rules = {
        "pairs": PAIRS,
        "counted": counted,
        "bad": "SELECT",
        "all": PAIRS.replace("[g]", "[v]"),
    }
    frame = spark.createDataFrame(list(rules.items()), "name string, query string")
    with pytest.warns(CeqlWarning, match="rule 'bad' is skipped") as told:
        found = recognize(frame_of(spark, table), rules=frame, **OPTIONS).collect()
    assert any("lacks [g]" in str(each.message) for each in told)
    local = ensue.run(PAIRS, table, time="ts", tiebreak="id")
    pairs = {row.match_id: row for row in found if row.rule == "pairs"}
    expected_rows = local.to_arrow(events=True).to_pylist()
    assert pairs.keys() == {each["match_id"] for each in expected_rows} != set()
    for each in expected_rows:
        row = pairs[each["match_id"]]
        assert (row.start_time, row.end_time) == (each["start_time"], each["end_time"])
        assert json.loads(row.partition) == {"g": each["g"]}
        assert json.loads(row.payload) == {name: each[name] for name in ("A", "x", "B", "y")}
    totals = ensue.run(counted.split("+++")[2], table, time="ts", tiebreak="id")
    answers = sorted((r.end_time, json.loads(r.payload)["n"]) for r in found if r.rule == "counted")
    assert answers == sorted((row.time, row["n"]) for row in totals) != []
    assert len({row.version for row in found}) == 2


def test_calls_that_mean_nothing_are_errors_at_once(spark: SparkSession) -> None:
    events = frame_of(spark, trades(3, random.Random(3)))
    with pytest.raises(TypeError, match="a query or rules=, not both"):
        recognize(events, PAIRS, rules=dict, **OPTIONS)
    with pytest.raises(TypeError, match="needs a query, or rules="):
        recognize(events, **{**OPTIONS, "key": None})
    with pytest.raises(TypeError, match="key= goes with rules="):
        recognize(events, PAIRS, **OPTIONS)
    with pytest.raises(ensue.EventError, match="time="):
        recognize(events, rules=dict, key="g")
    with pytest.raises(ensue.EventError, match="nope"):
        recognize(events, rules=dict, time="ts", key="nope")
    assert recognize(events, rules=dict, **OPTIONS).count() == 0
