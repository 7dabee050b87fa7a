"""HTML for notebooks: tables, and a style for light and dark pages.

Cells are given as text and escaped here; what is HTML already is marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ensue.drawing.svg import COLOURS_ON_DARK, COLOURS_ON_LIGHT

_LIGHT = """{--e-ink:#20242c;--e-soft:#656d7a;--e-line:#dfe3e8;--e-bar:#3566a8;--e-key:#2850a7;
--e-str:#2f7d4f;--e-num:#8a4b08;--e-par:#8d4a9e}"""
_DARK = """{--e-ink:#e4e7ec;--e-soft:#9aa3b0;--e-line:#3c434e;--e-bar:#7fb0f0;--e-key:#8db8ff;
--e-str:#7fcf9f;--e-num:#f0b070;--e-par:#cf9be0}"""

# Notebooks have a theme of their own, whatever the system has: Jupyter's, and that of VS Code.
# Their rules for tables (text on the right, striped rows) name two classes; ours name three.
STYLE = f"""
.ensue-view{_LIGHT}
@media (prefers-color-scheme:dark){{.ensue-view{_DARK}}}
[data-jp-theme-light=true] .ensue-view,.vscode-light .ensue-view{_LIGHT}
[data-jp-theme-light=false] .ensue-view,.vscode-dark .ensue-view{_DARK}
[data-jp-theme-light=true] .ensue-view .ensue,.vscode-light .ensue-view .ensue{{{COLOURS_ON_LIGHT}}}
[data-jp-theme-light=false] .ensue-view .ensue,.vscode-dark .ensue-view .ensue{{{COLOURS_ON_DARK}}}
.ensue-view{{color:var(--e-ink);font-size:13px;
font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}}
.ensue-view table{{border-collapse:collapse;margin:6px 0;font-size:inherit;color:inherit}}
.ensue-view.ensue-view.ensue-view th,
.ensue-view.ensue-view.ensue-view td{{padding:3px 10px;text-align:left;border:0;background:none;
vertical-align:top;color:inherit;white-space:nowrap}}
.ensue-view.ensue-view.ensue-view thead th{{border-bottom:1px solid var(--e-line);font-weight:600}}
.ensue-view.ensue-view.ensue-view tr{{background:none}}
.ensue-view.ensue-view.ensue-view td.right,
.ensue-view.ensue-view.ensue-view th.right{{text-align:right;font-variant-numeric:tabular-nums}}
.ensue-view p{{margin:4px 0;color:var(--e-soft)}}
.ensue-view pre,.ensue-view code{{background:none;padding:0;margin:6px 0;color:inherit;
font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}}
.ensue-view details{{margin:1px 0}}
.ensue-view summary{{cursor:pointer;color:var(--e-soft);font-size:12px}}
.ensue-view.ensue-view.ensue-view .whole td{{padding:0 10px 4px;
border-bottom:1px solid var(--e-line)}}
.ensue-view .keyword{{color:var(--e-key);font-weight:600}}
.ensue-view .string{{color:var(--e-str)}}
.ensue-view .number{{color:var(--e-num)}}
.ensue-view .parameter{{color:var(--e-par)}}
.ensue-view .comment{{color:var(--e-soft);font-style:italic}}
.ensue-view .bar{{display:block;height:5px;margin-top:3px;border-radius:2px;
background:var(--e-bar)}}
.ensue-view.ensue-view.ensue-view .ending td{{color:var(--e-soft);font-size:12px;padding-left:2em}}
.ensue-view ul{{list-style:none;padding-left:10px;margin:6px 0}}
"""


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already."""

    text: str


Cell = str | int | Html | None
"""What a cell of a table shows; numbers stand on the right."""


def view(*parts: str) -> str:
    """Put parts of HTML into one view with the style."""
    return f'<div class="ensue-view"><style>{STYLE}</style>{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write a table; a row of one HTML cell takes the whole width.

    >>> "<th>a&lt;b</th>" in table(["a<b"], [[3]])
    True
    """
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(_row(row, len(heads)) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(row: Sequence[Cell], width: int) -> str:
    if len(row) == 1 and isinstance(row[0], Html):
        return f'<tr class="whole"><td colspan="{width}">{row[0].text}</td></tr>'
    return f"<tr>{''.join(map(_cell, row))}</tr>"


def _cell(value: Cell) -> str:
    match value:
        case Html(text=text):
            return f"<td>{text}</td>"
        case int():
            return f'<td class="right">{value:,}</td>'
        case _:
            return f"<td>{escape(value or '')}</td>"


def details(summary: str, inside: str) -> Html:
    """Write what can be opened: `summary` is text, `inside` is HTML."""
    return Html(f"<details><summary>{escape(summary)}</summary>{inside}</details>")
