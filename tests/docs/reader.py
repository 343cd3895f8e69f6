"""A reader at a terminal who follows a page on a lab, whatever its hosts are called."""

from __future__ import annotations

import re
import shlex
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.docs.page import ROOT, Block, Command
from tests.docs.shown import compare, lines_of
from tests.docs.terminal import Silence, Terminal

if TYPE_CHECKING:
    from tests.warehouse import Lab

# For each command, on a machine that is busy.
SECONDS = 240.0
# Seconds for which a command that does not end by itself must run.
FOLLOWED = 2.0
# Where a command runs that a page shows without its host: the first host of a group, as this user.
PLACES = {
    "hopshive": ("cleaner", "root"),
    "systemctl": ("cleaner", "root"),
    "env": ("client", "spark"),
    "hadoop": ("client", "spark"),
    "hdfs": ("client", "spark"),
    "beeline": ("client", "spark"),
    "spark-submit": ("client", "spark"),
    "mariadb": ("mariadb", "root"),
    "mariadb-dump": ("mariadb", "root"),
}


@dataclass(frozen=True)
class Shell:
    """What is typed into. `done` is printed after each statement, before the next prompt."""

    prompt: str
    done: str
    question: str
    answer: str
    leave: str
    failed: str


SHELLS = {
    "sql": Shell(
        r"0: jdbc:hive2:[^>]*> ",
        r"(?:\d[\d,]* rows?|No rows) (?:selected|affected)[^\n]*\n|Error: [^\n]*\n",
        "SELECT 6 * 7;",
        "| 42 |",
        "!quit\n",
        r"^Error: ",
    ),
    "python": Shell(
        r"(?m)^>>> ",
        r"",
        "print(6 * spark.range(7).count())",
        "42",
        "exit()\n",
        r"^Traceback |^\w*(?:Error|Exception):",
    ),
    # It draws its first prompt twice.
    "bash": Shell(r"[#$] ", r"42\r\n", "echo $((6 * 7))", "42", "exit\n", r"command not found"),
}


class Wrong(AssertionError):
    """A command of a page did not do what the page says."""

    def __init__(self, block: Block, command: Command, why: str, printed: str) -> None:
        super().__init__(f"{block.page}:{command.line}: {command.text}\n{why}\n--- it printed\n{printed[-6000:]}")


def shell_of(command: str) -> str | None:
    """The shell that a command leaves its user in, a key of SHELLS."""
    words = shlex.split(command, comments=True)
    if "beeline" in words and not {"-e", "-f"} & set(words):
        return "sql"
    if words[-1:] == ["pyspark"]:
        return "python"
    return "bash" if words[-2:] == ["bash", "-l"] else None


def follows(command: str) -> bool:
    """Whether it runs until Ctrl-C."""
    words = command.split()
    return "journalctl" in words and "-f" in words


