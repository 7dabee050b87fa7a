"""Workers: processes that answer one request at a time, and are ended when it takes too long."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ensue.play.bounds import Bounds

Answer = dict[str, Any]

_MOST_LINES = 1_000
"""Pages and kinds of requests of which the newest number is known."""


_VIEWS = ("matches", "step", "compare", "why")
"""Kinds of requests of which a page waits for one at a time."""

_SLOW = 1.0
"""Seconds after which a request that was overtaken is given up: to start again takes as long."""


@dataclass(slots=True)
class _Running:
    """A request that is being evaluated."""

    process: subprocess.Popen[bytes]
    line: str
    serial: int
    began: float = field(default_factory=time.monotonic)
    answered: bool = False
    ended: bool = False
    """Whether it was given up."""

    def give_up(self) -> None:
        """End it as soon as it has taken a while, unless it is answered before."""
        left = _SLOW - (time.monotonic() - self.began)
        if left > 0:
            timer = threading.Timer(left, self._end)
            timer.daemon = True
            timer.start()
        else:
            self._end()

    def _end(self) -> None:
        if not self.answered:
            self.ended = True
            self.process.kill()


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
    _running: _Running | None = None
    _closed: bool = False

    def ask(self, request: Answer) -> Answer:
        """Return the answer to a request, or a problem; one after the other.

        A page looks at one view at a time. So a request that a newer one of the same page has
        overtaken is not evaluated, and not evaluated any longer if it has taken a while.
        """
        serial = request.get("serial")
        if not isinstance(serial, int):
            serial = 0
        kind = request.get("kind")
        line = f"{request.get('page')} {'view' if kind in _VIEWS else kind}"
        with self._noting:
            newest = self._newest[line] = max(serial, self._newest.pop(line, 0))
            for oldest in list(self._newest)[:-_MOST_LINES]:
                del self._newest[oldest]
            running = self._running
            if running is not None and running.line == line and running.serial < newest:
                running.give_up()
        with self._lock:
            return self._ask(request, line, serial)

    def start(self) -> None:
        """Start the process ahead of the first request."""
        with self._lock:
            self._started()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        if self._process is not None:
            _end(self._process)

    def _ask(self, request: Answer, line: str, serial: int) -> Answer:
        try:
            process = self._started()
        except OSError as error:
            return _problem("internal", f"no process can be started for the query: {error}")
        if process is None:
            return _problem("internal", "the process for queries did not start; see the terminal")
        running = _Running(process, line, serial)
        with self._noting:
            if serial < self._newest.get(line, 0):
                return {"overtaken": True}  # while the process started
            self._running = running
        text = json.dumps(request).encode() + b"\n"
        found = self._exchange(process, text, self.bounds.seconds)
        running.answered = True
        with self._noting:
            self._running = None
        if found:
            answer: Answer = json.loads(found)
            return answer
        code = _end(process)
        self._process = None
        if self._closed:
            return _problem("internal", "the playground was ended")
        # The next request need not wait for it.
        threading.Thread(target=self.start, daemon=True).start()
        if running.ended:
            return {"overtaken": True}
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
            start_new_session=True,  # Ctrl+C is for the server
        )
        if not self._exchange(process, b"", self.bounds.patience):
            _end(process)
            self._process = None
            return None
        # What was compiled is on disk, and another process loads what it needs.
        self.warm = False
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
