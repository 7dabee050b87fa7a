"""What to say about text that the grammar has no place for.

The parser hands over the tokens, the one it stumbled on, and the kinds that could have come
instead. First come the mistakes people really make, each with its own code and, where it is
clear what was meant, a replacement; else the expected tokens are put into words.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ensue.errors import Diagnostic, Fix, Span
from ensue.language.tokens import END, RESERVED, Token, quoted


@dataclass(frozen=True, slots=True)
class Stumble:
    """Where the parser could not go on."""

    tokens: Sequence[Token]
    at: int
    expected: frozenset[str]
    inside: Sequence[Token]
    """The tokens that are still open on the parser's stack."""

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def before(self, distance: int = 1) -> Token | None:
        return self.tokens[self.at - distance] if self.at >= distance else None

    def after(self, distance: int = 1) -> Token | None:
        index = self.at + distance
        return self.tokens[index] if index < len(self.tokens) else None

    def within(self, *words: str) -> bool:
        """Tell whether the last open keyword is one of these."""
        keywords = [token.kind for token in self.inside if token.kind in RESERVED]
        return bool(keywords) and keywords[-1] in words

    @property
    def after_pattern(self) -> bool:
        """Tell whether a whole pattern stands before the token."""
        return ";" in self.expected and "FILTER" in self.expected

    @property
    def wants_pattern(self) -> bool:
        return {"NAME", "ANY", "NOT", "("} <= self.expected and "STRING" not in self.expected

    @property
    def wants_value(self) -> bool:
        return "STRING" in self.expected and "PARAMETER" in self.expected


def complain(
    tokens: Sequence[Token], at: int, expected: frozenset[str], inside: Sequence[Token]
) -> Diagnostic:
    """Say what is wrong at a token."""
    stumble = Stumble(tokens, at, expected, inside)
    for rule in _RULES:
        found = rule(stumble)
        if found is not None:
            return found
    return Diagnostic("E100", stumble.token.span, f"{_found(stumble)}, expected {_words(stumble)}")


def _found(stumble: Stumble) -> str:
    token = stumble.token
    if token.kind == END:
        return "the query ends here"
    if token.kind == "STRING":
        return "found a string"
    shown = token.text if len(token.text) <= 40 else token.text[:37] + "…"
    return f"found '{shown}'"


# --- the mistakes people make ----------------------------------------------------------------


def _empty(stumble: Stumble) -> Diagnostic | None:
    if stumble.at or stumble.token.kind != END:
        return None
    return Diagnostic(
        "E116", stumble.token.span, "there is no query", "write SELECT * FROM Stream WHERE pattern"
    )


def _misspelt_start(stumble: Stumble) -> Diagnostic | None:
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


def _repeated_name(stumble: Stumble) -> Diagnostic | None:
    """A AS x+ for (A AS x)+."""
    token, name, word = stumble.token, stumble.before(), stumble.before(2)
    if token.kind not in ("+", "*", "?", "{", ":+", ":*", ":{"):
        return None
    if name is None or word is None or name.kind != "NAME" or word.kind != "AS":
        return None
    sign = token.text if token.kind not in ("{", ":{") else token.text + "…}"
    first = stumble.before(3)
    fix = None
    if first is not None and first.kind in ("NAME", "ANY") and "{" not in sign:
        span = Span(first.span.start, token.span.end)
        fix = Fix(span, f"({first.text} AS {name.text}){token.text}")
    return Diagnostic(
        "E118",
        Span(name.span.start, token.span.end),
        f"'{sign}' cannot follow a name",
        f"to repeat the whole, write (… AS {name.text}){sign}; to name all its events, "
        f"…{sign} AS {name.text}",
        fix,
    )


def _equals_for_as(stumble: Stumble) -> Diagnostic | None:
    token = stumble.token
    if token.kind not in ("=", "==") or not stumble.after_pattern:
        return None
    name = stumble.after()
    if name is not None and name.kind == "NAME":
        return Diagnostic(
            "E119",
            token.span,
            "an event is named by AS, not by '='",
            f"write AS {name.text}",
            Fix(token.span, "AS"),
        )
    return Diagnostic("E119", token.span, "an event is named by AS, not by '='")


