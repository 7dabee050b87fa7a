"""The state of lazy steps: what is refused of it when it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ensue
from ensue.kernels.layout import PRODUCT
from ensue.state import container

QUERY = ensue.compile(
    "SELECT * FROM S WHERE (A AS a ; B ; C AS c) FILTER a.v = c.v WITHIN 20 EVENTS"
)
ROWS = [{"type": kind, "v": n % 2} for n, kind in enumerate("AABBCCABAB")]
STATE = "lane 0/0"


def _sections() -> dict[str, Any]:
    session = QUERY.open()
    session.push(ROWS)
    return container.unpack(session.snapshot())


def test_products_and_what_waits_are_in_snapshots() -> None:
    sections = _sections()
    assert (sections[f"{STATE}/graph/label"] == PRODUCT).any()
    assert len(sections[f"{STATE}/lazy/root"])
    more = [{"type": "C", "v": n} for n in (0, 1)]
    whole = QUERY.run([*ROWS, *more]).count - QUERY.run(ROWS).count
    assert QUERY.resume(container.pack(sections)).push(more).count == whole > 0


def _product(sections: dict[str, Any]) -> int:
    label: Any = sections[f"{STATE}/graph/label"]
    return int((label == PRODUCT).argmax())


def a_product_without_a_factor(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/graph/right"][_product(sections)] = -1


def a_product_that_begins_nowhere(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/graph/position"][_product(sections)] = 10**6


def a_product_with_another_start(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/graph/start"][_product(sections)] ^= 1


def a_product_of_products(sections: dict[str, Any]) -> None:
    label = sections[f"{STATE}/graph/label"]
    sections[f"{STATE}/lazy/root"][0] = int((label == PRODUCT).argmax())


def a_factor_from_nowhere(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/lazy/root"][0] = 10**6


def a_factor_of_no_state(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/lazy/state"][0] = 10**6


def a_factor_of_no_key(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/lazy/key"][0] = -1


def something_that_was_applied_never(sections: dict[str, Any]) -> None:
    sections[f"{STATE}/lazy/applied"][0] = 10**6


def products_but_nothing_that_waits(sections: dict[str, Any]) -> None:
    for name in [each for each in sections if "/lazy/" in each]:
        del sections[name]


@pytest.mark.parametrize(
    "change",
    [
        a_product_without_a_factor,
        a_product_that_begins_nowhere,
        a_product_with_another_start,
        a_product_of_products,
        a_factor_from_nowhere,
        a_factor_of_no_state,
        a_factor_of_no_key,
        something_that_was_applied_never,
        products_but_nothing_that_waits,
    ],
)
def test_what_cannot_be_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    sections = _sections()
    change(sections)
    with pytest.raises(ensue.SnapshotError):
        QUERY.resume(container.pack(sections))
