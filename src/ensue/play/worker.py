"""The process that evaluates: requests come in on standard input, answers go to standard output.

Each is a line of JSON. The server ends the process when an answer takes too long; memory is bounded
here, so that what needs more gets a sentence and not the machine's swap.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import IO, Any

from ensue.errors import EnsueError
from ensue.play.answers import compare, match, matches, step, why
from ensue.play.asking import RequestError
from ensue.play.checking import check, problem_of
from ensue.play.events import generate, read, upload
from ensue.play.export import export
from ensue.play.memory import bound_memory

Answer = dict[str, Any]

HANDLERS: dict[str, Callable[[Answer], Answer]] = {
    "check": check,
    "read": read,
    "upload": upload,
    "generate": generate,
    "matches": matches,
    "match": match,
    "step": step,
    "compare": compare,
    "why": why,
    "export": export,
}


def answer(request: Answer) -> Answer:
    """Answer a request; whatever goes wrong is an answer, too."""
    try:
        handler = HANDLERS.get(str(request.get("kind")))
        if handler is None:
            raise RequestError("the page asked for something that there is not")
        if "data" in request:
            request = {**request, "data": base64.b64decode(request["data"])}
        return handler(request)
    except (EnsueError, RequestError, ValueError, TypeError) as error:
        if not isinstance(error, EnsueError | RequestError) and not _is_about_options(error):
            traceback.print_exc()
        return {"problem": problem_of(error)}
    except MemoryError:
        return {"problem": {"kind": "budget", "message": _memory()}}
    except RecursionError:
        return {"problem": {"kind": "budget", "message": "the query is nested too deeply"}}
    except Exception as error:
        traceback.print_exc()
        message = f"something went wrong inside: {type(error).__name__}: {error}"
        return {"problem": {"kind": "internal", "message": message}}


def _is_about_options(error: Exception) -> bool:
    """Tell whether an error is a sentence about settings, for the user."""
    return type(error) in (ValueError, TypeError)


def _memory() -> str:
    return (
        "this needs more memory than the playground gives to a query; a window, a smaller {n,m} or "
        "fewer events need less"
    )


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer one request after the other, until there are no more."""
    for line in source:
        text = json.dumps(answer(json.loads(line)), default=str)
        sink.write(text.encode("utf-8", "replace") + b"\n")
        sink.flush()


def main() -> None:
    """Start: compile what queries need, bound the memory, and say that all is ready."""
    room, warm = int(sys.argv[1]), sys.argv[2] == "warm"
    # Nothing but answers goes to the server.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if warm:
        from ensue.engine.warming import steps

        for _ in steps():
            pass
    bound_memory(room)
    sink.write(b'"ready"\n')
    sink.flush()
    serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()
