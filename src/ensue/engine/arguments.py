"""Arguments of runs and sessions as what they decide: the mode, the limits, what bad events do."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from ensue.options import (
    ErrorOptions,
    LimitArguments,
    Limits,
    OnError,
    ResultOptions,
    ResumeArguments,
    RunArguments,
    ThreadOptions,
    argument_name,
    chosen,
)

if TYPE_CHECKING:
    from ensue.plan.mode import ExecutionMode


def mode_of(options: RunArguments) -> ExecutionMode:
    """Decide how queries are evaluated from what was asked for."""
    from ensue.plan.mode import ExecutionMode

    result = chosen(ResultOptions, options)
    return ExecutionMode(
        result.positions_only,
        chosen(Limits, options),
        exact=result.exact,
        threads=chosen(ThreadOptions, options).number,
    )


def on_error_given(options: ResumeArguments) -> OnError | None:
    """Return what happens to bad events from here on; None where the snapshot says it."""
    given = options.get("on_error") is not None
    return chosen(ErrorOptions, options).on_error if given else None


def limits_given(options: LimitArguments) -> dict[str, int]:
    """Check the limits that were asked for, and return those alone."""
    limits = chosen(Limits, options)
    return {
        each.name: getattr(limits, each.name)
        for each in fields(Limits)
        if options.get(argument_name(Limits, each)) is not None
    }
