"""What a run looks for: a query or rules, read and compiled, and what is wrong with them shown."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ensue.cli import inputs
from ensue.cli.inputs import query_source, read_parameters, read_schema, schema_of_file
from ensue.cli.run.options import Format
from ensue.cli.run.rules import RuleSet
from ensue.cli.terminal import UsageError, count, remark, show
from ensue.engine.query import Query, compile
from ensue.errors import CeqlError, CeqlWarning
from ensue.language.tokens import tokenize
from ensue.rules.files import RuleError, RuleFile, read_rule
from ensue.rules.load import Rule, compiled, refuse_unknown_parameters, rule_files


class Loaded(NamedTuple):
    """What a run looks for."""

    query: Query | RuleSet
    left_out: int = 0
    """How many rules are wrong, and left out."""

    @property
    def queries(self) -> list[Query]:
        """The query, or those of all rules."""
        return self.query.queries if isinstance(self.query, RuleSet) else [self.query]

    @property
    def streams(self) -> list[str]:
        """The streams that FROM names."""
        return self.queries[0].streams

    @property
    def names(self) -> set[str]:
        """The names that queries mention."""
        tokens = (token for query in self.queries for token in tokenize(query.source))
        return {str(token.value) for token in tokens if token.kind == "NAME"}


def load(
    query: str,
    rules: Sequence[Path],
    params: Sequence[str],
    schema: Path | None,
    format: Format,
    *,
    keep_going: bool,
) -> Loaded:
    """Load rules where there are any, else a single query.

    Args:
        query: a file, the text of a query, or - for standard input.
        rules: files and folders of rules.
        params: NAME=VALUE for each parameter.
        schema: a file with the types of attributes.
        format: how matches are written.
        keep_going: leave out rules that are wrong, instead of stopping.
    """
    if rules:
        return _load_rules(rules, params, schema, format, keep_going=keep_going)
    return Loaded(load_query(query, params, schema))


def load_query(argument: str, given: Sequence[str], schema: Path | None) -> Query:
    """Compile a query that is no rule, and show its warnings."""
    source = query_source(argument)
    params: dict[str, Any] = read_parameters(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        # The events have other attributes too, and these are looked for when they are there.
        known = schema_of_file(schema, partial=True)
        query = compile(source.text, known, params, name=source.name)
    inputs.refuse_unknown_parameters(source, params)
    _show_warnings(query)
    return query


def _load_rules(
    paths: Sequence[Path],
    given: Sequence[str],
    schema: Path | None,
    format: Format,
    *,
    keep_going: bool,
) -> Loaded:
    """Load rules; show all that are wrong, and stop there unless `keep_going`."""
    params = read_parameters(given)
    known = None if schema is None else read_schema(schema)
    try:
        files = rule_files(paths)
    except RuleError as error:
        raise UsageError(str(error)) from error
    read: dict[str, RuleFile] = {}
    rules: dict[str, Rule] = {}
    failures = 0
    for name, path in files.items():
        try:
            read[name] = read_rule(path)
            rules[name] = _compiled(name, read[name], known, params)
        except CeqlError as error:
            show(error.diagnostics, error.source)
            remark("")
            failures += 1
        except (RuleError, OSError) as error:
            remark(f"error: {error}\n")
            failures += 1
    try:
        refuse_unknown_parameters(read.values(), params)
    except RuleError as error:
        raise UsageError(f"--param: {error}") from error
    if failures and not (keep_going and rules):
        advice = "; --keep-going runs the others" if rules else ""
        raise RuleError(f"{count(failures, 'rule is', 'rules are')} wrong{advice}")
    if failures:
        remark(f"{count(failures, 'rule is', 'rules are')} left out")
    return Loaded(RuleSet(rules, format.is_uniform), failures)


def _compiled(name: str, rule: RuleFile, schema: Any, params: dict[str, Any]) -> Rule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        ready = compiled(name, rule, schema, params)
    _show_warnings(ready)
    return ready


def _show_warnings(query: Query) -> None:
    if query.warnings:
        show(query.warnings, query.source)
        remark("")
