"""`ensue check`: everything that is wrong with queries, without running them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ensue.cli.terminal import (
    BAD_INPUT,
    count,
    drawn,
    exit_codes,
    is_coloured,
    output,
    say,
)


def check(
    queries: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help="Files, folders (all .ceql files below them), or - for standard input.",
            show_default=False,
        ),
    ],
    schema: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Types of attributes as JSON: {attribute: type} or {event: {attribute: type}}.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check queries: show all errors and warnings. Parameters need no values.

    Exit code: 0 when there is no error, 1 when there is one, 2 when a file is missing.

    Examples:
      echo 'SELECT * FROM S WHERE A ; B FILTER B\\[price > $low]' > rule.ceql
      ensue check rule.ceql
      ensue check .
      printf '+++\\nseverity = "low"\\n+++\\nSELECT * FROM S WHERE A' | ensue check -
      echo '{"price": "double"}' > schema.json
      ensue check --schema schema.json - < rule.ceql
    """
    with exit_codes():
        from ensue.cli.inputs import query_files, read_rule_file, schema_of_file
        from ensue.errors import CeqlError
        from ensue.rules.diagnosis import diagnose
        from ensue.rules.files import RuleError

        known = schema_of_file(schema)
        files = query_files(queries)
        colour = is_coloured(output())
        errors = warnings = 0
        for file in files:
            try:
                source, found = diagnose(read_rule_file(file), known)
            except CeqlError as error:  # a file that is not UTF-8
                source, found = error.source, error.diagnostics
            except RuleError as error:
                say(f"error: {error}\n")
                errors += 1
                continue
            for diagnostic in found:
                say(drawn(diagnostic, source, colour=colour) + "\n")
                warnings += diagnostic.is_warning
                errors += not diagnostic.is_warning
        say(f"{count(len(files), 'file')}: {count(errors, 'error')}, {count(warnings, 'warning')}")
    if errors:
        raise typer.Exit(BAD_INPUT)
