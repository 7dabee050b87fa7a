"""The questions, in CEQL and, for engines of tables, in SQL.

All are about one stream of trades: position, type, name, price, account, stock_time in
milliseconds. A window includes its end, and events of one time are in the order of positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.queries import NAMES
from ensue.datasets import stock_table

_S3 = """WHERE (SELL AS a ; BUY AS b ; BUY AS c)
FILTER a[name = 'INTC'] AND b[name = 'RIMM'] AND c[name = 'QQQ']"""
_SBS = "WHERE (SELL AS a ; BUY AS b ; SELL AS c)"

_CEQL = {
    "sequence": f"SELECT * FROM S {_S3}",
    "first": f"SELECT FIRST * FROM S {_S3}",
    "keyed": f"SELECT * FROM S {_SBS} PARTITION BY [name]",
    "rising": f"SELECT * FROM S {_SBS} FILTER a.price < b.price AND b.price < c.price"
    " PARTITION BY [name]",
    "kleene": "SELECT * FROM S WHERE (SELL AS a ; BUY+ AS b ; SELL AS c) PARTITION BY [name]",
    "absence": "SELECT * FROM S WHERE SELL AS a NOT FOLLOWED BY BUY WITHIN {window} [stock_time]"
    " PARTITION BY [name]",
    "funnel": f"SELECT NONE FROM S {_SBS} PARTITION BY [account]",
}

_JOINED = """
SELECT count(*) FROM {a} a JOIN {b} b ON {key} b.position > a.position
AND b.stock_time <= a.stock_time + {window} {ab}
JOIN {c} c ON {key2} c.position > b.position AND c.stock_time <= a.stock_time + {window} {bc}
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """A question about the stream."""

    title: str
    kind: str
    window: int
    """Milliseconds."""

    @property
    def name(self) -> str:
        """Return the name in results and on the command line."""
        return f"{self.kind}-{self.window}"

    @property
    def ceql(self) -> str:
        """Return the query."""
        query = _CEQL[self.kind].format(window=self.window)
        return query if self.kind == "absence" else f"{query} WITHIN {self.window} [stock_time]"

    @property
    def sql(self) -> str | None:
        """Return the self-join that counts the same, if there is one."""
        return _sql(self.kind, self.window)


def _of(kind: str, name: str | None = None) -> str:
    """Return the trades of a type, and perhaps of a stock."""
    more = f" AND name = '{name}'" if name else ""
    return f"(SELECT * FROM trades WHERE type = '{kind}'{more})"


def _sql(kind: str, window: int) -> str | None:
    sell, buy = _of("SELL"), _of("BUY")
    if kind == "sequence":
        a, b, c = _of("SELL", "INTC"), _of("BUY", "RIMM"), _of("BUY", "QQQ")
        return _JOINED.format(a=a, b=b, c=c, key="", key2="", ab="", bc="", window=window)
    if kind in ("keyed", "rising"):
        rising = kind == "rising"
        return _JOINED.format(
            a=sell,
            b=buy,
            c=sell,
            window=window,
            key="b.name = a.name AND",
            key2="c.name = a.name AND",
            ab="AND b.price > a.price" if rising else "",
            bc="AND c.price > b.price" if rising else "",
        )
    if kind == "absence":
        return f"""SELECT count(*) FROM {sell} a WHERE NOT EXISTS (SELECT 1 FROM {buy} b
            WHERE b.name = a.name AND b.position > a.position
            AND b.stock_time <= a.stock_time + {window})
            AND a.stock_time + {window} < (SELECT max(stock_time) FROM trades)"""
    if kind == "funnel":
        joined = _JOINED.replace("count(*)", "count(DISTINCT a.account)")
        keys = {"key": "b.account = a.account AND", "key2": "c.account = a.account AND"}
        return joined.format(a=sell, b=buy, c=sell, ab="", bc="", window=window, **keys)
    if kind == "kleene":
        return f"""WITH RECURSIVE run AS (
            SELECT name, position, stock_time AS begin, 0 AS bought FROM {sell}
            UNION ALL
            SELECT r.name, b.position, r.begin, 1 FROM run r JOIN {buy} b
            ON b.name = r.name AND b.position > r.position AND b.stock_time <= r.begin + {window}
        ) SELECT count(*) FROM run r JOIN {sell} c
        ON r.bought = 1 AND c.name = r.name AND c.position > r.position
        AND c.stock_time <= r.begin + {window}"""
    return None


WORKLOADS = (
    Workload("S3, window of 10 s", "sequence", 10_000),
    Workload("S3, window of 40 s (×4)", "sequence", 40_000),
    Workload("S3, window of 100 s (×10)", "sequence", 100_000),
    Workload("S3, window of 400 s (×40)", "sequence", 400_000),
    Workload("S3, skip till next (FIRST), 40 s", "first", 40_000),
    Workload("SELL ; BUY ; SELL by stock, 20 s", "keyed", 20_000),
    Workload("the same at rising prices, 20 s", "rising", 20_000),
    Workload("SELL ; BUY+ ; SELL by stock, 20 s", "kleene", 20_000),
    Workload("SELL without BUY by stock, 20 s", "absence", 20_000),
    Workload("accounts with SELL ; BUY ; SELL, 60 s", "funnel", 60_000),
)
BY_NAME = {each.name: each for each in WORKLOADS}


def make_trades(events: int, folder: Path) -> tuple[Path, Path]:
    """Write the stream once as Parquet and once as CSV, and return the paths."""
    from pyarrow import csv, parquet

    table = stock_table(events, rate=4.8, symbols=NAMES)
    position = pa.array(range(events), pa.int64())
    account = pa.array(np.random.default_rng(0).integers(0, 1000, events), pa.int32())
    plain = {name: pc.cast(table[name], pa.string()) for name in ("type", "name")}
    columns = {
        "position": position,
        **plain,
        "price": table["price"],
        "account": account,
        "stock_time": pc.cast(table["stock_time"], pa.int64()),
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / f"trades-{events}.parquet", folder / f"trades-{events}.csv"
    trades = pa.table(columns)
    parquet.write_table(trades, paths[0])
    csv.write_csv(trades, paths[1])
    return paths
