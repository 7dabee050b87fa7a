"""The recipes of the cookbook as examples of the playground.

`python -m tests.play.cookbook` writes them to src/ensue/play/examples.json after a change of the
page; a test keeps the two equal.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from io import StringIO
from pathlib import Path
from textwrap import dedent
from typing import Any

ROOT = Path(__file__).parents[2]
COOKBOOK = ROOT / "docs" / "cookbook.md"
EXAMPLES = ROOT / "src" / "ensue" / "play" / "examples.json"
_BLOCK = re.compile(r"^```python\n(ask\(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(##|###) (.*)$", re.MULTILINE)


def recipes(page: str) -> list[dict[str, Any]]:
    """Return the recipes that are one query on events written out, in order."""
    found = []
    for block in _BLOCK.finditer(page):
        statement = ast.parse(block[1]).body
        call = statement[0].value if isinstance(statement[0], ast.Expr) else None
        if len(statement) != 1 or not isinstance(call, ast.Call):
            continue
        try:
            query, text = (ast.literal_eval(each) for each in call.args)
            options = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        except ValueError:
            continue
        headings = [(each[1], each[2]) for each in _HEADING.finditer(page[: block.start()])]
        group = next(title for level, title in reversed(headings) if level == "##")
        title = next(title for level, title in reversed(headings) if level == "###")
        found.append(
            {
                "title": title,
                "group": group,
                "query": dedent(query).strip() + "\n",
                "events": _csv(text),
                "settings": {"time": "at", "time_unit": "s", **options},
            }
        )
    return found


def _csv(text: str) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in text.strip().splitlines():
        writer.writerow("" if word == "-" else word for word in line.split())
    return out.getvalue()


def written() -> str:
    """Return the text of the file of examples."""
    made = recipes(COOKBOOK.read_text(encoding="utf-8"))
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    EXAMPLES.write_text(written(), encoding="utf-8")
