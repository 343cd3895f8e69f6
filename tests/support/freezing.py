"""`hopshive` with a daemon that freezes itself: `python -m tests.support.freezing ORDER cleaner run --config FILE`.

On SIGUSR1 it reads the file ORDER, `TRANSACTION PASS WANTED`, and deletes it. From then on its mirror stops the process, as
SIGSTOP from elsewhere would, in the transaction with this number of those that change something: before a statement in which
the regular expression WANTED is found, so many of them let pass, or before its COMMIT. It says before what.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from hopshive.cli import main
from tests.support.crash_steps import Connection, Steps, counted

if TYPE_CHECKING:
    from collections.abc import Callable


class Freezer:
    """What is ordered, once."""

    def __init__(self, order: Path) -> None:
        self._order = order
        self._steps: Steps | None = None
        self._next = b""

    def read(self, *_: object) -> None:
        """For a signal handler."""
        transaction, passed, wanted = self._order.read_text().split(maxsplit=2)
        found = re.compile(wanted.encode(), re.DOTALL).search
        self._steps = Steps(
            int(transaction), self._freeze, lambda sql: sql == b"COMMIT" or bool(found(sql)), int(passed)
        )
        self._order.unlink()

    def execute(self, connection: Connection, sql: bytes, send: Callable[[], None]) -> None:
        """Send a statement, now or after a while."""
        if self._steps is not None and threading.current_thread().name == "mirror":
            self._next = sql
            self._steps.execute(connection, sql, send)
        else:
            send()

    def _freeze(self, _: Connection) -> None:
        self._steps = None
        print(f"Frozen before {self._next[:60]!r}.", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    freezer = Freezer(Path(sys.argv.pop(1)))
    signal.signal(signal.SIGUSR1, freezer.read)
    with counted(freezer.execute):
        main()
