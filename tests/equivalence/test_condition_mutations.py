"""Mutations of conditions between events, each of which the suite of such queries must notice.

Those of the kernels and of their indexes are in mutated_kernels.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ensue
from ensue.automata.deferred import Deferred
from ensue.automata.registers import Guard, RegisterPlan
from ensue.kernels.layout import EMPTY
from ensue.kernels.tables import Table
from ensue.predicates.encode import Encoder
from ensue.predicates.evaluate import Batch
from ensue.results.intervals import Barriers
from ensue.results.nested import EvaluatedListing
from ensue.results.residual_filter import ResidualFilter
from tests.equivalence.mutations import Patch, Registry
from tests.equivalence.suite import first_failure, related_suite

pytestmark = pytest.mark.adequacy

mutation = Registry()


def _guards(patch: Patch, change: Callable[[list[Guard]], list[Guard]]) -> None:
    original = RegisterPlan.guards
    patch.setattr(RegisterPlan, "guards", lambda self, label: change(original(self, label)))


@mutation
def steps_have_no_guards(patch: Patch) -> None:
    _guards(patch, lambda _: [])


@mutation
def only_the_first_guard_is_asked(patch: Patch) -> None:
    _guards(patch, lambda guards: guards[:1])


@mutation
def less_is_at_most(patch: Patch) -> None:
    signs: Any = {"<": "<=", ">": ">="}
    _guards(
        patch,
        lambda guards: [each._replace(sign=signs.get(each.sign, each.sign)) for each in guards],
    )


@mutation
def an_event_is_not_compared_with_itself(patch: Patch) -> None:
    _guards(patch, lambda guards: [each for each in guards if each.register is not None])


@mutation
def registers_are_never_filled(patch: Patch) -> None:
    patch.setattr(RegisterPlan, "actions", lambda self, *_: [("keep", 0)] * self.registers)


@mutation
def a_new_round_begins_with_the_old_registers(patch: Patch) -> None:
    original = RegisterPlan.actions
    patch.setattr(
        RegisterPlan,
        "actions",
        lambda self, label, future: original(
            replace(self, instances=[replace(each, marker=0) for each in self.instances]),
            label,
            future,
        ),
    )


@mutation
def registers_are_emptied_too_soon(patch: Patch) -> None:
    original = RegisterPlan.actions
    patch.setattr(RegisterPlan, "actions", lambda self, label, _: original(self, label, 0))


@mutation
def every_register_holds_the_last_value(patch: Patch) -> None:
    original = RegisterPlan.actions

    def actions(self: RegisterPlan, label: int, future: int | None) -> list[tuple[Any, int]]:
        puts = {"least": "put", "most": "put", "same": "put"}
        return [(puts.get(act, act), column) for act, column in original(self, label, future)]

    patch.setattr(RegisterPlan, "actions", actions)


@mutation
def a_state_that_needs_an_index_later_does_not_get_it(patch: Patch) -> None:
    original = Table.fill

    def fill(self: Table, *arguments: Any) -> bool:
        original(self, *arguments)
        return False

    patch.setattr(Table, "fill", fill)


@mutation
def deferred_conditions_are_forgotten(patch: Patch) -> None:
    patch.setattr(Deferred, "rounds", lambda self, word: iter(()))
    patch.setattr(EvaluatedListing, "_refused", lambda self, deferred: iter(()))


@mutation
def deferred_conditions_see_the_last_round_only(patch: Patch) -> None:
    original = Deferred.rounds

    def rounds(self: Deferred, word: Any) -> Iterator[Any]:
        return iter(list(original(self, word))[-1:])

    every = EvaluatedListing._refused

    def refused(self: EvaluatedListing, deferred: Deferred) -> Iterator[np.ndarray]:
        rounds = self._rounds(deferred)
        last = rounds[self.listing.offset[1:] - 1]
        for places in every(self, deferred):
            yield places[rounds[places] == last[self.owner[places]]]

    patch.setattr(Deferred, "rounds", rounds)
    patch.setattr(EvaluatedListing, "_refused", refused)


@mutation
def what_must_not_happen_may(patch: Patch) -> None:
    patch.setattr(Barriers, "latest", lambda self, position: -1)


@mutation
def nothing_is_consumed_on_listing(patch: Patch) -> None:
    original = ResidualFilter.__iter__

    def matches(self: ResidualFilter) -> Iterator[Any]:
        return original(replace(self, residual=replace(self.residual, consume="NONE")))

    patch.setattr(ResidualFilter, "__iter__", matches)


def test_the_engine_passes_the_suite_whatever_is_in_columns_that_nobody_wants(
    monkeypatch: Patch,
) -> None:
    original = Encoder.encode

    def encode(self: Encoder, batch: Batch) -> np.ndarray:
        values = original(self, batch)
        values[:, [n for n in range(values.shape[1]) if n not in self.wanted]] = EMPTY
        return values

    monkeypatch.setattr(Encoder, "encode", encode)
    query = ensue.compile("SELECT * FROM S WHERE (A ; (ANY AS z) ; C) FILTER z.v = ANY.v")
    rows = [{"type": kind, "v": 1} for kind in "ABC"]
    assert [(m.start, m.end) for m in query.run(rows)] == [(0, 2)]
    failure = first_failure(related_suite)
    assert failure is None, f"{failure.query}\n{failure.rows}"


@pytest.mark.parametrize("name", mutation)
def test_a_mutation_of_conditions_fails_the_suite(name: str, monkeypatch: Patch) -> None:
    related_suite()  # The reference shares conditions with the engine: ask it before.
    mutation[name](monkeypatch)
    assert first_failure(related_suite) is not None, "nothing notices"
