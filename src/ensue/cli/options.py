"""Options of the command line, made from the declarations in `ensue.options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from ensue.cli.flags import as_flag, flag
from ensue.cli.terminal import UsageError
from ensue.messages import message_of, spelled
from ensue.options import (
    Group,
    Limits,
    ReadOptions,
    ResultOptions,
    ThreadOptions,
    argument_name,
    chosen,
)

_Function = TypeVar("_Function", bound=Callable[..., None])

QUERY, EVENTS, MATCHES, LIMITS, CHECKPOINTS, ENGINE = (
    "Query",
    "Events",
    "Matches",
    "Limits: a query that needs more stops with exit code 1",
    "Checkpoints",
    "Engine",
)
"""Under these headings the help of a run shows its options."""

GROUPS: dict[Group, str] = {
    ReadOptions: EVENTS,
    ResultOptions: MATCHES,
    Limits: LIMITS,
    ThreadOptions: ENGINE,
}
"""The options of a run that Python has too, and their headings."""


EventArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="EVENTS",
        help="CSV, JSON lines, Parquet or Arrow files, folders or patterns, one after the "
        "other; - for standard input; or STREAM=FILE for each stream that FROM names.",
        show_default=False,
    ),
]
"""The events that a command reads."""

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A value for $NAME: JSON, or else a string. May be repeated.",
        show_default=False,
        rich_help_panel=QUERY,
    ),
]
"""Values of the parameters of a query."""

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Types of attributes as JSON: {attribute: type} or {event: {attribute: type}}.",
        show_default=False,
        rich_help_panel=QUERY,
    ),
]
"""A file with types of attributes."""

Until = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="How far time has come after the last event, for NOT FOLLOWED BY.",
        show_default=False,
        rich_help_panel=EVENTS,
    ),
]
"""The time that has come."""


def takes_options(command: _Function, groups: Mapping[Group, str] = GROUPS) -> _Function:
    """Give a command of `**options` an option for every field of some groups.

    Typer reads a command's signature and type hints, so both are completed here.
    """
    own = inspect.signature(command, eval_str=True)
    parameters = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    for group, heading in groups.items():
        hints = get_type_hints(group)
        for each in fields(group):
            name = argument_name(group, each)
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=each.default,
                    annotation=_annotation(name, each, hints[each.name], heading),
                )
            )
    parameters.sort(key=lambda each: each.kind)
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _annotation(name: str, each: Field[Any], kind: object, heading: str) -> object:
    """Return the type and the help of one option, as Typer takes them."""
    about = each.metadata["about"].replace("[", "\\[")
    is_number = type(each.default) is int
    option = typer.Option(
        *_flags(name),
        metavar=each.metadata["metavar"],
        help=about[0].upper()
        + about[1:]
        + (f"  \\[default: {each.default:,}]" if is_number else ""),
        show_default=not is_number and each.default not in (None, False, (), MISSING),
        rich_help_panel=heading,
    )
    if name == "nulls":
        kind = list[str]
    if name == "lateness":
        kind = str | None  # an integer where it is all digits; see `checked`
    return Annotated[kind, option]


def _flags(name: str) -> tuple[str, ...]:
    """Return all spellings of an option."""
    return (flag(name), "--type-from") if name == "type" else (flag(name),)


def takes_read_options(command: _Function) -> _Function:
    """Give a command of `**options` those that say how events are read, and the limits."""
    return takes_options(command, {ReadOptions: EVENTS, Limits: LIMITS})


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options by their declarations, and say what is wrong in words of the command line."""
    given = dict(options)
    lateness = given.get("lateness")
    if lateness is not None and lateness.isdecimal():
        given["lateness"] = int(lateness)
    given["nulls"] = tuple(given.get("nulls") or ())
    if given.get("delimiter") == "\\t":
        given["delimiter"] = "\t"
    for group in GROUPS:
        try:
            chosen(group, given)
        except ValueError as error:
            raise UsageError(spelled(message_of(error), as_flag)) from error
    return given
