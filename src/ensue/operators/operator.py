"""What every way to evaluate a query offers to a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ensue.errors import BudgetError
from ensue.logic.clauses import Row
from ensue.messages import message_of
from ensue.results.deadlines import Deadlines
from ensue.results.match_set import ListedMatches, MatchSet
from ensue.results.totals import TotalRows
from ensue.stream.batch import EventBatch


class OperatorOutput(NamedTuple):
    """What some events completed: matches, or rows of totals."""

    matches: MatchSet
    totals: Sequence[Row] | TotalRows = ()
    deadlines: Deadlines | None = None
    """Where nothing must have followed the matches: until when."""
    events: Callable[[], EventBatch] | None = None
    """The events of the matches, where they are not those that the operator was given."""
    more: OperatorOutput | None = None
    """What the same step completed after that, with other events."""

    def __bool__(self) -> bool:
        return bool(self.matches) or bool(self.totals) or bool(self.more)


NO_OUTPUT = OperatorOutput(ListedMatches([]))


class StoppedError(BudgetError):
    """A budget ran out within a batch: what came before was read, and completed this."""

    def __init__(self, error: BudgetError, output: OperatorOutput, position: int) -> None:
        super().__init__(message_of(error))
        self.output = output
        self.position = position
        """The first event that was not read."""


class Operator(Protocol):
    """The state of a query on a stream, pushed batch after batch."""

    tag: ClassVar[str]
    """The name of the operator in snapshots, independent of that of its class."""

    def begin_at(self, position: int) -> None:
        """See the event at a position as the first of the stream; before the first push."""

    def check(self, stream: EventBatch) -> None:
        """Raise UnsupportedError for values that `push` could not take; change nothing."""

    def push(self, stream: EventBatch) -> OperatorOutput:
        """Read a batch of events and return what it completes.

        Where a budget runs out, `StoppedError` tells how far it came, and everything is as if the
        batch had ended there.
        """

    def advance(self, time: int) -> OperatorOutput:
        """Advance time to a watermark and return what that completes."""

    def finish(self) -> OperatorOutput:
        """Signal the end of input and return what that completes."""

    def first_needed(self, next_position: int) -> int:
        """Return the first position whose event may still be asked for."""

    def needed(self) -> np.ndarray | None:
        """Return all positions whose events may still be asked for; None: all from the first."""

    @property
    def live(self) -> tuple[int, int]:
        """How many nodes (or events) are kept for partial matches, and their bytes."""

    def save(self) -> dict[str, Any]:
        """Return the state as named arrays, tables and plain values (see state/container.py)."""

    def load(self, saved: Mapping[str, Any], kept: EventBatch) -> None:
        """Take over a state that was saved, and the events that were kept for it."""
