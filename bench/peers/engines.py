"""The engines with a Python interface: each counts the matches of a workload.

    python -m bench.peers.engines ENGINE TRADES.parquet WORKLOAD

prints a line of JSON: the count, and of up to three repetitions the least CPU and wall time. The
table is in memory before the clock starts, in the form that the engine likes best.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.peers.workloads import BY_NAME, Workload

Counter = Callable[[], int]


class CannotSayError(Exception):
    """The engine has no way to ask this."""


def ensue_listed(trades: pa.Table, workload: Workload) -> Counter:
    """Let Ensue list every match as a row of an Arrow table."""
    import ensue

    query = ensue.compile(workload.ceql)
    keyed = workload.kind == "funnel"

    def count() -> int:
        found = query.run(trades)
        if keyed:
            table = found.to_arrow(columns=["account"], max_rows=None)
            return len(table["account"].unique())
        return len(found.to_arrow(ids=False, max_rows=None))

    return count


def ensue_counted(trades: pa.Table, workload: Workload) -> Counter:
    """Let Ensue count without listing."""
    import ensue

    if workload.kind == "funnel":
        raise CannotSayError("the accounts are counted by listing")
    query = ensue.compile(workload.ceql)
    return lambda: query.run(trades).count


def duckdb(trades: pa.Table, workload: Workload) -> Counter:
    """Ask DuckDB by self-joins, or as-of joins where the next event is wanted."""
    import duckdb

    base = duckdb.connect(config={"memory_limit": "4GB", "threads": 2})
    base.register("given", trades)
    base.execute("CREATE TABLE trades AS SELECT * FROM given")
    text = (
        workload.sql
        or f"""
        SELECT count(*) FROM (SELECT * FROM trades WHERE type = 'SELL' AND name = 'INTC') a
        ASOF JOIN (SELECT * FROM trades WHERE type = 'BUY' AND name = 'RIMM') b
        ON b.position > a.position
        ASOF JOIN (SELECT * FROM trades WHERE type = 'BUY' AND name = 'QQQ') c
        ON c.position > b.position
        WHERE c.stock_time <= a.stock_time + {workload.window}"""
    )
    return lambda: base.execute(text).fetchall()[0][0]


def polars(trades: pa.Table, workload: Workload) -> Counter:
    """Ask polars by joins on inequalities, or as-of joins where the next event is wanted."""
    import polars as pl

    frame = pl.from_arrow(trades).with_columns(pl.col("type", "name").cast(pl.Categorical)).lazy()
    window = workload.window

    def of(kind: str, name: str | None, end: str) -> pl.LazyFrame:
        chosen = frame.filter(pl.col("type") == kind)
        chosen = chosen if name is None else chosen.filter(pl.col("name") == name)
        return chosen.select(pl.all().name.suffix(end))

    def after(one: str, other: str) -> list[pl.Expr]:
        late = pl.col(f"stock_time_{other}") <= pl.col("stock_time_a") + window
        return [pl.col(f"position_{other}") > pl.col(f"position_{one}"), late]

    if workload.kind == "sequence":
        a, b, c = of("SELL", "INTC", "_a"), of("BUY", "RIMM", "_b"), of("BUY", "QQQ", "_c")
        whole = a.join_where(b, *after("a", "b")).join_where(c, *after("b", "c"))
    elif workload.kind in ("keyed", "rising", "funnel"):
        key = "account" if workload.kind == "funnel" else "name"
        a, b, c = of("SELL", None, "_a"), of("BUY", None, "_b"), of("SELL", None, "_c")
        rising = workload.kind == "rising"
        ab = [pl.col("price_b") > pl.col("price_a")] if rising else []
        bc = [pl.col("price_c") > pl.col("price_b")] if rising else []
        first = a.join(b, left_on=f"{key}_a", right_on=f"{key}_b").filter(*after("a", "b"), *ab)
        whole = first.join(c, left_on=f"{key}_a", right_on=f"{key}_c")
        whole = whole.filter(*after("b", "c"), *bc)
    elif workload.kind in ("first", "absence"):
        first = workload.kind == "first"
        a = of("SELL", "INTC" if first else None, "_a").sort("position_a")
        b = of("BUY", "RIMM" if first else None, "_b").sort("position_b")
        nearest = {"strategy": "forward", "allow_exact_matches": False}
        by = {} if first else {"by_left": "name_a", "by_right": "name_b"}
        joined = a.join_asof(b, left_on="position_a", right_on="position_b", **nearest, **by)
        if first:
            c = of("BUY", "QQQ", "_c").sort("position_c")
            met = joined.filter(pl.col("stock_time_b").is_not_null()).sort("position_b")
            met = met.join_asof(c, left_on="position_b", right_on="position_c", **nearest)
            whole = met.filter(pl.col("stock_time_c") <= pl.col("stock_time_a") + window)
        else:
            last = frame.select(pl.col("stock_time").max()).collect().item()
            deadline = pl.col("stock_time_a") + window
            late = pl.col("stock_time_b").is_null() | (pl.col("stock_time_b") > deadline)
            whole = joined.filter(late, deadline < last)
    else:
        raise CannotSayError("no join lists every choice of repeated events")
    counted = pl.col("account_a").n_unique() if workload.kind == "funnel" else pl.len()
    return lambda: whole.select(counted).collect(engine="streaming").item()


def clickhouse(trades: pa.Table, workload: Workload) -> Counter:
    """Ask ClickHouse, in process: windowFunnel for funnels, as-of joins for the next event."""
    from chdb.session import Session

    base = Session()
    pq.write_table(trades, path := f"/tmp/peers-{os.getpid()}.parquet")
    base.query("CREATE DATABASE p; ")
    base.query("CREATE TABLE p.trades ENGINE = Memory AS SELECT * FROM file('" + path + "')")
    Path(path).unlink()
    if workload.kind == "funnel":
        steps = "type = 'SELL', type = 'BUY', type = 'SELL'"
        text = f"""SELECT countIf(level = 3) FROM (SELECT windowFunnel({workload.window})
            (toUInt64(stock_time), {steps}) AS level FROM p.trades GROUP BY account)"""
    elif workload.kind == "first":
        of = "(SELECT *, 1 AS one FROM p.trades WHERE type = '{}' AND name = '{}')"
        text = f"""SELECT count() FROM {of.format("SELL", "INTC")} a
            ASOF JOIN {of.format("BUY", "RIMM")} b ON a.one = b.one AND a.position < b.position
            ASOF JOIN {of.format("BUY", "QQQ")} c ON b.one = c.one AND b.position < c.position
            WHERE c.stock_time <= a.stock_time + {workload.window}"""
    else:
        raise CannotSayError("sequenceMatch and windowFunnel say whether, not how often")
    return lambda: int(str(base.query(text, "CSV")).strip())


def pyspark(trades: pa.Table, workload: Workload) -> Counter:
    """Ask Spark SQL by self-joins, on two cores."""
    from ensue.spark import session

    if workload.kind == "kleene":
        raise CannotSayError("no join of a fixed length lists every choice of repeated events")
    if workload.sql is None:
        raise CannotSayError("Spark SQL has no as-of join")
    spark = session("local[2]", config={"spark.sql.shuffle.partitions": "2"})
    spark.createDataFrame(trades.to_pandas()).cache().createOrReplaceTempView("trades")
    spark.sql("SELECT count(*) FROM trades").collect()
    return lambda: spark.sql(workload.sql).collect()[0][0]


ENGINES = {
    "Ensue listing": ensue_listed,
    "Ensue counting": ensue_counted,
    "DuckDB": duckdb,
    "polars": polars,
    "ClickHouse": clickhouse,
    "PySpark": pyspark,
}


def cpu_time() -> float:
    """Return the CPU seconds of this process and, for Spark, of the Java beside it."""
    ticks = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == os.getpgrp():
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(count: Counter, clock: Callable[[], float]) -> dict[str, float]:
    """Count up to three times, as long as that takes less than ten seconds of CPU."""
    best = {"cpu": float("inf"), "wall": float("inf")}
    spent, found = 0.0, 0
    for _ in range(3):
        wall, cpu = time.perf_counter(), clock()
        found = count()
        used = clock() - cpu
        best["cpu"] = min(best["cpu"], used)
        best["wall"] = min(best["wall"], time.perf_counter() - wall)
        spent += used
        if spent > 10:
            break
    return {"count": found, **best}


def main() -> None:
    """Run one engine on one workload."""
    engine, path, name = sys.argv[1:]
    try:
        count = ENGINES[engine](pq.read_table(path), BY_NAME[name])
    except CannotSayError as reason:
        print(json.dumps({"cannot": str(reason)}))
        return
    clock = cpu_time if engine == "PySpark" else time.process_time
    if engine.startswith("Ensue"):
        count()  # kernels are loaded
    print(json.dumps(measure(count, clock)))


if __name__ == "__main__":
    main()
