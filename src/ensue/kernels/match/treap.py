"""The search trees of configurations, one a group and a register that is compared by its order.

A tree is sorted by content, then by slot. Some are sorted by another register before, which an
equality compares: so those of one value stand together. Every slot has a rank, a hash of its
number, and stands below those of higher rank: a treap, whose depth is some small multiple of the
logarithm of its size whatever the order in which contents come. It needs hardly any room of its
own: where the index of equalities chains slots (`before`, `after`, and in `partners` the first
one), a tree has the children of a slot, and in `partners` at the group's number its root.
"""

from __future__ import annotations

from ensue.kernels.compile.jit import helper, subroutine
from ensue.kernels.layout import (
    AT_LEAST,
    AT_MOST,
    DIFFERENT,
    EMPTY,
    LARGEST,
    LESS,
    MORE,
    NIL,
    NULL,
    Array,
    Tables,
)
from ensue.kernels.match.layout import (
    ALL_DUE,
    BRANCH,
    DUE,
    HIGHER,
    LOWER,
    LOWER_DUE,
    OWN_DUE,
    SIDE,
    STALE,
    WHOLE,
    Index,
    Moves,
    Trees,
)
from ensue.kernels.match.registers import stirred
from ensue.kernels.minmax import smaller

_SHARE = 8
"""Where more than one in so many would be found, a scan is better: it keeps the order of starts."""


@helper
def goes_before(trees: Trees, prefix: int, register: int, slot: int, other: int) -> bool:
    """Tell whether a slot stands before another one in a tree; `prefix` is a register or NIL."""
    mine, its = trees.contents[slot, register], trees.contents[other, register]
    before = mine < its or (mine == its and slot < other)
    if prefix != NIL:
        first, its_first = trees.contents[slot, prefix], trees.contents[other, prefix]
        before = first < its_first or (first == its_first and before)
    return before


@helper
def hang(trees: Trees, number: int, group: int, parent: int, low: bool, slot: int) -> None:
    """Make a slot the child of another, the low one or the high one, or of NIL: the root."""
    if parent == NIL:
        trees.root[number, group] = slot
    elif low:
        trees.branches[parent, BRANCH * number + LOWER] = slot
    else:
        trees.branches[parent, BRANCH * number + HIGHER] = slot


@helper
def forget_due(trees: Trees, number: int, slot: int) -> None:
    """Note that what is due to a slot alone is not known: its runs change, or it was applied."""
    for target in range(trees.targets):
        trees.due[slot, DUE * (number * trees.targets + target) + OWN_DUE] = STALE


@helper
def make_stale(trees: Trees, number: int, slot: int, low: bool) -> None:
    """Note that something changes below a slot, where it is lower or where it is higher."""
    trees.branches[slot, BRANCH * number + WHOLE] = STALE
    if low:
        trees.branches[slot, BRANCH * number + SIDE] = STALE
    for target in range(trees.targets):
        place = DUE * (number * trees.targets + target)
        trees.due[slot, place + ALL_DUE] = STALE
        if low:
            trees.due[slot, place + LOWER_DUE] = STALE


@subroutine
def insert(trees: Trees, prefix: int, register: int, number: int, group: int, slot: int) -> None:
    """Put a slot into the tree of its group.

    It goes down to where its rank belongs; what hangs there is parted into those before it, and
    those after it, which become its children.
    """
    rank = stirred(0, slot)
    parent = NIL
    low = False
    other = trees.root[number, group]
    make_stale(trees, number, slot, True)
    forget_due(trees, number, slot)
    while other != NIL and stirred(0, other) >= rank:
        parent = other
        low = goes_before(trees, prefix, register, slot, other)
        make_stale(trees, number, other, low)
        other = trees.branches[other, BRANCH * number + (LOWER if low else HIGHER)]
    hang(trees, number, group, parent, low, slot)
    last, first = slot, slot
    while other != NIL:
        low = goes_before(trees, prefix, register, slot, other)
        make_stale(trees, number, other, low)
        if low:
            hang(trees, number, group, first, first != slot, other)
            first = other
            other = trees.branches[other, BRANCH * number + LOWER]
        else:
            hang(trees, number, group, last, last == slot, other)
            last = other
            other = trees.branches[other, BRANCH * number + HIGHER]
    hang(trees, number, group, first, first != slot, NIL)
    hang(trees, number, group, last, last == slot, NIL)


