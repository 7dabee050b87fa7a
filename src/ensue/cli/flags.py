"""Options of Python as the command line spells them."""

from __future__ import annotations

import json
import shlex

from ensue.messages import Option, Parameter, Setting


def flag(name: str) -> str:
    """Return how an option is given; one that is repeated is in the singular."""
    return "--null" if name == "nulls" else f"--{name.replace('_', '-')}"


def as_flag(setting: Setting) -> str:
    """Spell an option as the command line has it.

    >>> as_flag(Option("time_unit")), as_flag(Option("lateness", "5 s")), as_flag(Option("nulls"))
    ('--time-unit', "--lateness '5 s'", '--null')
    >>> as_flag(Parameter("low")), as_flag(Parameter("names", ["IBM"]))
    ('--param low=…', '--param \\'names=["IBM"]\\'')
    """
    if isinstance(setting, Parameter):
        if setting.value is ...:
            return f"--param {setting.name}=…"
        value = json.dumps(setting.value, default=str, ensure_ascii=False)
        return f"--param {shlex.quote(f'{setting.name}={value}')}"
    if setting == Option("on_error", "collect"):
        return "--on-error collect FILE"
    if setting.value is None:
        return flag(setting.name)
    value = "\\t" if setting.value == "\t" else str(setting.value)
    return f"{flag(setting.name)} {shlex.quote(value)}"
