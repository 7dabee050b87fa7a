"""A slow twin of the kernels: runs a determinised machine over events, every run on its own."""

from __future__ import annotations

from collections.abc import Sequence

from ensue.analysis.expressions import Attribute, EventType, Value
from ensue.automata.compiled import AtStart, Compiled, Predicate, TypeTest
from ensue.automata.determine import START, Determined
from ensue.logic.complex_event import ComplexEvent, Event
from ensue.logic.evaluate import evaluate


def symbol_of(compiled: Compiled, event: Event, position: int) -> int:
    """Return what the predicates say about an event, as bits."""
    return sum(
        1 << number
        for number, predicate in enumerate(compiled.predicates)
        if _holds(predicate, event, position)
    )


def _holds(predicate: Predicate, event: Event, position: int) -> bool:
    match predicate:
        case TypeTest(type=kind, stream=stream):
            return kind in (None, event.type) and stream in (None, event.stream)
        case AtStart():
            return position == 0
        case _:

            def lookup(name: Attribute | EventType) -> Value:
                return event.type if isinstance(name, EventType) else event.value(name.path)

            return evaluate(predicate, lookup) is True


def simulate(
    compiled: Compiled, stream: Sequence[Event], determined: Determined | None = None
) -> list[ComplexEvent]:
    """Return the complex events of all accepting runs, one for each run."""
    determined = determined or Determined(compiled)
    symbols = [symbol_of(compiled, event, i) for i, event in enumerate(stream)]
    found: list[ComplexEvent] = []
    runs: list[tuple[int, int, tuple[tuple[int, int], ...]]] = []
    for position, symbol in enumerate(symbols):
        after = []
        for start, state, labels in [*runs, (position, START, ())]:
            for label, final, target in determined.step(state, symbol):
                word = (*labels, (position, label)) if label else labels
                if final:
                    found.append(_complex_event(compiled, start, position, word))
                if target >= 0:
                    after.append((start, target, word))
        runs = after
    return found


def _complex_event(
    compiled: Compiled, start: int, end: int, word: tuple[tuple[int, int], ...]
) -> ComplexEvent:
    return ComplexEvent(
        start,
        end,
        frozenset(
            (name, position)
            for position, label in word
            for bit, name in enumerate(compiled.variables)
            if label >> bit & 1
        ),
    )
