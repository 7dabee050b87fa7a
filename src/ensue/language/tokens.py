"""The lexer: text to tokens.

Reserved words are tokens of their own; every other word is a NAME, also START, MAX or MINUTES,
which are keywords only where the grammar, or contextual.py, expects them. A token's kind is its
terminal of the grammar: the word, the sign itself, or NAME, INTEGER, DECIMAL, STRING, PARAMETER.
The three words NOT FOLLOWED BY are one token: after a condition, NOT alone could begin NOT IN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from ensue.errors import CeqlSyntaxError, Diagnostic, Fix, Source, Span
from ensue.language.contextual import ContextualWords
from ensue.messages import Message, Parameter

RESERVED = frozenset(
    "SELECT FROM WHERE FILTER AGGREGATE PROJECT PARTITION BY UNLESS OR AND ALL AS ANY NOT NONE "
    "NULL IN BETWEEN LIKE RLIKE IS WITHIN CONSUME LIMIT EVERY TRUE FALSE".split()
)

LONGEST_TEXT = 256 * 1024
DEEPEST = 200

END = "$END"
STATEMENT_END = "STATEMENT_END"

NOT_FOLLOWED_BY = "NOT_FOLLOWED_BY"

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    """As written."""
    value: str | int | Decimal
    """Its value: strings and names without quotes, numbers parsed."""
    span: Span


SHAPES = {
    "space": r"\s+",
    "comment": r"--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/",
    "DECIMAL": r"(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+",
    "INTEGER": r"[0-9]+",
    "word": r"[^\W\d]\w*",
    "backquote": r"`(?:[^`\n]|``)+`",
    "STRING": r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"",
    "PARAMETER": r"\$[^\W\d]\w*",
    "foreign": r"->|=>|/\*",
    "sign": r":\+|:\*|:\{|==|!=|<>|<=|>=|[;:+\-*/%?{}()\[\],.><=]",
}
"""What a text consists of, as regular expressions; where several match, the first one holds."""

TOKEN = re.compile("|".join(f"(?P<{name}>{shape})" for name, shape in SHAPES.items()))

_OPENERS = {"(": ")", "[": "]", "{": "}", ":{": "}"}
_CLOSERS = frozenset(_OPENERS.values())

_FOREIGN = {
    "&&": ("'AND'", "AND"),
    "||": ("'OR'", "OR"),
    "->": ("';' for 'followed by'", ";"),
    "=>": ("';' for 'followed by'", ";"),
    "!": ("'NOT'", "NOT "),
    "&": ("'AND'", "AND"),
    "|": ("'OR'", "OR"),
    "→": ("';' for 'followed by'", ";"),
    "≤": ("'<='", "<="),
    "≥": ("'>='", ">="),
    "≠": ("'!='", "!="),
}
"""Signs of other languages, what CEQL writes for them, and the replacement."""

_CURLY_QUOTES = "‘’‚“”„«»"


def tokenize(source: Source) -> list[Token]:
    """Return the tokens of a text, an END token last; a final `;` is dropped."""
    text = source.text
    if len(text) > LONGEST_TEXT:
        raise CeqlSyntaxError(
            Diagnostic(
                "E101",
                Span(LONGEST_TEXT, LONGEST_TEXT + 1),
                f"the query is {len(text):,} characters long, more than the limit of "
                f"{LONGEST_TEXT:,}",
                "give long lists as parameters: a IN $list",
            ),
            source,
        )
    tokens: list[Token] = []
    open_brackets: list[Token] = []
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup == "foreign":
            raise CeqlSyntaxError(_stray(text, at), source)
        at = found.end()
        kind = found.lastgroup
        if kind in ("space", "comment"):
            continue
        assert kind is not None
        token = token_of(kind, found.group(), Span(found.start(), at), source)
        if token.kind in _OPENERS:
            open_brackets.append(token)
            if len(open_brackets) > DEEPEST:
                raise CeqlSyntaxError(too_deep(token.span), source)
        elif token.kind in _CLOSERS:
            _close(token, open_brackets, source)
        tokens.append(token)
        if token.kind == "BY":
            join_not_followed_by(tokens, text)
    if open_brackets:
        raise CeqlSyntaxError(_unclosed(open_brackets[-1]), source)
    if tokens and tokens[-1].kind == ";":
        tokens.pop()
    tokens = with_contextual_words(tokens)
    mark_statements(tokens)
    tokens.append(Token(END, "", "", Span(len(text.rstrip()), len(text.rstrip()) + 1)))
    return tokens


def join_not_followed_by(tokens: list[Token], text: str) -> None:
    """Make one token of the words NOT FOLLOWED BY, where they are the last ones."""
    words = tokens[-3:]
    if len(words) == 3 and words[0].kind == "NOT" and words[1].text.upper() == "FOLLOWED":
        span = words[0].span.to(words[2].span)
        written = text[span.start : span.end]
        tokens[-3:] = [Token(NOT_FOLLOWED_BY, written, written, span)]


def with_contextual_words(tokens: list[Token]) -> list[Token]:
    """Turn names that are keywords where they stand into keywords."""
    words, brackets = ContextualWords(), 0
    result: list[Token] = []
    for at, token in enumerate(tokens):
        brackets += (token.kind in _OPENERS) - (token.kind in _CLOSERS)
        keyword = None
        if token.kind == "NAME" and not token.text.startswith("`"):
            before = tokens[at - 1].kind if at else ""
            after = tokens[at + 1] if at + 1 < len(tokens) else None
            follows = "" if after is None else _neighbour(after)
            keyword = words.keyword(before, token.text, follows, brackets)
        result.append(token if keyword is None else replace(token, kind=keyword))
    return result


def _neighbour(token: Token) -> str:
    """Return the word or sign of a token, and a word for what is neither."""
    return token.text.upper() if token.kind == "NAME" and token.text.isidentifier() else token.kind


def mark_statements(tokens: list[Token]) -> None:
    """Tell a `;` that ends a statement from one that is a sequence."""
    for at, token in enumerate(tokens):
        if token.kind == ";" and _begins_statement(tokens[at + 1 : at + 4]):
            tokens[at] = replace(token, kind=STATEMENT_END)


def _begins_statement(tokens: list[Token]) -> bool:
    """Tell whether a statement begins here: no pattern has SELECT, or three names in a row."""
    words = [token.text.upper() for token in tokens]
    if tokens and tokens[0].kind == "SELECT":
        return True
    return words[:2] == ["CREATE", "STREAM"] and [each.kind for each in tokens] == ["NAME"] * 3


def too_deep(span: Span) -> Diagnostic:
    """Return the diagnostic of text nested too deeply."""
    return Diagnostic(
        "E107",
        span,
        f"nested more than {DEEPEST} levels deep",
        "a chain such as A ; B ; C does not nest; parentheses and repeated operators do",
    )


def quoted(name: str) -> str:
    """Write a name so that it is read as a name.

    >>> quoted("price"), quoted("select"), quoted("two words")
    ('price', '`select`', '`two words`')
    """
    if re.fullmatch(r"[^\W\d]\w*", name) and name.upper() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def token_of(kind: str, text: str, span: Span, source: Source) -> Token:
    """Make a token of a text of some shape."""
    match kind:
        case "word":
            upper = text.upper()
            if upper in RESERVED and text.isascii():
                return Token(upper, text, text, span)
            return Token("NAME", text, text, span)
        case "backquote":
            return Token("NAME", text, text[1:-1].replace("``", "`"), span)
        case "STRING":
            quote = text[0]
            return Token(kind, text, text[1:-1].replace(quote * 2, quote), span)
        case "PARAMETER":
            return Token(kind, text, text[1:], span)
        case "INTEGER":
            if len(text) > 19 or int(text) > _INT64:
                raise CeqlSyntaxError(_too_large(text, span), source)
            return Token(kind, text, int(text), span)
        case "DECIMAL":
            if len(text) > 400 or float(text) == float("inf"):
                raise CeqlSyntaxError(_too_large(text, span), source)
            return Token(kind, text, Decimal(text), span)
        case _:
            return Token(text, text, text, span)


def _too_large(text: str, span: Span) -> Diagnostic:
    shown = text if len(text) <= 40 else text[:37] + "…"
    return Diagnostic(
        "E106",
        span,
        f"the number {shown} does not fit into 64 bits",
        "the largest whole number is 9223372036854775807; 1e30 is a double",
    )


def _stray(text: str, at: int) -> Diagnostic:
    """Return the diagnostic of text that starts no token."""
    char = text[at]
    here = Span(at, at + 1)
    if char in "'\"":
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        return Diagnostic(
            "E102",
            Span(at, end),
            f"this string is never closed by another {char}",
            f"a quote inside a string is written twice: {char}it{char * 2}s{char}",
        )
    if char == "`":
        return Diagnostic(
            "E103",
            here,
            "this name is never closed by another `",
            "a name in backquotes stands on one line and is not empty",
        )
    if text.startswith("/*", at):
        return Diagnostic("E104", Span(at, at + 2), "this comment is never closed by */")
    if char in _CURLY_QUOTES:
        fix = Fix(here, "'")
        if text.count(char) > 1 or any(text.count(each) for each in _CURLY_QUOTES if each != char):
            fix = Fix(Span(0, len(text)), re.sub(f"[{_CURLY_QUOTES}]", "'", text))
        return Diagnostic(
            "E105", here, f"the quote {char} is not one of CEQL's", "use ' or \"", fix
        )
    for length in (2, 1):
        sign = text[at : at + length]
        if sign in _FOREIGN:
            words, replacement = _FOREIGN[sign]
            span = Span(at, at + length)
            return Diagnostic(
                "E108", span, f"'{sign}' is not CEQL", f"write {words}", Fix(span, replacement)
            )
    if char == "$":
        return Diagnostic(
            "E109",
            here,
            "'$' without a name",
            Message("a parameter is written $name and given as ", Parameter("name")),
        )
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    return Diagnostic("E109", here, f"the character '{shown}' means nothing here")


def _close(token: Token, open_brackets: list[Token], source: Source) -> None:
    if not open_brackets:
        raise CeqlSyntaxError(
            Diagnostic(
                "E111",
                token.span,
                f"'{token.text}' closes nothing",
                "remove it, or open it earlier",
                Fix(token.span, ""),
            ),
            source,
        )
    opener = open_brackets.pop()
    wanted = _OPENERS[opener.kind]
    if token.kind != wanted:
        line, column = source.place(opener.span.start)
        raise CeqlSyntaxError(
            Diagnostic(
                "E112",
                token.span,
                f"'{token.text}' does not close '{opener.text}' of line {line}, column {column}",
                f"write '{wanted}'",
            ),
            source,
        )


def _unclosed(opener: Token) -> Diagnostic:
    wanted = _OPENERS[opener.kind]
    return Diagnostic(
        "E110",
        opener.span,
        f"this '{opener.text}' is never closed",
        f"add '{wanted}' where it ends",
    )
