"""A plugin of pytest: files that end in .ceql.toml or .ceql.json are tests.

What needs Arrow or Numba is imported when the first of these tests runs, so that the plugin costs
nothing where there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ensue.cli.testing.files import RuleTest, is_rule_test, read_rule_tests
from ensue.errors import EnsueError


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect rule tests, and no other files."""
    if not is_rule_test(file_path):
        return None
    collector: pytest.Collector = RuleFile.from_parent(parent, path=file_path)
    return collector


class RuleFile(pytest.File):
    """A file of rule tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Read the file; one that is malformed fails as a whole."""
        try:
            tests = read_rule_tests(self.path)
        except EnsueError as error:
            raise self.CollectError(str(error)) from error
        for test in tests:
            yield RuleItem.from_parent(self, name=test.name, test=test)


class RuleItem(pytest.Item):
    """One rule test."""

    def __init__(self, *, test: RuleTest, **options: Any) -> None:
        super().__init__(**options)
        self.rule_test = test

    def runtest(self) -> None:
        """Fail with what is missing and what is too much."""
        from ensue.cli.testing.judge import judge, report

        verdict = judge(self.rule_test)
        if not verdict.passed:
            raise RuleTestError("\n".join(report(verdict)))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the difference, without a traceback through this file."""
        if isinstance(excinfo.value, RuleTestError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name the test by its file."""
        return self.path, None, self.name


class RuleTestError(AssertionError):
    """A rule test that found something else than expected."""
