"""Everything that is wrong with a rule, without running it: for `ensue check` and editors."""

from __future__ import annotations

from ensue.analysis.bind import bind
from ensue.analysis.schema import Schema
from ensue.errors import CeqlError, Diagnostic, Source
from ensue.language.parser import parse_source
from ensue.logic.build import to_formula
from ensue.plan.listing_advice import all_warnings
from ensue.rules.files import RuleFile
from ensue.rules.load import refuse_foreign_parameters, schema_of


def diagnose(rule: RuleFile, schema: Schema | None = None) -> tuple[Source, tuple[Diagnostic, ...]]:
    """Return the errors and warnings of a query, in the order of its text.

    Parameters need no values. Without a schema, that of the rule's own settings holds; a mistake
    in the settings raises RuleError.
    """
    warnings: tuple[Diagnostic, ...] = ()
    source = rule.source
    known = schema_of(rule) if schema is None else schema
    try:
        bound = bind(parse_source(source), source, known, parameters=None)
        warnings = bound.warnings
        to_formula(bound)
        warnings = all_warnings(bound)
        refuse_foreign_parameters(rule)
    except CeqlError as error:
        found = (*error.diagnostics, *warnings)
        return error.source, tuple(sorted(found, key=lambda each: each.span))
    return source, tuple(sorted(warnings, key=lambda each: each.span))
