"""Values as TOML, for rule tests."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any


def toml_value(value: Any) -> str:
    """Write a value on one line.

    >>> toml_value({"end": 3, "b": [1, 2], "my name": "x"})
    '{end = 3, b = [1, 2], "my name" = "x"}'
    """
    match value:
        case bool():
            return str(value).lower()
        case dict():
            parts = (f"{toml_key(name)} = {toml_value(each)}" for name, each in value.items())
            return f"{{{', '.join(parts)}}}"
        case list():
            return f"[{', '.join(map(toml_value, value))}]"
        case date():
            return value.isoformat()
        case int() | float():
            return repr(value)
        case _:
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Write a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
