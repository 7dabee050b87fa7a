"""Places of values and their text, for error messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ensue.errors import EventError


@dataclass(frozen=True, slots=True)
class Place:
    """The places of the values of one column: a row or line number each, with text around it."""

    before: str
    after: str
    numbers: Sequence[int]
    column: str = ""
    depth: int = 0

    def within(self, name: str) -> Place:
        """Step into a column, or into a field of the column."""
        column = f"{self.column}.{name}" if self.depth else name
        return replace(self, column=column, depth=self.depth + 1)

    def of(self, owners: Sequence[int]) -> Place:
        """Return the places of list items, each in the value at an index."""
        numbers = [self.numbers[owner] for owner in owners]
        return replace(self, numbers=numbers, depth=self.depth + 1)

    def only(self, index: int) -> Place:
        """Return the place of one value."""
        return replace(self, numbers=[self.numbers[index]] if len(self.numbers) else [0])

    def error(self, index: int, problem: str) -> EventError:
        """Return the error of the value at an index.

        >>> Place("row ", " of Trades", range(10, 20)).within("price").error(3, "too high")
        EventError("row 13 of Trades, column 'price': too high")
        """
        column = f", column {show(self.column)}" if self.depth else ""
        sentence = f"{self.before}{self.numbers[index]}{self.after}{column}: {problem}"
        return EventError(sentence, index)


def show(value: object) -> str:
    """Return a value as text short enough for a sentence."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"an integer of {math.ceil(value.bit_length() * math.log10(2))} digits"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
