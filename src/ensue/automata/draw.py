"""Drawings of automata as SVG, for Graphviz and for Mermaid, edges labelled by predicates.

An edge names the predicates that its transition depends on (see explore.py) and the conditions on
registers; loops that wait for an event are not drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice

from ensue.automata.compiled import Compiled, TypeTest
from ensue.automata.determine import START, Determined
from ensue.automata.draw_svg import draw_svg
from ensue.automata.explore import Values, explore, look_ahead
from ensue.automata.words import predicate_text
from ensue.drawing.svg import Picture

MOST_STATES = 60
"""Of larger automata, so many states are drawn, with a note."""

_MOST_PREDICATES = 200
"""Automata with more are not drawn at all."""

_MOST_COMBINATIONS = 300
"""Of a state with more combinations of values of predicates, so many are drawn."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A step from one state to another; target -1: the run ends."""

    source: int
    target: int
    label: str
    final: bool
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The deterministic automaton of a query, as far as it was explored."""

    states: int
    edges: tuple[Edge, ...]
    complete: bool

    def __repr__(self) -> str:
        more = "" if self.complete else " or more"
        return (
            f"Automaton({self.states} states{more}, {len(self.edges)} edges; "
            "to_svg(), to_dot() and to_mermaid() draw it)"
        )

    def to_dot(self) -> str:
        """Write the automaton for Graphviz."""
        lines = ["digraph automaton {", "  rankdir=LR;", '  node [shape=circle, label=""];']
        lines.append('  start [label="start"];')
        lines.append('  match [shape=doublecircle, label="match"];')
        lines += [f'  q{state} [label="{state}"];' for state in self._drawn_states()]
        for source, target, texts in self._drawn():
            label = "\\n".join(text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
            lines.append(f'  {source} -> {target} [label="{label}"];')
        return "\n".join([*lines, "}"])

    def to_svg(self, alive: Iterable[int] = ()) -> Picture:
        """Draw the automaton; the states that are `alive`, by their numbers, are lit up.

        The start has the number 0.
        """
        lit = {"start" if state == START else f"q{state}" for state in alive}
        states = [f"q{state}" for state in self._drawn_states()]
        return draw_svg(states, self._drawn(), lit, self.complete)

    def _repr_svg_(self) -> str:
        return str(self.to_svg())

    def to_mermaid(self) -> str:
        """Write the automaton for Mermaid."""
        lines = ["flowchart LR", "  start((start))", "  match(((match)))"]
        lines += [f"  q{state}(({state}))" for state in self._drawn_states()]
        for source, target, texts in self._drawn():
            label = "<br>".join(text.replace('"', "#quot;") for text in texts)
            lines.append(f'  {source} -->|"{label}"| {target}')
        return "\n".join(lines)

    def _drawn_states(self) -> list[int]:
        """Return the states that an edge leads to, except the start and the end."""
        return sorted({edge.target for edge in self.edges if edge.target > START})

    def _drawn(self) -> list[tuple[str, str, list[str]]]:
        """Return the edges, those between the same states merged."""
        arrows: dict[tuple[str, str], list[str]] = {}
        for edge in self.edges:
            source = "start" if edge.source == START else f"q{edge.source}"
            text = " and ".join(edge.conditions) or "any event"
            text += f" / {edge.label}" if edge.label else ""
            targets = ["match"] if edge.final else []
            targets += [f"q{edge.target}"] if edge.target >= 0 else []
            for target in targets:
                arrows.setdefault((source, target), []).append(text)
        return [(source, target, texts) for (source, target), texts in arrows.items()]


def draw(
    compiled: Compiled, most_states: int = MOST_STATES, determined: Determined | None = None
) -> Drawing:
    """Explore the deterministic automaton of a machine; `determined` has its numbers of states."""
    if len(compiled.predicates) > _MOST_PREDICATES:
        return Drawing(1, (), complete=False)
    determined = determined or Determined(compiled)
    ahead = look_ahead(compiled, determined)
    dead = frozenset() if ahead is None else ahead.dead
    explorer = _Explorer(compiled, determined)
    state = 0
    while state < min(determined.size, most_states):
        explorer.visit(state)
        state += 1
    edges = [
        edge if edge.target not in dead else replace(edge, target=-1)
        for edge in explorer.edges
        if edge.target < state and edge.source not in dead
    ]
    edges = [edge for edge in edges if edge.final or edge.target >= 0]
    # In which order predicates are asked depends on the hashes of names.
    edges.sort(key=lambda edge: (edge.source, edge.final, edge.target, edge.label, edge.conditions))
    return Drawing(state, tuple(edges), complete=state == determined.size)


@dataclass(slots=True)
class _Explorer:
    compiled: Compiled
    determined: Determined
    edges: list[Edge] = field(default_factory=list)

    def visit(self, state: int) -> None:
        """Return the edges of a state without waiting loops."""
        found: dict[tuple[int, int, bool], list[Values]] = {}
        steps = explore(self.compiled, self.determined, state)
        for values, cell in islice(steps, _MOST_COMBINATIONS):
            for step in cell:
                if step.label or step.final or step.state != state:
                    key = (step.state, step.label, step.final)
                    found.setdefault(key, []).append(values)
        for (target, label, final), every in found.items():
            for values in _merged(every):
                conditions = self._words(values)
                self.edges.append(Edge(state, target, self._names(label), final, conditions))

    def _words(self, values: Values) -> tuple[str, ...]:
        predicates = self.compiled.predicates
        yes = [predicates[number] for number, value in values if value]
        typed = any(isinstance(each, TypeTest) for each in yes)
        words = [predicate_text(each) for each in yes]
        for number, value in values:
            predicate = predicates[number]
            if not value and not (typed and isinstance(predicate, TypeTest)):
                words.append(f"not {predicate_text(predicate)}")
        return tuple(words)

    def _names(self, label: int) -> str:
        bound = [name for bit, name in enumerate(self.compiled.variables) if label >> bit & 1]
        return ", ".join(sorted(bound))


def _merged(every: list[Values]) -> list[Values]:
    """Merge edges: two lists of values that differ in one predicate become one without it."""
    pending = {frozenset(values) for values in every}
    changed = True
    while changed:
        changed = False
        for values in sorted(pending, key=sorted):
            for number, value in values:
                twin = values - {(number, value)} | {(number, not value)}
                if twin in pending:
                    pending -= {values, twin}
                    pending.add(values - {(number, value)})
                    changed = True
                    break
            if changed:
                break
    return [tuple(sorted(values)) for values in sorted(pending, key=sorted)]
