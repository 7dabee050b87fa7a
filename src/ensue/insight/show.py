"""Funnels as text and as HTML, near misses as HTML."""

from __future__ import annotations

from html import escape

from ensue.drawing.html import view
from ensue.insight.funnel import Ending, Funnel, FunnelStep
from ensue.insight.near_misses import NearMisses

_HEADS = ("step", "events", "starts", "runs")


def number(value: int | None) -> str:
    """Write a number of a funnel.

    >>> number(1234567), number(None), number(10**30)
    ('1,234,567', '?', '1.00e+30')
    """
    if value is None:
        return "?"
    return f"{value:,}" if value < 10**15 else f"{float(value):.2e}"


def ending_text(ending: Ending) -> str:
    """Say in a line what ended how many starts."""
    stopped = f"{number(ending.starts)} stopped by "
    match ending.kind:
        case "no further event":
            return f"{number(ending.starts)} found {ending.text}"
        case "condition":
            near = f" (the closest: {ending.closest})" if ending.closest else ""
            return f"{stopped}{ending.text}{near}"
        case "contiguity":
            return f"{stopped}contiguity: {ending.text}"
        case "not known":
            return f"{number(ending.starts)} stopped, not known by what: that {ending.text}"
        case _:
            return stopped + ending.text


def _events(step: FunnelStep) -> str:
    """Write how many events satisfy a step, and of how many that have its type."""
    if step.events == step.of_type:
        return number(step.events)
    return f"{number(step.events)} of {number(step.of_type)}"


def funnel_text(funnel: Funnel) -> str:
    """Write a funnel as a table in plain text."""
    rows = [
        (f"{step.number}  {step.text}", _events(step), number(step.starts), number(step.runs))
        for step in funnel.steps
    ]
    widths = [max(map(len, column)) for column in zip(_HEADS, *rows, strict=True)]
    lines = [_row(_HEADS, widths)]
    for step, row in zip(funnel.steps, rows, strict=True):
        lines += [f"      {ending_text(each)}" for each in step.endings]
        lines.append(_row(row, widths))
    lines.append("")
    for stage in funnel.stages:
        name = "matches of the pattern" if stage.clause == "pattern" else f"after {stage.clause}"
        lines.append(f"{number(stage.matches)}  {name}")
    if funnel.sample.more:
        lines.append(f"counted on {funnel.sample}; there are more")
    return "\n".join(line.rstrip() for line in lines)


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])


def funnel_html(funnel: Funnel) -> str:
    """Write a funnel as a table with bars, for notebooks."""
    most = max((step.starts or 0 for step in funnel.steps), default=0) or 1
    rows: list[str] = []
    for step in funnel.steps:
        rows += [
            f'<tr class="ending"><td></td><td colspan="4">{escape(ending_text(each))}</td></tr>'
            for each in step.endings
        ]
        share = 100 * (step.starts or 0) / most
        bar = f'<span class="bar" style="width:{share:.1f}%"></span>'
        cells = "".join(
            f'<td class="right">{escape(each)}</td>'
            for each in (_events(step), number(step.starts), number(step.runs))
        )
        rows.append(
            f"<tr><td>{step.number}</td><td><code>{escape(step.text)}</code>{bar}</td>{cells}</tr>"
        )
    stages = "".join(
        f"<li><b>{number(each.matches)}</b> "
        f"{'matches of the pattern' if each.clause == 'pattern' else 'after '}"
        f"{'' if each.clause == 'pattern' else f'<code>{escape(each.clause)}</code>'}</li>"
        for each in funnel.stages
    )
    note = f"<p>counted on {funnel.sample}; there are more</p>" if funnel.sample.more else ""
    return view(
        '<table><thead><tr><th></th><th>step</th><th class="right">events</th>'
        '<th class="right">starts</th><th class="right">runs</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>",
        f"<ul>{stages}</ul>{note}",
    )


def near_misses_html(misses: NearMisses) -> str:
    """Write near misses with their timelines, for notebooks."""
    parts = [
        f"<p><b>{each.steps} of {each.of_steps} steps</b>: {escape(each.reason)}</p>"
        f"{each.match.timeline()}"
        for each in misses
    ]
    lines = str(misses).splitlines() if not misses else []
    return view(*parts, *(f"<p>{escape(line)}</p>" for line in lines))
