"""What notebooks show: well-formed HTML, in which no value is markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import ensue

HOSTILE = "</pre><script>alert('x')</script><img src=x onerror=alert(1)>&\"'"
EVENTS: list[dict[str, Any]] = [
    {"type": "A", "k": HOSTILE, HOSTILE: 1, "v": 1},
    {"type": "<i>B", "k": HOSTILE, HOSTILE: 2, "v": 2},
]
QUERY = "SELECT * FROM S WHERE (A AS `<x>` ; `<i>B` AS b) FILTER b.v > `<x>`.v PARTITION BY [k]"


class Tags(HTMLParser):
    """Collects tags, and checks that each one is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown() -> dict[str, Any]:
    query = ensue.compile(QUERY)
    matches = query.run(EVENTS)
    session = query.open()
    session.push(EVENTS)
    return {
        "query": query,
        "matches": matches,
        "match": matches[0],
        "explanation": matches[0].explain(),
        "funnel": query.funnel(EVENTS),
        "session": session,
        "sessions": ensue.open({"<one>": QUERY}),
        "counts": ensue.run("SELECT count(*) AS `<n>` FROM S WHERE A", EVENTS),
    }


@pytest.mark.parametrize(
    "name",
    ["query", "matches", "match", "explanation", "funnel", "session", "sessions", "counts"],
)
def test_hostile_values_are_text(name: str) -> None:
    tags = Tags(shown()[name]._repr_html_())
    assert tags.seen.isdisjoint({"script", "img", "i", "x", "n", "one"})
    assert "style" in tags.seen


def test_a_query_is_highlighted_and_drawn() -> None:
    html = ensue.compile("SELECT * FROM S WHERE A AS a FILTER a[v > $low] -- x", params={"low": 1})
    text = html._repr_html_()
    assert '<span class="keyword">SELECT</span>' in text
    assert '<span class="parameter">$low</span>' in text
    assert '<span class="comment">-- x</span>' in text
    assert "<svg" in text


def test_matches_open_to_their_events() -> None:
    html = ensue.compile(QUERY).run(EVENTS)._repr_html_()
    assert html.count("<details>") == 1
    assert html.count("<svg") == 2
    assert "b.v &gt; `&lt;x&gt;`.v:  2 &gt; 1" in html


def test_a_stream_is_not_read_to_its_end() -> None:
    def rows() -> Any:
        yield from [{"type": "A"}] * 10_000
        raise AssertionError("read too far")

    html = ensue.compile("SELECT * FROM S WHERE A").run(rows())._repr_html_()
    assert "matches of a stream, the first 20" in html


def test_a_type_is_left_out_where_its_events_have_another_name() -> None:
    events = [{"type": "A"}, {"type": "B"}]
    html = ensue.run("SELECT * FROM S WHERE A AS a ; B", events)._repr_html_()
    assert "<p>1 match</p>" in html
    assert "<th>match</th><th>a</th><th>B</th>" in html
