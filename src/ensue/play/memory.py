"""A bound on the memory of a process."""

from __future__ import annotations

_PAGE = 4096


def bound_memory(room: int) -> None:
    """Let this process take so many bytes beyond what it has now, where systems can tell."""
    try:
        import resource
    except ImportError:  # Windows: the budgets of queries are the only bound
        return
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            now = int(file.read().split()[0]) * _PAGE
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (now + room, now + room))
