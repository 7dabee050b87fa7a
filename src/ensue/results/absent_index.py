"""Matches of a ψ that must not happen, sorted so that they are found by key, values and end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.results.correlation import ANY, Choices


class PartIndex:
    """The matches of a part by partition and codes, then by end."""

    def __init__(self, part: Part, asked: tuple[int, ...]) -> None:
        self.asked = asked
        codes = [part.codes[number] for number in asked]
        free = np.zeros(len(part.key), np.int64)
        for place, each in enumerate(codes):
            free |= (each == ANY).astype(np.int64) << place
        self.free = np.unique(free).tolist()
        self.levels: list[np.ndarray] = []
        self.shifts = [0, *(int(each.max(initial=0)) + 4 for each in codes)]
        group = part.key
        for code, shift in zip((None, *codes), self.shifts, strict=True):
            known, group = np.unique(_pair(group, code, shift), return_inverse=True)
            self.levels.append(known)
        self.base = int(part.start.min())
        self.span = int(part.end.max()) - self.base + 2
        self.order = np.lexsort((-part.start, part.end, group))
        self.group = group[self.order]
        below = self.group * self.span
        self.place = below + part.end[self.order] - self.base
        start = part.start[self.order] - self.base
        self.latest = np.maximum.accumulate(below + start) - below + self.base
        """The latest start up to each end."""

    def groups(self, key: np.ndarray, codes: list[np.ndarray], free: int) -> np.ndarray:
        """Return where the wanted values stand, with those left open that ψ has none for; or -1."""
        group = key
        known = np.ones(len(key), bool)
        own = (np.full(len(key), ANY) if free >> n & 1 else c for n, c in enumerate(codes))
        for level, each, shift in zip(self.levels, (None, *own), self.shifts, strict=True):
            wanted = _pair(group, each, shift)
            if each is not None:
                known &= each + 4 <= shift
            group = np.minimum(np.searchsorted(level, wanted), len(level) - 1)
            known &= level[group] == wanted
        return np.where(known, group, -1)

    def places(self, group: np.ndarray, end: np.ndarray, side: Any) -> np.ndarray:
        """Return where an end stands, or would stand, among those of a group."""
        within = np.clip(end - self.base, -1, self.span - 1)
        found: np.ndarray = np.searchsorted(self.place, group * self.span + within, side=side)
        return found


def _pair(group: np.ndarray, codes: np.ndarray | None, shift: int) -> np.ndarray:
    return group if codes is None else group * (shift + 1) + codes + 3


@dataclass(frozen=True, slots=True)
class Part:
    """Some matches of ψ, and what the conditions ask of them."""

    start: np.ndarray
    end: np.ndarray
    key: np.ndarray
    codes: tuple[np.ndarray, ...]
    choices: tuple[Choices, ...]
    _indexes: dict[tuple[int, ...], PartIndex] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start)

    def index(self, asked: tuple[int, ...]) -> PartIndex:
        """Return the matches by some of the equalities."""
        known = self._indexes.get(asked)
        if known is None:
            known = self._indexes[asked] = PartIndex(self, asked)
        return known

    def taken(self, rows: np.ndarray) -> Part:
        """Choose some matches, in order."""
        return Part(
            self.start[rows],
            self.end[rows],
            self.key[rows],
            tuple(each[rows] for each in self.codes),
            tuple(each.taken(rows, len(self)) for each in self.choices),
        )

    def joined(self, other: Part) -> Part:
        """Put two parts together."""
        return Part(
            np.concatenate([self.start, other.start]),
            np.concatenate([self.end, other.end]),
            np.concatenate([self.key, other.key]),
            tuple(np.concatenate(pair) for pair in zip(self.codes, other.codes, strict=True)),
            tuple(
                Choices(
                    np.concatenate([a.owner, b.owner + len(self)]),
                    pa.concat_tables([a.columns, b.columns], promote_options="permissive"),
                )
                for a, b in zip(self.choices, other.choices, strict=True)
            ),
        )

    def without_idle(self) -> Part:
        """Leave out matches that another one makes superfluous, if equalities are all there is."""
        if self.choices or len(self) < 2:
            return self
        index = self.index(tuple(range(len(self.codes))))
        start = self.start[index.order]
        idle = np.zeros(len(self), bool)
        idle[1:] = (index.group[1:] == index.group[:-1]) & (start[1:] <= index.latest[:-1])
        return self.taken(np.sort(index.order[~idle])) if idle.any() else self
