"""docs/undo.svg: the picture in README, a terminal that shows the deletion and the undo of docs/quickstart.md.

The scenario `default` runs the commands of that page and compares what they print, so the picture shows what the product does.
`python -m tools.readme_picture` writes the picture; with `--check` it only tells whether the picture is up to date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import click

from tools.generated import command

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = "docs/quickstart.md"
HEADING = "## Delete a table by its directory, and bring it back"
PICTURE = "docs/undo.svg"
TITLE = "A table's directory is deleted, the table is gone, and undo brings both back"
# What comes before a command in the page, and says where and as whom the command runs.
PLACE = re.compile(r"docker exec (?:-it )?(?:-u (?P<user>\w+) )?(?P<host>[\w-]+) (?P<command>.+)")
# Lines of the page that stand for any number of lines.
LEFT_OUT = "..."
# Columns of the terminal; a longer line is cut, as by `less -S`.
COLUMNS = 104
# Pixels: a character, a line, and the space around them.
WIDTH, HEIGHT, SIZE = 8.4, 19, 14
MARGIN, BAR = 18, 34
# The window brings its own background, so that it can be read on a light and on a dark page.
STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace;
       white-space: pre }
.prompt { fill: #7ee787 } .command { fill: #ffffff; font-weight: bold } .output { fill: #c9d1d9 }
.error { fill: #ffa198 } .title { fill: #9198a1; text-anchor: middle }"""
DOTS = ("#ff5f57", "#febc2e", "#28c840")


@dataclass(frozen=True)
class Span:
    """A part of a line, with the class of its style."""

    kind: str
    text: str


Line = tuple[Span, ...]


def transcript(page: str) -> list[str]:
    """The lines of the first block below the heading. Raises ClickException if there is none."""
    found = re.search(rf"(?ms)^{re.escape(HEADING)}$.*?^```\n(.*?)^```$", page)
    if not found:
        raise click.ClickException(f"{PAGE} has no block below '{HEADING}'.")
    return found[1].splitlines()


def shown(lines: Iterable[str]) -> list[Line]:
    """What a terminal shows: a prompt before each command, and what the command prints."""
    return [_line(line) for line in lines if line != LEFT_OUT]


def _line(line: str) -> Line:
    if line.startswith("$ "):
        place = PLACE.fullmatch(line[2:])
        if not place:
            return _cut(Span("prompt", "$ "), Span("command", line[2:]))
        return _cut(Span("prompt", f"{place['user'] or 'root'}@{place['host']} $ "), Span("command", place["command"]))
    return _cut(Span("error" if line.startswith("Error") else "output", line))


def _cut(*spans: Span) -> Line:
    """The spans in no more than COLUMNS characters."""
    left, found = COLUMNS, []
    for span in spans:
        text = span.text if len(span.text) <= left else span.text[: left - 1] + "…"
        found.append(Span(span.kind, text))
        left -= len(text)
    return tuple(found)


def render(lines: list[Line]) -> str:
    """The picture, an SVG that needs nothing beside itself."""
    width = round(COLUMNS * WIDTH + 2 * MARGIN)
    height = BAR + len(lines) * HEIGHT + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{escape(TITLE)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#0d1117" stroke="#6e7681"/>',
        *(f'<circle cx="{MARGIN + 2 + 18 * at}" cy="17" r="5.5" fill="{dot}"/>' for at, dot in enumerate(DOTS)),
        f'<text class="title" x="{width / 2:g}" y="22">hopshive</text>',
    ]
    for number, line in enumerate(lines):
        column = 0
        for span in line:
            out += _text(span, MARGIN + column * WIDTH, BAR + number * HEIGHT + SIZE)
            column += len(span.text)
    return "\n".join([*out, "</svg>", ""])


def _text(span: Span, x: float, y: int) -> list[str]:
    """An element; its length keeps the columns in line, whatever font the reader has."""
    if not span.text.strip():
        return []
    length = f'textLength="{len(span.text) * WIDTH:g}" lengthAdjust="spacingAndGlyphs"'
    return [f'<text class="{span.kind}" x="{x:g}" y="{y}" {length} xml:space="preserve">{escape(span.text)}</text>']


main = command(
    PICTURE,
    lambda root: render(shown(transcript((root / PAGE).read_text()))),
    "Write docs/undo.svg from the transcript in docs/quickstart.md.",
)


if __name__ == "__main__":
    main()
