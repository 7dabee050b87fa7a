"""A browser for the tests of the page, and words for what a user does there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.waiting import wait_until

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --window-size=1400,900"
).split()

ELSEWHERE = "playground.test"
"""A name of this machine that the browser takes for another one's: its page is not encrypted, so it
has less than a page of this machine."""


def _found(variable: str, *names: str) -> str | None:
    given = os.environ.get(variable)
    return given or next(filter(None, map(shutil.which, names)), None)


@contextmanager
def browser(folder: Path) -> Iterator[webdriver.Chrome]:
    """Start a browser with a profile of its own; skip the test where there is none."""
    program = _found("ENSUE_BROWSER", "chromium", "chromium-browser", "google-chrome")
    driver = _found("ENSUE_BROWSER_DRIVER", "chromedriver")
    if program is None or driver is None:
        pytest.skip(
            "there is no browser: install Debian's chromium and chromium-driver, or name them by "
            "ENSUE_BROWSER and ENSUE_BROWSER_DRIVER"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = program
    elsewhere = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"
    for flag in (*_FLAGS, elsewhere, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield running
    finally:
        running.quit()


class Page:
    """The playground in a browser."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, fragment: str = "") -> None:
        """Load the page as if for the first time."""
        if self.driver.current_url.startswith("http"):
            self.driver.execute_script("sessionStorage.clear()")
        self.driver.get("about:blank")
        self.driver.get(self.url + fragment)
        self.settle()

    def reload(self) -> None:
        """Load the page again, as a user does by F5."""
        self.driver.refresh()
        self.settle()

    def settle(self) -> None:
        """Wait until everything that was asked has been answered and shown."""
        script = "return document.body.dataset.settled + document.body.dataset.busy"
        wait_until(lambda: self.driver.execute_script(script) == "yesno", "the page has settled")

    def one(self, selector: str) -> WebElement:
        """Return an element; wait until it is there."""
        wait_until(lambda: self.all(selector), f"there is {selector}")
        return self.all(selector)[0]

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(self.one(selector).get_property("textContent"))

    def click(self, selector: str) -> None:
        self.one(selector).click()

    def write(self, selector: str, text: str) -> None:
        """Replace the text of a field by typing."""
        field = self.one(selector)
        field.click()
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text)

    def query(self, text: str) -> None:
        """Type a query, and wait for what it finds."""
        self.write("#editor textarea", text)
        self.driver.find_element(By.CSS_SELECTOR, "#editor textarea").send_keys(Keys.ESCAPE)
        self.settle()

    def events(self, text: str) -> None:
        """Write events as text."""
        self.click("#as-text")
        self.driver.execute_script(
            "const area = document.getElementById('events-text'); area.value = arguments[0];"
            "area.dispatchEvent(new Event('input'))",
            text,
        )
        self.click("#as-table")
        self.settle()

    def setting(self, name: str, value: str) -> None:
        """Choose a setting of the events."""
        field = self.one(f"[data-setting={name}]")
        if field.tag_name == "select":
            Select(field).select_by_value(value)
        else:
            self.write(f"[data-setting={name}]", value + Keys.TAB)
        self.settle()

    def tab(self, name: str) -> None:
        """Open a view."""
        self.click(f"[data-tab={name}]")
        self.settle()

    def complaints(self) -> list[Any]:
        """Return what the browser has complained about."""
        return [each for each in self.driver.get_log("browser") if each["level"] == "SEVERE"]
