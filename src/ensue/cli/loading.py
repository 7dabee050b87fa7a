"""Rules of the command line: read, compiled, and what is wrong with them shown."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ensue.cli.inputs import read_parameters, read_schema
from ensue.cli.rules import RuleSet
from ensue.cli.terminal import UsageError, count, remark, show
from ensue.errors import CeqlError, CeqlWarning
from ensue.rules.files import RuleError, RuleFile, read_rule
from ensue.rules.load import Rule, compiled, refuse_unknown_parameters, rule_files


def load(
    paths: Sequence[Path],
    given: Sequence[str],
    schema: Path | None,
    *,
    uniform: bool,
    keep_going: bool,
) -> tuple[RuleSet, int]:
    """Load rules; show all that are wrong, and stop there unless told to go on without them.

    Returns the rules, and how many are left out.
    """
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
    return RuleSet(rules, uniform), failures


def _compiled(name: str, rule: RuleFile, schema: Any, params: dict[str, Any]) -> Rule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        ready = compiled(name, rule, schema, params)
    if ready.warnings:
        show(ready.warnings, ready.source)
        remark("")
    return ready
