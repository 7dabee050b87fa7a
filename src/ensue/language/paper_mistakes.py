"""Diagnostics of the papers' notation, with the CEQL for it."""

from __future__ import annotations

from collections.abc import Sequence

from ensue.errors import Diagnostic, Fix, Span
from ensue.language.parse_failure import ParseFailure
from ensue.language.tokens import Token, quoted

_OPENERS = ("(", "[", "{", ":{")
_CLOSERS = (")", "]", "}")
_REPETITIONS = ("+", "*", "?", ":+", ":*")


def in_for_as(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `T IN X`, the papers' `T AS X`."""
    token, name = failure.token, failure.after()
    if token.kind != "IN" or not failure.after_pattern or name is None or name.kind != "NAME":
        return None
    message = "an event is named by AS, not by IN"
    return Diagnostic("E149", token.span, message, f"write AS {name.text}", Fix(token.span, "AS"))


def part_by(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `φ PART-BY (x.a, y.b)`, also with brackets, and for `PARTITION-BY`."""
    at = failure.at - (failure.token.kind == "-")
    words = failure.tokens[at : at + 3]
    if [word.text.upper() for word in words[1:]] != ["-", "BY"]:
        return None
    if words[0].text.upper() not in ("PART", "PARTITION"):
        return None
    begin, text = words[0].span.start, "".join(word.text for word in words)
    end, written = words[-1].span.end, "PARTITION BY"
    keys = _bracketed(failure.tokens, at + 3)
    if keys:
        end = keys[-1].span.end
        written = f"PARTITION BY [{_text(keys[1:-1])}]"
    hint = f"write {written}" if keys else "write PARTITION BY [x.a, y.b]"
    span = Span(begin, end)
    message = f"'{text}' is written PARTITION BY, with its attributes in brackets"
    return Diagnostic("E150", span, message, hint, Fix(span, written))


def hyphen_in_name(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `[x.tweet-id]`: a name with a hyphen where nothing can be subtracted."""
    if failure.token.kind != "-":
        return None
    parts = _hyphenated(failure.tokens, failure.at)
    if len(parts) < 3:
        return None
    name = "".join(str(part.value) for part in parts)
    span = Span(parts[0].span.start, parts[-1].span.end)
    return Diagnostic(
        "E151",
        span,
        f"a name with '-' in it stands in backquotes: {quoted(name)}",
        f"write {quoted(name)}",
        Fix(span, quoted(name)),
    )


def hyphen_in_a_column(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `SELECT Y.tweet-id`: without a name of its own a difference is no column."""
    if failure.token.kind not in ("FROM", ",") or "AS" not in failure.expected:
        return None
    parts = _hyphenated(failure.tokens, failure.at - 1)
    dot, variable = failure.before(len(parts) + 1), failure.before(len(parts) + 2)
    if len(parts) < 3 or variable is None or dot is None or dot.kind != ".":
        return None
    if not all(part.kind in ("NAME", "-") for part in parts):
        return None
    name = quoted("".join(str(part.value) for part in parts))
    span, written = Span(variable.span.start, parts[-1].span.end), f"{variable.text}[{name}]"
    return Diagnostic(
        "E151",
        span,
        f"a name with '-' in it stands in backquotes: {name}",
        f"write {written}, or {variable.text}.{name} AS name for a column",
        Fix(span, written),
    )


def plain_key_of_a_pattern(failure: ParseFailure) -> Diagnostic | None:
    """Diagnose `((R+) PARTITION BY [user_id]) AS Y`: attributes without a variable."""
    if failure.token.kind not in (",", "]") or failure.expected != {"."}:
        return None
    begin = failure.at
    while failure.tokens[begin].kind != "[":
        begin -= 1
    keys = _bracketed(failure.tokens, begin)
    if begin < 2 or failure.tokens[begin - 2].kind != "PARTITION":
        return None
    names = [key for key in keys[1:-1] if key.kind != ","]
    if any(name.kind != "NAME" for name in names):
        return None
    variable = _fresh_name(failure.tokens)
    written = " ".join(f"PARTITION BY [{variable}.{name.text}]" for name in names)
    fix = None
    if _is_closed(failure.tokens, begin - 3):
        last = failure.tokens[begin - 3].span.end
        fix = Fix(Span(last, keys[-1].span.end), f" AS {variable} {written}")
    return Diagnostic(
        "E152",
        Span(names[0].span.start, names[-1].span.end),
        "PARTITION BY inside a pattern says whose attribute each key is",
        f"name the events of the pattern: (…) AS {variable} {written}",
        fix,
    )


def _hyphenated(tokens: Sequence[Token], at: int) -> list[Token]:
    """Return the tokens around a hyphen that touch one another and could be one name."""
    first = last = at
    while first >= 1 and _joins(tokens, first - 1):
        first -= 1
    while last + 1 < len(tokens) and _joins(tokens, last):
        last += 1
    parts = list(tokens[first : last + 1])
    whole = bool(parts) and parts[0].kind != "-" and parts[-1].kind != "-"
    return parts if whole else []


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a token and the next are a word and a hyphen without a blank."""
    one, other = tokens[at], tokens[at + 1]
    signs = (one.kind == "-") + (other.kind == "-")
    words = one.text[-1:].isalnum() or other.text[:1].isalnum()
    return signs == 1 and words and one.span.end == other.span.start


def _bracketed(tokens: Sequence[Token], at: int) -> list[Token]:
    """Return the tokens from an opening bracket to the one that closes it."""
    if at >= len(tokens) or tokens[at].kind not in ("(", "["):
        return []
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end].kind in _OPENERS) - (tokens[end].kind in _CLOSERS)
        if depth == 0:
            return list(tokens[at : end + 1])
    return []


def _is_closed(tokens: Sequence[Token], at: int) -> bool:
    """Return whether the pattern that ends here is one group or event, perhaps repeated."""
    while at > 0 and tokens[at].kind in _REPETITIONS:
        at -= 1
    if tokens[at].kind in ("NAME", "ANY"):
        return tokens[at - 1].kind in ("(", "WHERE")
    depth = 0
    while at > 0:
        depth += (tokens[at].kind in _CLOSERS) - (tokens[at].kind in _OPENERS)
        if depth == 0:
            return tokens[at].kind == "(" and tokens[at - 1].kind in ("(", "WHERE")
        at -= 1
    return False


def _fresh_name(tokens: Sequence[Token]) -> str:
    """Return a name that the query does not have."""
    taken = {str(token.value) for token in tokens}
    names = ("x", "y", "z", *(f"x{number}" for number in range(len(taken) + 1)))
    return next(name for name in names if name not in taken)


def _text(tokens: Sequence[Token]) -> str:
    """Return a list of attributes as text."""
    return "".join(", " if token.kind == "," else token.text for token in tokens)
