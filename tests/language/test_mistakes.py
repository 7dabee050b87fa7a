"""Golden files: what people get wrong, and what they are told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import ensue
from ensue.analysis.bind import bind
from ensue.errors import CeqlError, Diagnostic, Source, render
from ensue.language.parser import parse_source
from ensue.logic.build import to_formula
from ensue.plan.listing_advice import all_warnings

FOLDER = Path(__file__).parents[1] / "golden" / "errors"
MISTAKES = sorted(FOLDER.glob("*.ceql"))


def diagnose(text: str, name: str) -> tuple[Diagnostic, ...]:
    """Return everything there is to say about a query."""
    source = Source(text, name)
    try:
        bound = bind(parse_source(source), source, parameters={})
        to_formula(bound)
    except CeqlError as error:
        return error.diagnostics
    return all_warnings(bound)


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_mistake_is_told_as_in_its_golden_file(
    path: Path, golden: Callable[[Path, str], None]
) -> None:
    text = path.read_text()
    source = Source(text, path.name)
    found = diagnose(text, path.name)
    assert found, "a mistake that nobody notices"
    golden(path.with_suffix(".txt"), "\n\n".join(render(each, source) for each in found) + "\n")


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_every_proposed_replacement_makes_the_query_right(path: Path) -> None:
    text = path.read_text()
    for _ in range(6):
        fixes = [each.fix for each in diagnose(text, path.name) if each.fix is not None]
        if not fixes:
            break
        text = fixes[0].apply(text)
    else:
        pytest.fail(f"still something to fix in {text}")
    if text != path.read_text():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ensue.CeqlWarning)
            if path.stem not in ("several_at_once", "group_by"):
                ensue.compile(text)


def test_there_are_many_codes_and_every_mistake_has_one() -> None:
    codes = {each.code for path in MISTAKES for each in diagnose(path.read_text(), path.name)}
    assert len(MISTAKES) >= 80
    assert len(codes) >= 40
