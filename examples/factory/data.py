"""Readings of machines: some overheat, some sensors fall silent."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from examples.story import Clock, table


def readings(count: int, seed: int) -> pa.Table:
    """Generate a reading of each machine every minute, and alarms of those that overheat."""
    chance = random.Random(seed)
    clock = Clock(chance, 1.0)
    machines = {f"m{n:02}": 60.0 for n in range(30)}
    heating: dict[str, int] = {}
    silent: dict[str, int] = {}
    events, minute = [], 0
    while len(events) < count:
        minute += 1
        if chance.random() < 0.4:
            heating[chance.choice(list(machines))] = 5
        if chance.random() < 0.1:
            silent[chance.choice(list(machines))] = minute + 8
        for machine, warm in machines.items():
            if silent.get(machine, 0) > minute:
                continue
            hot = heating.get(machine, 0)
            degrees = warm + (6 - hot) * 9 + chance.random() if hot else warm + chance.gauss(0, 2)
            at = clock.tick()
            read = {"type": "READING", "machine": machine, "degrees": round(degrees, 1), "at": at}
            events.append(read)
            if hot:
                heating[machine] = hot - 1
                if hot == 1:
                    kind = chance.choice(["VIBRATION", "VIBRATION", "SERVICE"])
                    event = {"type": kind, "machine": machine, "at": at + timedelta(seconds=5)}
                    events.append(event)
        clock.now += timedelta(seconds=30)
    return table(events)
