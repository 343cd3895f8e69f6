"""The commands of a page: of its fenced blocks, of its tables, and of comments that its reader does not see."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Of these every command is run, or stands in tests/docs/not_run.py.
PAGES = ("README.md", *(f"docs/{name}.md" for name in ("quickstart", "lab", "job", "consistency", "cleaner", "hosts")))
# What a command in a cell of a table begins with.
PROGRAMS = ("ansible-playbook", "beeline", "docker", "hdfs", "hopshive", "make", "pyspark", "spark-submit", "yarn")

_FENCE = re.compile(r"```(\w*)$")
_CELL = re.compile(rf"\|\s*`((?:{'|'.join(PROGRAMS)})(?: [^`]*)?)`")
_SPAN = re.compile(r"`(docker exec [^`]+)`")
_MARKS = ("varies", "exit", "shows", "run")


@dataclass(frozen=True)
class Command:
    """What a reader types, and what a transcript shows of it; without `$` there is no transcript."""

    line: int
    text: str
    shown: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Block:
    """Commands that stand together, in their order."""

    page: str
    line: int
    # Of the fence: empty or console is a shell's; `table`, `sentence` where they stand in a line, `run` if no reader sees them.
    language: str
    commands: tuple[Command, ...]
    # Parts of what is shown whose numbers and hosts are others each time, or `part = regular expression`.
    varies: tuple[str, ...] = ()
    # Exit codes that are not 0, by how the command begins.
    exits: tuple[tuple[str, int], ...] = ()
    # Lines that must be among what all of them print, where the page does not show it.
    shows: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    def exit_code(self, command: Command) -> int:
        """The one that its page expects; of several commands that begin alike, that of the first one."""
        for begin, code in self.exits:
            if command == next(one for one in self.commands if one.text.startswith(begin)):
                return code
        return 0


class BadPage(Exception):
    """A mark or a fence that cannot be meant so."""


def read(page: str) -> list[Block]:
    return parse(page, (ROOT / page).read_text())


def parse(page: str, text: str) -> list[Block]:
    """Blocks of a page in its order. Fences of other languages (`text`, `yaml`) hold no commands."""
    lines = text.splitlines()
    blocks: list[Block] = []
    marks: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        first = at
        if fence := _FENCE.match(line):
            end = _find(page, lines, at, "```")
            blocks += _fenced(page, at + 1, fence[1], lines[at + 1 : end], marks)
            marks, at = [], end + 1
            continue
        if line.startswith("<!--"):
            end = _find(page, lines, at, "-->", line.endswith("-->"))
            mark, _, rest = "\n".join(lines[at : end + 1])[4:-3].strip().partition(":")
            at = end + 1
            if mark == "run":
                body = rest.strip().splitlines()
                commands = _commands(end + 1 - len(body) + (end == first), body)
                blocks.append(_block(page, first + 1, "run", commands, marks))
                marks = []
            elif mark in _MARKS:
                marks.append((mark, rest.strip()))
            else:
                raise BadPage(f"{page}:{first + 1}: a comment for the tests begins with one of {', '.join(_MARKS)}")
            continue
        if line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            commands = [
                Command(number, text.replace("\\|", "|"))
                for number in range(first + 1, at + 1)
                for text in _CELL.findall(lines[number - 1])
            ]
            if commands or marks:
                blocks.append(_block(page, first + 1, "table", commands, marks))
            marks = []
            continue
        if marks and line.strip():
            raise BadPage(f"{page}:{first + 1}: a mark stands right before its block")
        blocks += [Block(page, at + 1, "sentence", (Command(at + 1, text),)) for text in _SPAN.findall(line)]
        at += 1
    return blocks


def _find(page: str, lines: list[str], first: int, end: str, at_once: bool = False) -> int:
    """The line that ends what begins in another."""
    if at_once:
        return first
    for at in range(first + 1, len(lines)):
        if lines[at] == end:
            return at
    raise BadPage(f"{page}:{first + 1}: {end} is missing")


def _fenced(page: str, line: int, language: str, body: list[str], marks: list[tuple[str, str]]) -> list[Block]:
    if language in ("sql", "python"):
        commands = [Command(line + 1 + at, text) for at, text in enumerate(body) if text]
    elif language in ("", "console"):
        commands = _commands(line + 1, body)
    elif marks:
        raise BadPage(f"{page}:{line}: marks of a block without commands")
    else:
        return []
    return [_block(page, line, language, commands, marks)]


def _block(page: str, line: int, language: str, commands: list[Command], marks: list[tuple[str, str]]) -> Block:
    def values(mark: str) -> list[str]:
        return [value.strip() for name, text in marks if name == mark for value in text.split(";")]

    exits = []
    for text in values("exit"):
        code, _, begin = text.partition(" ")
        if not code.isdigit() or not any(command.text.startswith(begin.strip()) for command in commands):
            raise BadPage(f"{page}:{line}: exit: {text} is no code and the beginning of a command")
        exits.append((begin.strip(), int(code)))
    whole = "\n".join(part for command in commands for part in (command.text, *(command.shown or ())))
    if unknown := [part for part in values("varies") if part.split(" = ")[0] not in whole]:
        raise BadPage(f"{page}:{line}: varies: {unknown[0]} does not stand there")
    return Block(page, line, language, tuple(commands), tuple(values("varies")), tuple(exits), tuple(values("shows")))


def _commands(first: int, body: list[str]) -> list[Command]:
    """With `$`, what follows a command is what it prints; without, each line is a command. A backslash continues either.

    Comments are left out of the command: a `#` after a blank and before one.
    """
    transcript = any(line.startswith("$ ") for line in body)
    commands: list[Command] = []
    at = 0
    while at < len(body):
        line, number = body[at], first + at
        at += 1
        if transcript and not line.startswith("$ "):
            if commands and line:
                last = commands.pop()
                commands.append(Command(last.line, last.text, (*(last.shown or ()), line)))
            continue
        text = line.removeprefix("$ ") if transcript else line
        while text.endswith("\\") and at < len(body):
            text = f"{text[:-1].rstrip()} {body[at].strip()}"
            at += 1
        text = re.sub(r"\s+# .*$", "", text)
        if text.strip():
            commands.append(Command(number, text, () if transcript else None))
    return commands
