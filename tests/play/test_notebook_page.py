"""Views in a notebook, in a real browser: the notebook's own rules do not change them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

import ensue
from tests.play.browser import browser

pytestmark = pytest.mark.pipelines

JUPYTER = """
.jp-RenderedHTMLCommon:not(.jp-RenderedMarkdown) td, .jp-RenderedHTMLCommon th
{text-align: right; vertical-align: middle; background: yellow}
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) {background: yellow}
"""
EVENTS = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.mark.parametrize(
    ("light", "ink", "ground"),
    [("true", (32, 36, 44), "#ffffff"), ("false", (228, 231, 236), "#16191f")],
)
def test_tables_and_pictures_follow_the_theme_of_the_notebook(
    driver: Chrome, tmp_path: Path, light: str, ink: tuple[int, int, int], ground: str
) -> None:
    view = ensue.run("SELECT * FROM S WHERE A ; B", EVENTS)._repr_html_()
    page = tmp_path / "notebook.html"
    page.write_text(
        f"<style>{JUPYTER}</style><body data-jp-theme-light={light}>"
        f"<div class=jp-RenderedHTMLCommon>{view}</div>",
        encoding="utf-8",
    )
    driver.get(page.as_uri())
    style = (
        "const s = getComputedStyle(document.querySelector(arguments[0]));"
        "return [s.textAlign, s.color, s.backgroundColor]"
    )
    align, colour, behind = driver.execute_script(style, "tbody td")
    assert (align, colour) == ("left", f"rgb{ink}")
    assert behind == driver.execute_script(style, "tbody tr")[2] == "rgba(0, 0, 0, 0)"
    variable = "getComputedStyle(document.querySelector('svg')).getPropertyValue('--ground')"
    assert driver.execute_script(f"return {variable}").strip() == ground
