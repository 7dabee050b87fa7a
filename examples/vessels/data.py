"""Positions of vessels: some meet at sea, some fall silent."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from examples.story import Clock, table


def positions(count: int, seed: int) -> pa.Table:
    """Generate a report of each vessel every ten minutes; a cell is a square of the map."""
    chance = random.Random(seed)
    clock = Clock(chance, 5.0)
    fleet = [f"v{n:02}" for n in range(40)]
    cells = {vessel: chance.randrange(1000) for vessel in fleet}
    silent: dict[str, int] = {}
    events, turn = [], 0
    while len(events) < count:
        turn += 1
        met = {}
        if chance.random() < 0.2:  # two vessels stop in one cell
            met = dict.fromkeys(chance.sample(fleet, 2), chance.randrange(1000, 2000))
        if chance.random() < 0.2:  # one is silent for some hours
            silent[chance.choice(fleet)] = turn + 18
        for vessel in fleet:
            if silent.get(vessel, 0) > turn:
                continue
            speed = 0.4 if vessel in met else round(chance.uniform(4, 18), 1)
            cell = met.get(vessel, cells[vessel])
            report = {"type": "POSITION", "vessel": vessel, "cell": cell, "speed": speed}
            events.append({**report, "at": clock.tick()})
            cells[vessel] = (cells[vessel] + chance.choice([-1, 0, 1])) % 1000
        clock.now += timedelta(minutes=6)
    return table(events)
