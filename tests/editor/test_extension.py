"""The folder of the extension for Visual Studio Code holds together."""

from __future__ import annotations

import json
import tomllib

from ensue.editor.generate import ROOT

FOLDER = ROOT / "editors" / "vscode"


def test_what_the_manifest_names_is_there() -> None:
    manifest = json.loads((FOLDER / "package.json").read_text())
    contributes = manifest["contributes"]
    (language,), (grammar,) = contributes["languages"], contributes["grammars"]
    for file in (manifest["main"], language["configuration"], grammar["path"]):
        assert (FOLDER / file).is_file()
    assert language["extensions"] == [".ceql"]
    written = json.loads((FOLDER / grammar["path"]).read_text())
    assert written["scopeName"] == grammar["scopeName"]
    json.loads((FOLDER / language["configuration"]).read_text())
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_has_the_version_of_the_package() -> None:
    manifest = json.loads((FOLDER / "package.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert manifest["version"] == project["version"]
    for page in (FOLDER / "README.md", ROOT / "docs" / "editors.md"):
        assert f"ensue-ceql-{manifest['version']}.vsix" in page.read_text()
