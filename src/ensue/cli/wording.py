"""Advice for Python put into the words of the command line."""

from __future__ import annotations

import re

_PARAMETER = re.compile(r"\bparams=\{'(\w+)': (.*?)\}")
_ARGUMENT = re.compile(r"(?<!\S)(time_unit|time_format|time|tiebreak|lateness|schema|delimiter)= ?")


def as_options(advice: str) -> str:
    """Write options as the command line has them.

    >>> as_options("sort the events, or pass lateness= to have them put in order")
    'sort the events, or pass --lateness to have them put in order'
    >>> as_options("pass params={'low': …}")
    'pass --param low=…'
    """
    advice = _PARAMETER.sub(r"--param \1=\2", advice)
    return _ARGUMENT.sub(lambda found: f"--{found[1].replace('_', '-')} ", advice).rstrip()
