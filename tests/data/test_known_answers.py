"""Queries of [CORE] on real streams, whose answers were counted twice, independently."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import ensue

S3 = """
    SELECT * FROM S
    WHERE (SELL AS T1 ; BUY AS T2 ; BUY AS T3)
    FILTER T1[name = 'INTC'] AND T2[name = 'RIMM'] AND T3[name = 'QQQ']
    WITHIN 10000 [stock_time]
"""
Q1 = """
    SELECT * FROM S
    WHERE (SELL AS msft ; BUY AS oracle ; BUY AS csco ; SELL AS amat)
    FILTER msft[name = 'MSFT'] AND oracle[name = 'ORCL'] AND
           csco[name = 'CSCO'] AND amat[name = 'AMAT']
    WITHIN 10000 [stock_time]
"""
Q3 = Q1.replace("WITHIN", "PARTITION BY [volume] WITHIN")
H3 = """
    SELECT * FROM S
    WHERE (LOAD AS L1 ; LOAD AS L2 ; LOAD AS L3) AS L
    FILTER L[value > 76] AND
           L1[household_id = 0] AND L2[household_id = 2] AND L3[household_id = 4]
    WITHIN 9 [plug_timestamp]
"""
T3 = """
    SELECT * FROM S
    WHERE (TRIP AS loc1 ; TRIP AS loc2 ; TRIP AS loc3)
    FILTER loc1[pickup_zone = 'East Harlem North' AND dropoff_zone = 'Midwood'] AND
           loc2[pickup_zone = 'Midwood' AND dropoff_zone = 'Gravesend'] AND
           loc3[pickup_zone = 'Gravesend' AND dropoff_zone = 'West Brighton']
    WITHIN 999 [dropoff_datetime]
"""


class Known(NamedTuple):
    """A query, the file and the time column of its stream, and what it must find there."""

    query: str
    file: str
    time: str
    completing: int | None
    """How many events complete a match, where that was counted too."""
    matches: int


STOCK = ("stock.csv.gz", "stock_time")
ANSWERS = {
    "S3": Known(S3, *STOCK, 6_511, 346_052),
    "S3 consumed": Known(f"{S3} CONSUME BY ANY", *STOCK, 851, 21_541),
    "Q1": Known(Q1, *STOCK, 1_078, 1_148_028),
    "Q3": Known(Q3, *STOCK, 29, 291),
    "H3": Known(H3, "smart_homes.csv.gz", "plug_timestamp", None, 399_498),
    "T3": Known(T3, "taxi_trips.csv.gz", "dropoff_datetime", None, 26_663),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_known_answer_is_found(name: str, data_folder: Path) -> None:
    known = ANSWERS[name]
    query = ensue.compile(known.query)
    matches = query.run(data_folder / known.file, type="event_type", time=known.time)
    assert matches.count == known.matches
    table = matches.to_arrow()
    assert table.num_rows == known.matches
    if known.completing is not None:
        assert len(table["end"].unique()) == known.completing
