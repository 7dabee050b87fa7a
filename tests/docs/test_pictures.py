"""The pictures of the documentation are those that the code draws."""

from __future__ import annotations

import runpy
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def test_pictures_are_up_to_date() -> None:
    made = runpy.run_path(str(FOLDER / "make.py"))["pictures"]()
    kept = {name: (FOLDER / name).read_text(encoding="utf-8") for name in made}
    assert {name: f"{picture}\n" for name, picture in made.items()} == kept, "run make pictures"


def test_every_picture_is_shown_on_a_page() -> None:
    pages = [*FOLDER.parent.rglob("*.md"), FOLDER.parents[1] / "README.md"]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert all(f"pictures/{path.name})" in texts for path in FOLDER.glob("*.svg"))
