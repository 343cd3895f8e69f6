"""Which open transactions belonged to a HiveServer2 that ended."""

from __future__ import annotations

from typing import Any

from hopshive.services.locks import Process, transactions, unlocked

PROCESS = Process("hive", "one")


def test_the_transactions_of_a_query_are_those_that_hold_its_locks() -> None:
    locks: list[dict[int, Any]] = [
        {7: 17, 13: b"q1"},
        {7: 17, 13: b"q1"},
        {7: 18, 13: b"q2"},
        {7: 0, 13: b"q1"},
        {13: b"q1"},
        {7: 19},
    ]
    assert transactions(locks, {"q1"}) == {"q1": [17]}


def test_a_transaction_without_locks_is_known_by_its_process_alone() -> None:
    states = {"open": 3, "aborted": 2}
    opened: list[dict[int, Any]] = [
        {1: number, 2: states[state], 3: user, 4: host}
        for number, state, user, host in (
            (17, "open", b"hive", b"one"),
            (18, "aborted", b"hive", b"one"),
            (19, "open", b"spark", b"one"),
            (20, "open", b"hive", b"two"),
            (21, "open", b"hive", b"one"),
        )
    ]
    assert unlocked(opened, [{7: 21, 13: b"q2"}], PROCESS) == {17}


def test_a_hiveserver2_that_acts_as_people_has_transactions_of_each_user_of_its_host() -> None:
    opened: list[dict[int, Any]] = [
        {1: number, 2: 3, 3: user, 4: host}
        for number, user, host in ((17, b"sales__alice", b"one"), (18, b"hive", b"one"), (19, b"sales__alice", b"two"))
    ]
    assert unlocked(opened, [], Process("", "one")) == {17, 18}
