"""How the repository's text reads: phrases that a stranger reads twice, and sentences that are too long.

`Text` is a piece of prose with its place. `of_python` takes the texts out of a module; each other kind of file brings
a function like it. `complaints` has one sentence for each phrase of `PHRASES` in a text, with file and line.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[2]
# Words of a one-line comment, and of the first sentence of a docstring.
WORDS = 25

# The phrase, as a regular expression between word boundaries without regard to case, and the better words.
PHRASES: dict[str, str] = {
    r"anew": "again; start over",
    r"beneath": "below, under, in",
    r"thereafter": "then, afterwards",
    r"nobody|somebody|anybody": "the noun: no user, no process, another session",
    r"whoever": "the noun: the process that, any user who",
    r"knock(?:s|ed|ing)?": "probe",
    r"forsaken": "abandoned",
    r"(?:go|goes|going|gone|went) on": "continue",
    r"(?:tell|tells|telling|told) of": "report, name, describe",
    r"(?:is|are|was|were) yet to": "is not ... yet",
    r"(?:has|have|had) gone": "is gone, was removed, no longer exists",
    r"shall": "must, will",
    r"at hand": "available",
    r"by now": "already",
    r"once more": "again",
    r"knows? (?:no|nothing)": "does not know, has no",
    r"is let (?:be|go|alone)": "stays as it is",
    # systemd's own directory is called journald.conf.d.
    r"journald(?!\.conf)|systemd's journal|journal of systemd": "the system log (`journal` is hopshive's)",
}
# The phrase that begins a sentence, with regard to case.
BEGINNINGS: dict[str, str] = {
    r"Who (?!\S+\?)": "the noun first: the process that ..., users who ...",
    r"None (?:but|other)": "only",
}


@dataclass(frozen=True)
class Text:
    """A piece of prose that begins in a line of a file. `limit`: the most words of its first sentence, if it has one."""

    file: str
    line: int
    text: str
    limit: int | None = None


def place(path: Path) -> str:
    """How a complaint names a file: from the root of the repository, or by its name alone elsewhere."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _table() -> list[tuple[re.Pattern[str], str]]:
    inner = [(re.compile(rf"\b(?:{one})\b".replace(" ", r"\s+"), re.IGNORECASE), why) for one, why in PHRASES.items()]
    first = [(re.compile(rf"(?:\A|(?<=[.:;!?]\s)){one}"), why) for one, why in BEGINNINGS.items()]
    return inner + first


TABLE = _table()
ANY = re.compile("|".join(f"(?:{one})".replace(" ", r"\s+") for one in PHRASES), re.IGNORECASE)
BEGINNING = re.compile("|".join(one.partition(" ")[0] for one in BEGINNINGS))


def words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def first_sentence(text: str) -> str:
    """The first sentence; a code span such as `a. b` does not end one."""
    paragraph = re.split(r"\n\s*\n", text.strip())[0]
    plain = re.sub(r"`[^`]*`", "`code`", paragraph)
    return re.split(r"(?<=[.:;!?])\s+", plain, maxsplit=1)[0]


def complaints(texts: Iterable[Text]) -> Iterator[str]:
    """A sentence for each phrase that must not come back, and for each first sentence that is too long."""
    for one in texts:
        if ANY.search(one.text) or BEGINNING.search(one.text):
            for pattern, better in TABLE:
                for found in pattern.finditer(one.text):
                    line = one.line + one.text.count("\n", 0, found.start())
                    yield f"{one.file}:{line}: {' '.join(found[0].split())!r}; better: {better}"
        if one.limit is not None and (count := words(first_sentence(one.text))) > one.limit:
            yield f"{one.file}:{one.line}: a sentence of {count} words, {one.limit} are the most"


def _comments(source: str, file: str) -> Iterator[Text]:
    """A text for each block of comment lines, and for each comment that ends a line of code."""
    block: list[str] = []
    begun = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            if block and token.type != tokenize.NL:
                yield _comment(file, begun, block)
                block = []
            continue
        line, alone = token.start[0], token.line.lstrip().startswith("#")
        if block and not (alone and line == begun + len(block)):
            yield _comment(file, begun, block)
            block = []
        begun = begun if block else line
        block.append(token.string.lstrip("#! "))
    if block:
        yield _comment(file, begun, block)


def _comment(file: str, line: int, block: list[str]) -> Text:
    return Text(file, line, "\n".join(block), WORDS if len(block) == 1 else None)


def _strings(tree: ast.Module, file: str) -> Iterator[Text]:
    """Docstrings with their limit, and all other strings; the places of an f-string read as {}."""
    docstrings: set[int] = set()
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.add(id(first.value))
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            inner |= {id(part) for part in node.values}
            yield Text(file, node.lineno, "".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield Text(file, node.lineno, node.value, WORDS if id(node) in docstrings else None)


def of_python(path: Path) -> Iterator[Text]:
    """The comments and strings of a module."""
    source, file = path.read_text(), place(path)
    yield from _comments(source, file)
    yield from _strings(ast.parse(source), file)


def of_tests(path: Path) -> Iterator[Text]:
    """The comments and docstrings of a module of tests, and the names of its tests; other strings are what tests work on."""
    source, file = path.read_text(), place(path)
    tree = ast.parse(source)
    yield from _comments(source, file)
    yield from (text for text in _strings(tree, file) if text.limit is not None)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Text(file, node.lineno, node.name.removeprefix("test_").replace("_", " "))


# Comments and texts of Java; a comment within a text, or the reverse, is no case of ours.
_JAVA = re.compile(r'/\*+(?P<block>.*?)\*/|//(?P<line>[^\n]*)|"(?P<text>(?:[^"\\\n]|\\.)*)"', re.DOTALL)


def of_java(path: Path) -> Iterator[Text]:
    """The comments and texts of a class."""
    source = path.read_text()
    for found in _JAVA.finditer(source):
        text = re.sub(r"^\s*\*", "", found[found.lastgroup or 0], flags=re.MULTILINE)
        yield Text(place(path), source.count("\n", 0, found.start()) + 1, text.strip())


@dataclass(frozen=True)
class FileKind:
    """A kind of file: where its files are, how their texts are read, and the paths that do not read well yet.

    A path of `not_clean` is a file, or a folder with all that is in it. The list only shrinks.
    `form`, if there is one, has complaints about a file that no single text shows, such as the width of its lines.
    """

    places: tuple[str, ...]
    suffix: str
    read: Callable[[Path], Iterable[Text]]
    not_clean: tuple[str, ...] = ()
    form: Callable[[Path], Iterable[str]] | None = None

    def files(self) -> Iterator[Path]:
        for place in self.places:
            whole = ROOT / place
            yield from [whole] if whole.is_file() else sorted(whole.rglob(f"*{self.suffix}"))

    def said(self) -> dict[Path, list[str]]:
        """The complaints about each file that has some."""
        # This module has the phrases as its table.
        found = {
            path: [*complaints(self.read(path)), *(self.form(path) if self.form else ())]
            for path in self.files()
            if path != Path(__file__)
        }
        return {path: said for path, said in found.items() if said}

    def excused(self, path: Path) -> str | None:
        """The entry of `not_clean` that has the path."""
        return next((one for one in self.not_clean if path.is_relative_to(ROOT / one)), None)
