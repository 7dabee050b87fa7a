"""What a step does with registers: guards, actions, and how contents are compared and hashed.

Small functions that are compiled into the kernels. Hashes have 31 bits, and are worked out
without overflowing 64, so that plain Python gets the same ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ensue.kernels.compile.jit import helper
from ensue.kernels.layout import (
    AT_MOST,
    CLEAR,
    DIFFERENT,
    EMPTY,
    EQUAL,
    KEEP,
    LESS,
    MORE,
    NIL,
    NULL,
    PUT,
    PUT_LEAST,
    PUT_MOST,
    PUT_SAME,
    Array,
    Tables,
)

_BITS = 0x7FFFFFFF
_FACTOR = 0x5BD1E995


@helper
def allowed(
    tables: Tables, step: int, registers: Array, row: int, values: Array, event: int
) -> bool:
    """Tell whether the registers in a row let a step be taken."""
    failed = 0
    for guard in range(tables.guard_rows[step], tables.guard_rows[step + 1]):
        sign = tables.guards[guard, 1]
        value = values[event, tables.guards[guard, 2]]
        register = tables.guards[guard, 0]
        if register == NIL:
            failed += value != 1
            continue
        content = registers[row, register]
        if sign == EQUAL:
            holds = value == content
        elif sign == DIFFERENT:
            holds = value != content
        elif sign == LESS:
            holds = value < content
        elif sign == AT_MOST:
            holds = value <= content
        elif sign == MORE:
            holds = value > content
        else:
            holds = value >= content
        failed += content != EMPTY and (content == NULL or value == NULL or not holds)
    return failed == 0


@helper
def put(tables: Tables, step: int, registers: Array, row: int, values: Array, event: int) -> None:
    """Change the registers in a row as a step does."""
    for register in range(registers.shape[1]):
        action = tables.actions[step, register, 0]
        if action == KEEP:
            continue
        content = EMPTY
        if action != CLEAR:
            content = registers[row, register]
            value = values[event, tables.actions[step, register, 1]]
            if content == EMPTY or action == PUT or value == NULL:
                content = value
            elif content != NULL:
                if action == PUT_SAME and value != content:
                    content = NULL
                elif (action == PUT_LEAST and value < content) or (
                    action == PUT_MOST and value > content
                ):
                    content = value
        registers[row, register] = content


@helper
def same(a: Array, i: int, b: Array, j: int) -> bool:
    """Tell whether two rows of registers have the same contents."""
    differing = 0
    for register in range(a.shape[1]):
        differing += a[i, register] != b[j, register]
    return differing == 0


@helper
def stirred(before: int, content: int) -> Any:
    """Stir a content into a hash."""
    whole = np.int64(content)
    mixed = (np.int64(before) ^ whole ^ (whole >> 32)) & _BITS
    product = mixed * _FACTOR
    return (product ^ (product >> 29)) & _BITS


@helper
def hash_of(group: int, registers: Array, row: int) -> Any:
    """Return the hash of a group and the contents of its registers."""
    found = stirred(0, group)
    for register in range(registers.shape[1]):
        found = stirred(found, registers[row, register])
    return found
