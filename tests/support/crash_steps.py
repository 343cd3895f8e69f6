"""The steps of a process on its database at which it may be struck.

A step is a statement of a transaction that has changed something, its COMMIT, or the answer to that. Whatever ends before it
has changed anything ended, for the database, after the COMMIT before.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from multiprocessing.sharedctypes import RawArray
from typing import TYPE_CHECKING, Any, TypeAlias

import pymysql
import pytest
from pymysql.constants import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Connection: TypeAlias = "pymysql.connections.Connection[Any]"
_WRITES = re.compile(rb"\s*(INSERT|UPDATE|DELETE|REPLACE)\b")


class Steps:
    """Strikes at the steps of one transaction, the one with a number: before those of its statements that are `wanted`, in
    turn (it is begun again after each time), `passed` of them left out; before its COMMIT, if that is wanted; and last before
    the answer to that. With `more`, then at those of every other transaction that follows.

    What it knows is shared with the child processes that it kills.
    """

    def __init__(
        self,
        transaction: int,
        strike: Callable[[Connection], None],
        wanted: Callable[[bytes], bool],
        passed: int = 0,
        *,
        more: bool = False,
    ) -> None:
        self._strike = strike
        self._wanted = wanted
        # Transactions to let pass; wanted statements to let pass in the one; whether the answer is next; whether all is done.
        self._left = RawArray("i", [transaction - 1, passed, 0, 0])
        self._more = more
        # Connections whose last statement writes; and those that have changed something, with the wanted statements since.
        self._writing: set[Connection] = set()
        self._changed: Counter[Connection] = Counter()
        # Transactions of which each step is done, in this process.
        self.done = 0

    @property
    def over(self) -> bool:
        """Whether there was such a transaction, and each of its steps."""
        return bool(self._left[3])

    def execute(self, connection: Connection, sql: bytes, send: Callable[[], None]) -> None:
        """Send a statement, unless the strike prevents it."""
        if connection in self._writing and connection.affected_rows():  # type: ignore[no-untyped-call]
            self._changed.setdefault(connection, 0)
        self._writing.discard(connection)
        if sql in (b"COMMIT", b"ROLLBACK"):
            changed = self._changed.pop(connection, None) is not None
            self._end(connection, changed and sql == b"COMMIT", send)
            return
        if _WRITES.match(sql):
            self._writing.add(connection)
        if connection in self._changed and self._wanted(sql):
            self._changed[connection] += 1
            if self._mine and self._changed[connection] > self._left[1]:
                self._left[1] += 1
                self._hit(connection)
        send()

    def _end(self, connection: Connection, counts: bool, send: Callable[[], None]) -> None:
        if counts and self._mine and not self._left[2] and self._wanted(b"COMMIT"):
            self._left[2] = 1
            self._hit(connection)
            send()
        elif counts and self._mine:
            send()
            connection._read_query_result()  # type: ignore[attr-defined]
            self._left[:] = [1, 0, 0, 0] if self._more else [0, 0, 0, 1]
            self.done += 1
            self._hit(connection)
        else:
            self._left[0] -= counts and not self.over
            send()

    @property
    def _mine(self) -> bool:
        return self._left[0] == 0 and not self.over

    def _hit(self, connection: Connection) -> None:
        self._changed.pop(connection, None)
        self._writing.discard(connection)
        self._strike(connection)


@contextmanager
def counted(execute: Callable[[Connection, bytes, Callable[[], None]], None]) -> Iterator[None]:
    """Within the block each statement goes through `execute`."""
    sent = pymysql.connections.Connection._execute_command  # type: ignore[attr-defined]

    def statement(self: Connection, command: int, sql: str | bytes) -> None:
        if command == COMMAND.COM_QUERY:
            text = sql.encode(errors="surrogateescape") if isinstance(sql, str) else bytes(sql)
            execute(self, text, lambda: sent(self, command, sql))
        else:
            sent(self, command, sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pymysql.connections.Connection, "_execute_command", statement)
        yield
