"""Diagnostics of common mistakes in clauses: their names, order and ends."""

from __future__ import annotations

import difflib

from ensue.errors import Diagnostic, Fix, Span
from ensue.language.contextual import STRATEGY
from ensue.language.parse_failure import CLAUSES, ParseFailure, found
from ensue.language.tokens import (
    END,
    NOT_FOLLOWED_BY,
    RESERVED,
    STATEMENT_END,
    Token,
    quoted,
)

_FOREIGN_CLAUSES = {
    "GROUP": "PARTITION BY [attribute]",
    "HAVING": "FILTER",
    "ORDER": "nothing: matches come in the order of their ends",
    "WINDOW": "WITHIN 10 MINUTES",
    "RETURN": "SELECT",
    "SKIP": "a strategy such as SELECT NEXT *, or CONSUME BY ANY",
    "UNTIL": "UNLESS",
    "FOLLOWED": "';'",
    "THEN": "';'",
}


def clause_like(token: Token, expected: frozenset[str]) -> Diagnostic | None:
    """Diagnose a misspelt clause, or one of another language."""
    upper = token.text.upper()
    if upper in _FOREIGN_CLAUSES:
        return Diagnostic(
            "E123",
            token.span,
            f"there is no {upper} in CEQL",
            f"write {_FOREIGN_CLAUSES[upper]}",
        )
    words = sorted(expected & RESERVED)
    near = difflib.get_close_matches(upper, words, n=1, cutoff=0.7)
    if near:
        return Diagnostic(
            "E124",
            token.span,
            f"found '{token.text}'",
            f"did you mean {near[0]}?",
            Fix(token.span, near[0]),
        )
    return None


