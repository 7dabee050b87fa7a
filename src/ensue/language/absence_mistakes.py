"""Diagnostics of common mistakes around NOT FOLLOWED BY."""

from __future__ import annotations

from ensue.errors import Diagnostic, Fix
from ensue.language.parse_failure import ParseFailure
from ensue.language.tokens import NOT_FOLLOWED_BY

_GOES_ON = (";", ":", "OR", "AND", "ALL", "UNLESS", "AS", "+", "*", "?")
"""What would go on with a pattern."""


def not_the_whole(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose NOT FOLLOWED BY inside a pattern, or a second one."""
    token = failure.token
    kinds = [each.kind for each in failure.tokens[: failure.at]]
    if token.kind in _GOES_ON and NOT_FOLLOWED_BY in kinds and ";" not in failure.expected:
        place = kinds.index(NOT_FOLLOWED_BY)
        if "WITHIN" in kinds[place:] and "FILTER" in failure.expected:
            token = failure.tokens[place]
    if token.kind != NOT_FOLLOWED_BY:
        return None
    return Diagnostic(
        "E171",
        token.span,
        "NOT FOLLOWED BY stands once, behind the whole pattern of WHERE",
        "write WHERE pattern NOT FOLLOWED BY pattern WITHIN 10 MINUTES, without parentheses around "
        "it; for 'nothing of that kind in between' there is UNLESS",
    )


def without_by(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `A NOT FOLLOWED B`."""
    token, word = failure.token, failure.after()
    if token.kind != "NOT" or word is None or word.text.upper() != "FOLLOWED":
        return None
    span = token.span.to(word.span)
    return Diagnostic(
        "E172",
        span,
        "NOT FOLLOWED without BY",
        "write NOT FOLLOWED BY",
        Fix(span, "NOT FOLLOWED BY"),
    )


def without_deadline(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `A NOT FOLLOWED BY B` without WITHIN."""
    kinds = [each.kind for each in failure.tokens[: failure.at]]
    if NOT_FOLLOWED_BY not in kinds:
        return None
    place = kinds.index(NOT_FOLLOWED_BY)
    key = kinds[-4:-1] == ["PARTITION", "BY", "["] and "." in failure.expected
    if "WITHIN" in kinds[place:] or not ("WITHIN" in failure.expected or key):
        return None
    if any(each.kind in ("(", "[") for each in failure.inside) and not key:
        return None
    return Diagnostic(
        "E173",
        failure.tokens[place].span,
        "NOT FOLLOWED BY needs a deadline",
        "say how long to wait: … NOT FOLLOWED BY B WITHIN 10 MINUTES; the clauses come after that",
    )
