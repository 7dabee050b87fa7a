"""The codes of errors and warnings with what docs/errors.md says of them.

`python -m ensue.editor.generate` copies the table of that page to codes.json, which is a part of
the package; a test keeps the two equal.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

_ROW = re.compile(r"^\| ([EW]\d{3}) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def rows(page: str) -> dict[str, list[str]]:
    """Read the table of docs/errors.md: what a code says, a typical cause, and the way out."""
    return {code: [_LINK.sub(r"\1", cell) for cell in cells] for code, *cells in _ROW.findall(page)}


@cache
def _known() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(files(__package__).joinpath("codes.json").read_text())
    return found


def code_text(code: str) -> str | None:
    """Return the documentation of a code as Markdown.

    >>> print(code_text("E110"))
    **E110**: this '…' is never closed
    <BLANKLINE>
    - for example: `(SELL ; BUY`
    - the way out: add the closing bracket
    """
    if code not in _known():
        return None
    says, cause, way_out = _known()[code]
    return f"**{code}**: {says}\n\n- for example: {cause}\n- the way out: {way_out}"
