"""Messages that name options, each spelt as the reader's interface has it.

One advice is read in Python, on the command line and in the settings of a rule. A `Message` holds
the options it names as values, so that each interface can spell them its own way: `lateness=`,
`--lateness`, `'lateness'`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Option:
    """An option by its name in Python, with the value that is given or advised, if any.

    >>> str(Option("lateness")), str(Option("lateness", "5 s"))
    ('lateness=', "lateness='5 s'")
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return f"{self.name}=" if self.value is None else f"{self.name}={self.value!r}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value for the parameter $name of a query; `...` is any value.

    >>> str(Parameter("low")), str(Parameter("names", ["IBM"]))
    ("params={'low': …}", "params={'names': ['IBM']}")
    """

    name: str
    value: object | EllipsisType = ...

    def __str__(self) -> str:
        return f"params={{{self.name!r}: {'…' if self.value is ... else repr(self.value)}}}"


Setting: TypeAlias = Option | Parameter
Spelling: TypeAlias = Callable[[Setting], str]


class Message(str):
    """A text made of parts, some of which are options; as a string, it spells them for Python.

    A string that is built from a message is no message: put one together from parts instead.

    >>> late = Message("sort the events, or pass ", Option("lateness"))
    >>> print(late)
    sort the events, or pass lateness=
    >>> spelled(Message("trades.csv: ", late), lambda each: f"--{each.name}")
    'trades.csv: sort the events, or pass --lateness'
    """

    __slots__ = ("parts",)
    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: str | Setting) -> Message:
        """Join parts; those of a message within are taken out of it."""
        flat: list[str | Setting] = []
        for each in parts:
            flat += each.parts if isinstance(each, Message) else (each,)
        self = super().__new__(cls, "".join(map(str, flat)))
        self.parts = tuple(flat)
        return self

    def __reduce__(self) -> tuple[type[Message], tuple[str | Setting, ...]]:
        return Message, self.parts


def spelled(text: str, spelling: Spelling) -> str:
    """Return a text with the options that it names in this spelling."""
    if not isinstance(text, Message):
        return text
    return "".join(each if isinstance(each, str) else spelling(each) for each in text.parts)


def message_of(error: BaseException) -> str:
    """Return what an error or a warning was made with: a `Message`, where it was one."""
    first = error.args[0] if len(error.args) == 1 else None
    return first if isinstance(first, str) else str(error)
