"""`ensue explain`: what a query becomes and what it costs, or a picture of its automaton."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ensue.cli.inputs import (
    query_source,
    read_parameters,
    refuse_unknown_parameters,
    schema_of_file,
)
from ensue.cli.terminal import exit_codes, output, say

if TYPE_CHECKING:
    from ensue.analysis.derived import Level
    from ensue.plan.physical import PhysicalPlan


class Picture(StrEnum):
    """How to show a query."""

    TEXT = "text"
    SVG = "svg"
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
        Picture, typer.Option(help="Words, or the automaton as SVG, for Graphviz or for Mermaid.")
    ] = Picture.TEXT,
) -> None:
    """Explain a query: cost, plan, formula, automaton. Parameters need no values.

    Exit code: 0 when the query is right, 1 when it is wrong, 2 when a file is missing.

    Examples:
      ensue explain "SELECT * FROM Stocks WHERE SELL ; BUY WITHIN 5 \\[ts]"
      echo 'SELECT * FROM S WHERE A ; B FILTER B\\[price > $low]' > rule.ceql
      ensue explain rule.ceql --param low=5
      ensue explain rule.ceql --format svg > rule.svg
    """
    with exit_codes():
        from ensue.analysis.bind import bind_levels
        from ensue.analysis.schema import OPEN
        from ensue.language.parser import parse_source
        from ensue.plan.explain import automaton_of
        from ensue.plan.physical import make_plan

        source = query_source(query)
        values = read_parameters(param) if param else None
        refuse_unknown_parameters(source, values or {})
        known = schema_of_file(schema, partial=True) or OPEN
        levels = bind_levels(parse_source(source), source, known, values)
        plans = [make_plan(level.bound, assume_numbers=True) for level in levels]
        plan = plans[-1]
        match format:
            case Picture.TEXT:
                _show_levels(levels, plans)
            case Picture.SVG:
                say(str(automaton_of(plan).to_svg()))
            case Picture.DOT:
                say(automaton_of(plan).to_dot())
            case Picture.MERMAID:
                say(automaton_of(plan).to_mermaid())


def _show_levels(levels: Sequence[Level], plans: Sequence[PhysicalPlan]) -> None:
    """Explain a query, and each derived stream that it stands on, in their order."""
    from rich.text import Text

    from ensue.plan.explain import chain_text, explained_parts, level_title

    if len(plans) == 1:
        _show(explained_parts(plans[0]))
        return
    _show([("chain", chain_text(levels))])
    for level, plan in zip(levels, plans, strict=True):
        output().print(Text(f"\n{level_title(level)}\n", "bold magenta"), soft_wrap=True)
        _show(explained_parts(plan))


def _show(parts: Sequence[tuple[str, str]]) -> None:
    """Write the parts of an explanation, in colour where there is any."""
    from rich.text import Text

    from ensue.cli.highlight import highlighted
    from ensue.plan.explain import indented

    console = output()
    for number, (title, text) in enumerate(parts):
        body = indented(text)
        shown = highlighted(body) if title == "query" else Text(body)
        if title in _SOFT:
            shown.stylize("dim")
        console.print(Text(title, "bold cyan"), soft_wrap=True)
        console.print(shown, soft_wrap=True)
        if number < len(parts) - 1:
            console.print()


_SOFT = ("formula", "predicates", "automaton")
"""What a query becomes inside, for those who want to know."""
