"""Diagnostics of syntax errors.

The parser passes the tokens, the one that it cannot accept, and the kinds that it would accept.
Rules for common mistakes come first, each with its own code and, where the intention is clear, a
replacement; otherwise the diagnostic lists the expected tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ensue.errors import Diagnostic
from ensue.language import absence_mistakes as absence
from ensue.language import clause_mistakes as clauses
from ensue.language import paper_mistakes as papers
from ensue.language import pattern_mistakes as patterns
from ensue.language.parse_failure import ParseFailure, expected_words, found
from ensue.language.tokens import Token

_RULES: tuple[Callable[[ParseFailure], Diagnostic | None], ...] = (
    clauses.empty,
    clauses.misspelt_start,
    absence.not_the_whole,
    absence.without_by,
    absence.without_deadline,
    papers.in_for_as,
    papers.part_by,
    papers.hyphen_in_name,
    papers.hyphen_in_a_column,
    patterns.repeated_name,
    patterns.comparison_as_pattern,
    patterns.equals_for_as,
    patterns.brackets_without_filter,
    patterns.comma_in_pattern,
    clauses.unended_statement,
    patterns.window_without_parentheses,
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
"""Tried in this order; the first rule that applies wins."""


def diagnose(
    tokens: Sequence[Token], at: int, expected: frozenset[str], inside: Sequence[Token]
) -> Diagnostic:
    """Return the diagnostic of a syntax error at a token."""
    failure = ParseFailure(tokens, at, expected, inside)
    for rule in _RULES:
        diagnostic = rule(failure)
        if diagnostic is not None:
            return diagnostic
    return Diagnostic(
        "E100", failure.token.span, f"{found(failure)}, expected {expected_words(failure)}"
    )
