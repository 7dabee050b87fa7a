"""`ensue explain`: what a query becomes and what it costs, or a picture of its automaton."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ensue.cli.inputs import (
    query_source,
    read_parameters,
    refuse_unknown_parameters,
    schema_of_file,
)
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
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value for $NAME: JSON, or else a string. May be repeated.  "
            "\\[default: any value]",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Types of attributes as JSON: {attribute: type} or {event: {attribute: type}}.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Picture, typer.Option(help="Words, or the automaton for Graphviz or Mermaid.")
    ] = Picture.TEXT,
) -> None:
    """Explain a query: formula, predicates, automaton, cost. Parameters need no values.

    Exit code: 0 when the query is right, 1 when it is wrong, 2 when a file is missing.

    Examples:
      ensue explain "SELECT * FROM Stocks WHERE SELL ; BUY WITHIN 5 \\[ts]"
      echo 'SELECT * FROM S WHERE A ; B FILTER B\\[price > $low]' > rule.ceql
      ensue explain rule.ceql --param low=5
      ensue explain rule.ceql --format mermaid > rule.mmd
    """
    with exit_codes():
        from ensue.analysis.bind import bind
        from ensue.analysis.schema import OPEN
        from ensue.language.parser import parse_source
        from ensue.plan.explain import automaton_of
        from ensue.plan.explain import explain as explained
        from ensue.plan.physical import make_plan

        source = query_source(query)
        values = read_parameters(param) if param else None
        refuse_unknown_parameters(source, values or {})
        known = schema_of_file(schema, partial=True) or OPEN
        bound = bind(parse_source(source), source, known, values)
        plan = make_plan(bound, assume_numbers=True)
        if format is Picture.TEXT:
            say(explained(plan))
        elif format is Picture.DOT:
            say(automaton_of(plan).to_dot())
        else:
            say(automaton_of(plan).to_mermaid())
