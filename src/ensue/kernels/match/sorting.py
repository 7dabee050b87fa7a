"""Moves in the order of starts, in which runs have to be joined."""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import Array


@helper
def end_of_run(start: Array, order: Array, begin: int, count: int) -> int:
    """Return where the sorted run that begins here ends."""
    end = begin + 1
    while end < count and start[order[end - 1]] <= start[order[end]]:
        end += 1
    return end


@subroutine
def sort_by_start(start: Array, order: Array, spare: Array, count: int) -> None:
    """Write the moves to `order`, the earliest start first, merging runs that are sorted.

    Lists have the latest configuration first, so reading them backwards makes long runs.
    """
    for i in range(count):
        order[i] = count - 1 - i
    merged = count < 2
    while not merged:
        merged = True
        begin = 0
        while begin < count:
            middle = end_of_run(start, order, begin, count)
            if middle == count:
                break
            end = end_of_run(start, order, middle, count)
            merged = merged and begin == 0 and end == count
            left, right = begin, middle
            for place in range(begin, end):
                if right == end or (left < middle and start[order[left]] <= start[order[right]]):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
            for i in range(begin, end):
                order[i] = spare[i]
            begin = end
