"""Write the results into docs/comparison.md and README.md, and draw the picture."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.peers.workloads import WORKLOADS, Workload

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "peers.svg"
ORDER = (
    *("Ensue counting", "Ensue listing", "Esper", "Flink", "Siddhi"),
    *("DuckDB", "polars", "PySpark", "ClickHouse"),
)
_COLOURS = {
    "Ensue counting": "#00796b",
    "Ensue listing": "#26a69a",
    "Esper": "#c62828",
    "Flink": "#e65100",
    "DuckDB": "#f9a825",
    "polars": "#1565c0",
    "PySpark": "#6a1b9a",
}
_SHORT = ("sequence-10000", "sequence-400000", "first-40000", "keyed-20000", "kleene-20000")
_README = ("Ensue counting", "Ensue listing", "Esper", "Flink", "DuckDB")

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]


def write(kept: Mapping[str, Any]) -> None:
    """Fill the marked places of both pages."""
    for events in (each for each in kept if each.isdigit()):
        results: Results = kept[events]
        fill(ROOT / "docs" / "comparison.md", f"times {events}", table(results, WORKLOADS, ORDER))
        fill(ROOT / "docs" / "comparison.md", f"facts {events}", facts(kept, events))
        short = [each for each in WORKLOADS if each.name in _SHORT]
        fill(ROOT / "README.md", f"times {events}", table(results, short, _README))
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture(results), encoding="utf-8")


def fill(page: Path, name: str, text: str) -> None:
    """Put a text between its marks on a page, if it has them."""
    before = page.read_text(encoding="utf-8")
    marks = re.compile(rf"(<!-- peers: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    page.write_text(marks.sub(lambda found: found[1] + text + found[2], before), encoding="utf-8")


def table(results: Results, workloads: Iterable[Workload], engines: Iterable[str]) -> str:
    """Return a table of CPU times, a row for each workload."""
    chosen = [each for each in engines if any(each in found for found in results.values())]
    lines = [
        f"| | matches | {' | '.join(chosen)} |",
        f"| --- | {' | '.join(['---:'] * (1 + len(chosen)))} |",
    ]
    for workload in workloads:
        found = results.get(workload.name)
        right = count(found) if found else None
        if not found or right is None:
            continue
        cells = [cell(found.get(each), right) for each in chosen]
        lines.append(f"| {workload.title} | {right:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def count(found: Mapping[str, Mapping[str, Any]]) -> int | None:
    """Return the number of matches by Ensue, which equals the reference in its own tests."""
    counts = (each["count"] for name, each in found.items() if "count" in each and "Ensue" in name)
    return next(counts, None)


def cell(answer: Mapping[str, Any] | None, right: int) -> str:
    """Return what a table shows of a run."""
    if answer is None:
        return "not run"
    if "cannot" in answer:
        return "–"
    if "failed" in answer:
        return f"**{answer['failed']}**"
    if answer["count"] != right:
        return f"**{answer['count']:,} matches**"
    return duration(answer["cpu"])


def duration(seconds: float) -> str:
    """Return a time with two digits, or with those before the point.

    >>> duration(0.01234), duration(0.4567), duration(2.345), duration(100)
    ('12 ms', '457 ms', '2.3 s', '100 s')
    """
    value, unit = (seconds * 1000, "ms") if seconds < 1 else (seconds, "s")
    return f"{value:.0f} {unit}" if value >= 9.95 else f"{value:.2g} {unit}"


def facts(kept: Mapping[str, Any], events: str) -> str:
    """Return under which conditions was measured."""
    loads = [each["load"] for found in kept[events].values() for each in found.values()]
    return (
        f"Measured {kept['when']} on {int(events):,} events, 2 cores, with other work on the "
        f"machine: the load average\nwas {min(loads):.0f} to {max(loads):.0f}. So the tables have "
        f"CPU time, of all threads. A run may take {kept['limit']} s of it.\n"
    )


def picture(results: Results) -> str:
    """Draw CPU time by the length of the window, both on logarithmic scales, as SVG."""
    sequences = [each for each in WORKLOADS if each.kind == "sequence" and each.name in results]
    lines = {
        engine: [
            (each.window / 1000, results[each.name][engine]["cpu"])
            for each in sequences
            if "cpu" in results[each.name].get(engine, {})
        ]
        for engine in _COLOURS
    }
    lines = {engine: points for engine, points in lines.items() if points}
    values = [value for points in lines.values() for _, value in points]
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)

    def x(window: float) -> float:
        return 70 + 430 * (math.log10(window) - 1) / math.log10(40)

    def y(seconds: float) -> float:
        return 300 - 270 * (math.log10(seconds) - low) / (high - low)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 360" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="680" height="360" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        label = duration(10.0**power).replace(" ", "\u00a0")
        parts.append(f'<line x1="70" x2="500" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        parts.append(
            f'<text x="62" y="{at + 4:.1f}" text-anchor="end" fill="#555555">{label}</text>'
        )
    for each in sequences:
        at = x(each.window / 1000)
        label = f"{each.window // 1000} s"
        parts.append(
            f'<text x="{at:.1f}" y="320" text-anchor="middle" fill="#555555">{label}</text>'
        )
    parts.append('<text x="285" y="345" text-anchor="middle" fill="#555555">window of S3</text>')
    taken: list[float] = []
    for engine, points in sorted(lines.items(), key=lambda each: -each[1][-1][1]):
        colour = _COLOURS[engine]
        path = " ".join(f"{x(window):.1f},{y(seconds):.1f}" for window, seconds in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
        )
        parts += [
            f'<circle cx="{x(window):.1f}" cy="{y(seconds):.1f}" r="3.5" fill="{colour}"/>'
            for window, seconds in points
        ]
        at = max([y(points[-1][1]) + 4, *(each + 16 for each in taken)])
        taken.append(at)
        failed = any("failed" in results[each.name].get(engine, {}) for each in sequences)
        fails = " (then fails)" if failed else ""
        parts.append(f'<text x="512" y="{at:.1f}" fill="{colour}">{engine}{fails}</text>')
    return "\n".join([*parts, "</svg>", ""])