def _brackets_without_filter(stumble: Stumble) -> Diagnostic | None:
    """A[price > 10] for A FILTER A[price > 10]."""
    token, name = stumble.token, stumble.before()
    if token.kind != "[" or not stumble.after_pattern or name is None:
        return None
    if name.kind not in ("NAME", "ANY"):
        return Diagnostic(
            "E120",
            token.span,
            "brackets after a pattern",
            "a condition follows FILTER: (A ; B AS x) FILTER x[price > 10]",
        )
    end = next(each for each in stumble.tokens[stumble.at :] if each.kind == "]")
    whole = Span(name.span.start, end.span.end)
    condition = " ".join(
        each.text for each in stumble.tokens[stumble.at + 1 :] if each.span.start < end.span.start
    )
    return Diagnostic(
        "E120",
        whole,
        f"a condition on {name.text} follows FILTER",
        f"write ({name.text} FILTER {name.text}[…])",
        Fix(whole, f"({name.text} FILTER {name.text}[{condition}])"),
    )


def _comma_in_pattern(stumble: Stumble) -> Diagnostic | None:
    token = stumble.token
    if token.kind != "," or not stumble.after_pattern:
        return None
    return Diagnostic(
        "E121",
        token.span,
        "',' does not join patterns",
        "write ';' for 'followed by', or OR, AND, ALL",
        Fix(token.span, " ;"),
    )


