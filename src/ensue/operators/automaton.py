"""The automaton of a plan, and what operators have worked out of it.

Cells of the deterministic automaton are worked out when events ask for them, which for a short
stream takes longer than reading the events. So an operator that has come to its end leaves them to
those that are opened later for the same plan. They get copies: operators on several threads share
nothing that changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ensue.automata.compiled import Compiled
from ensue.automata.determine import Determined
from ensue.automata.relevance import Needed, Relevance, relevance
from ensue.kernels.tables import Table
from ensue.predicates.symbols import Alphabet

_MOST_KEPT_STATES, _MOST_KEPT_SYMBOLS = 2_000, 2_000
"""Larger automata are worked out anew: copying them would take long, keeping them much room."""


@dataclass(slots=True)
class Automaton:
    """A compiled formula, and what is known of its deterministic automaton."""

    compiled: Compiled
    _alphabet: Alphabet | None = None
    _table: Table | None = None
    _relevance: Relevance | None = None

    def open(
        self, most_states: int, given: Mapping[int, int] | None = None, *, merging: bool = True
    ) -> tuple[Alphabet, Table]:
        """Return symbols and table for one operator; those of one plan ask alike."""
        alphabet, table = self._alphabet, self._table
        if alphabet is None or table is None or given:
            determined = Determined(self.compiled, most_states)
            return Alphabet(self.compiled.predicates, given or {}), Table(determined, merging)
        return alphabet.copied(), table.copied()

    def keep(self, alphabet: Alphabet, table: Table) -> None:
        """Keep what an operator that reads no more events has worked out."""
        states, symbols = table.determined.size, len(alphabet.bits)
        known = 0 if self._alphabet is None else len(self._alphabet.bits)
        if known <= symbols <= _MOST_KEPT_SYMBOLS and states <= _MOST_KEPT_STATES:
            # Nobody reads the two before both are there.
            self._table = None
            self._alphabet = alphabet
            self._table = table

    @property
    def needed(self) -> Needed | None:
        """What must hold for an event to be relevant; None: any event may be."""
        return self._relevant.needed

    @property
    def necessary(self) -> frozenset[int]:
        """Predicates each of which holds for some event of every match."""
        return self._relevant.necessary

    @property
    def _relevant(self) -> Relevance:
        if self._relevance is None:
            self._relevance = relevance(self.compiled)
        return self._relevance
