"""Links of the pages lead somewhere, and every page is part of the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ensue
import ensue.spark
from tests.docs.test_docs import ROOT, label

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GENERATED = "command-line.md"  # release/site.py makes it
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]*)\)")


def anchors(page: str) -> set[str]:
    """Return what a link may name after the #: headings, as GitHub and the site spell them.

    >>> sorted(anchors("# OR, AND\\n\\n## Types\\n\\n## Types\\n"))
    ['or-and', 'types', 'types_1']
    """
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", _FENCED.sub("", page), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{name}_1" if name in found else name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_links_lead_somewhere(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        goal = page.parent / name if name else page
        assert goal.exists() or goal.name == GENERATED, target
        if anchor:
            assert anchor in anchors(goal.read_text(encoding="utf-8")), target


def test_the_site_has_exactly_the_pages_of_the_folder() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    shown = sorted(re.findall(r"(\S+\.md)$", nav, re.MULTILINE))
    docs = ROOT / "docs"
    assert shown == sorted(
        [GENERATED, *(str(each.relative_to(docs)) for each in docs.rglob("*.md"))]
    )


def test_the_api_page_has_exactly_what_is_exported() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    local = [f"ensue.{name}" for name in ensue.__all__]
    # Some functions have the name of their module, which is what the longer name tells apart.
    spark = [f"ensue.spark.{name}" for name in ensue.spark.__all__]
    plain = [re.sub(r"\.(\w+)\.\1$", r".\1", each) for each in shown]
    assert sorted(plain) == sorted(local + spark)
