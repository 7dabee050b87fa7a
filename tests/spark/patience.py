"""Streams on a machine so busy that Spark gives up on its own Python workers.

Spark gives the worker that prepares a stateful stream ten seconds to start, and has no setting for
it. A stream that failed for that reason is started again, and goes on from its checkpoint.
"""

from __future__ import annotations

from typing import Any

from pyspark.errors import StreamingQueryException

from tests.waiting import PATIENCE

TOO_SLOW = "Python worker failed to connect back"
TRIES = 20


def finished(stream: Any) -> list[Any]:
    """Start a stream, wait for its end, and return its progress."""
    progress: list[Any] = []
    for _ in range(TRIES):
        query = stream.start()
        try:
            assert query.awaitTermination(PATIENCE)
        except StreamingQueryException as error:
            if TOO_SLOW not in str(error):
                raise
        else:
            return [*progress, *query.recentProgress]
        progress += query.recentProgress
    raise AssertionError(f"in {TRIES} tries no Python worker started in time")


FINISH = f"""
for _ in range({TRIES}):
    try:
        assert stream.start().awaitTermination({PATIENCE})
        break
    except Exception as error:
        if {TOO_SLOW!r} not in str(error):
            raise
else:
    raise AssertionError("no Python worker started in time")
"""
"""The same for a program in a process of its own, with a writer called `stream`."""
