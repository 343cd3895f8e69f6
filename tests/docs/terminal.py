"""A command at a terminal of its own."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

ROWS, COLUMNS = 50, 220


class Silence(Exception):
    """What was waited for did not come; the message has all that was printed instead."""


class Terminal:
    """A shell's command that believes that a person sits at the terminal."""

    def __init__(self, command: str, directory: str | os.PathLike[str]) -> None:
        self._command = command
        self._screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        # With a controlling terminal Ctrl-C reaches it. A script's background job ignores Ctrl-C, and so do its children.
        self._process = subprocess.Popen(
            ["setsid", "--ctty", "env", "--default-signal=INT", "bash", "-c", command],
            cwd=directory,
            env=os.environ | {"TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._read = 0
        self.printed = ""

    def expect(self, pattern: str, seconds: float) -> str:
        """What is printed up to and with the pattern, from where the last one ended."""
        deadline = time.monotonic() + seconds
        while True:
            if found := re.compile(pattern).search(self.printed, self._read):
                text = self.printed[self._read : found.end()]
                self._read = found.end()
                return text
            if not self._more(deadline):
                why = (
                    f"ended with {self._process.wait(10)}" if time.monotonic() < deadline else f"{seconds:.0f} s passed"
                )
                raise Silence(f"{self._command}: {pattern} did not come, {why}:\n{self.printed[-6000:]}")

    def write(self, text: str) -> None:
        """Type something. Whether the command is still there, the next look at what it prints says."""
        with suppress(OSError):
            os.write(self._screen, text.encode())

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by itself so soon."""
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            pass
        return time.monotonic() < deadline

    def end(self, seconds: float) -> int:
        """Its exit code, once it has ended by itself."""
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            pass
        try:
            return self._process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Silence(f"{self._command}: no end within {seconds:.0f} s:\n{self.printed[-6000:]}") from None

    def _more(self, deadline: float) -> bool:
        """Read what there is; false at the end, or when time is up."""
        ready, _, _ = select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._screen, 65536)
        except OSError:
            # Linux says so when the last one at the other end has closed it.
            return False
        self.printed += self._decoder.decode(data)
        return bool(data)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGHUP)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        os.close(self._screen)