def empty(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose a text without a word of a query."""
    if failure.at or failure.token.kind != END:
        return None
    return Diagnostic(
        "E116", failure.token.span, "there is no query", "write SELECT * FROM Stream WHERE pattern"
    )


def misspelt_start(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELCT *`: a first word that is neither SELECT nor CREATE."""
    first = failure.tokens[0]
    if first.kind != "NAME" or failure.at > 4 or first.text.upper() == "CREATE":
        return None
    near = difflib.get_close_matches(first.text.upper(), ["SELECT", "CREATE"], n=1, cutoff=0.6)
    if near:
        return Diagnostic(
            "E117",
            first.span,
            f"a query starts with SELECT or CREATE STREAM, not with '{first.text}'",
            f"did you mean {near[0]}?",
            Fix(first.span, near[0]),
        )
    return Diagnostic(
        "E117",
        first.span,
        f"a query starts with SELECT or CREATE STREAM, not with '{first.text}'",
        "write SELECT * FROM Stream WHERE pattern",
    )


def clause_order(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose a clause that comes twice, or after one that it belongs before."""
    token = failure.token
    if token.kind not in CLAUSES or "$END" not in failure.expected:
        return None
    before = [each.kind for each in failure.tokens[: failure.at]]
    if NOT_FOLLOWED_BY in before:
        # The first WITHIN after that is its deadline.
        del before[before.index("WITHIN", before.index(NOT_FOLLOWED_BY))]
    earlier = [kind for kind in before if kind in CLAUSES]
    if token.kind in earlier:
        return Diagnostic("E125", token.span, f"{token.kind} stands twice", "keep one of them")
    return Diagnostic(
        "E126",
        token.span,
        f"{token.kind} comes too late",
        "the order is PARTITION BY, WITHIN, CONSUME BY, LIMIT, EVERY",
    )


def window_without_unit(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `WITHIN 10`."""
    number = failure.before()
    word = failure.before(2)
    if number is None or word is None or number.kind not in ("INTEGER", "DECIMAL"):
        return None
    if word.kind not in ("WITHIN", "EVERY"):
        return None
    counts = word.kind == "WITHIN" and number.kind == "INTEGER"
    return Diagnostic(
        "E128",
        number.span,
        f"{word.kind} {number.text} of what?",
        f"write {number.text} SECONDS, {number.text} MINUTES, …"
        + (f", {number.text} EVENTS or {number.text} [attribute]" if counts else ""),
        Fix(number.span, f"{number.text} SECONDS"),
    )


def window_without_number(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `WITHIN MINUTES`."""
    word = failure.before()
    if word is None or word.kind not in ("WITHIN", "EVERY", "LIMIT"):
        return None
    example = {"WITHIN": "WITHIN 10 MINUTES", "EVERY": "EVERY 1 MINUTE", "LIMIT": "LIMIT 10"}
    return Diagnostic(
        "E129",
        failure.token.span,
        f"{found(failure)}, but {word.kind} needs a number",
        f"write {example[word.kind]}",
    )


def partition_without_brackets(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `PARTITION BY account`."""
    token, by = failure.token, failure.before()
    if by is None or by.kind != "BY" or failure.expected != {"["}:
        return None
    fix = Fix(token.span, f"[{token.text}]") if token.kind == "NAME" else None
    return Diagnostic(
        "E130", token.span, "PARTITION BY lists attributes in brackets", "write [attribute]", fix
    )


def missing_by(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `PARTITION [account]` and `CONSUME ANY`."""
    word = failure.before()
    if word is None or failure.expected != {"BY"}:
        return None
    return Diagnostic(
        "E131",
        failure.token.span,
        f"{found(failure)}, expected BY after {word.kind}",
        f"write {word.kind} BY",
        Fix(word.span, f"{word.kind} BY"),
    )


def consume_what(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `CONSUME BY ALL`."""
    if failure.expected != {"ANY", "PARTITION", "NONE"}:
        return None
    return Diagnostic(
        "E132",
        failure.token.span,
        f"{found(failure)} after CONSUME BY",
        "write CONSUME BY ANY, CONSUME BY PARTITION or CONSUME BY NONE",
    )


def attribute_in_select(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELECT a.price` and `SELECT a.price - b.price`: columns without a name."""
    token, attribute, name = failure.token, failure.before(), failure.before(3)
    if token.kind not in ("FROM", ",") or not failure.within("SELECT", "NONE", "ALL"):
        return None
    if "AS" not in failure.expected or attribute is None:
        return None
    dot, before = failure.before(2), failure.before(4)
    alone = before is not None and before.kind in ("SELECT", ",", "ALL", STRATEGY)
    if not alone or name is None or dot is None or dot.kind != ".":
        return Diagnostic(
            "E160", token.span, "a computed column needs a name", "write … AS name before this"
        )
    span = Span(name.span.start, attribute.span.end)
    written = f"{name.text}[{attribute.text}]"
    return Diagnostic(
        "E134",
        span,
        "SELECT lists variables, with attributes of interest in brackets",
        f"write {written}, or {name.text}.{attribute.text} AS {attribute.text} for a column",
        Fix(span, written),
    )


def select_nothing(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELECT FROM Stocks`."""
    token, word = failure.token, failure.before()
    if token.kind != "FROM" or word is None or word.kind not in ("SELECT", ","):
        return None
    return Diagnostic(
        "E135",
        token.span,
        "SELECT lists nothing",
        "write * for everything, NONE for start and end only, or variables",
        Fix(Span(token.span.start, token.span.start), "* ") if word.kind == "SELECT" else None,
    )


def missing_from_or_where(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose a query without FROM or WHERE."""
    for word, hint in (
        ("FROM", "name the stream: SELECT * FROM Stream WHERE …"),
        ("WHERE", "the pattern follows WHERE: SELECT * FROM Stream WHERE A ; B"),
    ):
        if word not in failure.expected or failure.token.kind == word:
            continue
        if failure.token.kind == "NAME":
            near = clause_like(failure.token, frozenset({word}))
            if near is not None:
                return near
        if failure.token.kind in (END, "WHERE", "WITHIN", "PARTITION", "FILTER"):
            return Diagnostic("E133", failure.token.span, f"{word} is missing", hint)
    return None


def reserved_as_name(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `BUY AS all`: a word of the language where a name belongs."""
    token, word = failure.token, failure.before()
    if token.kind not in RESERVED or "NAME" not in failure.expected or word is None:
        return None
    after = failure.after()
    named = word.kind == "AS" or (
        (failure.wants_pattern or failure.wants_value or word.kind == "FROM")
        and after is not None
        and after.kind in (";", ":", ")", "]", "=", "<", ">", "!=", "<=", ">=", ".", "WHERE", END)
    )
    clause = token.kind in ("WITHIN", "WHERE", "FROM", "SELECT", "FILTER") and word.kind != "AS"
    if not named or clause:
        return None
    written = quoted(token.text)
    return Diagnostic(
        "E136",
        token.span,
        f"{token.text} is a word of the language",
        f"in backquotes it is a name: {written}",
        Fix(token.span, written),
    )


def misspelt_keyword(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `WITHN`, and for clauses of other languages."""
    token = failure.token
    if token.kind != "NAME" or "NAME" in failure.expected:
        return None
    return clause_like(token, failure.expected)


def unended_statement(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `CREATE STREAM D AS SELECT … SELECT …`."""
    token, last = failure.token, failure.before()
    if token.kind != "SELECT" or last is None or STATEMENT_END not in failure.expected:
        return None
    return Diagnostic(
        "E157",
        token.span,
        "a query begins here, but CREATE STREAM … AS SELECT … has not ended",
        "write ';' before it",
        Fix(Span(last.span.end, last.span.end), " ;"),
    )


def after_query(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose a second query in the same text."""
    second = failure.token.kind in (";", STATEMENT_END) and END in failure.expected
    if failure.expected != {END} and not second:
        return None
    return Diagnostic(
        "E148",
        failure.token.span,
        f"{found(failure)} after the end of the query",
        "one text holds one query",
    )
