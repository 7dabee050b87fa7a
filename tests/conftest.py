"""What all tests share: how hard hypothesis tries, golden files, and the folder of real data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tests.effort  # noqa: F401  # loads the profile of hypothesis before any test is made


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Take over what a test has to tell: a function as its attribute `told`."""
    told = getattr(getattr(item, "obj", None), "told", None)
    if call.when == "call" and told is not None:
        item.user_properties.append(("told", told()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what tests have told."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "told" and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {value}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests get into the golden files, instead of comparing",
    )


_STREAMS = tuple(
    f"tests/spark/test_{name}.py"
    for name in (
        "changing_rules",
        "cli",
        "cluster",
        "connect",
        "failures",
        "kernels",
        "missing",
        "streaming",
        "tutorial",
        "workers",
    )
)
"""The tests on Spark that mostly wait: for a micro-batch, for another process."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep together what shares something, and let the rest fill the gaps.

    Tests on Spark run in two processes, each with one Java: streams, whose tests mostly wait, and
    the rest. So do all tests of a file that draws pairs of queries and streams once. xdist hands
    out such groups first, the largest ahead, and then single tests, so that no process ends much
    later than the others.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/spark/"):
                return "streams" if nodeid.startswith(_STREAMS) else "spark"
            if nodeid.startswith(("tests/equivalence/", "tests/kernels/")):
                return nodeid.partition("::")[0]
            return nodeid

    return Together(config, log)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare a text with a golden file, or write it there under --update-golden."""
    update = request.config.getoption("--update-golden")

    def check(path: Path, text: str) -> None:
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists():
            pytest.fail(f"{path} does not exist; --update-golden writes it")
        else:
            assert text == path.read_text(encoding="utf-8"), f"{path} says otherwise"

    return check


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real event streams that ENSUE_DATA names; without it the test is skipped."""
    folder = os.environ.get("ENSUE_DATA")
    if not folder:
        pytest.skip("ENSUE_DATA names no folder of real data")
    return Path(folder)
