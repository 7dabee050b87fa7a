"""Symbols of batches whose predicates read strings alone, looked up by the codes of the strings.

Batches of a stream often share their dictionaries. The symbol of an event then follows from the
codes of its type and strings, and a table has it for each combination of codes that has occurred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ensue.predicates.vectors import Strings

_MOST_COMBINATIONS = 1 << 14
"""With more combinations of codes than this there is no table."""

_UNKNOWN = -1


@dataclass(slots=True)
class SymbolTable:
    """The symbols of combinations of codes of some dictionaries."""

    dictionaries: tuple[pa.Array, ...]
    """They are held, so that another dictionary is another object."""
    bits: list[list[int]]
    """[dictionary][code]: the predicates that are true, as bits."""
    numbers: np.ndarray
    """[combination of codes]: its symbol, or UNKNOWN."""

    @classmethod
    def of(
        cls, strings: Sequence[Strings], answers: Callable[[], list[list[int]]]
    ) -> SymbolTable | None:
        """Make a table for the dictionaries of some columns, if they are small enough."""
        size = 1
        for each in strings:
            size *= len(each.distinct)
        if size > _MOST_COMBINATIONS:
            return None
        dictionaries = tuple(each.distinct for each in strings)
        return cls(dictionaries, answers(), np.full(size, _UNKNOWN, np.int32))

    def serves(self, strings: Sequence[Strings]) -> bool:
        """Tell whether columns have the dictionaries of the table."""
        if len(strings) != len(self.dictionaries):
            return False
        for each, known in zip(strings, self.dictionaries, strict=True):
            if each.distinct is not known:
                return False
        return True

    def look_up(self, strings: Sequence[Strings], number: Callable[[int], int]) -> np.ndarray:
        """Return the symbol of every event; `number` gives that of a set of true predicates."""
        places = strings[0].codes
        for each in strings[1:]:
            places = places * np.int32(len(each.distinct)) + each.codes
        symbols: np.ndarray = self.numbers[places]
        if len(symbols) and symbols[symbols.argmin()] == _UNKNOWN:
            # A flag for each combination: sorting or hashing very many events takes far longer.
            occurs = np.zeros(len(self.numbers), bool)
            occurs[places] = True
            for place in np.flatnonzero(occurs & (self.numbers == _UNKNOWN)).tolist():
                self.numbers[place] = number(self._bits_at(place))
            symbols = self.numbers[places]
        return symbols

    def _bits_at(self, place: int) -> int:
        found = 0
        for bits in reversed(self.bits):
            place, code = divmod(place, len(bits))
            found |= bits[code]
        return found
