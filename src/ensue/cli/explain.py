"""`ensue explain`: what a query becomes and what it costs, or a picture of its automaton."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ensue.cli.terminal import exit_codes, say


class Picture(StrEnum):
    """How to show a query."""

    TEXT = "text"
    DOT = "dot"
    MERMAID = "mermaid"


def explain(
    query: Annotated[
        str,
        typer.Argument(help="A file, the query itself, or - for standard input.", metavar="QUERY"),
    ],
    format: Annotated[
        Picture, typer.Option(help="Words, or the automaton for Graphviz or Mermaid.")
    ] = Picture.TEXT,
) -> None:
    """Explain a query: formula, predicates, automaton, cost. Parameters need no values.

    Examples:
      ensue explain "SELECT * FROM Stocks WHERE SELL ; BUY WITHIN 5 \\[ts]"
      ensue explain rule.ceql --format dot | dot -Tsvg > rule.svg
    """
    with exit_codes():
        from ensue.analysis.bind import bind
        from ensue.cli.inputs import query_source
        from ensue.language.parser import parse_source
        from ensue.plan.explain import automaton_of
        from ensue.plan.explain import explain as explained
        from ensue.plan.physical import make_plan

        source = query_source(query)
        bound = bind(parse_source(source), source, parameters=None)
        plan = make_plan(bound, assume_numbers=True)
        if format is Picture.TEXT:
            say(explained(plan))
        elif format is Picture.DOT:
            say(automaton_of(plan).to_dot())
        else:
            say(automaton_of(plan).to_mermaid())
