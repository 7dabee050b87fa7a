"""The event streams, made once for a run and kept on disk as Arrow files.

Every measurement happens in a process of its own, which reads its stream into memory before the
clock starts; so the peak memory of that process is not blurred by how the stream was made.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.queries import NAMES
from ensue.datasets import stock_table

BUSY = 4800.0
"""Events a second, the generator's default: a window of ten seconds holds 48,000."""

CALM = 4.8
"""Events a second on the day that [CORE] took its stock data from: a window holds 48."""

DENSE = 30.0
"""Events a second for enumeration: a window holds 300, and an event completes about a hundred."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a stream consists of."""

    events: int
    rate: float = BUSY
    plain: bool = False
    """Plain strings instead of dictionary-encoded ones."""
    keys: int = 0
    """If not 0, an attribute `account` with so many values, drawn evenly; -1: each once."""
    real: bool = False
    """The stock data under ENSUE_DATA instead of generated trades."""

    def path(self, folder: Path) -> Path:
        """Return where the stream lies once it has been made."""
        strings = "plain" if self.plain else "coded"
        kind = "real" if self.real else f"{self.events}-{self.rate:g}-{self.keys}"
        return folder / f"{kind}-{strings}.arrow"

    def make(self, folder: Path) -> Path:
        """Write the stream unless it is there already."""
        path = self.path(folder)
        if not path.exists():
            table = self._table()
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
        return path

    def _table(self) -> pa.Table:
        table = (
            real_trades() if self.real else stock_table(self.events, rate=self.rate, symbols=NAMES)
        )
        if self.keys:
            drawn = np.arange(self.events)
            if self.keys > 0:
                drawn = np.random.default_rng(1).integers(0, self.keys, self.events)
            sizes = [len(chunk) for chunk in table.column("id").chunks]
            parts = np.split(drawn, np.cumsum(sizes)[:-1])
            table = table.append_column("account", pa.chunked_array([pa.array(p) for p in parts]))
        if self.plain:
            for name in ("type", "name"):
                index = table.column_names.index(name)
                table = table.set_column(index, name, table.column(name).cast(pa.string()))
        return table


def read(path: str) -> pa.Table:
    """Read a stream into memory."""
    with pa.OSFile(path, "rb") as source:
        return pa.ipc.open_file(source).read_all()


def real_path() -> Path | None:
    """Return where the real stock data is, if it is at hand."""
    folder = os.environ.get("ENSUE_DATA")
    path = None if folder is None else Path(folder) / "stock.csv.gz"
    return path if path is not None and path.exists() else None


def real_trades() -> pa.Table:
    """Read the real stock data, its strings dictionary-encoded."""
    path = real_path()
    assert path is not None
    table = pa_csv.read_csv(path)
    names = ["type" if name == "event_type" else name for name in table.column_names]
    table = table.rename_columns(names)
    for name in ("type", "name"):
        index = table.column_names.index(name)
        table = table.set_column(index, name, table.column(name).dictionary_encode())
    return table