@subroutine
def remove(trees: Trees, prefix: int, register: int, number: int, group: int, slot: int) -> None:
    """Take a slot out of the tree of its group; its children are merged by their ranks."""
    parent = NIL
    low = False
    other = trees.root[number, group]
    while other != slot:
        parent = other
        low = goes_before(trees, prefix, register, slot, other)
        make_stale(trees, number, other, low)
        other = trees.branches[other, BRANCH * number + (LOWER if low else HIGHER)]
    lower = trees.branches[slot, BRANCH * number + LOWER]
    higher = trees.branches[slot, BRANCH * number + HIGHER]
    while lower != NIL and higher != NIL:
        make_stale(trees, number, lower, False)
        make_stale(trees, number, higher, True)
        if stirred(0, lower) >= stirred(0, higher):
            hang(trees, number, group, parent, low, lower)
            parent, low = lower, False
            lower = trees.branches[lower, BRANCH * number + HIGHER]
        else:
            hang(trees, number, group, parent, low, higher)
            parent, low = higher, True
            higher = trees.branches[higher, BRANCH * number + LOWER]
    rest = lower if lower != NIL else higher
    hang(trees, number, group, parent, low, rest)


@helper
def least_of(sign: int, turn: int, value: int) -> int:
    """Return the least content that a value passes: in turn, empty ones, lower and higher ones."""
    if turn == 0:
        return EMPTY
    if turn == 1:
        return NULL + 1
    return value if sign == AT_MOST else smaller(value, LARGEST - 1) + 1


@helper
def most_of(sign: int, turn: int, value: int) -> int:
    """Return the largest content that a value passes; less than the least where there is none."""
    if turn == 0 or value == NULL:
        return EMPTY
    if turn == 1:
        if sign == AT_LEAST:
            return value
        if sign == MORE:
            return value - 1
        return value - 1 if sign == DIFFERENT else EMPTY
    if sign == AT_MOST:
        return LARGEST
    if sign == LESS and value < LARGEST:
        return LARGEST
    return LARGEST if sign == DIFFERENT and value < LARGEST else EMPTY


@subroutine
def search(
    trees: Trees,
    register: int,
    number: int,
    group: int,
    sign: int,
    value: int,
    most: int,
    found: Array,
    waiting: Array,
) -> int:
    """Find the slots with a content that a value passes; return how many, or more than `most`.

    `found` has room for one more than `most`; `waiting` is for branches that are still to visit.
    """
    count = 0
    for turn in range(3):
        low, high = least_of(sign, turn, value), most_of(sign, turn, value)
        depth = 0
        slot = trees.root[number, group] if low <= high else NIL
        while slot != NIL and count <= most:
            content = trees.contents[slot, register]
            if low <= content <= high:
                found[count] = slot
                count += 1
            lower = trees.branches[slot, BRANCH * number + LOWER] if content >= low else NIL
            higher = trees.branches[slot, BRANCH * number + HIGHER] if content <= high else NIL
            if lower != NIL and higher != NIL:
                if depth == waiting.shape[0]:
                    return most + 1
                waiting[depth] = higher
                depth += 1
            slot = lower if lower != NIL else higher
            if slot == NIL and depth > 0:
                depth -= 1
                slot = waiting[depth]
    return count


@helper
def search_for(
    tables: Tables,
    index: Index,
    trees: Trees,
    moves: Moves,
    group: int,
    step: int,
    values: Array,
    event: int,
) -> int:
    """Write what the first guard of a step lets pass to `moves.spare`; return how many that are.

    NIL means: so many that all of the group had better be looked at.
    """
    number = tables.access[step]
    guard = tables.guard_rows[step]
    most = smaller(index.size[group] // _SHARE + _SHARE, moves.spare.shape[0] - 1)
    count = search(
        trees,
        tables.indexes[number],
        number,
        group,
        tables.guards[guard, 1],
        values[event, tables.guards[guard, 2]],
        most,
        moves.spare,
        moves.order,
    )
    return count if count <= most else NIL


@helper
def planted(tables: Tables, index: Index, trees: Trees, step: int, group: int) -> int:
    """Return the tree of a group in which a step finds what it moves as few nodes, or NIL."""
    found = NIL
    if tables.merges[step]:
        own = tables.access[step]
        for number in range(tables.indexes.shape[0]):
            # Numba compiles a function of its own for a comparison with a tuple.
            if (
                (own == NIL or own == number)  # noqa: SIM109
                and tables.ordered[number]
                and tables.indexed[index.state[group], number]
                and trees.root[number, group] != NIL
            ):
                found = number
    return found
