"""Automata as SVG: states in columns from the start to the match, labels on the edges."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from itertools import pairwise

from ensue.drawing.layered import Layout, Point, lay_out
from ensue.drawing.svg import Canvas, Picture, shortened, text_width, title

START_NODE, MATCH_NODE = "start", "match"

_RADIUS, _MARGIN, _LINE = 17.0, 44.0, 14.0
_LONGEST, _MOST_LINES = 44, 3
"""Of a label so many characters and lines are shown; pointing at it shows the rest."""

_SIZE = 11

_ALONG = 0.36
"""How far along the first stretch of an edge its label stands, where it is short."""

Arrow = tuple[str, str, Sequence[str]]
"""From, to, and what is written on it."""


def draw_svg(
    states: Sequence[str], arrows: Sequence[Arrow], alive: Collection[str], complete: bool
) -> Picture:
    """Draw states and arrows; those that are alive are lit up."""
    nodes = [START_NODE, *states, MATCH_NODE]
    edges = [(source, target) for source, target, _ in arrows]
    labels = [_lines(texts) for *_, texts in arrows]
    gaps: dict[tuple[Hashable, Hashable], float] = {
        edge: max(text_width(line, _SIZE) for line in lines) + 2 * _RADIUS + 26
        for edge, lines in zip(edges, labels, strict=True)
    }
    tallest = max(map(len, labels), default=1)
    layout = lay_out(nodes, edges, gaps, column=104, row=max(58.0, 24 + tallest * _LINE))
    loops = any(source == target for source, target in edges)
    top = _MARGIN + (38 if loops else 0)
    width = layout.width + 2 * _MARGIN + (40 if loops else 0)
    canvas = Canvas(max(width, 220), layout.height + top + _MARGIN + (0 if complete else 18))
    move = Point(_MARGIN, top)
    for (source, target), points, lines, (*_, texts) in zip(
        edges, layout.edges, labels, arrows, strict=True
    ):
        if source == target:
            _loop(canvas, _moved(points[0], move), lines, texts)
        else:
            _arrow(canvas, [_moved(point, move) for point in points], target == MATCH_NODE)
    _write_labels(canvas, layout, move, edges, labels, arrows)
    for node, place in layout.nodes.items():
        x, y = _moved(place, move)
        lit = "alive" if node in alive else "node"
        if node == MATCH_NODE:
            canvas.circle(x, y, _RADIUS + 4, "node")
        # Pages that light up other states later find them by their names.
        canvas.add("circle", cx=x, cy=y, r=_RADIUS, class_=lit, data_state=node)
        small = "end" if node in (START_NODE, MATCH_NODE) else ""
        canvas.text(x, y + 4, str(node).removeprefix("q"), small, "middle")
    if not complete:
        canvas.text(_MARGIN, canvas.height - 12, "… and more states than can be shown", "soft")
    return canvas.picture(f"automaton with {len(states) + 2} states")


def _lines(texts: Sequence[str]) -> list[str]:
    lines = [shortened(text, _LONGEST) for text in texts[:_MOST_LINES]]
    if len(texts) > _MOST_LINES:
        lines[-1] = f"… and {len(texts) - _MOST_LINES + 1} more"
    return lines


def _moved(point: Point, by: Point) -> Point:
    return Point(point.x + by.x, point.y + by.y)


def _write_labels(
    canvas: Canvas,
    layout: Layout,
    move: Point,
    edges: Sequence[tuple[str, str]],
    labels: Sequence[list[str]],
    arrows: Sequence[Arrow],
) -> None:
    """Write labels in the middle of the first stretch of their edges, none over another."""
    wanted = []
    for number, ((source, target), points) in enumerate(zip(edges, layout.edges, strict=True)):
        if source != target:
            first, second = (_moved(point, move) for point in points[:2])
            # Edges that cross do so in the middle; labels stand a little before it.
            room = _RADIUS + 8 + max(text_width(line, _SIZE) for line in labels[number]) / 2
            side = 1.0 if second.x >= first.x else -1.0
            far = max(abs(second.x - first.x) * _ALONG, min(room, abs(second.x - first.x) / 2))
            share = far / max(abs(second.x - first.x), 1.0)
            curve = share * share * (3 - 2 * share)
            y = first.y + curve * (second.y - first.y)
            wanted.append((round(first.x), y, first.x + side * far, number))
    bottom: dict[int, float] = {}
    for column, y, x, number in sorted(wanted):
        lines = labels[number]
        begin = max(y - _LINE * (len(lines) - 1) - 6, bottom.get(column, -math.inf))
        bottom[column] = begin + _LINE * len(lines) + 2
        whole = title("\n".join(arrows[number][2]))
        for at, line in enumerate(lines):
            canvas.add(
                "text",
                line,
                whole,
                x=x,
                y=begin + _LINE * at,
                class_="soft halo",
                text_anchor="middle",
            )


def _arrow(canvas: Canvas, points: Sequence[Point], double: bool) -> None:
    """Draw an edge through its bends, from the rim of one state to that of the other."""
    radius = _RADIUS + (5 if double else 1)
    begin = _towards(points[0], points[1], _RADIUS + 1)
    end = _towards(points[-1], points[-2], radius + 7)
    whole = [begin, *points[1:-1], end]
    path = f"M{begin.x:.1f},{begin.y:.1f}"
    for a, b in pairwise(whole):
        bend = (b.x - a.x) * 0.4
        path += f"C{a.x + bend:.1f},{a.y:.1f} {b.x - bend:.1f},{b.y:.1f} {b.x:.1f},{b.y:.1f}"
    canvas.add("path", d=path, class_="edge")
    # The curve ends flat.
    side = 1.0 if whole[-1].x >= whole[-2].x else -1.0
    _tip(canvas, end, 0.0 if side > 0 else math.pi)


def _towards(point: Point, other: Point, distance: float) -> Point:
    """Return the point on the rim of a state that faces another column."""
    side = 1.0 if other.x >= point.x else -1.0
    lean = max(-0.6, min(0.6, (other.y - point.y) / 160))
    return Point(point.x + side * distance * math.cos(lean), point.y + distance * math.sin(lean))


def _tip(canvas: Canvas, at: Point, angle: float) -> None:
    """Draw the head of an arrow that points this way."""
    corners = [(8.0, 0.0), (0.0, 4.0), (0.0, -4.0)]
    turned = [
        f"{at.x + x * math.cos(angle) - y * math.sin(angle):.1f},"
        f"{at.y + x * math.sin(angle) + y * math.cos(angle):.1f}"
        for x, y in corners
    ]
    canvas.add("path", d=f"M{'L'.join(turned)}Z", class_="tip")


def _loop(canvas: Canvas, at: Point, lines: Sequence[str], texts: Sequence[str]) -> None:
    """Draw an edge from a state to itself, above it."""
    x, y = at
    path = (
        f"M{x - 9:.1f},{y - 15:.1f}C{x - 26:.1f},{y - 46:.1f} {x + 26:.1f},{y - 46:.1f} "
        f"{x + 11:.1f},{y - 21:.1f}"
    )
    canvas.add("path", d=path, class_="edge")
    _tip(canvas, Point(x + 11, y - 23), math.pi * 0.62)
    whole = title("\n".join(texts))
    for number, line in enumerate(reversed(lines)):
        canvas.add(
            "text",
            line,
            whole,
            x=x,
            y=y - 46 - _LINE * number,
            class_="soft halo",
            text_anchor="middle",
        )
