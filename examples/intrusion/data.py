"""SSH and process logs of some servers, with a few break-ins."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from examples.story import Clock, table


def logs(count: int, seed: int) -> pa.Table:
    """Generate logins and processes; a break-in guesses a password, or starts a shell."""
    chance = random.Random(seed)
    clock = Clock(chance, 1.5)
    hosts = [f"web{n}" for n in range(1, 6)]
    events, pid = [], 1000
    while len(events) < count:
        at, host, pid = clock.tick(), chance.choice(hosts), pid + 2
        user = chance.choice(["ann", "bob", "eve", "root"])
        login = {"host": host, "user": user}
        if chance.random() < 1 / 400:
            times = [at + timedelta(seconds=second) for second in range(chance.randint(5, 7))]
            events += [{"type": "SSH_FAILED", **login, "at": each} for each in times]
            events.append({"type": "SSH_OK", **login, "at": at + timedelta(seconds=9)})
        elif chance.random() < 1 / 400:
            server = {"name": "nginx", "pid": pid, "parent": 1}
            shell = {"name": "sh", "pid": pid + 1, "parent": pid}
            for second, process in enumerate((server, shell)):
                event = {"type": "PROCESS", "host": host, "process": process}
                events.append({**event, "at": at + timedelta(seconds=second)})
        elif chance.random() < 0.3:
            failed = chance.random() < 0.1
            events.append({"type": "SSH_FAILED" if failed else "SSH_OK", **login, "at": at})
        else:
            name = chance.choice(["cron", "nginx", "python", "sh"])
            process = {"name": name, "pid": pid, "parent": 1}
            events.append({"type": "PROCESS", "host": host, "process": process, "at": at})
    return table(events)
