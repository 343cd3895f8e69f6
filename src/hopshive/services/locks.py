"""Aborts transactions that an ended HiveServer2 has left open, through a metastore over Thrift.

Field numbers are those of hive_metastore.thrift (Hive 4.0). HiveServer2 (DbTxnManager) requests the locks of a statement
with the query's id, and the statement's transaction holds them to its end. The transaction itself names only the host and
the user of the process.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hopshive.metastore.thrift import TType
from hopshive.services.health import NoAnswer, call_metastore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

Answer = TypeVar("Answer")
# Seconds to wait for one answer.
TIMEOUT = 30.0
# A transaction without a lock for so many seconds was not about to request one.
LOCKLESS_SECONDS = 2.0
# Fields of ShowLocksResponseElement, ShowCompactResponseElement and TxnInfo, and a value of TxnState.
_TXNID, _AGENT_INFO = 7, 13
_COMPACTION_TXNID = 22
_ID, _STATE, _USER, _HOST = 1, 2, 3, 4
_OPEN = 3


@dataclass(frozen=True)
class Process:
    """The user and the host of a HiveServer2, as its transactions name them.

    A HiveServer2 that acts as the people of its sessions has transactions of many users: `user` is then empty.
    """

    user: str
    host: str


def opened(process: Process, metastores: Iterable[str]) -> set[int]:
    """The open transactions of a process, from the first metastore that answers; empty without an answer."""
    with suppress(NoAnswer):
        return _first(metastores, lambda place: _open_of(place, process))
    return set()


def abandon(
    process: Process,
    metastores: Sequence[str],
    patience: float,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[int]:
    """Abort all open transactions of an ended process, and return their numbers. No other process of its user and host runs.

    Transactions of compactions stay: a metastore of that user and host may run them. `metastores`: `host:port`, any may
    be down; they are asked for up to `patience` seconds. Raises NoAnswer.
    """
    end = now() + patience
    while True:
        try:
            return _first(metastores, lambda place: _abandon(place, process), more=lambda: now() < end)
        except NoAnswer:
            if now() >= end:
                raise
        sleep(1)


def abort(
    queries: Collection[str],
    process: Process,
    metastores: Iterable[str],
    before: Collection[int],
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, list[int]]:
    """Abort the open transactions of some queries of an ended process; returns their numbers by the query's id.

    Queries without a lock (still compiling, or reading no table) cannot be told apart: each gets all transactions of
    `before` that hold no lock and belong to no compaction. `before`: the transactions that the process had open when it
    ended; the next process has the same user and host. `metastores`: `host:port`, any may be down. Raises NoAnswer.
    """
    return _first(metastores, lambda place: _abort(place, queries, process, before, sleep), " did not abort it")


def _first(
    metastores: Iterable[str], ask: Callable[[str], Answer], failed: str = "", more: Callable[[], bool] = lambda: True
) -> Answer:
    """The answer of the first metastore that gives one. After a failure, the next one is asked only while `more()` is true.

    Raises NoAnswer with the failure of each.
    """
    errors: list[str] = []
    for place in metastores:
        if errors and not more():
            break
        try:
            return ask(place)
        except NoAnswer as error:
            errors.append(f"The metastore at {place}{failed}: {error}.")
    raise NoAnswer(" ".join(errors) or "No metastore is known.")


def _abandon(place: str, process: Process) -> list[int]:
    found = _open_of(place, process)
    numbers = sorted(found - _compactions(place)) if found else []
    _abort_all(place, numbers)
    return numbers


def _abort(
    place: str,
    queries: Collection[str],
    process: Process,
    before: Collection[int],
    sleep: Callable[[float], None],
) -> dict[str, list[int]]:
    locks = _locks(place)
    found = transactions(locks, queries)
    lockless = unlocked(_open(place), locks, process).intersection(before)
    if lockless and len(found) < len(queries):
        sleep(LOCKLESS_SECONDS)
        lockless &= unlocked(_open(place), _locks(place), process) - _compactions(place)
        if lockless:
            found |= {query: sorted(lockless) for query in queries if query not in found}
    numbers = sorted({number for several in found.values() for number in several})
    _abort_all(place, numbers)
    return found


def _abort_all(place: str, numbers: Sequence[int]) -> None:
    if numbers:
        request = {1: (TType.LIST, (TType.I64, list(numbers)))}
        call_metastore(place, "abort_txns", {1: (TType.STRUCT, request)}, TIMEOUT)


def _locks(place: str) -> list[dict[int, Any]]:
    locks: list[dict[int, Any]] = call_metastore(place, "show_locks", {1: (TType.STRUCT, {})}, TIMEOUT).get(1, [])
    return locks


def _compactions(place: str) -> set[int]:
    """The transactions of all compactions that the metastores list, ended ones too."""
    listed = call_metastore(place, "show_compact", {1: (TType.STRUCT, {})}, TIMEOUT).get(1, [])
    return {compaction[_COMPACTION_TXNID] for compaction in listed if _COMPACTION_TXNID in compaction}


def _open_of(place: str, process: Process) -> set[int]:
    return {transaction[_ID] for transaction in _open(place) if _is_open(transaction, process)}


def _open(place: str) -> list[dict[int, Any]]:
    opened: list[dict[int, Any]] = call_metastore(place, "get_open_txns_info", {}, TIMEOUT).get(2, [])
    return opened


def transactions(locks: Iterable[dict[int, Any]], queries: Collection[str]) -> dict[str, list[int]]:
    """The transactions that hold locks for some queries, by the query's id."""
    found: dict[str, set[int]] = {}
    for lock in locks:
        query = lock.get(_AGENT_INFO, b"").decode(errors="replace")
        if query in queries and lock.get(_TXNID):
            found.setdefault(query, set()).add(lock[_TXNID])
    return {query: sorted(numbers) for query, numbers in found.items()}


def unlocked(found: Iterable[dict[int, Any]], locks: Iterable[dict[int, Any]], process: Process) -> set[int]:
    """The open transactions of a process that hold no lock."""
    locking = {lock.get(_TXNID) for lock in locks}
    return {
        transaction[_ID] for transaction in found if _is_open(transaction, process) and transaction[_ID] not in locking
    }


def _is_open(transaction: dict[int, Any], process: Process) -> bool:
    of_user = not process.user or transaction[_USER] == process.user.encode()
    return bool(transaction[_STATE] == _OPEN and of_user and transaction[_HOST] == process.host.encode())
