"""Orders and trades of some stocks, with a trader who bluffs."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from examples.story import Clock, table


def market(count: int, seed: int) -> pa.Table:
    """Generate trades whose prices walk; a bluff is a large order, a trade, and a cancellation."""
    chance = random.Random(seed)
    clock = Clock(chance, 0.5)
    prices = {"AMZN": 180.0, "INTC": 30.0, "MSFT": 400.0}
    events, order = [], 0
    while len(events) < count:
        at, stock, order = clock.tick(), chance.choice(list(prices)), order + 1
        prices[stock] = round(prices[stock] * (1 + chance.gauss(0, 0.001)), 2)
        trader = f"t{chance.randrange(20)}"
        trade = {"type": "TRADE", "stock": stock, "trader": trader, "price": prices[stock]}
        events.append({**trade, "side": chance.choice(["BUY", "SELL"]), "volume": 100, "at": at})
        if chance.random() < 1 / 200:
            bluff = {"stock": stock, "trader": trader, "order": order, "side": "BUY"}
            steps = [
                {"type": "ORDER", **bluff, "price": prices[stock], "volume": 50_000},
                {**trade, "side": "SELL", "volume": 300},
                {"type": "CANCEL", **bluff},
            ]
            for number, step in enumerate(steps, 1):
                events.append({**step, "at": at + timedelta(milliseconds=100 * number)})
    return table(events)
