"""Turn grammar.lark into the parser's tables: `python -m ensue.language.generate`.

Lark computes the LALR(1) automaton; the parser's part of it is written to tables.json, with states
numbered in the order of a breadth-first walk so that the file only changes when the grammar does.
Lark is a development dependency: parsing a query does not need it.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLES = Path(__file__).with_name("tables.json")


def generate() -> str:
    """Return the text of tables.json for the present grammar."""
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        def __init__(self, _: object) -> None: ...

        def lex(self, *_: object) -> Any:
            raise AssertionError("Lark builds tables here and never parses")

    lark = Lark(GRAMMAR.read_text(), parser="lalr", lexer=NoLexer, strict=True, start="start")
    literals = {each.name: each.pattern.value.replace("\\", "") for each in lark.terminals}
    table = lark.parser.parser._parse_table
    numbers, order = _number_states(table.start_states["start"], table.states)

    rules: dict[tuple[str, int, str], int] = {}
    states: list[dict[str, int]] = []
    for state in order:
        row: dict[str, int] = {}
        for symbol, (action, target) in sorted(table.states[state].items()):
            name = literals.get(symbol, symbol)
            if action.name == "Shift":
                row[name] = numbers[target]
            else:
                key = (target.origin.name, len(target.expansion), target.alias or "")
                row[name] = -1 - rules.setdefault(key, len(rules))
        states.append(row)
    end = numbers[table.end_states["start"]]
    return json.dumps(
        {"end": end, "rules": list(rules), "states": states}, indent=0, separators=(",", ":")
    )


def _number_states(
    start: int, states: dict[int, dict[str, Any]]
) -> tuple[dict[int, int], list[int]]:
    """Number the states breadth first from the start, symbols in alphabetical order."""
    numbers, order, queue = {start: 0}, [start], deque([start])
    while queue:
        for _, (action, target) in sorted(states[queue.popleft()].items()):
            if action.name == "Shift" and target not in numbers:
                numbers[target] = len(order)
                order.append(target)
                queue.append(target)
    return numbers, order


if __name__ == "__main__":
    TABLES.write_text(generate() + "\n")
