"""Diagnostics of common mistakes in patterns and conditions."""

from __future__ import annotations

from ensue.errors import Diagnostic, Fix, Span
from ensue.language.clause_mistakes import clause_like
from ensue.language.parse_failure import ParseFailure, expected_words, found
from ensue.language.tokens import END


def repeated_name(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `A AS x+`."""
    token, name, word = failure.token, failure.before(), failure.before(2)
    if token.kind not in ("+", "*", "?", "{", ":+", ":*", ":{"):
        return None
    if name is None or word is None or name.kind != "NAME" or word.kind != "AS":
        return None
    sign = token.text if token.kind not in ("{", ":{") else token.text + "…}"
    first = failure.before(3)
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


_CONSTANTS = ("STRING", "INTEGER", "DECIMAL", "PARAMETER", "TRUE", "FALSE", "NULL")
_SIGNS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
_WORDS = ("IN", "BETWEEN", "LIKE", "RLIKE", "IS")


def comparison_as_pattern(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `WHERE price > 10`, `WHERE price IN (…)` and `WHERE x.price > 10`."""
    at, tokens = failure.at, failure.tokens
    # After a name and '>' the parser expects an event, since S>R is an event of a stream.
    after_sign = failure.expected == {"NAME"} and tokens[at - 1].kind == ">"
    sign = at - 1 if after_sign else at
    name, rest = tokens[sign - 1], tokens[sign + 1 :]
    if not (after_sign or failure.after_pattern) or name.kind != "NAME" or len(rest) < 2:
        return None
    dotted = tokens[sign].kind == "." and rest[0].kind == "NAME"
    value = rest[0].kind in (*_CONSTANTS, "-")
    if dotted:
        compares = rest[1].kind in (*_SIGNS, *_WORDS)
    elif tokens[sign].kind in ("=", "==", ">"):
        compares = value
    elif tokens[sign].kind == "IN":
        compares = rest[0].kind in ("(", "PARAMETER")
    else:
        compares = tokens[sign].kind in (*_SIGNS, *_WORDS)
    if not compares:
        return None
    simple = rest[0].kind in _CONSTANTS and tokens[sign].kind in _SIGNS
    end = rest[0] if dotted or simple else tokens[sign]
    span = Span(name.span.start, end.span.end)
    attribute = rest[0].text if dotted else name.text
    condition = f"{name.text} {tokens[sign].text} {rest[0].text}" if simple else f"{attribute} …"
    pattern = f"ANY AS x FILTER x[{condition}]"
    hint = f"name an event and filter it: {pattern}, or its type instead of ANY"
    if dotted:
        hint = f"conditions follow the pattern: … FILTER {name.text}[{condition}]"
    free = simple and all(each.text != "x" for each in tokens)
    return Diagnostic(
        "E155",
        span,
        "this is a condition, but here stands a pattern: the types of the events to find",
        hint,
        Fix(span, f"({pattern})") if free else None,
    )


def equals_for_as(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELL = a`."""
    token = failure.token
    if token.kind not in ("=", "==") or not failure.after_pattern:
        return None
    name = failure.after()
    if name is not None and name.kind == "NAME":
        return Diagnostic(
            "E119",
            token.span,
            "an event is named by AS, not by '='",
            f"write AS {name.text}",
            Fix(token.span, "AS"),
        )
    return Diagnostic("E119", token.span, "an event is named by AS, not by '='")


def brackets_without_filter(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `A[price > 10]` instead of `A FILTER A[price > 10]`."""
    token, name = failure.token, failure.before()
    if token.kind != "[" or not failure.after_pattern or name is None:
        return None
    if name.kind not in ("NAME", "ANY"):
        return Diagnostic(
            "E120",
            token.span,
            "brackets after a pattern",
            "a condition follows FILTER: (A ; B AS x) FILTER x[price > 10]",
        )
    end = next(each for each in failure.tokens[failure.at :] if each.kind == "]")
    whole = Span(name.span.start, end.span.end)
    condition = " ".join(
        each.text for each in failure.tokens[failure.at + 1 :] if each.span.start < end.span.start
    )
    return Diagnostic(
        "E120",
        whole,
        f"a condition on {name.text} follows FILTER",
        f"write ({name.text} FILTER {name.text}[…])",
        Fix(whole, f"({name.text} FILTER {name.text}[{condition}])"),
    )


def comma_in_pattern(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELL , BUY`."""
    token = failure.token
    if token.kind != "," or not failure.after_pattern:
        return None
    return Diagnostic(
        "E121",
        token.span,
        "',' does not join patterns",
        "write ';' for 'followed by', or OR, AND, ALL",
        Fix(token.span, " ;"),
    )


def missing_as(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELL a`."""
    token, name = failure.token, failure.before()
    if token.kind != "NAME" or not failure.after_pattern or name is None:
        return None
    clause = clause_like(token, failure.expected)
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


def unless_after_filter(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `A FILTER A[x > 1] UNLESS B`."""
    token = failure.token
    if token.kind not in ("UNLESS", ";", ":", "ALL", "AS") or "FILTER" not in failure.expected:
        return None
    if failure.after_pattern:
        return None
    return Diagnostic(
        "E127",
        token.span,
        f"'{token.text}' after a filter",
        f"put the filtered pattern in parentheses: (A FILTER A[…]) {token.text} …",
    )


def in_without_list(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `name IN 'MSFT'`."""
    word, token = failure.before(), failure.token
    if word is None or word.kind != "IN" or "(" not in failure.expected:
        return None
    fix = None
    if token.kind in ("STRING", "INTEGER", "DECIMAL"):
        fix = Fix(token.span, f"({token.text})")
    return Diagnostic(
        "E138",
        token.span,
        f"{found(failure)}, but IN needs a list",
        "write IN ('x', 'y'), IN $list, IN RANGE (low, high), or an attribute that holds a list",
        fix,
    )


def between_without_and(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `price BETWEEN 1, 2`."""
    if failure.token.kind not in (",", "]", ")", END) or "AND" not in failure.expected:
        return None
    if not failure.inside or not any(token.kind == "BETWEEN" for token in failure.inside):
        return None
    fix = Fix(failure.token.span, " AND") if failure.token.kind == "," else None
    return Diagnostic(
        "E139", failure.token.span, "BETWEEN needs two values", "write BETWEEN low AND high", fix
    )


def is_what(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `price IS 3`."""
    word = failure.before()
    if word is None or word.kind not in ("IS", "NOT") or "NULL" not in failure.expected:
        return None
    if failure.wants_value:
        return None
    return Diagnostic(
        "E140",
        failure.token.span,
        f"{found(failure)} after IS",
        "only IS NULL and IS NOT NULL; else compare with = or !=",
    )


def bad_bounds(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `BUY{2 3}` and the like."""
    word = failure.before()
    opened = failure.inside[-1] if failure.inside else None
    if opened is None or word is None:
        return None
    if word.kind not in ("{", ":{") and opened.kind not in ("{", ":{"):
        return None
    if "INTEGER" not in failure.expected and "}" not in failure.expected:
        return None
    if failure.wants_value or "NAME" in failure.expected:
        return None
    number = failure.after()
    fix = None
    if word.kind in ("{", ":{") and failure.token.kind == "," and number is not None:
        fix = Fix(failure.token.span, "0,") if number.kind == "INTEGER" else None
    return Diagnostic(
        "E141",
        failure.token.span,
        f"{found(failure)} inside a repetition",
        "write {3}, {1,3} or {2,}",
        fix,
    )


def chained_comparison(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `1 < price < 2`."""
    signs = ("<", "<=", ">", ">=", "=", "==", "!=", "<>")
    if failure.token.kind not in signs or failure.after_pattern:
        return None
    if not any(token.kind in signs for token in failure.inside):
        return None
    return Diagnostic(
        "E137",
        failure.token.span,
        "a comparison has two sides",
        "write low < a AND a < high, or a BETWEEN low AND high (both ends in)",
    )


def trailing_operator(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `A ; ; B`."""
    word = failure.before()
    joiners = (";", ":", "OR", "AND", "ALL", "UNLESS")
    if word is None or word.kind not in joiners or not failure.wants_pattern:
        return None
    if failure.token.kind in joiners:
        return Diagnostic(
            "E142",
            failure.token.span,
            f"'{failure.token.text}' right after '{word.text}'",
            "a pattern stands between two operators",
            Fix(failure.token.span, ""),
        )
    return None


_JOINERS = (";", ":", "OR", "AND", "ALL", "UNLESS", "+", "*", "?", "AS", "FILTER")
_OF_WINDOWS = ("INTEGER", "DECIMAL", "NAME", "[", "]", ".")


def window_without_parentheses(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `NEXT(A ; B WITHIN 5 MINUTES)` and `A ; B WITHIN 5 MINUTES ; C`."""
    token, at = failure.token, failure.at
    span = token.span
    if token.kind != "WITHIN" or not {")", "FILTER"} <= failure.expected:
        following = failure.after()
        begin = at - 1
        while begin > 0 and failure.tokens[begin].kind in _OF_WINDOWS:
            begin -= 1
        before = failure.tokens[begin]
        goes_on = following is not None and following.kind not in ("SELECT", END)
        if token.kind not in _JOINERS or before.kind != "WITHIN" or begin == at - 1 or not goes_on:
            return None
        span = Span(before.span.start, failure.tokens[at - 1].span.end)
    return Diagnostic(
        "E156",
        span,
        "a window of a part of the pattern stands in parentheses with that part",
        "write (SELL ; BUY WITHIN 5 MINUTES); without parentheses of its own, WITHIN is the clause "
        "that ends the pattern",
    )


def empty_parentheses(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `()` and `[]`."""
    word = failure.before()
    if failure.token.kind not in (")", "]") or word is None or word.kind not in ("(", "["):
        return None
    return Diagnostic(
        "E143",
        Span(word.span.start, failure.token.span.end),
        f"there is nothing between '{word.text}' and '{failure.token.text}'",
        f"write {expected_words(failure)}",
    )


def not_without_parentheses(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `NOT BUY`."""
    token, word = failure.token, failure.before()
    if word is None or word.kind != "NOT" or failure.expected != {"("}:
        return None
    fix = Fix(token.span, f"({token.text})") if token.kind in ("NAME", "ANY") else None
    return Diagnostic(
        "E144", token.span, "NOT of a pattern needs parentheses", f"write NOT({token.text})", fix
    )


def aggregate_equals(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `AGGREGATE Y[count(b) AS n]`."""
    if failure.expected != {"="} or not failure.within("AGGREGATE"):
        return None
    return Diagnostic(
        "E146",
        failure.token.span,
        f"{found(failure)}, but AGGREGATE names each column",
        "write AGGREGATE Y[total = sum(x.price)]",
    )


def undotted_key(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `PARTITION BY [k, x.j]` and `[x.j, k]`."""
    dotted = failure.token.kind == "." and failure.expected == {",", "]"}
    plain = failure.token.kind in (",", "]") and failure.expected == {"."}
    if (dotted or plain) and failure.within("BY"):
        return Diagnostic(
            "E147",
            failure.token.span,
            "dotted and plain attributes are mixed",
            "PARTITION BY [a], [b] is about the query; PARTITION BY [x.a, y.b] about a pattern",
        )
    return None


def value_in_pattern(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `'SELL' ; BUY`."""
    if not failure.wants_pattern or failure.token.kind not in ("STRING", "INTEGER", "DECIMAL"):
        return None
    return Diagnostic(
        "E145",
        failure.token.span,
        f"{found(failure)}, expected a pattern",
        "an event type is a plain name; conditions on values follow FILTER",
    )
