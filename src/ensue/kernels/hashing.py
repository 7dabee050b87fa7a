"""The kernels of a hash table of many values, in arrays: integers, or strings by their bytes.

A value is known by a number. Slots hold numbers, a value's own slot or, where that is taken, the
next free one; words hold the integers, or the hashes of strings, which are then compared byte by
byte. At least half of the slots are free. Hashes have 31 bits, and are worked out without
overflowing 64, so that plain Python gets the same ones.
"""

from __future__ import annotations

from typing import NamedTuple

from ensue.kernels.compile.jit import helper, kernel
from ensue.kernels.layout import NIL, Int8, Int32, Int64

_BITS = 0x7FFFFFFF
_FACTOR = 0x5BD1E995


class Known(NamedTuple):
    """The values that have numbers."""

    slots: Int32
    """Numbers or NIL; as many as a power of two."""
    words: Int64
    """[number]: the integer, or the hash of the string."""
    begin: Int64
    """[number]: where the bytes of a string begin."""
    length: Int32
    """[number]: how many there are."""
    bytes: Int8


class Asked(NamedTuple):
    """Values that are looked for."""

    words: Int64
    offsets: Int64
    """Where the bytes of strings begin and end; integers have none."""
    bytes: Int8


@helper
def spread(word: int) -> int:
    """Return the hash of a word."""
    mixed: int = (((word & _BITS) * _FACTOR) & _BITS) ^ ((word >> 31) & _BITS)
    mixed = (mixed * _FACTOR) & _BITS
    return mixed ^ (mixed >> 15)


@kernel
def hash_strings(offsets: Int64, data: Int8, words: Int64) -> None:
    """Write the hashes of strings."""
    for row in range(words.shape[0]):
        mixed = 0
        for place in range(offsets[row], offsets[row + 1]):
            mixed = ((mixed ^ (data[place] & 0xFF)) * _FACTOR) & _BITS
            mixed ^= mixed >> 15
        words[row] = mixed


@kernel
def find_numbers(known: Known, asked: Asked, found: Int32) -> None:
    """Write the number of each value, or NIL."""
    mask = known.slots.shape[0] - 1
    strings = asked.offsets.shape[0] > 0
    for row in range(asked.words.shape[0]):
        word = asked.words[row]
        place = spread(word) & mask
        number = known.slots[place]
        while number != NIL:
            same = known.words[number] == word
            if same and strings:
                first = asked.offsets[row]
                size = asked.offsets[row + 1] - first
                same = known.length[number] == size
                at = 0
                while same and at < size:
                    same = known.bytes[known.begin[number] + at] == asked.bytes[first + at]
                    at += 1
            if same:
                break
            place = (place + 1) & mask
            number = known.slots[place]
        found[row] = number


@kernel
def take_slots(known: Known, numbers: Int64) -> None:
    """Put numbers whose values are new into slots."""
    mask = known.slots.shape[0] - 1
    for row in range(numbers.shape[0]):
        place = spread(known.words[numbers[row]]) & mask
        while known.slots[place] != NIL:
            place = (place + 1) & mask
        known.slots[place] = numbers[row]
