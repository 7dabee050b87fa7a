"""The language server, spoken to in its protocol."""

from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ensue, start
from tests.editor.client import URI, Client

STOCKS = "CREATE STREAM Stocks { EVENT SELL { price: double }, EVENT BUY { price: double } } ;\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    with Client() as client:
        yield client


@pytest.fixture
def client(shared: Client) -> Iterator[Client]:
    yield shared
    shared.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert shared.diagnostics() == []


def test_it_says_what_it_can(client: Client) -> None:
    client.open("SELECT * FROM S WHERE A")
    able = client.capabilities
    assert able["hoverProvider"]
    assert able["documentFormattingProvider"]
    assert "." in able["completionProvider"]["triggerCharacters"]
    assert able["codeActionProvider"]["codeActionKinds"] == ["quickfix"]


def test_errors_come_as_the_text_changes(client: Client) -> None:
    (error,) = client.open("SELECT *\nFORM S WHERE A")
    assert error["code"] == "E124"
    assert error["severity"] == 1
    assert error["range"]["start"] == {"line": 1, "character": 0}
    assert "did you mean FROM?" in error["message"]
    assert client.change("SELECT *\nFROM S WHERE A") == []
    (warning,) = client.change("SELECT *\nFROM S WHERE A ; B+")
    assert (warning["code"], warning["severity"]) == ("W501", 2)
    found = client.change(f"{STOCKS}SELECT * FROM Stocks WHERE SELL FILTER SELL[prise > 'x']")
    assert [each["code"] for each in found] == ["E201"]


def test_places_are_counted_in_utf_16(client: Client) -> None:
    (error,) = client.open("SELECT * FROM S WHERE A FILTER A[v = '🦉'] FLITER A[v = 1]")
    assert error["range"]["start"] == {"line": 0, "character": 43}
    hovered = client.at("hover", 0, 50)
    assert hovered["range"]["start"]["character"] == 50


def test_headers_of_rules_are_checked(client: Client) -> None:
    (error,) = client.open("+++\ntitle = 'x'\nseverty = 'low'\n+++\nSELECT * FROM S WHERE A")
    assert "did you mean 'severity'?" in error["message"]
    assert error["range"]["start"]["line"] == 2
    schema = "+++\nschema = {price = 'double'}\n+++\n"
    (error,) = client.change(f"{schema}SELECT * FROM S WHERE A FILTER A[prise > 1]")
    assert error["code"] == "E201"
    assert error["range"]["start"]["line"] == 3
    (error,) = client.change("+++\ntitle = 'x'\nSELECT * FROM S WHERE A")
    assert "never closed" in error["message"]
    assert client.change(f"{schema}SELECT * FROM S WHERE A FILTER A[price > 1]") == []


def test_settings_beside_a_rule_count(tmp_path: Path) -> None:
    rule = tmp_path / "rule.ceql"
    rule.write_text("SELECT * FROM S WHERE A FILTER A[prise > 1]")
    (tmp_path / "rule.toml").write_text("schema = {price = 'double'}\n")
    with Client() as client:
        (error,) = client.open(rule.read_text(), rule.as_uri())
        assert error["code"] == "E201"
        (tmp_path / "rule.toml").write_text("shema = {}\n")
        client.notify("textDocument/didSave", {"textDocument": {"uri": rule.as_uri()}})
        (error,) = client.diagnostics(rule.as_uri())
        assert "rule.toml:1: 'shema' means nothing here" in error["message"]


def test_hover_says_types_meanings_and_errors(client: Client) -> None:
    query = "SELECT * FROM Stocks WHERE SELL AS s ; BUY FILTER s.price < BUY.prise WITHIN 5 EVENTS"
    client.open(STOCKS + query)

    def said(word: str, more: int = 0) -> str:
        text: str = client.at("hover", 1, query.index(word) + more)["contents"]["value"]
        return text

    assert "price: double" in said("price")
    assert "s: events of type SELL" in said("s ;")
    assert "p and later q" in said(";")
    assert "from the first to the last event" in said("WITHIN")
    assert "A number of events" in said("EVENTS")
    assert "the way out: mend the name" in said("prise")
    assert client.at("hover", 1, query.index("5")) is None


def labels(answer: Any) -> list[str]:
    assert answer["isIncomplete"] is False
    return [each["label"] for each in answer["items"]]


def test_completion_knows_the_grammar_and_the_names(client: Client) -> None:
    query = "SELECT * FROM Stocks WHERE SELL AS s ; BUY FILTER s."
    client.open(STOCKS + query)
    assert labels(client.at("completion", 1, len(query))) == ["price"]
    client.change(f"{STOCKS}SELECT * FROM Stocks WHERE ", version=3)
    offered = labels(client.at("completion", 1, 27))
    assert offered[:2] == ["SELL", "BUY"]
    assert "NEXT" in offered
    assert "FROM" not in offered


def test_formatting_keeps_comments_and_refuses_mistakes(client: Client) -> None:
    options = {"tabSize": 2, "insertSpaces": True}
    params = {"textDocument": {"uri": URI}, "options": options}
    client.open("-- why\nselect * from S where (A;B) -- then\n")
    (edit,) = client.request("textDocument/formatting", params)
    assert edit["newText"] == "-- why\nSELECT *\nFROM S\nWHERE A ; B -- then\n"
    assert edit["range"]["end"] == {"line": 2, "character": 0}
    client.change(edit["newText"])
    assert client.request("textDocument/formatting", params) == []
    client.change("select * form S")
    assert client.request("textDocument/formatting", params) is None
    told = client.notification("window/showMessage")
    assert told["message"] == "Not formatted: line 1 has an error (E124)."


def test_mistakes_can_be_mended(client: Client) -> None:
    found = client.open("SELECT * FORM S WHERE A")
    params = {
        "textDocument": {"uri": URI},
        "range": found[0]["range"],
        "context": {"diagnostics": found},
    }
    (action,) = client.request("textDocument/codeAction", params)
    assert action["edit"]["changes"][URI] == [{"range": found[0]["range"], "newText": "FROM"}]
    elsewhere = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    assert client.request("textDocument/codeAction", {**params, "range": elsewhere}) == []


def test_the_command_serves_until_it_is_told_to_stop() -> None:
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **each}) for each in messages]
    frames = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    with start("lsp", "--stdio") as server:
        out, err = server.communicate(frames, timeout=120)
    assert server.returncode == 0, err
    assert "Traceback" not in err
    assert out.count("Content-Length") == 2


def test_without_the_extra_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("pygls", "lsprotocol"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "ensue.editor.server")
    original = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] in ("pygls", "lsprotocol"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    outcome = ensue("lsp", "--stdio")
    assert outcome.code == 2
    assert outcome.stderr == (
        "error: editor support needs pygls; install it with: pip install 'ensue[lsp]'\n"
    )
    assert outcome.stdout == ""
