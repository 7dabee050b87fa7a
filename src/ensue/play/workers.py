"""Workers: processes that answer one request at a time, and are ended when it takes too long."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ensue.play.bounds import Bounds

Answer = dict[str, Any]

_MOST_LINES = 1_000
"""Pages and kinds of requests of which the newest number is known."""


@dataclass(slots=True)
class Worker:
    """A process that evaluates, started when it is first needed and again after it was ended."""

    bounds: Bounds
    warm: bool = True
    """Whether all kernels are compiled, or loaded, before the first answer."""
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _noting: threading.Lock = field(default_factory=threading.Lock)
    _newest: dict[str, int] = field(default_factory=dict)
    """By page and kind, the number of the newest request."""
    _closed: bool = False

    def ask(self, request: Answer) -> Answer:
        """Return the answer to a request, or a problem; one after the other.

        A request that a newer one of the same page and kind has overtaken is not evaluated.
        """
        serial = request.get("serial")
        if not isinstance(serial, int):
            serial = 0
        line = f"{request.get('page')} {request.get('kind')}"
        with self._noting:
            self._newest[line] = max(serial, self._newest.pop(line, 0))
            for oldest in list(self._newest)[:-_MOST_LINES]:
                del self._newest[oldest]
        with self._lock:
            if serial < self._newest.get(line, 0):
                return {"overtaken": True}
            return self._ask(request)

    def start(self) -> None:
        """Start the process ahead of the first request."""
        with self._lock:
            self._started()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        if self._process is not None:
            _end(self._process)

    def _ask(self, request: Answer) -> Answer:
        try:
            process = self._started()
        except OSError as error:
            return _problem("internal", f"no process can be started for the query: {error}")
        if process is None:
            return _problem("internal", "the process for queries did not start; see the terminal")
        text = json.dumps(request).encode() + b"\n"
        line = self._exchange(process, text, self.bounds.seconds)
        if line:
            answer: Answer = json.loads(line)
            return answer
        code = _end(process)
        self._process = None
        if self._closed:
            return _problem("internal", "the playground was ended")
        # The next request need not wait for it.
        threading.Thread(target=self.start, daemon=True).start()
        if code == -9:
            return _problem(
                "budget",
                f"this takes longer than {self.bounds.seconds:g} seconds and was ended; a window, "
                "a smaller {n,m} or fewer events take less; `ensue play --seconds` allows more",
            )
        return _problem(
            "budget", "the query needs more memory than the playground gives it, and was ended"
        )

    def _started(self) -> subprocess.Popen[bytes] | None:
        """Return the process, ready to answer."""
        process = self._process
        if self._closed or (process is not None and process.poll() is None):
            return process
        self._process = process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "ensue.play.worker"),
                *(str(self.bounds.memory), "warm" if self.warm else "cold"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if not self._exchange(process, b"", self.bounds.patience):
            _end(process)
            self._process = None
            return None
        return process

    @staticmethod
    def _exchange(process: subprocess.Popen[bytes], text: bytes, seconds: float) -> bytes:
        """Send a line and return the next one; nothing, if the process ends before."""
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(text)
            process.stdin.flush()
            return process.stdout.readline()
        except (BrokenPipeError, ValueError):
            return b""
        finally:
            timer.cancel()


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a process that does not answer any more, and return its exit code."""
    process.kill()
    code = process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    return code


def _problem(kind: str, message: str) -> Answer:
    return {"problem": {"kind": kind, "message": message}}
