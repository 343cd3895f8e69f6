"""Requests of humans to the leader: rows of {state}.request, which commands and the daemon share.

A command writes a row and watches it. The leader takes the row, notes its progress, and writes the result. So only the
leader writes to the metastore. Each kind of request may be begun again: a new leader does what the last one left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hopshive.database import marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database import Row, Transaction

RequestKind = Literal["sync", "restore", "approve", "collect"]
State = Literal["waiting", "running", "done", "failed"]
# The most characters of a result that are kept.
MESSAGE = 4000
# Days for which finished requests are kept.
KEPT = 30

_COLUMNS = "id, kind, argument, state, done, total, message, asked_by"

# Objects done, and objects in total; 0 while the total is unknown.
Progress = tuple[int, int]
# Does a request in small steps, between other work; its value is the sentence for the user.
Doing = Generator[Progress, None, str]
Handler = Callable[[Mapping[str, Any]], Doing]


class RequestFailed(Exception):
    """A request that cannot be done; the message is a sentence for the user."""


@dataclass(frozen=True)
class Request:
    """One row. `message`: the result, or the error."""

    id: int
    kind: RequestKind
    argument: Mapping[str, Any]
    state: State
    done: int
    total: int
    message: str
    asked_by: str

    @property
    def over(self) -> bool:
        """Whether it is done or has failed."""
        return self.state in ("done", "failed")


# --- for commands -----------------------------------------------------------------------------------------------------


def ask(tx: Transaction, kind: RequestKind, argument: Mapping[str, Any], asked_by: str) -> int:
    """Write a request; returns its number."""
    tx.execute(
        "INSERT INTO {state}.request (kind, argument, asked, asked_by, state)"
        " VALUES (%s, %s, UTC_TIMESTAMP(3), %s, 'waiting')",
        (kind, json.dumps(argument).encode(), asked_by[:255]),
    )
    return tx.last_id


def read(tx: Transaction, number: int) -> Request | None:
    """A request as it is now; None if there is none."""
    row = tx.row(f"SELECT {_COLUMNS} FROM {{state}}.request WHERE id = %s", (number,))
    return _made(row) if row else None


def withdraw(tx: Transaction, number: int) -> bool:
    """Delete a request unless a leader has begun it; returns whether it was deleted."""
    return bool(tx.execute("DELETE FROM {state}.request WHERE id = %s AND state = 'waiting'", (number,)))


# --- for the leader ---------------------------------------------------------------------------------------------------


def waiting(tx: Transaction, kinds: Sequence[str]) -> bool:
    """Whether a request of these kinds waits."""
    sql = f"SELECT EXISTS (SELECT 1 FROM {{state}}.request WHERE state = 'waiting' AND kind IN ({marks(kinds)}))"
    return bool(tx.value(sql, kinds))


def take(tx: Transaction, kinds: Sequence[str]) -> Request | None:
    """Begin the oldest waiting request of these kinds, and return it; None without one."""
    row = tx.row(
        f"SELECT {_COLUMNS} FROM {{state}}.request WHERE state = 'waiting' AND kind IN ({marks(kinds)})"
        " ORDER BY id LIMIT 1 FOR UPDATE",
        kinds,
    )
    if row is None:
        return None
    tx.execute("UPDATE {state}.request SET state = 'running', done = 0, total = 0 WHERE id = %s", (row[0],))
    return _made(row)


def tell(tx: Transaction, number: int, progress: Progress) -> None:
    """Note the progress of a request."""
    tx.execute("UPDATE {state}.request SET done = %s, total = %s WHERE id = %s", (*progress, number))


def finish(tx: Transaction, number: int, state: State, message: str) -> None:
    """Write the result of a request."""
    tx.execute("UPDATE {state}.request SET state = %s, message = %s WHERE id = %s", (state, _short(message), number))


def take_up(tx: Transaction, kinds: Sequence[str]) -> None:
    """Let requests wait again that a former leader has begun, and delete those that are long over."""
    tx.execute(
        f"UPDATE {{state}}.request SET state = 'waiting' WHERE state = 'running' AND kind IN ({marks(kinds)})", kinds
    )
    tx.execute(
        "DELETE FROM {state}.request WHERE state IN ('done', 'failed') AND asked < UTC_TIMESTAMP(3) - INTERVAL %s DAY",
        (KEPT,),
    )


def _short(message: str) -> str:
    return message if len(message) <= MESSAGE else message[: MESSAGE - 4] + " ..."


def _made(row: Row) -> Request:
    number, kind, argument, state, done, total, message, asked_by = row
    return Request(int(number), kind, json.loads(argument), state, int(done), int(total), str(message), str(asked_by))
