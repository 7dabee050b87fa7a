"""User options, declared once: how events are read, what results contain, resource limits.

`run`, `open`, `resume`, `recognize`, `explain` and the command line all take their arguments from
here. Each group is a frozen dataclass whose fields carry their default, their description and
their validation. The typed dictionaries below repeat the names for type checkers, which cannot
derive keyword arguments from a dataclass; a test keeps the two equal.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from datetime import timedelta
from functools import wraps
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, cast, get_args

from ensue.analysis.context import nearest
from ensue.analysis.durations import duration
from ensue.analysis.types import TIME_UNITS
from ensue.errors import warn
from ensue.messages import Message, Option

# Aliases


class ArrowStream(Protocol):
    """Anything with Arrow's C stream interface: pyarrow, pandas, polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return an Arrow C stream."""
        ...


Row: TypeAlias = Mapping[str, object]
"""One event as a dict."""

EventsLike: TypeAlias = (
    ArrowStream
    | str
    | PathLike[str]
    | Iterable[Row]
    | Iterable[ArrowStream]
    | Mapping[str, "ArrowStream | str | PathLike[str] | Iterable[Row]"]
)
"""What can be read as events: a pyarrow Table, RecordBatch or reader, a pandas or polars frame,
an iterable of dicts, a path to CSV, JSON lines, Parquet or Arrow, or {stream: any of these}."""

SchemaLike: TypeAlias = object
"""Types of attributes: {attribute: type}, {event: {attribute: type}}, or a pyarrow schema."""

Output = Literal["bindings", "positions"]
TimeUnit = Literal["s", "ms", "us", "ns"]
OnError = Literal["raise", "collect", "aside"]
"""What happens to events that cannot be read; "aside" is the deprecated name of "collect"."""
Lateness: TypeAlias = int | str | timedelta

_Value = TypeVar("_Value")
_Function = TypeVar("_Function", bound=Callable[..., object])


def _option(default: _Value, about: str, metavar: str | None = None) -> _Value:
    """Declare an option: its default, a sentence about it, its placeholder in help texts."""
    declared: _Value = field(default=default, metadata={"about": about, "metavar": metavar})
    return declared


