"""Where benchmarks are run: how large, how long, and with which streams."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.status import Status

from bench.measure import Case, Finish, Measured, measure_here
from bench.pace import Pace
from bench.processes import FailedError, isolated
from bench.queries import by_account
from bench.streams import CALM, Source


@dataclass(frozen=True, slots=True)
class Lab:
    """What a benchmark needs to know of the run it is part of."""

    quick: bool
    folder: Path
    status: Status
    pace: Pace

    @property
    def hurries(self) -> bool:
        """Whether measurements are repeated less often."""
        return self.quick or self.pace.is_behind

    @property
    def patience(self) -> float:
        """Seconds to go on repeating a measurement."""
        return 1.0 if self.hurries else 4.0

    @property
    def timeout(self) -> float:
        """Seconds after which a process is given up."""
        return 60.0 if self.quick else 600.0

    def say(self, what: str) -> None:
        """Tell what is going on."""
        self.status.update(what)

    def warn(self, what: str) -> None:
        """Tell what is wrong with the results."""
        self.status.console.print(what, style="yellow")

    def make(self, source: Source) -> str:
        """Return the path of a stream, which is made if need be."""
        self.say(f"making {source.events:,} events")
        return str(source.make(self.folder))

    def call(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """Call a function in a process of its own."""
        return isolated(function, self.timeout, **arguments)

    def warm_up(self) -> None:
        """Have all kernels compiled, so that no measurement has to."""
        source = Source(10_000, CALM, keys=10)
        ways: tuple[Finish, ...] = ("arrow", "count")
        for finish in ways:
            self._measured([Case("warm-up", by_account(never=False), source, finish)], 1)

    def measure(self, case: Case, most: int = 20) -> Measured:
        """Measure a case in a process of its own."""
        return self._measured([case], most)[0]

    def compare(self, cases: Sequence[Case], *, memory: bool = True) -> list[Measured]:
        """Measure cases in turns in one process, and the memory of each in one of its own."""
        together = self._measured(cases, 20)
        if not memory:
            return together
        alone = [self._measured([case], 1)[0] for case in cases]
        return [
            replace(each, peak=own.peak, added=own.added)
            for each, own in zip(together, alone, strict=True)
        ]

    def _measured(self, cases: Sequence[Case], most: int) -> list[Measured]:
        if self.pace.is_over:
            over = f"the {self.pace.minutes:.0f} minutes of the run were over"
            return [Measured(case.name, case.source.events, failed=over) for case in cases]
        paths = [self.make(case.source) for case in cases]
        self.say(", ".join(case.name for case in cases))
        told = [{"name": case.name, "query": case.query, "finish": case.finish} for case in cases]
        try:
            found = self.call(
                measure_here,
                cases=told,
                paths=paths,
                patience=self.patience,
                least=2 if self.hurries else 3,
                most=most,
            )
        except FailedError as error:
            return [Measured(case.name, case.source.events, failed=str(error)) for case in cases]
        return [Measured(**each) for each in found]


@contextmanager
def laboratory(quick: bool, status: Status, pace: Pace) -> Iterator[Lab]:
    """Make a lab whose streams are deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="ensue-bench-") as folder:
        yield Lab(quick, Path(folder), status, pace)
