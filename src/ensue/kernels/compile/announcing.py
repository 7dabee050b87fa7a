"""What is said when kernels have to be compiled: what for, and about how long it takes.

It is said where it happens, once for each set of kernels: to the logger "ensue", and where somebody
is watching, on a terminal or in a notebook, also on standard error.
"""

from __future__ import annotations

import logging
import sys

_LOGGER = logging.getLogger("ensue")

_ROOM = "ensue.kernels."

_LISTING = ("listing and counting matches", 2)
_CONDITIONS = ("conditions between events", 3)
_TOTALS = ("count(*)", 2)

SETS = {
    "match.evaluate": ("patterns", 2),
    "graph.compact": _LISTING,
    "graph.enumerate": _LISTING,
    "match.correlate": _CONDITIONS,
    "match.index": _CONDITIONS,
    "match.treap": _CONDITIONS,
    "count.count": _TOTALS,
    "count.runs": _TOTALS,
    "count.flip": _TOTALS,
    "graph.path_totals": ("count(*) with conditions or strategies", 2),
    "aggregate": ("aggregates of matches", 2),
    "graph.bounded": ("bounds on aggregates", 2),
}
"""By module: what its kernels are for, and about how many seconds they take to compile."""

_said: set[str] = set()


def announce(module: str) -> None:
    """Say that a kernel of a module is about to be compiled, unless that was said of its set."""
    what, seconds = SETS[module.removeprefix(_ROOM)]
    if what in _said:
        return
    _said.add(what)
    text = (
        f"Ensue compiles its kernels for {what}: about {seconds} seconds, once on this machine "
        "(`ensue warm` compiles all)"
    )
    _LOGGER.info(text)
    if _is_watched():
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _is_watched() -> bool:
    """Tell whether somebody sees standard error at once: a terminal, a prompt or a notebook."""
    if sys.stderr is None:
        return False
    if sys.stderr.isatty() or hasattr(sys, "ps1"):
        return True
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None