# Groups of options


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How events are read and sorted."""

    type: str = _option("type", "the column with the events' types.", "COLUMN")
    time: str | None = _option(
        None, "the column with their times; WITHIN … [attr] names its own.", "COLUMN"
    )
    time_unit: TimeUnit | None = _option(
        None, "what an integer time column counts: s, ms, us or ns.", "UNIT"
    )
    tiebreak: str | None = _option(None, "a column that orders events of one time.", "COLUMN")
    lateness: Lateness | None = _option(
        None,
        "how late an event may come, such as 10s or '2 minutes', or an integer in the units of an "
        "integer time column; events are put in order.",
        "DURATION",
    )
    time_format: str | None = _option(
        None,
        "how times are written in CSV and JSON lines, such as '%d/%b/%Y:%H:%M:%S %z'; ISO times "
        "need none.",
        "FORMAT",
    )
    nulls: Sequence[str] = _option(
        (), "texts that mean NULL in CSV and JSON lines, such as ERR.", "TEXT"
    )
    delimiter: str | None = _option(
        None,
        "what separates the values of CSV: a comma, unless said otherwise; in .tsv files, a tab.",
        "CHARACTER",
    )

    def __post_init__(self) -> None:
        for name in ("type", "time", "tiebreak"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "type"):
                raise TypeError(Message(Option(name), f" is the name of a column, not {value!r}"))
        if self.time_unit is not None and self.time_unit not in TIME_UNITS:
            raise ValueError(
                Message(
                    Option("time_unit"), f" must be 's', 'ms', 'us' or 'ns', not {self.time_unit!r}"
                )
            )
        if self.lateness is not None and not isinstance(self.lateness, int):
            duration(self.lateness)
        least: Any = timedelta() if isinstance(self.lateness, timedelta) else 0
        if isinstance(self.lateness, int | timedelta) and self.lateness < least:
            raise ValueError(
                Message(Option("lateness", self.lateness), " is negative; no event is that late")
            )
        nulls: object = self.nulls
        if not isinstance(nulls, tuple | list) or not all(isinstance(each, str) for each in nulls):
            raise ValueError(
                Message(Option("nulls"), f" must be texts, such as ['ERR', 'n/a'], not {nulls!r}")
            )
        object.__setattr__(self, "nulls", tuple(nulls))
        if self.delimiter is not None and (
            len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n'
        ):
            raise ValueError(
                Message(Option("delimiter"), f" must be one character, not {self.delimiter!r}")
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What results contain."""

    output: Output = _option(
        "bindings",
        "'bindings', or 'positions' without the variables that events are bound to.",
        "KIND",
    )
    exact: bool = _option(
        False,
        "give the counts of SELECT count(*) in full, where they would else stop at 2^63 - 1; slow.",
    )

    def __post_init__(self) -> None:
        if self.output not in get_args(Output):
            must = f" must be 'bindings' or 'positions', not {self.output!r}"
            raise ValueError(Message(Option("output"), must))

    @property
    def positions_only(self) -> bool:
        """Whether results leave out the variables that events are bound to."""
        return self.output == "positions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of a query; beyond them it raises BudgetError."""

    states: int = _option(10_000, "how many deterministic states the automaton may have.", "N")
    bytes: int = _option(4 << 30, "how much memory partial matches may take.", "N")
    configurations: int = _option(
        10_000_000,
        "how many different contents of registers there may be at once, where conditions relate "
        "events to each other.",
        "N",
    )
    matches: int = _option(
        1_000_000,
        "how many matches of one event may be listed, those that are refused included, where only "
        "listing tells what is a match: for filters on aggregates and conditions that automata do "
        "not decide, for SELECT count(*) and strategies over them, or right of an UNLESS that is "
        "compared with its left.",
        "N",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(
                    Message(
                        Option(f"max_{each.name}"), f" must be a number from 0 on, not {value!r}"
                    )
                )


DEFAULT_LIMITS = Limits()


def refuse_text_options(options: ReadOptions) -> None:
    """Raise ValueError for options of text files where Spark reads the files."""
    for name in ("time_format", "nulls", "delimiter"):
        if getattr(options, name):
            raise ValueError(
                Message(Option(name), " is for files that Ensue reads; tell Spark's reader")
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOptions:
    """How events that cannot be read are handled."""

    on_error: OnError = _option(
        "raise",
        "'collect' keeps an event that cannot be read, with the reason, in `session.rejected` "
        "and goes on; 'raise' stops with an EventError and leaves the session as it was.",
    )

    def __post_init__(self) -> None:
        if self.on_error == "aside":
            old, new = Option("on_error", "aside"), Option("on_error", "collect")
            warn(Message(old, " is deprecated: write ", new), DeprecationWarning)
            object.__setattr__(self, "on_error", "collect")
        if self.on_error not in get_args(OnError):
            raise ValueError(
                Message(Option("on_error"), f" must be 'raise' or 'collect', not {self.on_error!r}")
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadOptions:
    """How much of the machine is used."""

    threads: int | None = _option(
        None,
        "how many threads evaluate a large input; all cores, unless said otherwise.",
        "N",
    )

    def __post_init__(self) -> None:
        value: object = self.threads
        if value is not None and (type(value) is not int or value < 1):
            wrong = f" must be a number from 1 on, not {value!r}"
            raise ValueError(Message(Option("threads"), wrong))

    @property
    def number(self) -> int:
        """How many threads there are to be."""
        if self.threads is not None:
            return self.threads
        mine = getattr(os, "sched_getaffinity", None)  # not on every system
        return len(mine(0)) if mine else os.cpu_count() or 1


# The same as keyword arguments


class ReadArguments(TypedDict, total=False):
    """ReadOptions as keyword arguments."""

    type: str
    time: str | None
    time_unit: TimeUnit | None
    tiebreak: str | None
    lateness: Lateness | None
    time_format: str | None
    nulls: Sequence[str]
    delimiter: str | None


class ResultArguments(TypedDict, total=False):
    """ResultOptions as keyword arguments."""

    output: Output
    exact: bool


class LimitArguments(TypedDict, total=False):
    """Limits as keyword arguments; None: the default."""

    max_states: int | None
    max_bytes: int | None
    max_configurations: int | None
    max_matches: int | None


class ErrorArguments(TypedDict, total=False):
    """ErrorOptions as keyword arguments."""

    on_error: OnError


class ThreadArguments(TypedDict, total=False):
    """ThreadOptions as keyword arguments."""

    threads: int | None


class RunArguments(ReadArguments, ResultArguments, LimitArguments, ThreadArguments, total=False):
    """The options of `run`."""


class RecognizeArguments(ReadArguments, LimitArguments, total=False):
    """The options of `recognize`; Spark has no type for unbounded counts."""


class OpenArguments(RunArguments, ErrorArguments, total=False):
    """The options of `open`."""


class ResumeArguments(LimitArguments, total=False):
    """The options of `resume`; all others are part of the snapshot."""

    on_error: OnError | None


AnyOptions: TypeAlias = ReadOptions | ResultOptions | Limits | ErrorOptions | ThreadOptions
Group: TypeAlias = type[AnyOptions]
_Group = TypeVar("_Group", bound=AnyOptions)


def argument_name(group: type, each: Field[Any]) -> str:
    """Return the keyword argument of an option."""
    return f"max_{each.name}" if group is Limits else each.name


def chosen(group: type[_Group], arguments: Mapping[str, object]) -> _Group:
    """Take the options of one group out of keyword arguments; None is the default.

    >>> chosen(Limits, {"max_states": 5, "time": "ts"}).states
    5
    """
    given: dict[str, Any] = {
        each.name: arguments.get(argument_name(group, each)) for each in fields(group)
    }
    return group(**{name: value for name, value in given.items() if value is not None})


def with_settings(options: ReadOptions, settings: Mapping[str, object]) -> ReadOptions:
    """Return options with defaults replaced by the settings of a rule.

    >>> with_settings(ReadOptions(time="at"), {"type": "kind", "time": "ts"}).type
    'kind'
    """
    defaults = {each.name: each.default for each in fields(ReadOptions)}
    left = {
        name: value for name, value in settings.items() if getattr(options, name) == defaults[name]
    }
    return replace(options, **cast("Any", left)) if left else options


def takes(*groups: Group) -> Callable[[_Function], _Function]:
    """Make a function of `**options` reject unknown ones, and list all in signature and help."""

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        every = {argument_name(group, each): each for group in groups for each in fields(group)}
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        known = {each.name for each in own} | every.keys()
        shown = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type
            )
            for name, each in every.items()
            if name not in {each.name for each in own}
        ]

        @wraps(function)
        def checked(*args: object, **arguments: object) -> object:
            for name in arguments:
                if name not in known:
                    near = nearest(name, known)
                    hint = f"; did you mean {Option(near)}?" if near else ""
                    raise TypeError(f"{function.__name__}() has no option {Option(name)}{hint}")
            return function(*args, **arguments)

        checked.__doc__ = _with_options(function.__doc__ or "", groups)
        setattr(checked, "__signature__", signature.replace(parameters=[*own, *shown]))  # noqa: B010
        return cast("_Function", checked)

    return decorate


def _with_options(text: str, groups: Iterable[Group]) -> str:
    """Add the options to the arguments that a docstring describes."""
    described = "".join(
        f"    {argument_name(group, each)}: {each.metadata['about']}{_default(each)}\n"
        for group in groups
        for each in fields(group)
    )
    text = inspect.cleandoc(text)
    if "Args:\n" not in text:
        return f"{text}\n\nArgs:\n{described}"
    before, _, after = text.partition("Args:\n")
    own, gap, rest = after.partition("\n\n")
    return f"{before}Args:\n{own}\n{described}{gap and chr(10)}{rest}"


def _default(each: Field[Any]) -> str:
    """Return the text of a numeric default."""
    return f" Default: {each.default:,}." if type(each.default) is int else ""
