"""Pictures of automata: Graphviz and Mermaid, edges labelled by predicates.

An edge names just the predicates that matter there (see explore.py), and what registers must
satisfy; waiting is not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice

from ensue.automata.build import Compiled, TypeTest
from ensue.automata.determine import START, Determined
from ensue.automata.explore import Answers, explore, prospects
from ensue.automata.words import predicate_text

MOST_STATES = 60
"""Larger automata are drawn as far as this, with a note."""

_MOST_PREDICATES = 200
"""Automata with more are not drawn at all."""

_MOST_ANSWERS = 300
"""Of a state that asks for more combinations of predicates, so many are drawn."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A step from one state to another; target -1 is an end without a way on."""

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
            "to_dot() and to_mermaid() draw it)"
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

    def to_mermaid(self) -> str:
        """Write the automaton for Mermaid."""
        lines = ["flowchart LR", "  start((start))", "  match(((match)))"]
        lines += [f"  q{state}(({state}))" for state in self._drawn_states()]
        for source, target, texts in self._drawn():
            label = "<br>".join(text.replace('"', "#quot;") for text in texts)
            lines.append(f'  {source} -->|"{label}"| {target}')
        return "\n".join(lines)

    def _drawn_states(self) -> list[int]:
        """Return the states that an arrow leads to, but for the start and the end."""
        return sorted({edge.target for edge in self.edges if edge.target > START})

    def _drawn(self) -> list[tuple[str, str, list[str]]]:
        """Return the arrows, those with the same ends together."""
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


def draw(compiled: Compiled, most_states: int = MOST_STATES) -> Drawing:
    """Explore the deterministic automaton of a machine."""
    if len(compiled.predicates) > _MOST_PREDICATES:
        return Drawing(1, (), complete=False)
    determined = Determined(compiled)
    ahead = prospects(compiled, determined)
    hopeless = frozenset() if ahead is None else ahead.hopeless
    explorer = _Explorer(compiled, determined)
    state = 0
    while state < min(determined.size, most_states):
        explorer.visit(state)
        state += 1
    edges = [
        edge if edge.target not in hopeless else replace(edge, target=-1)
        for edge in explorer.edges
        if edge.target < state and edge.source not in hopeless
    ]
    edges = [edge for edge in edges if edge.final or edge.target >= 0]
    return Drawing(state, tuple(edges), complete=state == determined.size)


@dataclass(slots=True)
class _Explorer:
    compiled: Compiled
    determined: Determined
    edges: list[Edge] = field(default_factory=list)

    def visit(self, state: int) -> None:
        """Find the edges of a state; what only waits is left out."""
        found: dict[tuple[int, int, bool], list[Answers]] = {}
        steps = explore(self.compiled, self.determined, state)
        for answers, cell in islice(steps, _MOST_ANSWERS):
            for step in cell:
                if step.label or step.final or step.state != state:
                    key = (step.state, step.label, step.final)
                    found.setdefault(key, []).append(answers)
        for (target, label, final), every in found.items():
            for answers in _merged(every):
                conditions = self._words(answers)
                self.edges.append(Edge(state, target, self._names(label), final, conditions))

    def _words(self, answers: Answers) -> tuple[str, ...]:
        predicates = self.compiled.predicates
        yes = [predicates[number] for number, answer in answers if answer]
        typed = any(isinstance(each, TypeTest) for each in yes)
        words = [predicate_text(each) for each in yes]
        for number, answer in answers:
            predicate = predicates[number]
            if not answer and not (typed and isinstance(predicate, TypeTest)):
                words.append(f"not {predicate_text(predicate)}")
        return tuple(words)

    def _names(self, label: int) -> str:
        bound = [name for bit, name in enumerate(self.compiled.variables) if label >> bit & 1]
        return ", ".join(bound)


def _merged(every: list[Answers]) -> list[Answers]:
    """Drop answers that do not matter: two lists that differ in one answer become one."""
    pending = {frozenset(answers) for answers in every}
    changed = True
    while changed:
        changed = False
        for answers in sorted(pending, key=sorted):
            for number, answer in answers:
                twin = answers - {(number, answer)} | {(number, not answer)}
                if twin in pending:
                    pending -= {answers, twin}
                    pending.add(answers - {(number, answer)})
                    changed = True
                    break
            if changed:
                break
    return [tuple(sorted(answers)) for answers in sorted(pending, key=sorted)]
