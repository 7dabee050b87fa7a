"""What Spark does before Python sees an event: predicates, and leaving out what cannot matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ensue.analysis.schema import AttributePath
from ensue.automata.compiled import Predicate
from ensue.automata.relevance import needed
from ensue.predicates.spark_literals import column, string
from ensue.predicates.spark_sql import Writer
from ensue.predicates.vectors import UnsupportedError, path_column
from ensue.spark.program import Program

_MOST_PREDICATES = 62
"""So many answers fit into one number."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """Predicates that Spark evaluates, and which events it keeps."""

    texts: dict[Predicate, str] = field(default_factory=dict)
    """In the order of their bits."""
    left: dict[Predicate, str] = field(default_factory=dict)
    """Those that Python evaluates, and why."""
    keep: str | None = None
    """What holds for all events that can matter; None: all are kept."""

    def given(self, program: Program) -> dict[int, int]:
        """Return the bits of a program's predicates by their numbers."""
        if program.automaton is None:
            return {}
        bits = {predicate: bit for bit, predicate in enumerate(self.texts)}
        every = enumerate(program.automaton.predicates)
        return {number: bits[predicate] for number, predicate in every if predicate in bits}

    def columns_read(self, program: Program) -> list[str]:
        """List the columns that a program still needs."""
        return program.columns_read(
            frozenset() if program.automaton is None else frozenset(self.texts)
        )

    def packed(self) -> str:
        """Write all answers as one number."""
        return " + ".join(
            f"if({text}, {1 << bit}L, 0L)" for bit, text in enumerate(self.texts.values())
        )


NOTHING_PUSHED = Pushed()


def pushed(programs: Sequence[Program]) -> Pushed:
    """Decide what Spark evaluates for some programs on the same events."""
    texts: dict[Predicate, str] = {}
    left: dict[Predicate, str] = {}
    writer = _writer(programs[0])
    for program in programs:
        for predicate in () if program.automaton is None else program.automaton.predicates:
            if predicate in texts or predicate in left:
                continue
            try:
                text = writer.holds(predicate)
            except UnsupportedError as error:
                left[predicate] = str(error)
                continue
            if len(texts) < _MOST_PREDICATES:
                texts[predicate] = text
            else:
                left[predicate] = "there are too many predicates"
    kept = [_kept(program, texts) for program in programs]
    known = [text for text in kept if text is not None]
    keep = " OR ".join(dict.fromkeys(known)) if len(known) == len(kept) else None
    return Pushed(texts, left, keep)


def _kept(program: Program, texts: dict[Predicate, str]) -> str | None:
    """Write which events can matter to a program; None: all of them."""
    if program.automaton is None or program.bound.counts_events or program.deadlines:
        return None
    compiled = program.automaton
    sets = needed(compiled)
    if sets is None:
        return None
    choices = []
    for numbers in sorted(sets, key=sorted):
        known = [
            texts[predicate]
            for predicate in (compiled.predicates[number] for number in sorted(numbers))
            if predicate in texts
        ]
        if not known:
            return None
        choices.append(" AND ".join(known))
    return " OR ".join(f"({choice})" for choice in choices) if choices else "FALSE"


def _writer(program: Program) -> Writer:
    empty = program.columns.empty_table()

    def type_at(path: AttributePath) -> object:
        found = path_column(empty, path)
        return None if found is None else found.type

    path = program.type_path
    return Writer(type_at, string(program.sources[0]) if path is None else column(path))
