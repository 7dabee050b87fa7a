"""Clicks in a shop: visits that end with a purchase, and baskets that are left."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from examples.story import Clock, table


def clicks(count: int, seed: int) -> pa.Table:
    """Generate visits: a view, perhaps a basket, perhaps a payment."""
    chance = random.Random(seed)
    clock = Clock(chance, 4.0)
    events, visitor = [], 0
    while len(events) < count:
        at, visitor = clock.tick(), visitor + 1
        visit = {"visitor": f"u{visitor}", "campaign": chance.choice(["mail", "search", None])}
        steps = [("VIEW", None)] * chance.randint(1, 4)
        if chance.random() < 0.4:
            price = round(chance.uniform(5, 200), 2)
            steps.append(("CART", price))
            if chance.random() < 0.6:
                steps.append(("PAY", price))
        for kind, price in steps:
            at += timedelta(seconds=chance.randint(5, 120))
            events.append({"type": kind, **visit, "price": price, "at": at})
    return table(events)
