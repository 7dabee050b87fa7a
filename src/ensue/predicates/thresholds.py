"""Where a condition on x and y begins or ceases to hold, for every x of a column.

The condition is monotone in y for a given x, so the y that satisfy it are an interval. Its ends
are found by trying: from a guess, which is the condition solved for y as if there were no rounding,
outwards in doubled steps to where the answer changes, then in halves. The guess is hardly ever
off by more than one or two doubles. What is tried is computed by the very functions that evaluate
predicates, so the answer is theirs, roundings included.

y is tried among whole numbers up to 2^62, in products of whole numbers up to 2^31; among all
doubles in sums, doubles up to 2^500 in products.
What overflows has no value, so the condition does not hold there. Where that is at the end at which
it would hold, its interval has another end, and there is no vectorised form; neither is there for
larger values of y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensue.analysis.expressions import Expression
from ensue.automata.registers import NULL
from ensue.automata.thresholds import Threshold
from ensue.predicates.evaluate import Batch
from ensue.predicates.functions import FUNCTIONS
from ensue.predicates.sortable import from_sortable, to_sortable
from ensue.predicates.three_valued import COMPARISONS, refuse_inexact
from ensue.predicates.vectors import Numbers, UnsupportedError

_LARGEST_WHOLE = 2**62 - 2
_LARGEST_WHOLE_FACTOR = 2**31
_LARGEST_FACTOR = 2.0**500
_LARGEST_DOUBLE = float(np.finfo(np.float64).max)
_LONGEST_STEP = 2**61


def _code(value: float) -> int:
    return int(to_sortable(np.array([value]))[0])


LARGEST_TRIED = {
    "tried int": _LARGEST_WHOLE,
    "tried factor": _LARGEST_WHOLE_FACTOR,
    "tried double": _code(_LARGEST_FACTOR),
}
"""[domain]: the largest code of y that is tried."""


def check_tried(codes: np.ndarray, domain: str) -> None:
    """Make sure that values of y, as codes, are among those that thresholds were tried on."""
    most = LARGEST_TRIED[domain]
    values = codes[codes != NULL]
    if len(values) and max(int(values.max()), -int(values.min())) > most:
        raise UnsupportedError("values too large for sums that are compared between events")


def thresholds(batch: Batch, wanted: Threshold) -> np.ndarray:
    """Return the least code of y that satisfies the condition, or the largest; NULL: none does."""
    operands = [
        None if link.other is None else _numbers(batch, link.other) for link in wanted.links
    ]
    limit = _numbers(batch, wanted.limit)
    known = limit.is_valid().copy()
    rises = np.full(batch.length, wanted.sign in (">", ">="))
    for link, operand in zip(wanted.links, operands, strict=True):
        if link.name == "negative" or (link.name == "-" and not link.is_left):
            rises = ~rises
        if operand is None:
            continue
        known &= operand.is_valid()
        if link.name in ("*", "/"):
            rises ^= operand.values < 0
            known &= (operand.values != 0) | (link.name == "*")
    rows = np.flatnonzero(known)
    columns = [None if each is None else each.values[rows] for each in operands]
    search = _Search(wanted, columns, limit.values[rows], rises[rows])
    least, most = search.ends(), search.most
    low = np.where(rises[rows], least, ~most)
    high = np.where(rises[rows], most, least - 1)
    found = np.full(batch.length, NULL, np.int64)
    found[rows] = np.where(low > high, NULL, low if wanted.side == "low" else high)
    return found


def _numbers(batch: Batch, expression: Expression) -> Numbers:
    found = batch.compute(expression)
    if not isinstance(found, Numbers):
        raise UnsupportedError("something else among numbers")
    return found


@dataclass(slots=True)
class _Search:
    """A condition, tried on values of y."""

    wanted: Threshold
    operands: list[np.ndarray | None]
    limit: np.ndarray
    rises: np.ndarray
    """[row]: whether it holds for the larger y, and not for the smaller ones."""

    @property
    def most(self) -> int:
        """The largest code that is tried; the least is its complement."""
        return int(self._largest) if self.wanted.whole else _code(self._largest)

    @property
    def _largest(self) -> float:
        if self.wanted.whole:
            return _LARGEST_WHOLE_FACTOR if self.wanted.multiplies else _LARGEST_WHOLE
        return _LARGEST_FACTOR if self.wanted.scales else _LARGEST_DOUBLE

    def ends(self) -> np.ndarray:
        """Return the least code at which the answer is that for large y; one too many: none."""
        count, most = len(self.limit), self.most
        every = np.arange(count)
        if not self._values(np.where(self.rises, most, ~most), every)[1].all():
            raise UnsupportedError("values too large for sums that are compared")
        # Below `low` no y answers so, at `high` and above all do; one too low and too high.
        low, high = np.full(count, ~most - 1), np.full(count, most + 1)
        at = np.clip(self._guess(), ~most, most)
        step = np.ones(count, np.int64)
        rows = every
        up, down = np.zeros(count, bool), np.zeros(count, bool)
        while len(rows):
            here = at[rows]
            late = self._is_late(here, rows)
            high[rows[late]] = here[late]
            low[rows[~late]] = here[~late]
            down[rows] |= late
            up[rows] |= ~late
            rows = rows[low[rows] + 1 < high[rows]]
            # Steps are doubled until both answers were seen; then the rest is halved.
            below, above = low[rows], high[rows]
            middle = (below >> 1) + (above >> 1) + (below & above & 1)
            jump = np.where(down[rows], above - step[rows], below + step[rows])
            halves = (up[rows] & down[rows]) | (step[rows] >= (above >> 1) - (below >> 1))
            at[rows] = np.where(halves, middle, jump)
            step[rows] = np.minimum(step[rows] * 2, _LONGEST_STEP)
        return high

    def _is_late(self, codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Tell where the answer is that for large y."""
        values, known = self._values(codes, rows)
        limit = self.limit[rows]
        refuse_inexact(values, limit)
        holds = COMPARISONS[self.wanted.sign](values, limit) & known
        late: np.ndarray = holds == self.rises[rows]
        return late

    def _values(self, codes: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is compared with the limit, and where it has a value."""
        values = codes if self.wanted.whole else from_sortable(codes)
        known = np.ones(len(codes), bool)
        with np.errstate(all="ignore"):
            for link, operand in zip(self.wanted.links, self.operands, strict=True):
                given = [values] if operand is None else [values, operand[rows]]
                values, valid = FUNCTIONS[link.name](*(given if link.is_left else given[::-1]))
                if valid is not None:
                    known &= valid
                if values.dtype == np.float64:
                    known &= np.isfinite(values)
        return values, known

    def _guess(self) -> np.ndarray:
        """Solve the condition for y as if nothing was rounded, and return the codes."""
        value = self.limit.astype(np.float64)
        with np.errstate(all="ignore"):
            for link, operand in zip(
                reversed(self.wanted.links), reversed(self.operands), strict=True
            ):
                if operand is None:
                    value = -value
                elif link.name == "+":
                    value = value - operand
                elif link.name == "-":
                    value = value + operand if link.is_left else operand - value
                else:
                    value = value / operand if link.name == "*" else value * operand
        most = float(self._largest)
        value = np.clip(np.nan_to_num(value), -most, most)
        return np.rint(value).astype(np.int64) if self.wanted.whole else to_sortable(value)
