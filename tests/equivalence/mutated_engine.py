"""Mutations of what the engine makes of a machine: tables, symbols, clauses, compaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ensue.automata import machine as m
from ensue.automata.determine import START, Determined, Step
from ensue.kernels.graph import arena, compact
from ensue.kernels.layout import DEAD, NIL, STAY
from ensue.kernels.match import configurations, driver
from ensue.operators import match as fast
from ensue.predicates.evaluate import Batch
from ensue.predicates.symbols import Alphabet
from ensue.stream import keys as reading
from tests.equivalence.mutations import Patch, mutation

# --- determinisation and tables --------------------------------------------------------------


@mutation
def runs_with_the_same_labels_stay_apart(patch: Patch) -> None:
    """Every machine state is a deterministic state, so matches are found more than once."""

    def work_out(self: Determined, state: int, holds: m.Holds) -> tuple[Step, ...]:
        machine = self.compiled.machine
        moves = (
            machine.first(holds)
            if state == START
            else [move for each in self.contents[state] for move in machine.next(each, holds)]
        )
        return tuple(
            Step(label, final, -1 if after is None else self._number(frozenset({after})))
            for label, final, after in moves
        )

    patch.setattr(Determined, "work_out", work_out)


@mutation
def a_merged_run_ends_only_if_the_last_of_them_does(patch: Patch) -> None:
    def work_out(self: Determined, state: int, holds: m.Holds) -> tuple[Step, ...]:
        machine = self.compiled.machine
        moves = (
            machine.first(holds)
            if state == START
            else [move for each in self.contents[state] for move in machine.next(each, holds)]
        )
        ends: dict[int, bool] = {}
        reached: dict[int, set[Any]] = {}
        for label, final, after in moves:
            ends[label] = final
            reached.setdefault(label, set()).update([] if after is None else [after])
        return tuple(
            Step(label, ends[label], self._number(frozenset(after)) if after else -1)
            for label, after in sorted(reached.items())
            if ends[label] or after
        )

    patch.setattr(Determined, "work_out", work_out)


@mutation
def waiting_states_die(patch: Patch) -> None:
    original = driver.Table._cell
    patch.setattr(
        driver.Table,
        "_cell",
        lambda self, state, bits: DEAD if (cell := original(self, state, bits)) == STAY else cell,
    )


def _steps(patch: Patch, change: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> None:
    original = Determined.step
    patch.setattr(
        Determined, "step", lambda self, state, symbol: change(original(self, state, symbol))
    )


@mutation
def only_the_first_of_several_steps_is_taken(patch: Patch) -> None:
    _steps(patch, lambda steps: steps[:1])


@mutation
def what_can_go_on_never_ends(patch: Patch) -> None:
    _steps(
        patch,
        lambda steps: tuple(
            Step(step.label, step.final and step.state == NIL, step.state) for step in steps
        ),
    )


@mutation
def what_ends_never_goes_on(patch: Patch) -> None:
    _steps(
        patch,
        lambda steps: tuple(
            Step(step.label, step.final, NIL if step.final else step.state) for step in steps
        ),
    )


# --- predicates and symbols ------------------------------------------------------------------


@mutation
def two_symbols_are_one(patch: Patch) -> None:
    original = Alphabet.read

    def read(self: Alphabet, *arguments: Any) -> np.ndarray:
        symbols = original(self, *arguments)
        return np.where(symbols == len(self.bits) - 1, np.int32(0), symbols)

    patch.setattr(Alphabet, "read", read)


@mutation
def null_satisfies_a_predicate(patch: Patch) -> None:
    original = Batch.compute

    def holds(self: Batch, predicate: Any) -> np.ndarray:
        found: Any = original(self, predicate)
        return found.values.astype(bool) | ~found.is_valid()

    patch.setattr(Batch, "holds", holds)


@mutation
def every_event_opens_its_stream(patch: Patch) -> None:
    original = Alphabet.read
    patch.setattr(
        Alphabet,
        "read",
        lambda self, batch, streams, first: original(
            self, batch, streams, None if first is None else np.ones_like(first)
        ),
    )


# --- clauses ---------------------------------------------------------------------------------


def _options(patch: Patch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change what the evaluator is told."""
    original = fast.MatchDriver
    patch.setattr(
        fast,
        "MatchDriver",
        lambda *arguments, **options: original(*arguments, **{**options, **change(options)}),
    )


