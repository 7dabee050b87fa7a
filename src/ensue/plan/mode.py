"""How queries are to be evaluated, as far as callers choose it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensue.options import Limits


@dataclass(frozen=True, slots=True)
class ExecutionMode:
    """How queries are evaluated."""

    positions_only: bool = False
    limits: Limits = field(default_factory=Limits)
    by_definition: bool = False
    """Evaluate by the definition of the semantics, not by an automaton."""
    defers: bool = False
    """Decide conditions as matches are listed: for values that no register can hold."""
    late: frozenset[str] = frozenset()
    """The texts of conditions that are decided so though registers might hold their values."""
    compact_always: bool = False
    """Compact the match graph after every step: for tests."""
    warns: bool = True
    """Warn when many events are evaluated by definition."""
    silent: bool = False
    """Warn of nothing: for queries that are not the user's own."""
    exact: bool = False
    """Give counts of any size."""
    threads: int = 1
    """How many threads may evaluate a large batch of events."""
