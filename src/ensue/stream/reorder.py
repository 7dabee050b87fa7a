"""Events put in order: each gets its position when nothing earlier can come any more.

A stream in order passes straight through. With a lateness bound, or where several streams are
merged by time, events wait until the watermark has passed them: the time that the slowest stream
has reached, less the bound. What is released is sorted by (time, tiebreak, stream in FROM,
arrival), so that it does not depend on how the stream is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.analysis.schema import AttributePath
from ensue.errors import EventError
from ensue.io.rejected import Rejected
from ensue.messages import Message, Option
from ensue.options import ReadOptions
from ensue.predicates.values import to_nanoseconds
from ensue.predicates.vectors import UnsupportedError, column_at, path_column
from ensue.state.container import below, part
from ensue.stream.batch import EventBatch, InputBatch, missing_column, path_of
from ensue.stream.lateness import lateness_in_units
from ensue.stream.rows import load_table, save_table
from ensue.stream.time_errors import goes_back, wrong_times
from ensue.stream.time_scale import TimeScale
from ensue.stream.waiting import AFTER_ALL_TIMES, BEFORE_ALL_TIMES, Arrived, WaitingEvents

_INT64 = pa.int64()


class CheckedBatch(NamedTuple):
    """Rows whose times are right, before anything is changed by them."""

    batch: InputBatch
    times: np.ndarray
    kind: pa.DataType
    """The type of the time column."""
    late: pa.Table | None
    rejected: tuple[Rejected, ...]
    bound: int
    """The lateness in units of time."""


@dataclass(slots=True)
class ReorderBuffer:
    """Takes rows as they arrive and releases them in order."""

    time_path: AttributePath | None
    options: ReadOptions
    sources: Sequence[str]
    lenient: bool = False
    next_position: int = 0
    latest: dict[int, int] = field(default_factory=dict)
    """The latest time of each stream; of a stream that comes alone under -1."""
    merging: bool = False
    """Whether streams come separately."""
    _bound: int = 0
    _waiting: WaitingEvents = field(default_factory=WaitingEvents)
    kind: pa.DataType = field(default_factory=pa.null)
    """The type of the time column."""
    _tiebreak: AttributePath | None = None

    def __post_init__(self) -> None:
        if self.options.lateness is not None and self.time_path is None:
            raise EventError(
                Message(Option("lateness"), " needs a time column: pass ", Option("time"))
            )

    @property
    def waits(self) -> bool:
        """Whether events may have to wait before they are released."""
        return self.merging or self.options.lateness is not None

    @property
    def watermark(self) -> int | None:
        """The time before which nothing can come any more; None before the first event."""
        if not self.latest:
            return None
        every = range(len(self.sources)) if self.merging else [-1]
        reached = min(self.latest.get(each, BEFORE_ALL_TIMES) for each in every)
        return None if reached == BEFORE_ALL_TIMES else reached - self._bound

    @property
    def waiting_rows(self) -> pa.Table | None:
        """The events that wait, if any."""
        arrived = self._waiting.everything()
        return None if arrived is None else arrived.batch.table

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    # checking

    def check(self, batch: InputBatch, first_row: int = 0) -> CheckedBatch:
        """Check rows and tell which come too late; nothing changes until `add` is called."""
        table = batch.table
        if self.options.tiebreak is not None and table.num_rows and self._tiebreak is None:
            path_of(self.options.tiebreak, table, "tiebreak")
        if batch.streams is None and self.merging and table.num_rows:
            raise EventError(
                "the streams of this query came separately; push {stream: events} again"
            )
        came_alone = not self.merging and (self.next_position or self._waiting)
        if batch.streams is not None and self.time_path is not None and came_alone:
            raise EventError(
                "the events of this query came without their streams; push them so again, or open "
                "another session for {stream: events}"
            )
        if self.time_path is None:
            if batch.streams is not None and len(set(self.latest) | set(batch.streams)) > 1:
                raise EventError(
                    Message("merging several streams needs a time column: pass ", Option("time"))
                )
            return CheckedBatch(batch, np.zeros(0, np.int64), self.kind, None, (), 0)
        rejected: list[Rejected] = []
        if self.lenient:
            batch = self._with_time(batch, rejected)
        column = path_column(batch.table, self.time_path)
        times = _times_in(column, batch.table, self.time_path, first_row)
        kind = pa.null() if column is None else column.type
        lateness = self.options.lateness
        bound = 0
        if lateness is not None and batch.table.num_rows:
            bound = lateness_in_units(lateness, kind, self.options.time_unit)
        if batch.streams is None and self._in_order(times):
            return CheckedBatch(batch, times, kind, None, tuple(rejected), bound)
        late: list[np.ndarray] = []
        back: list[np.ndarray] = []
        for number, own in _by_stream(batch.streams):
            mine = times if own is None else times[own]
            reached = np.maximum.accumulate(mine) if len(mine) else mine
            reached = np.maximum(
                reached,
                self.latest.get(number, BEFORE_ALL_TIMES) if len(mine) else BEFORE_ALL_TIMES,
            )
            wrong = np.flatnonzero(mine < reached - bound)
            if not len(wrong):
                continue
            rows = wrong if own is None else own[wrong]
            if lateness is not None:
                late.append(rows)
                continue
            if not self.lenient:
                before = self.latest.get(number)
                source = self.sources[number] if number >= 0 else None
                path = self.time_path
                raise goes_back(batch, path, own, int(wrong[0]), first_row, source, before)
            back.append(rows)
        if not late and not back:
            return CheckedBatch(batch, times, kind, None, tuple(rejected), bound)
        out = np.sort(np.concatenate(late + back))
        for row in np.sort(np.concatenate(back)) if back else ():
            at = int(row) if batch.rows is None else int(batch.rows[row])
            rejected.append(batch.rejected(int(row), f"time goes back at row {first_row + at}"))
        kept = np.setdiff1d(np.arange(len(times)), out)
        refused = batch.table.take(pa.array(out)) if late else None
        return CheckedBatch(batch.take(kept), times[kept], kind, refused, tuple(rejected), bound)

    def _in_order(self, times: np.ndarray) -> bool:
        """Tell, quickly, whether time goes on from where it was and never goes back."""
        if len(times) and times[0] < self.latest.get(-1, BEFORE_ALL_TIMES):
            return False
        return len(times) < 2 or not (times[1:] < times[:-1]).any()

    def _with_time(self, batch: InputBatch, rejected: list[Rejected]) -> InputBatch:
        """Reject rows without a time."""
        assert self.time_path is not None
        table = batch.table
        column = path_column(table, self.time_path)
        if column is not None and not column.null_count:
            return batch
        name = ".".join(self.time_path)
        missing = np.ones(table.num_rows, bool)
        if column is not None:
            missing = column.is_null().to_numpy()
        for row in np.flatnonzero(missing):
            reason = f"the time '{name}' is NULL; every event needs a time"
            rejected.append(batch.rejected(int(row), reason))
        return batch.take(np.flatnonzero(~missing))

    # releasing

    def next_batch(self, checked: CheckedBatch) -> EventBatch:
        """Return rows that need not wait as the next batch, before `add` makes them so."""
        batch, times = checked.batch, checked.times
        rows = batch.table.num_rows
        if self.time_path is None:
            times = np.arange(self.next_position, self.next_position + rows)
        return self._batch(batch, times)

    def add(self, checked: CheckedBatch, ready: EventBatch | None = None) -> EventBatch:
        """Take checked rows and release what need not wait any longer."""
        batch, times = checked.batch, checked.times
        rows = batch.table.num_rows
        if rows:
            self._bound = checked.bound
            if self.options.tiebreak is not None and self._tiebreak is None:
                self._tiebreak = path_of(self.options.tiebreak, batch.table, "tiebreak")
            self.kind = checked.kind
        if ready is not None and batch.streams is None:
            # Rows in order: the last one is the latest.
            reached = int(times[-1]) if len(times) else BEFORE_ALL_TIMES
            self.latest[-1] = max(reached, self.latest.get(-1, BEFORE_ALL_TIMES))
            self.next_position += rows
            return ready
        if batch.streams is not None:
            self.merging = self.merging or self.time_path is not None
        for number, own in _by_stream(batch.streams):
            mine = times if own is None or self.time_path is None else times[own]
            reached = int(mine.max()) if len(mine) else BEFORE_ALL_TIMES
            if reached >= self.latest.get(number, BEFORE_ALL_TIMES):
                self.latest[number] = reached
        if not self.waits:
            released = self.next_batch(checked) if ready is None else ready
            self.next_position += rows
            return released
        self._waiting.add(batch, times)
        return self._release(self.watermark)

    def advance(self, time: int) -> EventBatch:
        """Let time pass in all streams."""
        for number in range(len(self.sources)) if self.merging else [-1]:
            self.latest[number] = max(time, self.latest.get(number, BEFORE_ALL_TIMES))
        return self._release(self.watermark)

    def finish(self) -> EventBatch:
        """Release everything."""
        return self._release(AFTER_ALL_TIMES)

    def rescaled(self, scale: TimeScale) -> ReorderBuffer:
        """Return a buffer that has come as far, whose times are nanoseconds."""
        if ".".join(self._tiebreak or ()) == scale.column:
            raise UnsupportedError("the tiebreak is the time")
        waiting = WaitingEvents()
        arrived = self._waiting.everything()
        if arrived is not None:
            times = scale.times(arrived.times)
            arrived = arrived._replace(batch=scale.rows(arrived.batch), times=times)
        waiting.restore(arrived, self._waiting.arrived)
        return replace(
            self,
            latest={
                stream: time if time == BEFORE_ALL_TIMES else scale.time(time)
                for stream, time in self.latest.items()
            },
            kind=scale.kind,
            _bound=scale.time(self._bound),
            _waiting=waiting,
        )

    def save(self) -> dict[str, Any]:
        """Save how far the stream has come, and what waits."""
        saved: dict[str, Any] = {
            "next_position": self.next_position,
            "latest": dict(self.latest),
            "merging": self.merging,
            "bound": self._bound,
            "arrived": self._waiting.arrived,
            "tiebreak": self._tiebreak,
        }
        waiting = self._waiting.everything()
        if waiting is not None:
            batch = waiting.batch
            saved |= below("waiting", save_table(batch.table))
            saved["waiting/types"] = pa.table({"type": batch.types.cast(pa.string())})
            saved["waiting/times"] = waiting.times
            saved["waiting/arrivals"] = waiting.arrivals
            if batch.streams is not None:
                saved["waiting/streams"] = batch.streams
        return saved

    def load(self, saved: Mapping[str, Any], kind: pa.DataType) -> None:
        """Go on from what was saved; ValueError where it cannot be."""
        self.next_position, self.merging = saved["next_position"], saved["merging"]
        self.latest, self.kind = dict(saved["latest"]), kind
        self._bound, self._tiebreak = saved["bound"], saved["tiebreak"]
        waiting, arrived = part(saved, "waiting"), None
        if waiting:
            times, arrivals = waiting["times"], waiting["arrivals"]
            types = waiting["types"].column("type")
            batch = InputBatch(load_table(waiting), False, types, waiting.get("streams"))
            if not len(times) == len(arrivals) == len(types) == batch.table.num_rows:
                raise ValueError("some of the events that wait are missing")
            arrived = Arrived(batch, times, arrivals)
        self._waiting.restore(arrived, saved["arrived"])

    def _release(self, watermark: int | None) -> EventBatch:
        """Release what lies before a time (None: nothing), in order."""
        arrived = None if watermark is None else self._waiting.release(watermark)
        if arrived is None:
            return self._nothing()
        rows = self._order(*arrived)
        batch = self._batch(arrived.batch.take(rows), arrived.times[rows])
        self.next_position += len(rows)
        return batch

    def _order(self, batch: InputBatch, times: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
        keys = {"time": pa.array(times)}
        if self._tiebreak is not None and self.options.lateness is not None:
            keys["tiebreak"] = column_at(batch.table, self._tiebreak)
        if batch.streams is not None:
            keys["stream"] = pa.array(batch.streams)
        keys["arrival"] = pa.array(arrivals)
        sorting = [(name, "ascending") for name in keys]
        rows: np.ndarray = pc.sort_indices(pa.table(keys), sort_keys=sorting).to_numpy()
        return rows

    def _batch(self, batch: InputBatch, times: np.ndarray) -> EventBatch:
        streams = None
        if batch.streams is not None:
            names = pa.array(list(self.sources), pa.string())
            streams = pa.chunked_array([pa.DictionaryArray.from_arrays(batch.streams, names)])
        tiebreak = self._tiebreak
        if tiebreak is None and self.options.tiebreak is not None and batch.table.num_rows:
            tiebreak = path_of(self.options.tiebreak, batch.table, "tiebreak")
        return EventBatch(
            batch.table,
            batch.types,
            streams,
            times,
            self.time_path,
            tiebreak,
            self.next_position,
        )

    def _nothing(self) -> EventBatch:
        types = pa.chunked_array([], pa.string())
        return EventBatch(
            pa.table({}),
            types,
            None,
            np.zeros(0, np.int64),
            self.time_path,
            None,
            self.next_position,
        )


def _by_stream(streams: np.ndarray | None) -> list[tuple[int, np.ndarray | None]]:
    """Return the rows of each stream, in the order of arrival; None: all rows."""
    if streams is None:
        return [(-1, None)]
    return [(int(number), np.flatnonzero(streams == number)) for number in np.unique(streams)]


def times_of(table: pa.Table, path: AttributePath, first_row: int = 0) -> np.ndarray:
    """Return the time column as integers; rows are counted from `first_row` in errors."""
    return _times_in(path_column(table, path), table, path, first_row)


def _times_in(
    column: pa.ChunkedArray | None, table: pa.Table, path: AttributePath, first_row: int
) -> np.ndarray:
    if column is not None and column.type == _INT64 and not column.null_count:
        times: np.ndarray = column.to_numpy()
        return times
    name = ".".join(path)
    if column is None:
        if table.num_rows:
            raise EventError(missing_column("time", name, table))
        return np.zeros(0, np.int64)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise EventError(
            f"the time '{name}' of row {first_row + row} is NULL; every event needs a time", row
        )
    kind = column.type
    if pa.types.is_integer(kind):
        try:
            plain = column if kind == pa.int64() else column.cast(pa.int64())
            units: np.ndarray = plain.to_numpy()
        except pa.ArrowInvalid as error:
            raise EventError(f"a time '{name}' does not fit into 64 bits: {error}") from error
        return units
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return to_nanoseconds(column)
    if pa.types.is_null(kind) and table.num_rows == 0:
        return np.zeros(0, np.int64)
    raise wrong_times(column, name)
