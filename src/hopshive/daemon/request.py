"""What humans ask of the leader: rows of {state}.request, by which commands and daemon talk to each other.

A command writes a row and watches it; the leader takes it, tells how far it is, and writes the result. So only the leader
writes to the metastore, whoever asks. Each kind may be begun again: what a leader did not finish, its successor does.
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

Kind = Literal["sync", "restore", "approve", "collect"]
State = Literal["waiting", "running", "done", "failed"]
# How much of a result is kept, in characters.
MESSAGE = 4000
# Days for which what is over is kept.
KEPT = 30

_COLUMNS = "id, kind, argument, state, done, total, message, asked_by"

# Objects done and in all, 0 while that is unknown.
Progress = tuple[int, int]
# Does what is asked a little at a time, between other work; its value is the sentence that the human reads.
Doing = Generator[Progress, None, str]
Handler = Callable[[Mapping[str, Any]], Doing]


class RequestFailed(Exception):
    """It cannot be done; the message is a sentence for who asked."""


@dataclass(frozen=True)
class Request:
    """One row. `message` is the result, or what went wrong."""

    id: int
    kind: Kind
    argument: Mapping[str, Any]
    state: State
    done: int
    total: int
    message: str
    asked_by: str

    @property
    def over(self) -> bool:
        """Whether nothing happens to it any more."""
        return self.state in ("done", "failed")


# --- who asks ---------------------------------------------------------------------------------------------------------


def ask(tx: Transaction, kind: Kind, argument: Mapping[str, Any], asked_by: str) -> int:
    """Ask for something; the request's number."""
    tx.execute(
        "INSERT INTO {state}.request (kind, argument, asked, asked_by, state)"
        " VALUES (%s, %s, UTC_TIMESTAMP(3), %s, 'waiting')",
        (kind, json.dumps(argument).encode(), asked_by[:255]),
    )
    return tx.last_id


def read(tx: Transaction, number: int) -> Request | None:
    """A request as it is now."""
    row = tx.row(f"SELECT {_COLUMNS} FROM {{state}}.request WHERE id = %s", (number,))
    return _made(row) if row else None


def withdraw(tx: Transaction, number: int) -> bool:
    """Take back what nobody has begun; whether that was so."""
    return bool(tx.execute("DELETE FROM {state}.request WHERE id = %s AND state = 'waiting'", (number,)))


# --- who does it ------------------------------------------------------------------------------------------------------


def waiting(tx: Transaction, kinds: Sequence[str]) -> bool:
    """Whether something of these kinds was asked for."""
    sql = f"SELECT EXISTS (SELECT 1 FROM {{state}}.request WHERE state = 'waiting' AND kind IN ({marks(kinds)}))"
    return bool(tx.value(sql, kinds))


def take(tx: Transaction, kinds: Sequence[str]) -> Request | None:
    """Begin the oldest of these kinds."""
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
    """Say how far it is."""
    tx.execute("UPDATE {state}.request SET done = %s, total = %s WHERE id = %s", (*progress, number))


def finish(tx: Transaction, number: int, state: State, message: str) -> None:
    """Write the result."""
    tx.execute("UPDATE {state}.request SET state = %s, message = %s WHERE id = %s", (state, _short(message), number))


def take_up(tx: Transaction, kinds: Sequence[str]) -> None:
    """What a former leader has begun is begun again; what is long over is forgotten."""
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