@dataclass
class Reader:
    """Follows the blocks of a page in their order; what one leaves (a shell, a number that was printed) the next has."""

    # The lab that the pages speak of, and the one that is there.
    written: Lab
    lab: Lab
    _values: dict[str, str] = field(default_factory=dict)
    _shells: dict[str, Terminal] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def follow(self, block: Block, left_out: frozenset[str] = frozenset()) -> None:
        """Do what a block says but what is left out. Raises Wrong."""
        if block.language in SHELLS:
            self._type(block)
            return
        printed = [self._do(block, command) for command in block.commands if command.text not in left_out]
        self._require(block, "".join(printed))

    def close(self) -> None:
        """Leave the shells that are open."""
        for name, terminal in self._shells.items():
            terminal.write(SHELLS[name].leave)
            terminal.end(SECONDS)
        self._shells.clear()
        self._stack.close()

    def here(self, text: str) -> str:
        """A command as it must be said on this lab."""
        for old, new in self._names().items():
            text = re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w.-])", new, text)
        for old, new in self._values.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(old)}(?![\w.-])", new, text)
        return text

    def there(self, text: str) -> str:
        """What was printed, as the pages would have it."""
        for old, new in self._names().items():
            text = text.replace(new, old)
        return text

    def _names(self) -> dict[str, str]:
        ours = {host.address.rsplit(".", 1)[1]: host for host in self.lab.hosts.values()}
        pairs = [(host, ours[host.address.rsplit(".", 1)[1]]) for host in self.written.hosts.values()]
        names = {one.name: other.name for one, other in pairs} | {one.address: other.address for one, other in pairs}
        return names | {
            f"hopshive={self.written.label}": f"hopshive={self.lab.label}",
            f"LABEL={self.written.label}": f"LABEL={self.lab.label}",
        }

    def _do(self, block: Block, command: Command) -> str:
        """What it prints, as the pages would have it."""
        text = self._line(command.text)
        try:
            if shell := shell_of(command.text):
                self._open(shell, text)
                return self._ask(block, command, shell)
            with Terminal(text, ROOT) as terminal:
                if follows(command.text):
                    terminal.expect(r"\S.*\n", SECONDS)
                    if terminal.ends_within(FOLLOWED):
                        raise Wrong(block, command, "It ends by itself.", terminal.printed)
                    terminal.write("\x03")
                    terminal.end(SECONDS)
                    return self.there(terminal.printed)
                began = time.monotonic()
                code = terminal.end(SECONDS)
        except Silence as silence:
            raise Wrong(block, command, "It was waited for in vain.", str(silence)) from None
        printed = self.there(terminal.printed)
        if code != block.exit_code(command):
            why = f"Its exit code is {code}, not {block.exit_code(command)}, after {time.monotonic() - began:.0f} s."
            raise Wrong(block, command, why, printed)
        if command.shown is not None:
            seen = compare(command.shown, printed, block.varies, list(self.written.hosts))
            if seen.line is not None:
                raise Wrong(block, command, f"The page shows: {seen.line}", printed)
            self._values |= {text: value for text, value in seen.values.items() if text in block.varies}
        return printed

    def _line(self, text: str) -> str:
        """The line to be said on the controller, which the pages' reader sits at, or on the host that has the command."""
        line = self.here(text)
        place = PLACES.get(line.split()[0])
        if place is None:
            return line
        group, user = place
        return shlex.join(["docker", "exec", "-it", "-u", user, self.lab.one(group).name, "bash", "-lc", line])

    def _open(self, name: str, line: str) -> Terminal:
        """A shell at its first prompt. An older one of the kind is left first."""
        if old := self._shells.pop(name, None):
            old.write(SHELLS[name].leave)
            old.end(SECONDS)
        terminal = self._shells[name] = self._stack.enter_context(Terminal(line, ROOT))
        terminal.expect(SHELLS[name].prompt, SECONDS)
        return terminal

    def _say(self, name: str, statement: str) -> str:
        """What a shell prints for a statement."""
        shell, terminal = SHELLS[name], self._shells[name]
        terminal.write(f"{statement}\n")
        if shell.done:
            printed = terminal.expect(shell.done, SECONDS)
            terminal.expect(shell.prompt, SECONDS)
            return printed
        return terminal.expect(shell.prompt, SECONDS)

    def _ask(self, block: Block, command: Command, name: str) -> str:
        """What a shell answers to a question of which the answer is known."""
        printed = self._say(name, SHELLS[name].question)
        if SHELLS[name].answer not in lines_of(printed):
            raise Wrong(block, command, f"{SHELLS[name].question} is not answered with {SHELLS[name].answer}.", printed)
        return printed

    def _type(self, block: Block) -> None:
        """Statements, in the shell that the page opened last."""
        if block.language not in self._shells:
            raise Wrong(block, block.commands[0], "The page has not opened a shell for it.", "")
        printed = ""
        for command in block.commands:
            try:
                said = self._say(block.language, command.text)
            except Silence as silence:
                raise Wrong(block, command, "It was waited for in vain.", str(silence)) from None
            if any(re.search(SHELLS[block.language].failed, line) for line in lines_of(said)):
                raise Wrong(block, command, "It fails.", said)
            printed += said
        self._require(block, self.there(printed))

    def _require(self, block: Block, printed: str) -> None:
        for line in block.shows:
            if compare(["...", line, "..."], printed).line is not None:
                raise Wrong(block, block.commands[-1], f"No line of the whole block is: {line}", printed)
