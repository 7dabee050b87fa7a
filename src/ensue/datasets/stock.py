"""A generated day at a stock exchange: trades of a few symbols at thousands a second.

Prices walk in cents between two bounds around a symbol's level, volumes are the lots that people
trade, times have exponential gaps. The events are made in blocks of a fixed size, each with a
generator seeded by (seed, block); only the last time and the place of each walk pass from one
block to the next. So the events depend on the seed, not on how the batches are cut, and fewer
events are the first ones of more.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BLOCK_ROWS = 65536
_OPENING = 34_200_000
"""Half past nine, in milliseconds."""

_LEVELS = {
    "MSFT": 26.00,
    "INTC": 27.80,
    "CSCO": 22.40,
    "AMAT": 18.80,
    "ORCL": 11.00,
    "DELL": 35.40,
    "QQQ": 36.10,
    "IBM": 82.30,
    "NVDA": 24.60,
    "AAPL": 71.90,
}
SYMBOLS = tuple(_LEVELS)
"""The default symbols, the busiest first."""

# Decks of cards: what is drawn, each as often as it is seen.
_STEPS = np.repeat(np.arange(-3, 4), [1, 4, 15, 60, 15, 4, 1])
_LOTS = np.concatenate(
    [
        np.repeat([10, 20, 25, 50, 75, 120, 150, 250], [4, 5, 4, 15, 3, 4, 30, 8]),
        np.repeat([100, 200, 300, 400, 500], [235, 95, 76, 56, 102]),
        np.repeat([600, 700, 800, 900, 1000], [25, 21, 29, 14, 80]),
        np.repeat([1100, 1200, 1400, 1500, 1800], [6, 7, 6, 23, 4]),
        np.repeat([2000, 2500, 3000, 4000, 5000], [26, 6, 10, 4, 5]),
        np.repeat([7500, 10000, 20000], [2, 2, 1]),
    ]
)

_Integers = npt.NDArray[np.int64]


def stock_schema() -> pa.Schema:
    """Return the columns of the trades."""
    words = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("type", words),
            ("id", pa.int64()),
            ("name", words),
            ("volume", pa.int64()),
            ("price", pa.float64()),
            ("stock_time", pa.int64()),
        ]
    )


def stock_trades(
    events: int,
    *,
    seed: int = 0,
    rate: float = 4800.0,
    symbols: Sequence[str] = SYMBOLS,
    batch_size: int = 65536,
) -> Iterator[pa.RecordBatch]:
    """Generate trades at about `rate` a second; stock_time is in milliseconds.

    >>> batch = next(stock_trades(3, seed=7))
    >>> batch.num_rows, batch.schema.names
    (3, ['type', 'id', 'name', 'volume', 'price', 'stock_time'])
    """
    _refuse_wrong(events, seed, rate, batch_size)
    _refuse_wrong_symbols(symbols)
    return _cut(_blocks(events, seed, rate, tuple(symbols)), batch_size)


def stock_table(
    events: int, *, seed: int = 0, rate: float = 4800.0, symbols: Sequence[str] = SYMBOLS
) -> pa.Table:
    """Generate trades as one table.

    >>> stock_table(1000).num_rows
    1000
    """
    batches = stock_trades(events, seed=seed, rate=rate, symbols=symbols)
    return pa.Table.from_batches(list(batches), schema=stock_schema())


def _refuse_wrong(events: int, seed: int, rate: float, batch_size: int) -> None:
    least = {"events": (events, 0), "seed": (seed, 0), "batch_size": (batch_size, 1)}
    for name, (value, bound) in least.items():
        if type(value) is not int or value < bound:
            raise ValueError(f"{name} must be an integer of at least {bound}, not {value!r}")
    if not 0 < rate < math.inf:
        raise ValueError(f"rate must be a positive number of events a second, not {rate!r}")


def _refuse_wrong_symbols(symbols: Sequence[str]) -> None:
    if isinstance(symbols, str) or not symbols or not all(symbols):
        raise ValueError(f"symbols must be a list of at least one name, not {symbols!r}")
    if len(set(symbols)) < len(symbols):
        raise ValueError(f"symbols must be different names, not {symbols!r}")


def _blocks(
    events: int, seed: int, rate: float, symbols: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Generate the blocks one after the other; the last one is shortened."""
    schema = stock_schema()
    sides, names = pa.array(["BUY", "SELL"]), pa.array(symbols)
    levels = np.array([round(_level(name) * 100) for name in symbols])
    busy = np.repeat(np.arange(len(symbols)), np.linspace(200, 100, len(symbols)).astype(int))
    walks, clock = np.zeros(len(symbols), np.int64), float(_OPENING)
    for block, start in enumerate(range(0, events, _BLOCK_ROWS)):
        random = np.random.default_rng((seed, block))
        symbol = _draw(busy, random)
        side = random.integers(0, 2, _BLOCK_ROWS)
        volume = _draw(_LOTS, random)
        steps = _draw(_STEPS, random)
        times = clock + np.cumsum(random.exponential(1000.0 / rate, _BLOCK_ROWS))
        walked, walks = _walk(symbol, steps, walks)
        clock = float(times[-1])
        cents = levels[symbol] + _reflect(walked, levels[symbol] // 10)
        columns: list[pa.Array[Any]] = [
            _words(side, sides),
            pa.array(np.arange(start, start + _BLOCK_ROWS)),
            _words(symbol, names),
            pa.array(volume),
            pa.array(cents / 100.0),
            pa.array(times.astype(np.int64)),
        ]
        whole = pa.RecordBatch.from_arrays(columns, schema=schema)
        yield whole.slice(0, min(_BLOCK_ROWS, events - start))


def _draw(deck: _Integers, random: np.random.Generator) -> _Integers:
    return deck[random.integers(0, len(deck), _BLOCK_ROWS)]


def _level(name: str) -> float:
    """Return the price around which a symbol moves; for an unknown one, derived from its name."""
    return _LEVELS.get(name, 5.0 + zlib.crc32(name.encode()) % 12_000 / 100)


def _walk(symbol: _Integers, steps: _Integers, walks: _Integers) -> tuple[_Integers, _Integers]:
    """Advance the random walk of each symbol; return all positions and the last."""
    # Of small integers the stable sort is a radix sort.
    order = np.argsort(symbol.astype(np.min_scalar_type(len(walks))), kind="stable")
    sums = np.cumsum(steps[order])
    ends = np.cumsum(np.bincount(symbol, minlength=len(walks)))
    totals = np.concatenate([[0], sums])[ends]
    before = np.concatenate([[0], totals[:-1]])
    walked = np.empty_like(sums)
    walked[order] = sums + (walks - before)[symbol[order]]
    return walked, walks + totals - before


def _reflect(walked: _Integers, bound: _Integers) -> _Integers:
    """Reflect an unbounded walk into [-bound, bound].

    >>> _reflect(np.array([0, 2, 3, 4, 9]), np.array([3] * 5)).tolist()
    [0, 2, 3, 2, -3]
    """
    folded: _Integers = bound - np.abs((walked + bound) % (4 * bound) - 2 * bound)
    return folded


def _words(codes: _Integers, words: pa.Array[Any]) -> pa.Array[Any]:
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), words)


def _cut(blocks: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Split blocks into batches of one size; the last may be smaller."""
    held: list[pa.RecordBatch] = []
    room = size
    for block in blocks:
        while block.num_rows >= room:
            yield _joined([*held, block.slice(0, room)])
            block, held, room = block.slice(room), [], size
        if block.num_rows:
            held.append(block)
            room -= block.num_rows
    if held:
        yield _joined(held)


def _joined(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(pieces) == 1:
        return pieces[0]
    return pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]
