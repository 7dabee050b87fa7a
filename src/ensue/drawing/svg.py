"""SVG pictures, with colours for light and dark grounds inside.

A picture is made of elements that are written as text at once. All text and all values of
attributes are escaped here and nowhere else, so that no value of an event can become markup.
Selectors of the style begin with `.ensue`, so that a picture in a page leaves the page as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path

COLOURS = ("#3566a8", "#c2571a", "#2f7d4f", "#8d4a9e", "#b0353f", "#7a6a17", "#1f7f8c", "#a04273")
"""Of variables, on a light ground; dark enough for text."""

_DARK_COLOURS = (
    "#7fb0f0",
    "#f0a065",
    "#7fcf9f",
    "#cf9be0",
    "#f08a92",
    "#d8c766",
    "#6fd0dd",
    "#ef94c2",
)

_LIGHT = """\
--ink:#20242c;--soft:#656d7a;--faint:#d3d8df;--grey:#a7afbb;--ground:#ffffff;
--band:#eaf0f8;"""
_DARK = """\
--ink:#e4e7ec;--soft:#9aa3b0;--faint:#3c434e;
--grey:#667080;--ground:#16191f;--band:#222b38;"""

_RULES = """
.ensue text{font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;
font-size:12px;fill:var(--ink)}
.ensue .mono{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.ensue .soft{fill:var(--soft);font-size:11px}
.ensue .end{fill:var(--soft);font-size:10px}
.ensue .ground{fill:var(--ground)}
.ensue .halo{paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}
.ensue .line{stroke:var(--faint);stroke-width:1;fill:none}
.ensue .edge{stroke:var(--soft);stroke-width:1.3;fill:none}
.ensue .tip{fill:var(--soft)}
.ensue .node{fill:var(--ground);stroke:var(--ink);stroke-width:1.4}
.ensue .alive{fill:var(--band);stroke:var(--c0);stroke-width:2.4}
.ensue .band{fill:var(--band)}
.ensue .grey{fill:var(--grey)}
.ensue .span{stroke-width:2;stroke-opacity:.45;fill:none}
"""


def _variables(others: str, colours: tuple[str, ...]) -> str:
    return others + "".join(f"--c{number}:{colour};" for number, colour in enumerate(colours))


def _style(light: str, dark: str) -> str:
    """Write the style; `light` and `dark` have a place for the variables of each."""
    classes = "".join(
        f".ensue .f{number}{{fill:var(--c{number})}}.ensue .s{number}{{stroke:var(--c{number})}}"
        for number in range(len(COLOURS))
    )
    on_light = light.format(_variables(_LIGHT, COLOURS))
    on_dark = dark.format(_variables(_DARK, _DARK_COLOURS))
    return f"\n{on_light}\n{on_dark}{_RULES}{classes}"


STYLE = _style(".ensue{{{}}}", "@media (prefers-color-scheme:dark){{.ensue{{{}}}}}")

THEMED_STYLE = _style(".ensue{{{}}}", "[data-theme=dark] .ensue{{{}}}")
"""The same for a page that chooses between light and dark itself."""


COLOURS_ON_LIGHT, COLOURS_ON_DARK = _variables(_LIGHT, COLOURS), _variables(_DARK, _DARK_COLOURS)
"""The variables of a picture, for pages that know better than the system what they are."""


def styles() -> str:
    """Return the element with the style, which a page needs once."""
    return f"<style>{STYLE}</style>"


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG picture: str() is its text, `save` writes a file, and notebooks show it."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG; save(path) writes it to a file)"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg + "\n", encoding="utf-8")


def element(tag: str, text: str | None = None, inside: str = "", **attributes: object) -> str:
    """Write an element; attributes that are named like Python's words end with an underscore.

    >>> element("text", "a < b", x=1.25, class_="mono")
    '<text x="1.25" class="mono">a &lt; b</text>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    content = inside + ("" if text is None else escape(_printable(text)))
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _printable(text: str) -> str:
    """Leave out characters that XML does not allow.

    >>> _printable("a" + chr(0) + "b")
    'a·b'
    """
    return "".join(char if char.isprintable() or char == "\n" else "·" for char in text)


def title(text: str) -> str:
    """Write what is shown over an element that is pointed at."""
    return element("title", text)


@dataclass(slots=True)
class Canvas:
    """A picture that is being drawn."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def add(
        self, tag: str, text: str | None = None, inside: str = "", **attributes: object
    ) -> None:
        """Draw an element over the others."""
        self.parts.append(element(tag, text, inside, **attributes))

    def text(self, x: float, y: float, text: str, class_: str = "", anchor: str = "start") -> None:
        """Write a line of text."""
        self.add("text", text, x=x, y=y, class_=class_ or None, text_anchor=anchor)

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str = "line") -> None:
        """Draw a straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def rect(
        self, x: float, y: float, width: float, height: float, class_: str, inside: str = ""
    ) -> None:
        """Draw a rectangle with slightly rounded corners."""
        self.add("rect", None, inside, x=x, y=y, width=width, height=height, rx=2.0, class_=class_)

    def circle(self, x: float, y: float, radius: float, class_: str, inside: str = "") -> None:
        """Draw a disc."""
        self.add("circle", None, inside, cx=x, cy=y, r=radius, class_=class_)

    def picture(self, label: str) -> Picture:
        """Return the picture; `label` says what it shows, for those who do not see it."""
        ground = element("rect", width="100%", height="100%", class_="ground")
        return Picture(
            element(
                "svg",
                None,
                styles() + ground + "".join(self.parts),
                xmlns="http://www.w3.org/2000/svg",
                class_="ensue",
                role="img",
                aria_label=label,
                width=float(self.width),
                height=float(self.height),
                viewBox=f"0 0 {_value(float(self.width))} {_value(float(self.height))}",
            )
        )


def text_width(text: str, size: float = 12, *, mono: bool = False) -> float:
    """Estimate how wide a text is; fonts differ, so it is a little too much."""
    if mono:
        return len(text) * size * 0.61
    return sum(0.36 if char in "ijlt.,:;'| []()fIr1" else 0.62 for char in text) * size


def shortened(text: str, most: int) -> str:
    """Cut a text that is longer than so many characters.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"
