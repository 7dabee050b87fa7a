"""ensue demo: something to look at."""

from __future__ import annotations

from ensue.cli.commands.demo import QUERY
from tests.cli.command import ensue


def test_the_demo_shows_query_matches_and_what_next() -> None:
    outcome = ensue("demo")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith(QUERY)
    assert "27..43     27  sale      SELL   27  MSFT    1500  25.98    34200008" in outcome.stdout
    assert "… and 68 more" in outcome.stdout
    assert "73 matches in 2,000 events" in outcome.stdout
    assert "Try next:" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_a_demo_that_finds_nothing() -> None:
    outcome = ensue("demo", "--events", 0)
    assert outcome.code == 0
    assert "no matches in no events" in outcome.stdout