@mutation
def the_window_is_one_too_long(patch: Patch) -> None:
    _options(patch, lambda told: {"window": told["window"] + (told["window"] >= 0)})


@mutation
def the_window_is_one_too_short(patch: Patch) -> None:
    _options(patch, lambda told: {"window": max(told["window"] - 1, -1)})


@mutation
def the_window_is_ignored(patch: Patch) -> None:
    _options(patch, lambda told: {"window": -1})


@mutation
def limit_is_ignored(patch: Patch) -> None:
    _options(patch, lambda told: {"limit": -1})


@mutation
def limit_is_one_too_many(patch: Patch) -> None:
    _options(patch, lambda told: {"limit": told["limit"] + (told["limit"] >= 0)})


@mutation
def consume_is_ignored(patch: Patch) -> None:
    _options(patch, lambda told: {"consume": "NONE"})


@mutation
def a_partition_consumes_all_others(patch: Patch) -> None:
    _options(patch, lambda told: {"consume": told["consume"].replace("PARTITION", "ANY")})


@mutation
def consume_by_any_spares_other_partitions(patch: Patch) -> None:
    _options(patch, lambda told: {"consume": told["consume"].replace("ANY", "PARTITION")})


def _keys(patch: Patch, change: Callable[[np.ndarray], np.ndarray]) -> None:
    original = fast.Keys.read

    def read(*arguments: Any, **options: Any) -> tuple[np.ndarray, Any]:
        keys, opens = original(*arguments, **options)
        return change(keys), opens

    patch.setattr(fast.Keys, "read", read)


@mutation
def all_keys_are_one(patch: Patch) -> None:
    _keys(patch, lambda keys: np.minimum(keys, np.int32(0)))


@mutation
def null_is_a_key(patch: Patch) -> None:
    _keys(patch, lambda keys: np.where(keys < 0, keys.max(initial=0) + np.int32(1), keys))


@mutation
def events_windows_count_the_events_of_other_keys(patch: Patch) -> None:
    def count(keys: np.ndarray, _: np.ndarray, ordinals: np.ndarray) -> None:
        ordinals[:] = np.arange(len(keys))

    patch.setattr(reading, "count_ordinals", count)


# --- compaction ------------------------------------------------------------------------------


@mutation
def compaction_drops_the_right_side_of_unions(patch: Patch) -> None:
    original = compact.mark

    def mark(graph: Any, *arguments: Any) -> Any:
        return original(graph._replace(right=np.full_like(graph.right, NIL)), *arguments)

    patch.setattr(compact, "mark", mark)


@mutation
def compaction_loses_a_configuration(patch: Patch) -> None:
    original = configurations._listed

    def live(slots: Any) -> tuple[np.ndarray, np.ndarray]:
        every, owners = original(slots)
        return every[:-1], owners[:-1]

    patch.setattr(configurations, "_listed", live)


@mutation
def compaction_overwrites_what_was_lent(patch: Patch) -> None:
    patch.setattr(arena.Arena, "_is_worth_lending", lambda *_: True)
    original = arena.Arena._successor
    patch.setattr(
        arena.Arena,
        "_successor",
        lambda self, marked: original(self, marked)._replace(position=self.graph.position),
    )


@mutation
def compaction_mixes_up_keys(patch: Patch) -> None:
    original = configurations.Configurations.relink
    patch.setattr(
        configurations.Configurations,
        "relink",
        lambda self, used, roots, keys, starts: original(
            self, used, roots, np.zeros_like(keys), starts
        ),
    )
