"""The server of the playground: one page, and answers to what it asks.

It listens on this machine alone, unless it is told otherwise, and then it wants a token. What
other pages in the same browser could send is refused: requests must be JSON from this very origin,
and the name of the host must be one of this machine, so that no foreign name can be pointed at it.
It reads no files for the page but its own.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from ipaddress import ip_address
from socket import AF_INET6, gethostname
from typing import Any

from ensue.drawing.svg import THEMED_STYLE
from ensue.play.bounds import MOST_TEXT, MOST_UPLOAD, Bounds
from ensue.play.start import Start
from ensue.play.workers import Worker

_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("app", "dom", "editor", "events", "highlight", "link", "steps", "views")
    },
}
"""All that is served, and nothing else."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_QUICK = ("check", "read", "upload", "generate")
"""What has a worker of its own, so that it never waits for a query."""

_ENVELOPE = 1 << 20
"""Bytes of a request beside the events."""

TOKEN_HEADER = "X-Ensue-Token"

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all of this machine, each with the one for its own browser."""


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(slots=True)
class Playground:
    """What the page shows at first, and who answers its questions."""

    start: Start
    bounds: Bounds = field(default_factory=Bounds)
    token: str | None = None
    started: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tells the page whether it is still the same server."""
    quick: Worker = field(init=False)
    """Checks and tables."""
    slow: Worker = field(init=False)
    """Queries."""

    def __post_init__(self) -> None:
        self.quick, self.slow = Worker(self.bounds, warm=False), Worker(self.bounds)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question of the page."""
        if request.get("kind") == "start":
            return {**self.start.as_answer(), "started": self.started}
        worker = self.quick if request.get("kind") in _QUICK else self.slow
        return worker.ask({**request, "limits": asdict(self.bounds.limits)})

    def close(self) -> None:
        """End the workers."""
        self.quick.close()
        self.slow.close()


class Server(ThreadingHTTPServer):
    """A server of a playground."""

    daemon_threads = True

    def __init__(self, host: str, port: int, playground: Playground) -> None:
        if ":" in host:
            self.address_family = AF_INET6
        if not is_loopback(host) and playground.token is None:
            raise ValueError("a server that others can reach needs a token")
        self.playground, self.host = playground, host
        super().__init__((host, port), Handler)

    @property
    def url(self) -> str:
        """The address of the page."""
        own = {**_EVERYWHERE, "localhost": "127.0.0.1"}
        return self._url_at(own.get(self.host, self.host))

    @property
    def remote_url(self) -> str | None:
        """The address of the page on other machines; None: they cannot reach it, or it is `url`."""
        return self._url_at(gethostname()) if self.host in _EVERYWHERE else None

    def _url_at(self, host: str) -> str:
        shown = f"[{host}]" if ":" in host else host
        token = self.playground.token
        return f"http://{shown}:{self.server_port}/" + (f"#token={token}" if token else "")

    @property
    def hosts(self) -> frozenset[str]:
        """What browsers on this machine may call it."""
        names = ("127.0.0.1", "localhost", "[::1]", self.host)
        return frozenset(f"{name}:{self.server_port}" for name in names)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version = "Ensue"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Send a file of the page."""
        name, kind = _FILES.get(self.path.partition("?")[0], ("", ""))
        if not self._is_known_host():
            self._refuse(HTTPStatus.FORBIDDEN, "this name is not one of the playground")
        elif not name:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            data = files("ensue.play").joinpath("page", name).read_bytes()
            if name == "page.css":
                data += THEMED_STYLE.encode()
            self._send(HTTPStatus.OK, kind, data)

    def do_POST(self) -> None:
        """Answer a question of the page."""
        refused = self._reason_to_refuse()
        if refused is not None:
            self.close_connection = True
            self._refuse(*refused)
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            request = self._request(body)
        except (ValueError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, "this is no request of the page")
            return
        answer = self.server.playground.answer(request)
        self._send(HTTPStatus.OK, "application/json", json.dumps(answer).encode())

    def _request(self, body: bytes) -> dict[str, Any]:
        if self.path.startswith("/upload"):
            from urllib.parse import parse_qs, urlsplit

            name = parse_qs(urlsplit(self.path).query).get("name", [""])[0]
            data = base64.b64encode(body).decode()
            return {"kind": "upload", "name": name, "data": data}
        request = json.loads(body)
        if not isinstance(request, dict) or "data" in request:
            raise ValueError(request)
        return request

    def _reason_to_refuse(self) -> tuple[HTTPStatus, str] | None:
        """Tell why a request is not answered; None: it is."""
        token, uploads = self.server.playground.token, self.path.startswith("/upload?")
        if not self._is_known_host():
            return HTTPStatus.FORBIDDEN, "this name is not one of the playground"
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            return HTTPStatus.FORBIDDEN, "other pages may not ask"
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return HTTPStatus.FORBIDDEN, "other pages may not ask"
        given = self.headers.get(TOKEN_HEADER, "")
        if token is not None and not secrets.compare_digest(given.encode(), token.encode()):
            return HTTPStatus.UNAUTHORIZED, "the token is missing or wrong"
        if self.path != "/ask" and not uploads:
            return HTTPStatus.NOT_FOUND, "there is no such page"
        kind = "application/octet-stream" if uploads else "application/json"
        if self.headers.get("Content-Type", "").partition(";")[0] != kind:
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"requests are {kind}"
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return HTTPStatus.LENGTH_REQUIRED, "the length of the request is missing"
        # Text in JSON may take twice its bytes.
        if int(length) > (MOST_UPLOAD if uploads else 2 * MOST_TEXT + _ENVELOPE):
            most = (MOST_UPLOAD if uploads else MOST_TEXT) >> 20
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {most} MB; use `ensue run`"
        return None

    def _is_known_host(self) -> bool:
        """Tell whether the browser was led here by a name of this machine, or has to know more."""
        return (
            self.server.playground.token is not None
            or self.headers.get("Host", "") in self.server.hosts
        )

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        problem = {"problem": {"kind": "request", "message": sentence}}
        self._send(status, "application/json", json.dumps(problem).encode())

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the page asks no longer

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: queries and tokens are nobody's business."""
