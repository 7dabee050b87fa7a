"""A small reader of TextMate grammars, line by line as editors do: match, begin and end, include.

Enough for our grammar, whose regular expressions are such that Python's mean the same.
"""

from __future__ import annotations

import re
from typing import Any

Rule = dict[str, Any]
Scoped = list[tuple[int, int, str]]


class Reader:
    """Reads texts and returns the innermost scopes of their characters."""

    def __init__(self, grammar: Rule) -> None:
        self.grammar = grammar
        self.stack: list[Rule] = []

    def read(self, text: str) -> list[str | None]:
        """Return the scope of each character, or None."""
        scopes: list[str | None] = [None] * len(text)
        self.stack = []
        at = 0
        for line in text.splitlines(keepends=True):
            self._line(line, at, scopes)
            at += len(line)
        return scopes

    def _line(self, line: str, offset: int, scopes: list[str | None]) -> None:
        at = 0
        while at <= len(line):
            best: tuple[re.Match[str], Rule, bool] | None = None
            top = self.stack[-1] if self.stack else None
            if top is not None:
                end = re.compile(top["end"], re.MULTILINE).search(line, at)
                best = None if end is None else (end, top, True)
            for rule in self._rules(self.grammar if top is None else top):
                pattern = rule.get("match") or rule["begin"]
                if pattern.startswith(r"\A") and offset:
                    continue
                found = re.compile(pattern, re.MULTILINE).search(line, at)
                if found and (best is None or found.start() < best[0].start()):
                    best = (found, rule, False)
            if best is None:
                self._paint(scopes, offset + at, offset + len(line), top)
                return
            found, rule, ends = best
            self._paint(scopes, offset + at, offset + found.start(), top)
            self._paint(scopes, offset + found.start(), offset + found.end(), rule)
            captures = rule.get("captures", {})
            if "begin" in rule:
                captures = rule.get("endCaptures" if ends else "beginCaptures", {})
            for number, capture in captures.items():
                start, stop = found.span(int(number))
                if start >= 0:
                    self._paint(scopes, offset + start, offset + stop, capture)
            if ends:
                self.stack.pop()
            elif "begin" in rule:
                self.stack.append(rule)
            # An empty match that changes nothing would go on for ever.
            at = found.end() + (found.end() == at and "begin" not in rule)

    def _paint(self, scopes: list[str | None], start: int, end: int, rule: Rule | None) -> None:
        if rule is not None and "name" in rule:
            scopes[start:end] = [rule["name"]] * (end - start)

    def _rules(self, rule: Rule) -> list[Rule]:
        """Return the rules inside one, with all that they include, in their order."""
        found: list[Rule] = []
        for each in rule.get("patterns", []):
            include = each.get("include", "")
            if include.startswith("#"):
                known = self.grammar["repository"][include[1:]]
                found += [known] if "begin" in known or "match" in known else self._rules(known)
            elif not include:
                found.append(each)
        return found
