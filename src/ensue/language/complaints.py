"""What to say about text that the grammar has no place for.

The parser hands over the tokens, the one it stumbled on, and the kinds that could have come
instead. First come the mistakes people really make, each with its own code and, where it is
clear what was meant, a replacement; else the expected tokens are put into words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ensue.errors import Diagnostic
from ensue.language import clause_mistakes as clauses
from ensue.language import paper_mistakes as papers
from ensue.language import pattern_mistakes as patterns
from ensue.language.stumble import Stumble, expected_words, found
from ensue.language.tokens import Token

_RULES: tuple[Callable[[Stumble], Diagnostic | None], ...] = (
    clauses.empty,
    clauses.misspelt_start,
    papers.in_for_as,
    papers.part_by,
    papers.hyphen_in_name,
    patterns.repeated_name,
    patterns.comparison_as_pattern,
    patterns.equals_for_as,
    patterns.brackets_without_filter,
    patterns.comma_in_pattern,
    clauses.clause_order,
    patterns.missing_as,
    patterns.unless_after_filter,
    clauses.window_without_unit,
    clauses.window_without_number,
    clauses.partition_without_brackets,
    clauses.missing_by,
    clauses.consume_what,
    clauses.attribute_in_select,
    clauses.select_nothing,
    clauses.missing_from_or_where,
    patterns.in_without_list,
    patterns.between_without_and,
    patterns.is_what,
    patterns.bad_bounds,
    patterns.chained_comparison,
    patterns.trailing_operator,
    patterns.empty_parentheses,
    patterns.not_without_parentheses,
    patterns.aggregate_equals,
    papers.plain_key_of_a_pattern,
    patterns.undotted_key,
    patterns.value_in_pattern,
    clauses.reserved_as_name,
    clauses.misspelt_keyword,
    clauses.after_query,
)
"""In this order: what several rules would take for theirs goes to the first of them."""


def complain(
    tokens: Sequence[Token], at: int, expected: frozenset[str], inside: Sequence[Token]
) -> Diagnostic:
    """Say what is wrong at a token."""
    stumble = Stumble(tokens, at, expected, inside)
    for rule in _RULES:
        complaint = rule(stumble)
        if complaint is not None:
            return complaint
    return Diagnostic(
        "E100", stumble.token.span, f"{found(stumble)}, expected {expected_words(stumble)}"
    )
