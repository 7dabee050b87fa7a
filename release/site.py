"""Hooks of the site: the page of all commands, and links that leave docs/.

mkdocs.yml names this file. Each function is called by MkDocs under its name.
"""

from __future__ import annotations

import re
from typing import Any

import typer
from mkdocs.structure.files import File, Files
from typer.cli import get_docs_for_click

from ensue.cli.app import app

COMMANDS = "command-line.md"
_INDENTED = re.compile(r"(?:^  +\S.*\n)+", re.MULTILINE)
_OUTSIDE = re.compile(
    r"\[([^]]+)\]\((?:\.\./)+(?:editors|examples|bench|src|tests|CHANGELOG|CONTRIBUTING)[^)]*\)"
)


def commands() -> str:
    """Return the page of all commands: what --help says, as Markdown."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="ensue")
    # Escapes of Rich; and examples are indented by two spaces there.
    text = text.replace("\\[", "[")
    text = _INDENTED.sub(lambda found: f"\n```console\n{found[0]}```\n", text)
    head = "Generated from the commands themselves: `ensue COMMAND --help` says the same.\n\n"
    return "# All commands\n\n" + head + re.sub(r"\A# `ensue`\n+", "", text)


def on_files(files: Files, config: Any) -> Files:
    """Add the page of all commands."""
    files.append(File.generated(config, COMMANDS, content=commands()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show links to the repository's other folders as their text: they are no part of the site."""
    return _OUTSIDE.sub(r"\1", markdown)
