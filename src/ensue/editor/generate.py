"""Generate what editors read: `python -m ensue.editor.generate` in the repository."""

from __future__ import annotations

import json
from pathlib import Path

from ensue.editor.codes import rows
from ensue.editor.textmate import grammar

ROOT = Path(__file__).parents[3]


def generated() -> dict[Path, str]:
    """Return the files and their texts."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    made = {
        ROOT / "src/ensue/editor/codes.json": rows(page),
        ROOT / "editors/vscode/syntaxes/ceql.tmLanguage.json": grammar(),
    }
    return {
        path: json.dumps(value, indent=1, ensure_ascii=False) + "\n" for path, value in made.items()
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
