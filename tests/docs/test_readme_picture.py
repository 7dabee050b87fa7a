"""The pictures of the README are made by the code beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.docs.test_docs import ROOT, blocks, printed


def test_the_timeline_is_that_of_the_first_query(golden: Callable[[Path, str], None]) -> None:
    page = ROOT / "README.md"
    text = page.read_text(encoding="utf-8")
    block = next(each for each in blocks(text) if each.kind == "python")
    names: dict[str, Any] = {}
    printed(block.text, page, block.line, names)
    assert "(docs/pictures/logins.svg)" in text
    golden(ROOT / "docs" / "pictures" / "logins.svg", f"{names['found'][0].timeline()}\n")
