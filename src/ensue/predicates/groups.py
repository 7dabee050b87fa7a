"""Predicates by what they read: types, one column of strings each, or anything else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ensue.analysis.expressions import Attribute, EventType, Expression, Operation, subexpressions
from ensue.automata.compiled import AtStart, Predicate, TypeTest
from ensue.predicates.comparisons import Compared, searched
from ensue.predicates.evaluate import Batch
from ensue.predicates.functions import FUNCTIONS
from ensue.predicates.vectors import Strings, UnsupportedError


@dataclass(frozen=True, slots=True)
class Groups:
    """Predicates, with their numbers, by what they read."""

    types: list[tuple[int, TypeTest]]
    strings: Mapping[tuple[str, ...], list[tuple[int, Expression]]]
    """By column, the predicates that read that column of strings alone."""
    others: list[tuple[int, Expression]]
    compared: list[Compared]
    """Of the others, comparisons of a column of numbers that is compared with many constants."""

    @classmethod
    def of(
        cls, predicates: tuple[Predicate, ...], given: Mapping[int, int], batch: Batch
    ) -> Groups:
        groups = cls([], defaultdict(list), [], [])
        for number, predicate in enumerate(predicates):
            if number in given:
                continue
            match predicate:
                case TypeTest():
                    groups.types.append((number, predicate))
                case AtStart():
                    pass
                case _:
                    column = _only_string_column(predicate, batch)
                    if column is None:
                        groups.others.append((number, predicate))
                    else:
                        groups.strings[column].append((number, predicate))
        groups.compared.extend(searched(groups.others))
        return groups


def _only_string_column(predicate: Expression, batch: Batch) -> tuple[str, ...] | None:
    """Return the one column of strings that a predicate reads, if it reads nothing else.

    Arithmetic is evaluated for every event, because results without a value are counted.
    """
    parts = list(subexpressions(predicate))
    if any(isinstance(each, Operation) and each.name in FUNCTIONS for each in parts):
        return None
    paths = {each.path for each in parts if isinstance(each, Attribute)}
    if len(paths) != 1 or any(isinstance(each, EventType) for each in parts):
        return None
    (path,) = paths
    try:
        return path if isinstance(batch.vector(path), Strings) else None
    except UnsupportedError:
        return None
