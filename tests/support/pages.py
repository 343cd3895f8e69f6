"""How a page of Markdown reads: its sentences, the width of its lines, and the cells of its tables.

Fenced blocks hold commands and what they print; comments (`<!-- ... -->`) are for the tests of commands. Neither is prose.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.support.prose import WORDS, Text, place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Characters of a line outside tables.
WIDTH = 120
# Sentences of a cell.
SENTENCES = 3

_FENCE = re.compile(r"\s*```")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +")
_BREAK = re.compile(r"(?<=[.:;!?])[)*\"]*\s+")
_CELL = re.compile(r"(?<!\\)\|")


def plain(text: str) -> str:
    """Markdown as it is read: code spans become `code`, links their text, marks go."""
    text = re.sub(r"``.*?``|`[^`]*`|<code>.*?</code>", "`code`", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^>]+>|\*\*", "", text)


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line that is neither in a fenced block nor in a comment."""
    fenced = comment = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            comment = comment or line.startswith("<!--")
            if not comment:
                yield number, line
                continue
            comment = "-->" not in line
        # What is left out parts the paragraphs around it.
        yield number, ""


def cells(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each cell of a table."""
    for number, line in _prose(text):
        if line.lstrip().startswith("|"):
            yield from ((number, cell.strip()) for cell in _CELL.split(plain(line).strip())[1:-1])


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """First line and text of each paragraph and item of a list. A heading is a name or a question, and no sentence."""
    block: list[str] = []
    begun = 0
    for number, line in _prose(text + "\n"):
        alone = line.startswith("#") or line.lstrip().startswith("|")
        if block and (alone or not line.strip() or _ITEM.match(line)):
            yield begun, "\n".join(block)
            block = []
        if line.strip() and not alone:
            begun = begun if block else number
            block.append(_ITEM.sub("", line).strip())


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph or a cell. A colon and a semicolon end one, as they do in `first_sentence`."""
    return [one for one in _BREAK.split(plain(text)) if one.strip()]


def of_markdown(path: Path) -> Iterator[Text]:
    """Each sentence of a page, with its limit."""
    file, text = place(path), path.read_text()
    for blocks in (paragraphs(text), cells(text)):
        for line, block in blocks:
            yield from (Text(file, line, one, WORDS) for one in sentences(block))


def form_of(path: Path) -> Iterator[str]:
    """Complaints about the lines and the tables of a page."""
    page, text = place(path), path.read_text()
    yield from too_wide(page, text)
    yield from too_full(page, text)


def too_wide(page: str, text: str) -> Iterator[str]:
    """A sentence for each line that is too wide.

    A row of a table is one line, and so is a comment. What a command prints is as wide as it is: the lines of a
    transcript that have no `$`.
    A word without a blank, such as a URL, cannot be broken.
    """
    transcript = comment = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            transcript = False
        transcript = transcript or line.startswith("$ ")
        printed = transcript and not line.startswith("$ ")
        comment = comment or line.startswith("<!--")
        whole = comment or line.lstrip().startswith("|")
        comment = comment and "-->" not in line
        if len(line) > WIDTH and not whole and not printed and " " in line.strip():
            yield f"{page}:{number}: a line of {len(line)} characters, {WIDTH} are the most"


def too_full(page: str, text: str) -> Iterator[str]:
    """A sentence for each cell that has too many sentences."""
    for number, cell in cells(text):
        count = len([one for one in re.split(r"(?<=[.!?])\s+", cell) if one.strip()])
        if count > SENTENCES:
            yield f"{page}:{number}: a cell of {count} sentences, {SENTENCES} are the most"
