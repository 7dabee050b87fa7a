"""Card payments, some of them with stolen cards."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from examples.story import Clock, table


def payments(count: int, seed: int) -> pa.Table:
    """Generate payments: now and then a card is tried with small amounts, then used."""
    chance = random.Random(seed)
    clock = Clock(chance, 2.0)
    homes = {f"card{n:04}": chance.choice(["BE", "CL", "FR"]) for n in range(max(count // 25, 4))}
    events = []
    while len(events) < count:
        at, card = clock.tick(), chance.choice(list(homes))
        pay = {"type": "PAY", "card": card, "country": homes[card]}
        if chance.random() < 1 / 100:
            small = [round(chance.uniform(0.5, 1.9), 2) for _ in range(chance.randint(2, 3))]
            abroad = chance.choice([homes[card], "US"])
            for minute, amount in enumerate(small):
                events.append({**pay, "amount": amount, "at": at + timedelta(minutes=minute)})
            stolen = {**pay, "country": abroad, "amount": round(chance.uniform(600, 2000), 2)}
            events.append({**stolen, "at": at + timedelta(minutes=len(small) + 1)})
        else:
            events.append({**pay, "amount": round(chance.lognormvariate(3, 0.8) + 2, 2), "at": at})
    return table(events)
