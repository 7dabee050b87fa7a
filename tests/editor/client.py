"""A client of the language server, in the same process: frames of JSON-RPC through pipes."""

from __future__ import annotations

import json
import os
from collections import deque
from threading import Thread
from types import TracebackType
from typing import Any

from ensue.editor.server import make_server

URI = "file:///rules/rule.ceql"


class Client:
    """Sends requests and waits for their answers; a server that ends early is an error."""

    def __init__(self) -> None:
        read, self._to_server = os.pipe()
        self._from_server, write = os.pipe()
        self._input = os.fdopen(self._from_server, "rb")
        server_input, server_output = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._thread = Thread(
            target=make_server().start_io, args=(server_input, server_output), daemon=True
        )
        self._files = (server_input, server_output)
        self._number = 0
        self._notifications: deque[dict[str, Any]] = deque()

    def __enter__(self) -> Client:
        self._thread.start()
        self.capabilities = self.request(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": {}},
        )["capabilities"]
        self.notify("initialized", {})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        os.close(self._to_server)
        self._thread.join(60)
        assert not self._thread.is_alive()
        for file in (*self._files, self._input):
            file.close()

    def request(self, method: str, params: Any) -> Any:
        """Return the result of a request; notifications that come first are kept."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._notifications.append(message)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def notification(self, method: str) -> Any:
        """Return the next notification, which must be this one."""
        message = self._notifications.popleft() if self._notifications else self._receive()
        assert message["method"] == method, message
        return message["params"]

    def open(self, text: str, uri: str = URI) -> list[dict[str, Any]]:
        """Open a document and return its diagnostics."""
        document = {"uri": uri, "languageId": "ceql", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics(uri)

    def change(self, text: str, uri: str = URI, version: int = 2) -> list[dict[str, Any]]:
        """Replace the text of a document and return its diagnostics."""
        document = {"uri": uri, "version": version}
        changes = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", changes)
        return self.diagnostics(uri)

    def diagnostics(self, uri: str = URI) -> list[dict[str, Any]]:
        """Return the diagnostics that the server has sent."""
        sent = self.notification("textDocument/publishDiagnostics")
        assert sent["uri"] == uri
        found: list[dict[str, Any]] = sent["diagnostics"]
        return found

    def at(self, method: str, line: int, character: int, **more: Any) -> Any:
        """Ask about a place of the document."""
        place = {"line": line, "character": character}
        params = {"textDocument": {"uri": URI}, "position": place, **more}
        return self.request(f"textDocument/{method}", params)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        os.write(self._to_server, b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _receive(self) -> dict[str, Any]:
        length = 0
        while (line := self._input.readline().strip()) or not length:
            assert line, "the server has ended"
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        found: dict[str, Any] = json.loads(self._input.read(length))
        return found
