"""Transactions of a HiveServer2 that was killed, as a restart or its next start finds and aborts them."""

from __future__ import annotations

import os
from typing import Any

import pytest

from hopshive.metastore.thrift import Fields, TType
from hopshive.services.health import call_metastore
from hopshive.services.locks import Process, abandon, abort
from hopshive.services.locks import opened as known

pytestmark = pytest.mark.group("metastore")
# Another one in each run: what a failed one has left is not this one's.
OWN, OTHER = Process("hive", f"killed-{os.getpid()}.invalid"), Process("hive", "alive.invalid")
OPEN = 3
# LockType SHARED_READ, LockLevel DB, DataOperationType SELECT.
SHARED_READ, DB, SELECT = 1, 1, 1


def call(place: str, method: str, request: Fields) -> dict[int, Any]:
    return call_metastore(place, method, {1: (TType.STRUCT, request)}, 30)


def opened(place: str, process: Process, query: str = "") -> int:
    """A new transaction of a process; with a lock, if it is that of a query."""
    names: Fields = {2: (TType.STRING, process.user), 3: (TType.STRING, process.host)}
    number: int = call(place, "open_txns", {1: (TType.I32, 1), **names})[1][0]
    if query:
        kind: Fields = {1: (TType.I32, SHARED_READ), 2: (TType.I32, DB), 6: (TType.I32, SELECT)}
        component: Fields = {**kind, 3: (TType.STRING, "default")}
        owner: Fields = {3: (TType.STRING, process.user), 4: (TType.STRING, process.host), 5: (TType.STRING, query)}
        locks = (TType.LIST, (TType.STRUCT, [component]))
        call(place, "lock", {1: locks, 2: (TType.I64, number), **owner})
    return number


def open_of(place: str, numbers: set[int]) -> set[int]:
    found = call_metastore(place, "get_open_txns_info", {}, 30)[2]
    return {transaction[1] for transaction in found if transaction[2] == OPEN} & numbers


def test_those_of_its_queries_are_aborted_and_no_others(host: Any) -> None:
    place = f"{host.run('hostname -i').stdout.split()[0]}:9083"
    queries = {"locking", "reading nothing"}
    locking, lockless = opened(place, OWN, "locking"), opened(place, OWN)
    stays = {opened(place, OTHER, "of another"), opened(place, OTHER), opened(place, OWN, "of another session")}
    try:
        # The first metastore does not answer. What was opened later is the next process's.
        before = known(OWN, ["127.0.0.1:1", place])
        later = opened(place, OWN)
        stays |= {later}
        found = abort(queries, OWN, ["127.0.0.1:1", place], before)
        assert found == {"locking": [locking], "reading nothing": [lockless]}
        assert open_of(place, {locking, lockless, *stays}) == stays
    finally:
        call(place, "abort_txns", {1: (TType.LIST, (TType.I64, sorted(stays)))})


def test_all_of_a_killed_one_are_aborted_and_no_others(host: Any) -> None:
    place = f"{host.run('hostname -i').stdout.split()[0]}:9083"
    left, stays = {opened(place, OWN, "one"), opened(place, OWN)}, {opened(place, OTHER, "of another")}
    try:
        assert set(abandon(OWN, ["127.0.0.1:1", place], 10)) >= left
        assert open_of(place, left | stays) == stays
    finally:
        call(place, "abort_txns", {1: (TType.LIST, (TType.I64, sorted(stays)))})
