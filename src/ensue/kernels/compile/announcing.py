"""Messages about the compilation of kernels: what for, and about how long it takes.

They are written when it begins, once for each set of kernels: to the logger "ensue", and on a
terminal or in a notebook also to standard error.
"""

from __future__ import annotations

import logging
import sys

_LOGGER = logging.getLogger("ensue")

_ROOM = "ensue.kernels."

_LISTING = ("listing and counting matches", 2)
_CONDITIONS = ("conditions between events", 4)
_TOTALS = ("count(*)", 2)
_CHOICE = ("the strategies NEXT, LAST and FIRST", 3)

SETS = {
    "match.evaluate": ("patterns", 2),
    "graph.compact": _LISTING,
    "graph.enumerate": _LISTING,
    "graph.expand": _CONDITIONS,
    "graph.order": _CHOICE,
    "graph.choose": _CHOICE,
    "graph.first": _CHOICE,
    "match.waiting": ("deadlines", 1),
    "match.correlate": _CONDITIONS,
    "match.index": _CONDITIONS,
    "match.lazy": _CONDITIONS,
    "match.treap": _CONDITIONS,
    "match.ranges": _CONDITIONS,
    "match.sorting": _CONDITIONS,
    "match.subtrees": _CONDITIONS,
    "count.count": _TOTALS,
    "count.runs": _TOTALS,
    "count.flip": _TOTALS,
    "graph.path_totals": ("count(*) with conditions or strategies", 2),
    "aggregate": ("aggregates of matches", 2),
    "graph.bounded": ("bounds on aggregates", 2),
    "hashing": ("very many partitions", 1),
}
"""By module: what its kernels are for, and about how many seconds they take to compile."""

_announced: set[str] = set()


def announce(module: str) -> None:
    """Announce that a kernel of a module is about to be compiled, once for its set."""
    what, seconds = SETS[module.removeprefix(_ROOM)]
    if what in _announced:
        return
    _announced.add(what)
    text = (
        f"Ensue compiles its kernels for {what}: about {seconds} seconds, once on this machine "
        "(`ensue warm` compiles all)"
    )
    _LOGGER.info(text)
    if _is_interactive():
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _is_interactive() -> bool:
    """Return whether standard error is shown at once: on a terminal, at a prompt, in a notebook."""
    if sys.stderr is None:
        return False
    if sys.stderr.isatty() or hasattr(sys, "ps1"):
        return True
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None
