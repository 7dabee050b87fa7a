"""The questions that other engines are asked: Ensue's counts are those of the self-joins."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import ensue
from bench.peers.page import cell, picture
from bench.peers.workloads import WORKLOADS, Workload, make_trades
from tests.docs.test_docs import ROOT


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda each: each.name)
def test_the_query_counts_what_the_join_counts(workload: Workload, tmp_path: Path) -> None:
    trades = pq.read_table(make_trades(400, tmp_path)[0])
    found = ensue.run(workload.ceql, trades)
    if workload.sql is None:
        assert workload.kind == "first"
        return
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE trades ({', '.join(trades.column_names)})")
    rows = zip(*(column.to_pylist() for column in trades.columns), strict=True)
    base.executemany("INSERT INTO trades VALUES (?, ?, ?, ?, ?, ?)", rows)
    ((joined,),) = base.execute(workload.sql).fetchall()
    base.close()
    accounts = {match.partition.get("account") for match in found}
    assert joined == (len(accounts) if workload.kind == "funnel" else found.count)


def test_a_time_stands_in_the_table_only_beside_the_same_count() -> None:
    assert cell({"count": 3, "cpu": 0.0123}, 3) == "12 ms"
    assert cell({"count": 4, "cpu": 0.0123}, 3) == "**4 matches**"
    assert cell({"failed": "out of memory"}, 3) == "**out of memory**"
    assert cell({"cannot": "no words"}, 3) == "–"


def test_the_picture_says_who_fails() -> None:
    fast = {"count": 1, "cpu": 0.01}
    results = {
        "sequence-10000": {"Ensue counting": fast, "Esper": fast},
        "sequence-40000": {"Ensue counting": fast, "Esper": {"failed": "out of memory"}},
    }
    drawn = picture(results)
    assert "Esper (then fails)" in drawn
    assert "Ensue counting</text>" in drawn


def test_the_page_has_a_row_for_each_workload() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert all(f"| {workload.title} |" in page for workload in WORKLOADS)