def _missing_as(stumble: Stumble) -> Diagnostic | None:
    """SELL a for SELL AS a."""
    token, name = stumble.token, stumble.before()
    if token.kind != "NAME" or not stumble.after_pattern or name is None:
        return None
    clause = _clause_like(token, stumble.expected)
    if clause is not None:
        return clause
    if name.kind not in ("NAME", "ANY", ")", "+", "}", "*", "?", ":+"):
        return None
    return Diagnostic(
        "E122",
        token.span,
        f"found '{token.text}' after a pattern",
        f"to name it write AS {token.text}; to go on, ';' or an operator",
        Fix(Span(name.span.end, token.span.start), " AS "),
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


def _clause_like(token: Token, expected: frozenset[str]) -> Diagnostic | None:
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


def _misspelt_keyword(stumble: Stumble) -> Diagnostic | None:
    token = stumble.token
    if token.kind != "NAME" or "NAME" in stumble.expected:
        return None
    return _clause_like(token, stumble.expected)


_CLAUSES = ("PARTITION", "WITHIN", "CONSUME", "LIMIT", "EVERY")


def _clause_order(stumble: Stumble) -> Diagnostic | None:
    token = stumble.token
    if token.kind not in _CLAUSES or "$END" not in stumble.expected:
        return None
    earlier = [each.kind for each in stumble.tokens[: stumble.at] if each.kind in _CLAUSES]
    if token.kind in earlier:
        return Diagnostic("E125", token.span, f"{token.kind} stands twice", "keep one of them")
    return Diagnostic(
        "E126",
        token.span,
        f"{token.kind} comes too late",
        "the order is PARTITION BY, WITHIN, CONSUME BY, LIMIT, EVERY",
    )


def _unless_after_filter(stumble: Stumble) -> Diagnostic | None:
    token = stumble.token
    if token.kind not in ("UNLESS", ";", ":", "ALL", "AS") or "FILTER" not in stumble.expected:
        return None
    if stumble.after_pattern:
        return None
    return Diagnostic(
        "E127",
        token.span,
        f"'{token.text}' after a filter",
        f"put the filtered pattern in parentheses: (A FILTER A[…]) {token.text} …",
    )


def _window_without_unit(stumble: Stumble) -> Diagnostic | None:
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


def _window_without_number(stumble: Stumble) -> Diagnostic | None:
    word = stumble.before()
    if word is None or word.kind not in ("WITHIN", "EVERY", "LIMIT"):
        return None
    example = {"WITHIN": "WITHIN 10 MINUTES", "EVERY": "EVERY 1 MINUTE", "LIMIT": "LIMIT 10"}
    return Diagnostic(
        "E129",
        stumble.token.span,
        f"{_found(stumble)}, but {word.kind} needs a number",
        f"write {example[word.kind]}",
    )


def _partition_without_brackets(stumble: Stumble) -> Diagnostic | None:
    token, by = stumble.token, stumble.before()
    if by is None or by.kind != "BY" or stumble.expected != {"["}:
        return None
    fix = Fix(token.span, f"[{token.text}]") if token.kind == "NAME" else None
    return Diagnostic(
        "E130", token.span, "PARTITION BY lists attributes in brackets", "write [attribute]", fix
    )


def _missing_by(stumble: Stumble) -> Diagnostic | None:
    word = stumble.before()
    if word is None or stumble.expected != {"BY"}:
        return None
    return Diagnostic(
        "E131",
        stumble.token.span,
        f"{_found(stumble)}, expected BY after {word.kind}",
        f"write {word.kind} BY",
        Fix(word.span, f"{word.kind} BY"),
    )


def _consume_what(stumble: Stumble) -> Diagnostic | None:
    if stumble.expected != {"ANY", "PARTITION", "NONE"}:
        return None
    return Diagnostic(
        "E132",
        stumble.token.span,
        f"{_found(stumble)} after CONSUME BY",
        "write CONSUME BY ANY, CONSUME BY PARTITION or CONSUME BY NONE",
    )


def _missing_from_or_where(stumble: Stumble) -> Diagnostic | None:
    for word, hint in (
        ("FROM", "name the stream: SELECT * FROM Stream WHERE …"),
        ("WHERE", "the pattern follows WHERE: SELECT * FROM Stream WHERE A ; B"),
    ):
        if word not in stumble.expected or stumble.token.kind == word:
            continue
        if stumble.token.kind == "NAME":
            near = _clause_like(stumble.token, frozenset({word}))
            if near is not None:
                return near
        if stumble.token.kind in (END, "WHERE", "WITHIN", "PARTITION", "FILTER"):
            return Diagnostic("E133", stumble.token.span, f"{word} is missing", hint)
    return None


def _attribute_in_select(stumble: Stumble) -> Diagnostic | None:
    """SELECT a.price for SELECT a[price]."""
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


def _select_nothing(stumble: Stumble) -> Diagnostic | None:
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


def _reserved_as_name(stumble: Stumble) -> Diagnostic | None:
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


def _chained_comparison(stumble: Stumble) -> Diagnostic | None:
    signs = ("<", "<=", ">", ">=", "=", "==", "!=", "<>")
    if stumble.token.kind not in signs or stumble.after_pattern:
        return None
    if not any(token.kind in signs for token in stumble.inside):
        return None
    return Diagnostic(
        "E137",
        stumble.token.span,
        "a comparison has two sides",
        "write low < a AND a < high, or a BETWEEN low AND high (both ends in)",
    )


def _in_without_list(stumble: Stumble) -> Diagnostic | None:
    word, token = stumble.before(), stumble.token
    if word is None or word.kind != "IN" or "(" not in stumble.expected:
        return None
    fix = None
    if token.kind in ("STRING", "INTEGER", "DECIMAL"):
        fix = Fix(token.span, f"({token.text})")
    return Diagnostic(
        "E138",
        token.span,
        f"{_found(stumble)}, but IN needs a list",
        "write IN ('x', 'y'), IN $list or IN RANGE (low, high)",
        fix,
    )


def _between_without_and(stumble: Stumble) -> Diagnostic | None:
    if stumble.token.kind not in (",", "]", ")", END) or "AND" not in stumble.expected:
        return None
    if not stumble.inside or not any(token.kind == "BETWEEN" for token in stumble.inside):
        return None
    fix = Fix(stumble.token.span, " AND") if stumble.token.kind == "," else None
    return Diagnostic(
        "E139", stumble.token.span, "BETWEEN needs two values", "write BETWEEN low AND high", fix
    )


def _is_what(stumble: Stumble) -> Diagnostic | None:
    word = stumble.before()
    if word is None or word.kind not in ("IS", "NOT") or "NULL" not in stumble.expected:
        return None
    if stumble.wants_value:
        return None
    return Diagnostic(
        "E140",
        stumble.token.span,
        f"{_found(stumble)} after IS",
        "only IS NULL and IS NOT NULL; else compare with = or !=",
    )


def _bad_bounds(stumble: Stumble) -> Diagnostic | None:
    word = stumble.before()
    opened = stumble.inside[-1] if stumble.inside else None
    if opened is None or word is None:
        return None
    if word.kind not in ("{", ":{") and opened.kind not in ("{", ":{"):
        return None
    if "INTEGER" not in stumble.expected and "}" not in stumble.expected:
        return None
    if stumble.wants_value or "NAME" in stumble.expected:
        return None
    number = stumble.after()
    fix = None
    if word.kind in ("{", ":{") and stumble.token.kind == "," and number is not None:
        fix = Fix(stumble.token.span, "0,") if number.kind == "INTEGER" else None
    return Diagnostic(
        "E141",
        stumble.token.span,
        f"{_found(stumble)} inside a repetition",
        "write {3}, {1,3} or {2,}",
        fix,
    )


def _trailing_operator(stumble: Stumble) -> Diagnostic | None:
    """A ; ; B, or an operator at the end."""
    word = stumble.before()
    joiners = (";", ":", "OR", "AND", "ALL", "UNLESS")
    if word is None or word.kind not in joiners or not stumble.wants_pattern:
        return None
    if stumble.token.kind in joiners:
        return Diagnostic(
            "E142",
            stumble.token.span,
            f"'{stumble.token.text}' right after '{word.text}'",
            "a pattern stands between two operators",
            Fix(stumble.token.span, ""),
        )
    return None


def _empty_parentheses(stumble: Stumble) -> Diagnostic | None:
    word = stumble.before()
    if stumble.token.kind not in (")", "]") or word is None or word.kind not in ("(", "["):
        return None
    return Diagnostic(
        "E143",
        Span(word.span.start, stumble.token.span.end),
        f"there is nothing between '{word.text}' and '{stumble.token.text}'",
        f"write {_words(stumble)}",
    )


def _not_without_parentheses(stumble: Stumble) -> Diagnostic | None:
    token, word = stumble.token, stumble.before()
    if word is None or word.kind != "NOT" or stumble.expected != {"("}:
        return None
    fix = Fix(token.span, f"({token.text})") if token.kind in ("NAME", "ANY") else None
    return Diagnostic(
        "E144", token.span, "NOT of a pattern needs parentheses", f"write NOT({token.text})", fix
    )


def _value_in_pattern(stumble: Stumble) -> Diagnostic | None:
    if not stumble.wants_pattern or stumble.token.kind not in ("STRING", "INTEGER", "DECIMAL"):
        return None
    return Diagnostic(
        "E145",
        stumble.token.span,
        f"{_found(stumble)}, expected a pattern",
        "an event type is a plain name; conditions on values follow FILTER",
    )


def _aggregate_equals(stumble: Stumble) -> Diagnostic | None:
    if stumble.expected != {"="} or not stumble.within("AGGREGATE"):
        return None
    return Diagnostic(
        "E146",
        stumble.token.span,
        f"{_found(stumble)}, but AGGREGATE names each column",
        "write AGGREGATE Y[total = sum(x.price)]",
    )


def _undotted_key(stumble: Stumble) -> Diagnostic | None:
    """PARTITION BY [k] with more pattern behind, or [x.k, j]."""
    if stumble.token.kind == "." and stumble.expected == {",", "]"} and stumble.within("BY"):
        return Diagnostic(
            "E147",
            stumble.token.span,
            "dotted and plain attributes are mixed",
            "PARTITION BY [a], [b] is about the query; PARTITION BY [x.a, y.b] about a pattern",
        )
    return None


def _after_query(stumble: Stumble) -> Diagnostic | None:
    second = stumble.token.kind == ";" and END in stumble.expected
    if stumble.expected != {END} and not second:
        return None
    return Diagnostic(
        "E148",
        stumble.token.span,
        f"{_found(stumble)} after the end of the query",
        "one text holds one query",
    )


_RULES: tuple[Callable[[Stumble], Diagnostic | None], ...] = (
    _empty,
    _misspelt_start,
    _repeated_name,
    _equals_for_as,
    _brackets_without_filter,
    _comma_in_pattern,
    _clause_order,
    _missing_as,
    _unless_after_filter,
    _window_without_unit,
    _window_without_number,
    _partition_without_brackets,
    _missing_by,
    _consume_what,
    _attribute_in_select,
    _select_nothing,
    _missing_from_or_where,
    _in_without_list,
    _between_without_and,
    _is_what,
    _bad_bounds,
    _chained_comparison,
    _trailing_operator,
    _empty_parentheses,
    _not_without_parentheses,
    _aggregate_equals,
    _undotted_key,
    _value_in_pattern,
    _reserved_as_name,
    _misspelt_keyword,
    _after_query,
)


# --- expected tokens in words ----------------------------------------------------------------

_PATTERN_OPERATORS = {";", ":", "OR", "AND", "ALL", "AS", "UNLESS"}
_REPETITIONS = {"+", "*", "?", "{", ":+", ":*", ":{"}
_PATTERN_SUFFIXES = {"FILTER", "AGGREGATE", "PROJECT"}
_COMPARISONS = {"=", "==", "!=", "<>", "<", "<=", ">", ">=", "IN", "BETWEEN", "LIKE", "RLIKE", "IS"}
_ARITHMETIC = {"+", "-", "*", "/", "%"}

_SINGLE = {
    "NAME": "a name",
    "INTEGER": "a whole number",
    "DECIMAL": "a number",
    "STRING": "a string",
    "PARAMETER": "a parameter such as $list",
    END: "the end of the query",
}


def _words(stumble: Stumble) -> str:
    """Put the expected tokens into words, groups of them by one."""
    left = set(stumble.expected)
    words: list[str] = []

    def take(name: str, group: set[str], needed: set[str]) -> None:
        if needed <= left:
            words.append(name)
            left.difference_update(group)

    if stumble.wants_value:
        words.append("a condition" if "NOT" in left else "a value")
        left -= {"NAME", "ANY", "STRING", "INTEGER", "DECIMAL", "PARAMETER", "TRUE", "FALSE"}
        left -= {"NULL", "(", "-", "NOT"}
    elif stumble.wants_pattern:
        words.append("a pattern")
        left -= {"NAME", "ANY", "NOT", "("}
    if stumble.after_pattern:
        take("an operator such as ';', OR or AS", _PATTERN_OPERATORS, {";", "AS"})
        take("a repetition such as '+'", _REPETITIONS, {"+", "{"})
        take("FILTER, AGGREGATE or PROJECT", _PATTERN_SUFFIXES, {"FILTER"})
        left -= {">", "("} | _PATTERN_OPERATORS
    take("a comparison", _COMPARISONS | {"NOT"}, {"=", "<"})
    take("an arithmetic sign", _ARITHMETIC, {"+", "/"})
    take("a clause such as WITHIN", set(_CLAUSES), {"WITHIN", "LIMIT"})
    if {"NAME", "ANY"} <= left:
        words.append("a variable")
        left -= {"NAME", "ANY"}
    words += [
        _SINGLE.get(kind) or (kind if kind in RESERVED else f"'{kind}'") for kind in sorted(left)
    ]
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + " or " + words[-1]
