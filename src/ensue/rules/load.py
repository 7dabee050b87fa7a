"""Rules: compiled queries with their settings and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ensue.analysis.schema import Schema, from_python
from ensue.analysis.user_functions import UserAggregate, UserFunction
from ensue.engine.query import Query, compile
from ensue.errors import Source
from ensue.language.tokens import tokenize
from ensue.options import SchemaLike
from ensue.rules.files import RuleError, RuleFile, read_rule
from ensue.rules.settings import METADATA, READ

_SUFFIX = ".ceql"


@dataclass(frozen=True, repr=False)
class Rule(Query):
    """A query with the settings of its file, which apply wherever it is run.

    Options given to `run`, `open` or `recognize` override those settings.
    """

    name: str = ""
    title: str | None = None
    description: str | None = None
    severity: str | None = None
    tags: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the rule: title, description, severity, tags."""
        found = {name: getattr(self, name) for name in METADATA}
        return {**found, "tags": list(self.tags)}


def load_rules(
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    schema: SchemaLike = None,
    params: Mapping[str, object] | None = None,
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
) -> dict[str, Rule]:
    """Read a rule file, a folder with all .ceql files below it, or several of these.

    Returns {name: rule}, which `ensue.run`, `ensue.open` and `recognize` accept. A rule is named
    after its file, relative to the folder and without .ceql.

    Args:
        path: files and folders.
        schema: types of attributes, in place of those that the files have.
        params: values for the parameters $name of those rules that have them; they override
            the values in the files.
        functions, aggregates: those of Python that the rules may call, as for `ensue.compile`.
    """
    paths = [path] if isinstance(path, str | PathLike) else list(path)
    files = rule_files(Path(each) for each in paths)
    read = {name: read_rule(file) for name, file in files.items()}
    refuse_unknown_parameters(read.values(), params or {})
    return {
        name: compiled(name, rule, schema, params or {}, functions, aggregates)
        for name, rule in read.items()
    }


def rule_files(paths: Iterable[Path]) -> dict[str, Path]:
    """Return rule files by the names of their rules."""
    files: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise RuleError(f"{path}: there is no such file or folder")
        found = {path.name.removesuffix(_SUFFIX): path}
        if path.is_dir():
            found = {
                each.relative_to(path).with_suffix("").as_posix(): each
                for each in sorted(path.rglob(f"*{_SUFFIX}"))
                if each.is_file()
            }
            if not found:
                raise RuleError(f"{path}: there is no {_SUFFIX} file in this folder")
        for name, file in found.items():
            if name in files and files[name] != file:
                raise RuleError(f"{files[name]} and {file}: there are two rules named '{name}'")
            files[name] = file
    return files


def parameters_of(source: Source) -> set[str]:
    """Return the names of a query's parameters."""
    return {str(token.value) for token in tokenize(source) if token.kind == "PARAMETER"}


def refuse_unknown_parameters(rules: Iterable[RuleFile], params: Mapping[str, object]) -> None:
    """Raise RuleError for a value of a parameter that no rule has."""
    known = {name for rule in rules for name in parameters_of(rule.source)} if params else set()
    for name in params:
        if name not in known:
            has = ", ".join(f"${each}" for each in sorted(known)) or "none"
            raise RuleError(f"no rule has a parameter ${name}; they have {has}")


def refuse_foreign_parameters(rule: RuleFile) -> None:
    """Raise RuleError for a setting of a parameter that the query does not have."""
    given = rule.settings.get("params", {})
    has = parameters_of(rule.source) if given else set()
    for each in given:
        if each not in has:
            listed = ", ".join(f"${other}" for other in sorted(has)) or "none"
            raise RuleError(
                f"{rule.place}: 'params' has a value for ${each}, which the query does not have; "
                f"it has {listed}"
            )


def schema_of(rule: RuleFile) -> Schema:
    """Return the types that a rule declares in its settings."""
    try:
        return from_python(rule.settings.get("schema"))
    except TypeError as error:
        raise RuleError(f"{rule.place}: 'schema': {error}") from error


def compiled(
    name: str,
    rule: RuleFile,
    schema: SchemaLike,
    params: Mapping[str, object],
    functions: Mapping[str, UserFunction] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
) -> Rule:
    """Compile a rule with its settings."""
    settings, source = rule.settings, rule.source
    has = parameters_of(source)
    known = schema_of(rule) if schema is None else schema
    own = {each: value for each, value in params.items() if each in has}
    given = {**settings.get("params", {}), **own}
    query = compile(
        source.text, known, given, name=source.name, functions=functions, aggregates=aggregates
    )
    refuse_foreign_parameters(rule)
    return Rule(
        query.source,
        query.tree,
        query.schema,
        query.params,
        query.warnings,
        {each: _frozen(settings[each]) for each in READ if each in settings},
        query.functions,
        query.aggregates,
        name,
        settings.get("title"),
        settings.get("description"),
        settings.get("severity"),
        tuple(settings.get("tags", ())),
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
