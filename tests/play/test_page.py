"""The playground in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from ensue.play.server import Playground, Server
from ensue.play.start import Start, examples
from tests.play.browser import ELSEWHERE, Page, browser
from tests.play.test_server import serving
from tests.waiting import wait_until

pytestmark = pytest.mark.pipelines

QUERY = "SELECT * FROM S WHERE A AS a ; B AS b"
EVENTS = "type,v\nA,1\nX,2\nA,3\nB,4\n"
HOSTILE = '<img src=x onerror="document.title=666"><script>document.title=666</script>'


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def server(driver: Chrome) -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def playground(server: Server) -> Playground:
    return server.playground


@pytest.fixture
def opened(driver: Chrome, server: Server) -> Page:
    return Page(driver, server.url)


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    """The page with a small query and its events; nothing may be complained about."""
    opened.open()
    opened.events(EVENTS)
    opened.query(QUERY)
    yield opened
    assert not opened.complaints()


def test_the_first_page_shows_an_example_with_its_matches(
    opened: Page, playground: Playground
) -> None:
    with serving(start=Start(), like=playground) as server:
        fresh = Page(opened.driver, server.url)
        fresh.open()
        assert fresh.one("#editor textarea").get_property("value") == examples()[0]["query"]
        assert fresh.text("#count") == "1"
        assert len(fresh.all("#view svg")) == 1
        Select(fresh.one("#examples")).select_by_visible_text(examples()[8]["title"])
        fresh.settle()
        assert fresh.text(".rows tbody tr td:nth-child(2)") == "bob"


def test_a_query_is_typed_and_its_matches_are_seen(page: Page) -> None:
    assert page.text("#count") == "2"
    assert [row.text.split()[0] for row in page.all(".rows tbody tr")] == ["2..3", "0..3"]
    assert page.all(".timeline svg circle")
    page.click(".rows tbody tr:nth-child(2)")
    page.settle()
    assert "match 0..3" in page.text(".detail pre")
    assert [each.get_attribute("data-position") for each in page.all("#events-table tr.in")] == [
        "0",
        "3",
    ]
    page.query(QUERY + " WITHIN 1 EVENTS")
    assert page.text("#count") == "1"
    keywords = [each.text for each in page.all("#editor pre .keyword")]
    assert keywords[:2] == ["SELECT", "FROM"]


def test_a_mistake_is_shown_under_its_token(page: Page) -> None:
    page.query("SELECT * FROM S WHERE A AS a FILTER a[w > 1]")
    assert page.text("#editor pre .wrong") == "w"
    assert "w" in page.text("#problems .wrong-line")
    page.query("SELECT * FROM S WHERE A AS a FILTER a[v > 1]")
    assert not page.all("#editor pre .wrong")
    assert page.text("#count") == "1"
    page.query("SELECT * FROM S WHERE")
    assert page.all("#editor pre .wrong")
    page.query("SELECT * FROM S WHERE A ; NOT(B) ; A")
    assert page.all("#problems .doubt-line")


def test_names_and_types_of_the_events_are_completed(page: Page) -> None:
    area = page.one("#editor textarea")
    page.write("#editor textarea", "SELECT * FROM S WHERE A AS a FILTER a.")
    shown = {each.text for each in page.all("#completion span")}
    assert shown == {"type", "v"}
    assert page.text("#completion div:nth-child(2) i") == "int"
    area.send_keys("v")
    wait_until(lambda: not page.all("#completion"), "a whole name is not completed")
    area.send_keys(" > 2 WITH")
    area.send_keys(Keys.TAB)
    area.send_keys(" 5 EVENTS")
    page.settle()
    assert str(area.get_property("value")).endswith("FILTER a.v > 2 WITHIN 5 EVENTS")
    assert page.text("#count") == "1"


def test_the_stream_is_stepped_through(page: Page) -> None:
    page.tab("step")
    slider = page.one("#slider")
    assert (slider.get_attribute("max"), slider.get_property("value")) == ("3", "0")
    assert "begins a partial match" in page.text("#did")
    lit = [each.get_attribute("data-state") for each in page.all("circle.alive")]
    assert lit == ["start", "q1"]
    page.click("#forth")
    assert page.text("#did") == "does nothing: no partial match takes it"
    assert page.all("tr.now")[0].get_attribute("data-position") == "1"
    slider.send_keys(Keys.END)
    assert "completes 2 matches" in page.text("#did")
    assert "match" in [each.get_attribute("data-state") for each in page.all("circle.alive")]
    page.click("#events-table tbody tr:nth-child(3)")
    assert slider.get_property("value") == "2"
    assert "2 partial matches alive" in page.text("#partial h3")
    chips = [each.text for each in page.all("#partial .chip")]
    assert chips == ["a 2", "a 0"]


def test_every_query_of_a_chain_is_stepped_through(page: Page) -> None:
    page.query(
        "CREATE STREAM D AS SELECT a.v AS v FROM S WHERE A AS a ; B; "
        "SELECT * FROM D WHERE (D AS d ; D AS e) FILTER e.v < d.v"
    )
    page.tab("step")
    slider = page.one("#slider")
    assert (slider.get_attribute("max"), slider.get_property("value")) == ("1", "0")
    assert "v=3" in page.text(".values")
    assert page.all("tr.now")[0].get_attribute("data-position") == "3"
    page.click("#forth")
    assert "completes 1 match" in page.text("#did")
    page.click("[data-stream=D]")
    assert page.one("#slider").get_attribute("max") == "3"
    assert "completes 2 matches" in page.text("#did")
    page.click("#events-table tbody tr:nth-child(2)")
    assert page.one("#slider").get_property("value") == "1"
    assert "does nothing" in page.text("#did")


def test_the_strategy_is_switched_and_all_stand_side_by_side(page: Page) -> None:
    page.tab("compare")
    counts = {
        each.get_attribute("data-strategy"): each.find_element("css selector", ".count").text
        for each in page.all(".card")
    }
    assert counts == {
        "ALL": "2 matches",
        "NEXT": "1 match",
        "LAST": "1 match",
        "MAX": "2 matches",
        "FIRST": "2 matches",
        "STRICT": "1 match",
    }
    for name in ("LAST", "NEXT", "ALL"):
        page.click(f"#strategy [data-choose={name}]")
        page.settle()
        text = str(page.one("#editor textarea").get_property("value"))
        assert text == QUERY.replace("SELECT", f"SELECT {name}" if name != "ALL" else "SELECT")
    page.click("[data-strategy=LAST] button")
    page.settle()
    page.tab("matches")
    assert [row.text.split()[0] for row in page.all(".rows tbody tr")] == ["2..3"]


def test_why_not_shows_the_funnel_and_near_misses(page: Page) -> None:
    page.query("SELECT * FROM S WHERE (A AS a ; B AS b) FILTER b.v > a.v + 5")
    assert page.text("#count") == "0"
    page.tab("why")
    assert "2 stopped by b.v > a.v + 5" in page.text(".funnel")
    assert "4 is not > 6" in page.text(".miss")


def test_files_are_opened_pasted_and_generated(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text('{"type": "A", "v": 1}\n{"type": "B", "v": 2}\n')
    page.one("#file").send_keys(str(path))
    wait_until(lambda: len(page.all("#events-table tbody tr")) == 2, "the file is shown")
    page.settle()
    assert page.text("#count") == "1"
    page.driver.execute_script(
        "const data = new DataTransfer(); data.setData('text/plain', arguments[0]);"
        "document.getElementById('events-table').dispatchEvent("
        "new ClipboardEvent('paste', {clipboardData: data}))",
        "type\tv\nA\t1\nA\t2\nB\t3\n",
    )
    wait_until(lambda: len(page.all("#events-table tbody tr")) == 3, "the table is shown")
    page.settle()
    assert page.text("#count") == "2"
    page.click("#generate")
    page.write("#trades", "30")
    page.one("#trades").send_keys(Keys.ENTER)
    wait_until(lambda: len(page.all("#events-table tbody tr")) == 30, "trades are shown")
    page.settle()
    assert page.one("[data-setting=time]").get_property("value") == "stock_time"
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 this is none")
    page.one("#file").send_keys(str(bad))
    assert "bad.parquet" in page.text("#events-problem .problem")


def test_settings_of_the_events_are_chosen(page: Page) -> None:
    page.events("kind,at\nA,0\nB,50\nB,90\n")
    page.setting("type", "kind")
    page.setting("time", "at")
    page.query("SELECT * FROM S WHERE A ; B WITHIN 1 MINUTE")
    assert "time_unit" in page.text("#view .problem, #problems")
    page.setting("time_unit", "s")
    assert page.text("#count") == "1"
    page.setting("params", '{"kind": "B"}')
    page.query("SELECT * FROM S WHERE ANY AS x FILTER x[type = $kind]")
    assert page.text("#count") == "2"


def test_the_column_that_names_streams_is_chosen(page: Page) -> None:
    page.events("of,type,at\nS,A,1\nT,A,2\nS,A,3\n")
    page.setting("time", "at")
    assert not page.all("[data-setting=stream]")
    page.query("SELECT * FROM S, T WHERE S>A AS a ; T>A AS b")
    assert page.text("#count") == "3"
    page.setting("stream", "of")
    assert page.text("#count") == "1"


def test_hostile_values_are_shown_as_text(page: Page) -> None:
    rows = [{"type": "A", HOSTILE: HOSTILE, "v": 1}, {"type": HOSTILE, HOSTILE: HOSTILE, "v": 0}]
    page.events(json.dumps(rows))
    page.query("SELECT * FROM S WHERE ANY AS a ; ANY AS b FILTER b.v > a.v")
    assert page.text("#count") == "0"
    assert HOSTILE in page.text("#events-table thead")
    assert "<img src=x onerror" in page.text("#events-table tbody")
    for tab in ("step", "compare", "why", "matches"):
        page.tab(tab)
    page.query("SELECT * FROM S WHERE ANY AS a ; ANY AS b")
    page.click(".rows tbody tr")
    page.settle()
    assert "img src=x" in page.text(".detail pre")
    for tab in ("step", "compare", "why"):
        page.tab(tab)
        assert not page.all("#view img, #view script, #left img, #left script")
    page.query(f"SELECT * FROM S WHERE A FILTER A[`{HOSTILE}` = 'x]")
    assert not page.all("#left img, #left script")
    assert page.driver.title == "Ensue playground"


def test_a_wild_query_answers_with_its_budget_and_the_page_stays_alive(page: Page) -> None:
    page.events("type,v\n" + "A,1\n" * 60)
    page.query("SELECT * FROM S WHERE ((A AS a)+ AGGREGATE Y[s = sum(a.v)]) FILTER Y[s = 7.5]")
    assert "more than 200,000 matches" in page.text("#view .problem.budget")
    page.query("SELECT count(*) AS n FROM S WHERE A+")
    assert page.text("#count") == "60"
    page.events("type,v\n" + ("A," + "x" * 10_000 + "\n") * 450)
    assert "takes 4 MB" in page.text("#view .problem.events")
    page.events("type,v\nA,1\n")
    assert page.text("#count") == "1"


def test_a_link_holds_query_events_and_settings(page: Page) -> None:
    page.setting("time", "v")
    page.click("#share")
    wait_until(lambda: "#s=" in page.driver.current_url, "the link is made")
    link = page.driver.current_url
    page.query("SELECT * FROM S WHERE X")
    page.open("#s=" + link.partition("#s=")[2])
    assert page.one("#editor textarea").get_property("value") == QUERY
    assert page.text("#count") == "2"
    assert page.one("[data-setting=time]").get_property("value") == "v"
    page.open("#s=broken")
    assert "cannot be read" in page.text("#toast")


def test_what_was_typed_survives_a_reload(page: Page) -> None:
    page.setting("time", "v")
    page.query("SELECT * FROM S WHERE A ; A")
    page.reload()
    assert page.one("#editor textarea").get_property("value") == "SELECT * FROM S WHERE A ; A"
    assert page.text("#count") == "1"
    assert page.one("[data-setting=time]").get_property("value") == "v"


def test_the_query_is_exported(page: Page) -> None:
    for kind, part in (
        ("python", "ensue.compile("),
        ("command", "ensue run"),
        ("spark", "recognize("),
        ("test", "matches = ["),
    ):
        Select(page.one("#export")).select_by_value(kind)
        wait_until(lambda: page.all("dialog[open] #exported"), "the program is shown")
        assert part in page.text("#exported")
        page.one("dialog[open]").send_keys(Keys.ESCAPE)
        wait_until(lambda: not page.all("dialog[open]"), "the dialog is closed")


def test_light_and_dark_are_switched_and_remembered(page: Page) -> None:
    root = page.one("html")
    before = root.get_attribute("data-theme")
    page.click("#theme")
    after = root.get_attribute("data-theme")
    assert {before, after} == {"light", "dark"}
    ground = "return getComputedStyle(document.body).backgroundColor"
    shown = page.driver.execute_script(ground)
    page.open()
    assert page.one("html").get_attribute("data-theme") == after
    assert page.driver.execute_script(ground) == shown
    page.click("#theme")


def test_a_page_without_the_token_shows_nothing(opened: Page, playground: Playground) -> None:
    with serving(token="secret", like=playground) as server:
        page = Page(opened.driver, server.url)
        page.open()
        assert page.one("#editor textarea").get_property("value") == "SELECT * FROM S WHERE A"
        assert "secret" not in page.driver.current_url
        page.driver.execute_script("sessionStorage.clear()")
        page.url = server.url.partition("#")[0]
        page.driver.get(page.url)
        assert "token is missing" in page.text("#view .problem")
    opened.complaints()


def test_the_page_works_from_another_machine(opened: Page, playground: Playground) -> None:
    with serving(token="secret", like=playground) as server:
        page = Page(opened.driver, server.url.replace("127.0.0.1", ELSEWHERE))
        page.open()
        assert page.driver.execute_script("return isSecureContext") is False
        page.events(EVENTS)
        page.query(QUERY)
        assert page.text("#count") == "2"
        page.click("#share")
        wait_until(lambda: "#s=" in page.driver.current_url, "the link is made")
        link = page.driver.current_url
        page.query("SELECT * FROM S WHERE X")
        page.open("&s=" + link.partition("#s=")[2])
        assert page.one("#editor textarea").get_property("value") == QUERY
        assert page.text("#count") == "2"
        assert not page.complaints()
