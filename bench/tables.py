"""What a group of benchmarks reports: rows under columns, and targets that are met or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Kind = Literal["text", "count", "size", "rate", "number", "bytes", "seconds"]
Row = dict[str, Any]

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Column:
    """A column: where its values are in a row, its title, and how they are written."""

    key: str
    title: str
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Target:
    """A figure to reach."""

    figure: str
    wanted: str
    reached: str
    met: bool


def at_most(figure: str, wanted: float, reached: float | None, kind: Kind, unit: str) -> Target:
    """Make a target of something that should not be more than so much."""
    return _target(figure, "at most", wanted, reached, kind, unit)


def at_least(figure: str, wanted: float, reached: float | None, kind: Kind, unit: str) -> Target:
    """Make a target of something that should not be less than so much."""
    return _target(figure, "at least", wanted, reached, kind, unit)


def _target(
    figure: str, word: str, wanted: float, reached: float | None, kind: Kind, unit: str
) -> Target:
    asked = f"{word} {write(wanted, kind)} {unit}".rstrip()
    if reached is None:
        return Target(figure, asked, "not measured", False)
    met = reached <= wanted if word == "at most" else reached >= wanted
    return Target(figure, asked, f"{write(reached, kind)} {unit}".rstrip(), met)


@dataclass(frozen=True, slots=True)
class Group:
    """Benchmarks that are run and shown together."""

    name: str
    title: str
    columns: tuple[Column, ...]
    measure: Callable[[Any], list[Row]]
    targets: Callable[[Sequence[Row]], list[Target]] = lambda rows: []
    """What was to be reached, worked out from the rows."""


def write(value: Any, kind: Kind) -> str:
    """Write a value for people.

    >>> write(25_300_000, "rate"), write(1_234_567, "bytes"), write(0.0123, "seconds")
    ('25.3 M', '1.2 MB', '12.3 ms')
    """
    if value is None:
        return "–"
    match kind:
        case "text":
            return str(value)
        case "count":
            return f"{value:,}" if abs(value) < 10**15 else f"{float(value):.1e}"
        case "size" | "rate":
            for size, sign in _UNITS:
                if value >= size:
                    return f"{value / size:.3g}{' ' if kind == 'rate' else ''}{sign}"
            return f"{value:.3g}"
        case "bytes":
            if abs(value) < 1e5:
                return f"{value:.0f} B"
            return f"{value / 1e6:.1f} MB" if abs(value) < 1e9 else f"{value / 1e9:.2f} GB"
        case "seconds":
            if value < 1e-3:
                return f"{value * 1e6:.3g} µs"
            return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.2f} s"
        case "number":
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def shortened(text: str, most: int = 40) -> str:
    """Cut a text that is too long for a table."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _cells(columns: Sequence[Column], row: Row) -> list[str]:
    """Write a row; what failed says so where its figures would stand."""
    cells = [write(row.get(column.key), column.kind) for column in columns]
    if row.get("failed"):
        missing = [i for i, column in enumerate(columns) if row.get(column.key) is None]
        cells[missing[0] if missing else -1] = shortened(str(row["failed"]))
    return cells


def show(console: Console, group: Group, rows: Sequence[Row]) -> None:
    """Print the table of a group, and its targets."""
    table = Table(title=group.title, title_justify="left", title_style="bold")
    for column in group.columns:
        text = column.kind == "text"
        table.add_column(column.title, justify="left" if text else "right", no_wrap=text)
    for row in rows:
        table.add_row(*_cells(group.columns, row))
    console.print()
    console.print(table)
    show_targets(console, group.targets(rows))


def show_targets(console: Console, targets: Sequence[Target]) -> None:
    """Print what was to be reached and whether it was."""
    for target in targets:
        mark = "[green]met    [/]" if target.met else "[red]not met[/]"
        console.print(
            f"  {mark} {target.figure}: {target.reached} ({target.wanted})", soft_wrap=True
        )


def markdown(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Write a table for a page of the documentation.

    >>> print(markdown([Column("a", "A", "text"), Column("b", "B")], [{"a": "x", "b": 1.5}]))
    | A | B |
    | --- | ---: |
    | x | 1.5 |
    """
    rule = ["---" if column.kind == "text" else "---:" for column in columns]
    lines = [[column.title for column in columns], rule]
    lines += [[cell.replace("|", "\\|") for cell in _cells(columns, row)] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown_targets(targets: Sequence[Target]) -> str:
    """Write targets for a page of the documentation."""
    columns = [
        Column("figure", "figure", "text"),
        Column("wanted", "wanted", "text"),
        Column("reached", "reached", "text"),
        Column("met", "", "text"),
    ]
    rows = [
        {
            "figure": target.figure,
            "wanted": target.wanted,
            "reached": target.reached,
            "met": "met" if target.met else "**not met**",
        }
        for target in targets
    ]
    return markdown(columns, rows)
