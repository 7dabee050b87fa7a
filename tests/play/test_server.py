"""The server answers its own page alone."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from socket import gethostname
from threading import Thread
from typing import Any

import pytest

from ensue.play.bounds import MOST_TEXT
from ensue.play.server import TOKEN_HEADER, Playground, Server
from ensue.play.start import Start

SMALL = Start("SELECT * FROM S WHERE A", "type\nA\n")
JSON = {"Content-Type": "application/json"}


@contextmanager
def serving(
    host: str = "127.0.0.1",
    token: str | None = None,
    start: Start = SMALL,
    like: Playground | None = None,
) -> Iterator[Server]:
    """Serve a playground, with the workers of another one if there is one."""
    playground = Playground(start, token=token)
    if like is not None:
        playground.quick, playground.slow = like.quick, like.slow
    server = Server(host, 0, playground)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        if like is None:
            playground.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def request(
    server: Server, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=600)
    try:
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        data = response.read()
        is_json = response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(data) if is_json else data, dict(response.headers)
    finally:
        connection.close()


def ask(server: Server, kind: str = "start", **headers: str) -> tuple[int, Any]:
    status, answer, _ = request(
        server, "POST", "/ask", json.dumps({"kind": kind}), **{**JSON, **headers}
    )
    return status, answer


def test_the_page_and_its_files_are_served_and_nothing_else(server: Server) -> None:
    status, page, headers = request(server, "GET", "/")
    assert status == 200
    assert b"<title>Ensue playground</title>" in page
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    for name in ("app.js", "page.css", "icon.svg", "steps.js"):
        assert request(server, "GET", f"/{name}")[0] == 200
    assert b"[data-theme=dark] .ensue" in request(server, "GET", "/page.css")[1]
    for path in ("/../server.py", "/page/app.js", "/%2e%2e/server.py", "/etc/passwd", "//x"):
        assert request(server, "GET", path)[0] == 404
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert request(server, method, "/ask")[0] == 501


def test_nothing_of_the_page_is_fetched_from_elsewhere(server: Server) -> None:
    for path in ("/", "/app.js", "/page.css", "/dom.js", "/editor.js", "/events.js", "/views.js"):
        text = request(server, "GET", path)[1]
        assert b"https://" not in text
        assert b"http://" not in text


def test_the_page_is_told_what_to_show(server: Server) -> None:
    status, answer = ask(server)
    assert status == 200
    assert (answer["query"], answer["events"]) == ("SELECT * FROM S WHERE A", "type\nA\n")
    words = {each["name"]: each["reserved"] for each in answer["keywords"]}
    assert (words["SELECT"], words["FIRST"], words["MINUTE"]) == (True, False, False)
    assert len(answer["strategies"]) == 6


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_pages_and_other_names_are_refused(server: Server, headers: dict[str, str]) -> None:
    status, answer = ask(server, **headers)
    assert status == 403
    assert answer["problem"]["kind"] == "request"


def test_pages_are_not_served_under_other_names(server: Server) -> None:
    assert request(server, "GET", "/", Host="evil.example")[0] == 403


def test_requests_that_a_form_could_send_are_refused(server: Server) -> None:
    body = json.dumps({"kind": "start"})
    assert request(server, "POST", "/ask", body, Content_Type="text/plain")[0] == 415
    assert request(server, "POST", "/ask", body)[0] == 415


def test_large_and_broken_requests_are_refused(server: Server) -> None:
    huge = {**JSON, "Content-Length": str(3 * MOST_TEXT)}
    assert request(server, "POST", "/ask", "{}", **huge)[0] == 413
    for body in ("", "[]", "{", '{"kind": "upload", "data": "QQ=="}', "[" * 100_000):
        assert request(server, "POST", "/ask", body, **JSON)[0] == 400
    assert request(server, "POST", "/files", "{}", **JSON)[0] == 404


def test_other_machines_need_a_token() -> None:
    with pytest.raises(ValueError, match="needs a token"):
        Server("0.0.0.0", 0, Playground(Start()))
    with serving("0.0.0.0", token="secret") as open_server:
        port = open_server.server_port
        assert open_server.url == f"http://127.0.0.1:{port}/#token=secret"
        assert open_server.remote_url == f"http://{gethostname()}:{port}/#token=secret"
        for given in ({}, {TOKEN_HEADER: "guess"}, {TOKEN_HEADER: ""}):
            assert ask(open_server, **given)[0] == 401
        status, answer = ask(open_server, **{TOKEN_HEADER: "secret"})
        assert (status, answer["query"]) == (200, "SELECT * FROM S WHERE A")
        # The files of the page are no secret.
        assert request(open_server, "GET", "/")[0] == 200
        named = {TOKEN_HEADER: "secret", "Host": "a.name.of.ours"}
        assert ask(open_server, **named)[0] == 200


def test_a_page_of_this_machine_has_no_address_elsewhere(server: Server) -> None:
    assert server.remote_url is None


def test_questions_reach_a_worker(server: Server) -> None:
    body = {"kind": "read", "query": "", "events": "type\nA\nB\n"}
    status, answer, _ = request(server, "POST", "/ask", json.dumps(body), **JSON)
    assert (status, answer["count"]) == (200, 2)
    binary = {"Content-Type": "application/octet-stream"}
    status, answer, _ = request(server, "POST", "/upload?name=e.csv", "type\nA\n", **binary)
    assert (status, answer["text"]) == (200, "type\nA\n")
