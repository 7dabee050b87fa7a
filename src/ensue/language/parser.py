"""The parser: tokens to syntax tree, driven by the tables made from grammar.lark.

The driver is an ordinary LALR(1) automaton with an explicit stack, so no text can exhaust
Python's recursion. It keeps, beside each value, the span it covers and how deeply it is nested;
`Builder` has one method for each alias of the grammar.
"""

from __future__ import annotations

from typing import Any

from ensue.errors import CeqlError, CeqlSemanticError, CeqlSyntaxError, Diagnostic, Source, Span
from ensue.language import tree
from ensue.language.automaton import accepted_kinds, tables
from ensue.language.builder import Builder
from ensue.language.syntax_errors import diagnose
from ensue.language.tokens import DEEPEST, Token, tokenize, too_deep

MOST_NODES = 20_000


def parse(text: str, name: str = "query") -> tree.Query:
    """Parse a query.

    >>> parse("SELECT * FROM S WHERE A ; B").pattern.items[1].type.text
    'B'
    """
    return parse_source(Source(text, name))


def parse_source(source: Source) -> tree.Query:
    """Parse a query that has a name."""
    tokens = tokenize(source)
    return _Driver(source, tokens).run()


class _Driver:
    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.builder = Builder(source)
        self.states = [0]
        self.values: list[Any] = []
        self.spans: list[Span] = []
        self.depths: list[int] = []
        self.nodes = 0

    def run(self) -> tree.Query:
        table = tables()
        at = 0
        while True:
            token = self.tokens[at]
            step = table.states[self.states[-1]].get(token.kind)
            if step is None:
                raise self._error(at)
            if step < 0:
                self._reduce(*table.rules[-1 - step])
                if self.states[-1] == table.end:
                    query: tree.Query = self.values[0]
                    return query
                continue
            self.states.append(step)
            self.values.append(token)
            self.spans.append(token.span)
            self.depths.append(0)
            at += 1

    def _reduce(self, origin: str, length: int, alias: str) -> None:
        states = self.states
        if alias:
            first = len(self.values) - length
            values, spans, depths = self.values, self.spans, self.depths
            span = Span(spans[first].start, spans[-1].end) if length else tree.NOWHERE
            nests = alias not in _FLAT
            depth = max(depths[first:], default=0) + nests
            self.nodes += nests
            if depth > DEEPEST:
                raise CeqlSyntaxError(too_deep(span), self.source)
            if self.nodes > MOST_NODES:
                raise CeqlSemanticError(too_large(span), self.source)
            value = self.builder.build(alias, span, values[first:])
            del states[len(states) - length :], values[first:], spans[first:], depths[first:]
            values.append(value)
            spans.append(span)
            depths.append(depth)
        else:
            states.pop()
        states.append(tables().states[states[-1]][origin])

    def _error(self, at: int) -> CeqlError:
        expected = accepted_kinds(self.states)
        inside = [value for value in self.values if isinstance(value, Token)]
        return CeqlSyntaxError(diagnose(self.tokens, at, expected, inside), self.source)


_FLAT = frozenset(
    "one more more_listed more_words two joined middle one_word second none query".split()
)
"""Actions that pass values on or collect lists: they do not nest."""


def too_large(span: Span) -> Diagnostic:
    """Return the diagnostic of a query with too many nodes."""
    return Diagnostic(
        "E401",
        span,
        f"the query has more than {MOST_NODES:,} nodes once repetitions and choices are written "
        "out",
        "use + instead of a large {n,m}, OR inside brackets, and parameters for long lists",
    )
