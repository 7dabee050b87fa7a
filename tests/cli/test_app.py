"""The command as a whole: help, version, signals and pipes."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ensue.cli.commands.check import check
from ensue.cli.commands.demo import demo
from ensue.cli.commands.explain import explain
from ensue.cli.commands.generate import stock
from ensue.cli.commands.run import run
from ensue.cli.commands.test import run_tests
from ensue.cli.commands.why import why
from tests.cli.command import ensue, start
from tests.waiting import PATIENCE


def test_version() -> None:
    process = start("--version")
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr) == (0, "")
    assert stdout.startswith("ensue ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run"],
        ["check"],
        ["explain"],
        ["why"],
        ["test"],
        ["generate"],
        ["generate", "stock"],
        ["demo"],
        ["warm"],
    ],
)
def test_every_command_explains_itself(arguments: list[str]) -> None:
    outcome = ensue(*arguments, "--help")
    assert outcome.code == 0
    assert "Usage: " in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80


def test_an_unknown_command_is_bad_usage() -> None:
    outcome = ensue("rnu")
    assert outcome.code == 2
    assert "run" in outcome.stderr


def test_help_imports_no_arrow() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from ensue.cli.app import app; "
        "assert CliRunner().invoke(app, ['run', '--help']).exit_code == 0; "
        "assert not {'pyarrow', 'numpy', 'lark', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("command", [check, run, explain, why, run_tests, stock, demo])
def test_examples_of_the_help_run(
    command: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell reads each line, and says what it would start; that then runs in this process."""
    monkeypatch.chdir(tmp_path)
    _, _, text = inspect.getdoc(command).partition("Examples:\n")
    examples = [line.strip().replace("\\[", "[") for line in text.splitlines()]
    assert len(examples) >= 2
    ran = 0
    for example in examples:
        script = f"ensue() {{ printf '%s\\0' \"$@\" >.arguments; cat >.input; }}\n{example}"
        subprocess.run(["sh", "-ec", script], check=True, stdin=subprocess.DEVNULL)
        asked = tmp_path / ".arguments"
        if asked.exists():
            arguments = asked.read_text().split("\0")[:-1]
            given = (tmp_path / ".input").read_bytes()
            asked.unlink()
            outcome = ensue(*arguments, stdin=given)
            assert outcome.code == 0, f"{example}\n{outcome.stderr}"
            ran += 1
    assert ran >= 2


def test_a_closed_pipe_is_silent() -> None:
    with start("generate", "stock", "--events", 300_000) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith('"type"')
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_an_interrupt_is_quiet() -> None:
    process = start("demo", "--events", 2_000_000)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("--")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr) == (130, "")


def test_signs_that_an_encoding_lacks_are_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (tmp_path / "q.ceql").write_text("SELECT * FROM S WHERE é ; → B", encoding="utf-8")
    process = start("check", "q.ceql", folder=tmp_path)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr) == (1, "")
    assert "error[E108]: '?' is not CEQL" in stdout
