"""Runs of the automaton followed event by event, for those who want to watch.

Runs with the same key, start, state and contents of registers are one configuration, which knows
how many runs it stands for and the labels of one. So the number of configurations follows the
number of starts, however many ways there are to choose events. The kernels share more (one
configuration for all starts); here every start is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ensue.automata.determine import START, Determined
from ensue.automata.explore import look_ahead
from ensue.automata.registers import EMPTY, NULL, Act, Guard, RegisterPlan

Consumption = Literal["NONE", "ANY", "PARTITION"]


class Observed(NamedTuple):
    """An event as the automaton sees it."""

    symbol: int
    """The predicates that hold, as bits."""
    key: int
    """The number of its partition; negative: it takes no part."""
    clock: int
    """What windows are measured on."""
    values: tuple[int, ...] = ()
    """What conditions between events compare, by column of the register plan."""


class Configuration(NamedTuple):
    """Runs that cannot be told apart from here on."""

    key: int
    start: int
    """The number of the event where they began."""
    state: int
    registers: tuple[int, ...]


class Shared(NamedTuple):
    """How many runs share a configuration, and the numbers and labels of the events of one."""

    runs: int
    word: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class TraceStep:
    """What one event did, in numbers of runs, and what is alive after it."""

    started: bool = False
    """Whether a run began with it."""
    bound: dict[int, int] = field(default_factory=dict)
    """By label: runs that took it, those that began with it included."""
    completed: int = 0
    """Runs that ended in a match."""
    example: tuple[tuple[int, int], ...] = ()
    """The word of one of these."""
    expired: int = 0
    """Runs whose window was over."""
    stopped: int = 0
    """Runs that no step takes on."""
    refused: int = 0
    """Runs that conditions between events, or windows inside the pattern, keep from all steps."""
    consumed: int = 0
    """Runs that were forgotten, because the event completed a match."""
    alive: dict[Configuration, Shared] = field(default_factory=dict)

    @property
    def states(self) -> frozenset[int]:
        """The states of runs that are alive, and the start."""
        return frozenset({START, *(each.state for each in self.alive)})


class TraceWindow(NamedTuple):
    """The window of a query."""

    length: int
    within_keys: bool
    """Whether it counts the events of a partition: those of others do not move its clock."""


@dataclass(slots=True)
class Tracer:
    """Follows all runs of an automaton."""

    determined: Determined
    window: TraceWindow | None = None
    consume: Consumption = "NONE"
    most_moves: int = 100_000
    """After so many moves of configurations the trace ends."""
    moves: int = 0
    _future: list[int] = field(default_factory=list)
    _clocks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        ahead = look_ahead(self.determined.compiled, self.determined)
        if ahead is not None:
            self.determined.dead = ahead.dead
            self._future = ahead.bits

    def steps(self, events: Sequence[Observed], completes: frozenset[int]) -> Iterator[TraceStep]:
        """Yield what each event does, as far as `most_moves` goes.

        Args:
            events: the stream.
            completes: the numbers of events that complete matches, for CONSUME BY.
        """
        alive: dict[Configuration, Shared] = {}
        for number, event in enumerate(events):
            step = self._step(number, event, alive)
            if number in completes and self.consume != "NONE":
                _consume(step, event.key, self.consume)
            if self.moves > self.most_moves:
                return
            alive = step.alive
            yield step

    def _step(self, number: int, event: Observed, before: dict[Configuration, Shared]) -> TraceStep:
        step = TraceStep()
        self._clocks.append(event.clock)
        fresh = Configuration(event.key, number, START, (EMPTY,) * self._plan.registers)
        if event.key >= 0:
            self._move(step, number, event, fresh, Shared(1, ()))
        for configuration, shared in before.items():
            if self._is_over(configuration, event):
                step.expired += shared.runs
            elif configuration.key != event.key:
                _keep(step, configuration, shared)
            else:
                self._move(step, number, event, configuration, shared)
        return step

    def _move(
        self,
        step: TraceStep,
        number: int,
        event: Observed,
        configuration: Configuration,
        shared: Shared,
    ) -> None:
        self.moves += 1
        went = False
        cell = self.determined.step(configuration.state, event.symbol)
        for label, final, target in cell:
            if not self._allowed(label, event, configuration):
                continue
            went = True
            word = (*shared.word, (number, label)) if label else shared.word
            if label:
                step.bound[label] = step.bound.get(label, 0) + shared.runs
            if final:
                step.completed += shared.runs
                step.example = step.example or word
            if target >= 0:
                registers = self._put(label, target, event, configuration.registers)
                after = configuration._replace(state=target, registers=registers)
                _keep(step, after, Shared(shared.runs, word))
        if configuration.state == START:
            step.started = went
        elif not went and cell:
            step.refused += shared.runs
        elif not went:
            step.stopped += shared.runs

    @property
    def _plan(self) -> RegisterPlan:
        return self.determined.compiled.plan

    def _is_over(self, configuration: Configuration, event: Observed) -> bool:
        window = self.window
        if window is None or (window.within_keys and configuration.key != event.key):
            return False
        return self._clocks[configuration.start] < event.clock - window.length

    def _allowed(self, label: int, event: Observed, configuration: Configuration) -> bool:
        began = self._clocks[configuration.start]
        for clip in self._plan.clips:
            if label & clip.bit and began < event.clock - clip.length:
                return False
        return all(
            _holds(guard, event.values[guard.column], configuration.registers)
            for guard in self._plan.guards(label)
        )

    def _put(
        self, label: int, target: int, event: Observed, registers: tuple[int, ...]
    ) -> tuple[int, ...]:
        if not registers:
            return registers
        future = self._future[target] if target < len(self._future) else None
        acts = self._plan.actions(label, future)
        return tuple(
            _content(act, event.values[column] if act not in ("keep", "clear") else 0, content)
            for (act, column), content in zip(acts, registers, strict=True)
        )


def _keep(step: TraceStep, configuration: Configuration, shared: Shared) -> None:
    """Add runs to what is alive; of several words the one with more events is shown."""
    known = step.alive.get(configuration)
    if known is not None:
        word = max(known.word, shared.word, key=len)
        shared = Shared(known.runs + shared.runs, word)
    step.alive[configuration] = shared


def _consume(step: TraceStep, key: int, consume: Consumption) -> None:
    """Forget runs, because the event completed a match."""
    gone = [each for each in step.alive if consume == "ANY" or each.key == key]
    for each in gone:
        step.consumed += step.alive.pop(each).runs


def _holds(guard: Guard, value: int, registers: tuple[int, ...]) -> bool:
    """Tell whether a guard lets a step be taken."""
    if guard.register is None:
        return value == 1
    content = registers[guard.register]
    if content == EMPTY:
        return True
    if NULL in (content, value):
        return False
    match guard.sign:
        case "=":
            return value == content
        case "!=":
            return value != content
        case "<":
            return value < content
        case "<=":
            return value <= content
        case ">":
            return value > content
        case ">=":
            return value >= content


def _content(act: Act, value: int, content: int) -> int:
    """Return what is in a register after a step."""
    if act == "keep":
        return content
    if act == "clear":
        return EMPTY
    if act == "put" or content == EMPTY or value == NULL:
        return value
    if content == NULL:
        return NULL
    match act:
        case "least":
            return min(value, content)
        case "most":
            return max(value, content)
        case "same":
            return content if value == content else NULL
