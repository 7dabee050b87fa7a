"""Mistakes people make around clauses: what a query begins with, their names, order and ends."""

from __future__ import annotations

import difflib

from ensue.errors import Diagnostic, Fix, Span
from ensue.language.stumble import CLAUSES, Stumble, found
from ensue.language.tokens import END, RESERVED, Token, quoted

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
    """Recognise a misspelt clause, or one of another language."""
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


def empty(stumble: Stumble) -> Diagnostic | None:
    """Look for a text without a word of a query."""
    if stumble.at or stumble.token.kind != END:
        return None
    return Diagnostic(
        "E116", stumble.token.span, "there is no query", "write SELECT * FROM Stream WHERE pattern"
    )


def misspelt_start(stumble: Stumble) -> Diagnostic | None:
    """Look for `SELCT *`: a first word that is neither SELECT nor CREATE."""
    first = stumble.tokens[0]
    if first.kind != "NAME" or stumble.at > 4 or first.text.upper() == "CREATE":
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


def clause_order(stumble: Stumble) -> Diagnostic | None:
    """Look for a clause that comes twice, or after one that it belongs before."""
    token = stumble.token
    if token.kind not in CLAUSES or "$END" not in stumble.expected:
        return None
    earlier = [each.kind for each in stumble.tokens[: stumble.at] if each.kind in CLAUSES]
    if token.kind in earlier:
        return Diagnostic("E125", token.span, f"{token.kind} stands twice", "keep one of them")
    return Diagnostic(
        "E126",
        token.span,
        f"{token.kind} comes too late",
        "the order is PARTITION BY, WITHIN, CONSUME BY, LIMIT, EVERY",
    )


def window_without_unit(stumble: Stumble) -> Diagnostic | None:
    """Look for `WITHIN 10`."""
    number = stumble.before()
    word = stumble.before(2)
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


def window_without_number(stumble: Stumble) -> Diagnostic | None:
    """Look for `WITHIN MINUTES`."""
    word = stumble.before()
    if word is None or word.kind not in ("WITHIN", "EVERY", "LIMIT"):
        return None
    example = {"WITHIN": "WITHIN 10 MINUTES", "EVERY": "EVERY 1 MINUTE", "LIMIT": "LIMIT 10"}
    return Diagnostic(
        "E129",
        stumble.token.span,
        f"{found(stumble)}, but {word.kind} needs a number",
        f"write {example[word.kind]}",
    )


def partition_without_brackets(stumble: Stumble) -> Diagnostic | None:
    """Look for `PARTITION BY account`."""
    token, by = stumble.token, stumble.before()
    if by is None or by.kind != "BY" or stumble.expected != {"["}:
        return None
    fix = Fix(token.span, f"[{token.text}]") if token.kind == "NAME" else None
    return Diagnostic(
        "E130", token.span, "PARTITION BY lists attributes in brackets", "write [attribute]", fix
    )


def missing_by(stumble: Stumble) -> Diagnostic | None:
    """Look for `PARTITION [account]` and `CONSUME ANY`."""
    word = stumble.before()
    if word is None or stumble.expected != {"BY"}:
        return None
    return Diagnostic(
        "E131",
        stumble.token.span,
        f"{found(stumble)}, expected BY after {word.kind}",
        f"write {word.kind} BY",
        Fix(word.span, f"{word.kind} BY"),
    )


def consume_what(stumble: Stumble) -> Diagnostic | None:
    """Look for `CONSUME BY ALL`."""
    if stumble.expected != {"ANY", "PARTITION", "NONE"}:
        return None
    return Diagnostic(
        "E132",
        stumble.token.span,
        f"{found(stumble)} after CONSUME BY",
        "write CONSUME BY ANY, CONSUME BY PARTITION or CONSUME BY NONE",
    )


def attribute_in_select(stumble: Stumble) -> Diagnostic | None:
    """Look for `SELECT a.price`."""
    token, name, attribute = stumble.token, stumble.before(), stumble.after()
    if token.kind != "." or "FROM" not in stumble.expected:
        return None
    if name is None or attribute is None or attribute.kind != "NAME":
        return None
    span = Span(name.span.start, attribute.span.end)
    written = f"{name.text}[{attribute.text}]"
    return Diagnostic(
        "E134",
        span,
        "SELECT lists variables, with attributes of interest in brackets",
        f"write {written}",
        Fix(span, written),
    )


def select_nothing(stumble: Stumble) -> Diagnostic | None:
    """Look for `SELECT FROM Stocks`."""
    token, word = stumble.token, stumble.before()
    if token.kind != "FROM" or word is None or word.kind not in ("SELECT", ","):
        return None
    return Diagnostic(
        "E135",
        token.span,
        "SELECT lists nothing",
        "write * for everything, NONE for start and end only, or variables",
        Fix(Span(token.span.start, token.span.start), "* ") if word.kind == "SELECT" else None,
    )


def missing_from_or_where(stumble: Stumble) -> Diagnostic | None:
    """Look for a query without FROM or WHERE."""
    for word, hint in (
        ("FROM", "name the stream: SELECT * FROM Stream WHERE …"),
        ("WHERE", "the pattern follows WHERE: SELECT * FROM Stream WHERE A ; B"),
    ):
        if word not in stumble.expected or stumble.token.kind == word:
            continue
        if stumble.token.kind == "NAME":
            near = clause_like(stumble.token, frozenset({word}))
            if near is not None:
                return near
        if stumble.token.kind in (END, "WHERE", "WITHIN", "PARTITION", "FILTER"):
            return Diagnostic("E133", stumble.token.span, f"{word} is missing", hint)
    return None


def reserved_as_name(stumble: Stumble) -> Diagnostic | None:
    """Look for `BUY AS all`: a word of the language where a name belongs."""
    token, word = stumble.token, stumble.before()
    if token.kind not in RESERVED or "NAME" not in stumble.expected or word is None:
        return None
    after = stumble.after()
    named = word.kind == "AS" or (
        (stumble.wants_pattern or stumble.wants_value or word.kind == "FROM")
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


def misspelt_keyword(stumble: Stumble) -> Diagnostic | None:
    """Look for `WITHN`, and for clauses of other languages."""
    token = stumble.token
    if token.kind != "NAME" or "NAME" in stumble.expected:
        return None
    return clause_like(token, stumble.expected)


def after_query(stumble: Stumble) -> Diagnostic | None:
    """Look for a second query in the same text."""
    second = stumble.token.kind == ";" and END in stumble.expected
    if stumble.expected != {END} and not second:
        return None
    return Diagnostic(
        "E148",
        stumble.token.span,
        f"{found(stumble)} after the end of the query",
        "one text holds one query",
    )
