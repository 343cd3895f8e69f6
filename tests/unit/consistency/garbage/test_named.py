"""Transactional state of a table that is no more goes; while anything says that the name is alive, it stays."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency.garbage import GUARD, named
from tests.support.garbage_world import CONFIG, LATER, GarbageWorld, Rows
from tests.support.metastore_rows import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.metastore_db import Metastore


@pytest.fixture
def world(metastore: Metastore) -> Iterator[GarbageWorld]:
    """An empty metastore with a database `d`."""
    rows = Rows(metastore)
    rows.clear()
    rows.database()
    database = metastore.database()
    yield GarbageWorld(rows, database)
    database.close()
    rows.close()


LEFT = (
    "INSERT INTO NEXT_WRITE_ID VALUES ('d', 't', 8)",
    "INSERT INTO TXN_TO_WRITE_ID VALUES (6, 'd', 't', 6), (7, 'd', 't', 7)",
    "INSERT INTO COMPLETED_TXN_COMPONENTS VALUES (7, 'd', 't', NULL, NOW(), 7, 'N'), (7, 'd', 't', 'p=1', NOW(), 7, 'N')",
    "INSERT INTO COMPLETED_COMPACTIONS (CC_ID, CC_DATABASE, CC_TABLE, CC_STATE, CC_TYPE) VALUES (1, 'd', 't', 's', 'a')",
    "INSERT INTO COMPACTION_QUEUE (CQ_ID, CQ_DATABASE, CQ_TABLE, CQ_STATE, CQ_TYPE) VALUES (2, 'd', 't', 'i', 'a')",
    "INSERT INTO COMPACTION_METRICS_CACHE VALUES ('d', 't', NULL, 'NUM_DELTAS', 3, 1)",
)
TABLES = [one.table for one in named.NAMED]
TXN = "INSERT INTO TXNS (TXN_ID, TXN_STATE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST) VALUES (7, '{}', 0, 0, '', '')"


def _left(world: GarbageWorld) -> list[int]:
    return [world.rows.count(table) for table in TABLES]


def test_what_a_table_left_goes(world: GarbageWorld) -> None:
    world.rows.run(*LEFT)
    world.sweep(world.collector())
    assert _left(world) == [0] * 6


@pytest.mark.parametrize(
    "sign",
    [
        "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, TBL_NAME) VALUES (1, 0, 1, 0, 0, 't')",
        TXN.format("o"),
        TXN.format("a") + "; INSERT INTO TXN_COMPONENTS VALUES (7, 'd', 't', NULL, 'i', 7)",
        "INSERT INTO HIVE_LOCKS (HL_LOCK_EXT_ID, HL_LOCK_INT_ID, HL_TXNID, HL_DB, HL_TABLE, HL_LOCK_STATE, HL_LOCK_TYPE,"
        " HL_LAST_HEARTBEAT, HL_USER, HL_HOST) VALUES (1, 1, 0, 'd', 't', 'a', 'r', 0, '', '')",
        "INSERT INTO TXNS VALUES (9, 'o', 0, 0, '', '', '', '', 0, 0); INSERT INTO MIN_HISTORY_WRITE_ID VALUES (9, 'd', 't', 7)",
        "INSERT INTO COMPACTION_QUEUE (CQ_ID, CQ_DATABASE, CQ_TABLE, CQ_STATE, CQ_TYPE) VALUES (3, 'd', 't', 'r', 'a')",
    ],
    ids=["table", "open write", "aborted write", "lock", "reader", "waiting to be cleaned"],
)
def test_a_name_that_is_alive_is_spared(world: GarbageWorld, sign: str) -> None:
    world.rows.run(*LEFT, *sign.split("; "))
    before = _left(world)
    world.sweep(world.collector())
    assert _left(world) == before


def test_another_table_keeps_its_state(world: GarbageWorld) -> None:
    world.rows.table(1, None, "u")
    world.rows.run(*LEFT, *(statement.replace("'t'", "'u'").replace("(1, 'd'", "(11, 'd'").replace("(2, 'd'", "(12, 'd'")
                            for statement in LEFT))  # fmt: skip
    world.sweep(world.collector())
    assert _left(world) == [2, 1, 1, 1, 2, 1]


def test_names_wait_as_long_as_a_rename_may_take(world: GarbageWorld) -> None:
    """TxnHandler commits the new name first, ObjectStore later."""
    world.rows.run(LEFT[0])
    collector = world.collector()
    world.settle(collector)
    world.clock.now += GUARD + 1
    world.settle(collector)
    assert world.rows.count("NEXT_WRITE_ID") == 1
    world.clock.now += CONFIG.mirror.rename_grace
    world.settle(collector)
    assert world.rows.count("NEXT_WRITE_ID") == 0


def test_much_goes_a_part_at_a_time_and_the_counter_last(world: GarbageWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "MAX_ROWS", 10)
    world.rows.run(LEFT[0], f"INSERT INTO TXN_TO_WRITE_ID SELECT seq, 'd', 't', seq FROM {numbers(1, 35)}")
    names = named.Names()
    steps = []
    left: list[object] = [("d", "t")]
    while left:
        with world.database.transaction() as tx:
            left = names.collect(tx, [("d", "t")]).left
        steps.append((world.rows.count("TXN_TO_WRITE_ID"), world.rows.count("NEXT_WRITE_ID")))
    assert steps == [(25, 1), (15, 1), (5, 1), (0, 0)]


def test_without_a_counter_none_is_left_behind(world: GarbageWorld) -> None:
    world.rows.run(LEFT[1], TXN.format("o"))
    with world.database.transaction() as tx:
        assert named.Names().collect(tx, [("d", "t")]).total == 0
    assert world.rows.count("NEXT_WRITE_ID") == 0
    world.rows.run("DELETE FROM TXNS")
    with world.database.transaction() as tx:
        assert named.Names().collect(tx, [("d", "t")]).rows == {"TXN_TO_WRITE_ID": 2}
    assert [world.rows.count(table) for table in ("TXN_TO_WRITE_ID", "NEXT_WRITE_ID")] == [0, 0]


@pytest.mark.parametrize("counter", [True, False], ids=["with a counter", "without"])
def test_a_write_id_that_is_being_allocated_is_waited_for(world: GarbageWorld, counter: bool) -> None:
    """CREATE TABLE AS SELECT under a dead name, in the order of AllocateTableWriteIdsFunction."""
    world.rows.run(*(LEFT if counter else LEFT[1:]), TXN.format("o").replace("(7,", "(20,"))
    collector = world.collector()
    world.settle(collector)
    world.clock.now += 1000
    with world.session() as session:
        if counter:
            session.execute(
                "SELECT NWI_NEXT FROM NEXT_WRITE_ID WHERE NWI_DATABASE = 'd' AND NWI_TABLE = 't' FOR UPDATE"
            )
            session.execute("UPDATE NEXT_WRITE_ID SET NWI_NEXT = 9")
        else:
            session.execute("INSERT INTO NEXT_WRITE_ID VALUES ('d', 't', 9)")
        worker = threading.Thread(target=world.settle, args=(collector,))
        worker.start()
        worker.join(0.2)
        session.execute("INSERT INTO TXN_TO_WRITE_ID VALUES (20, 'd', 't', 8)")
        session.connection.commit()
        worker.join()
    world.clock.now += LATER
    world.settle(collector)
    assert world.rows.run("SELECT NWI_NEXT FROM NEXT_WRITE_ID") == [(9,)]
    assert world.rows.count("TXN_TO_WRITE_ID") == 3


def test_it_is_counted(world: GarbageWorld) -> None:
    world.rows.run(*LEFT)
    with world.database.reading() as tx:
        assert named.Names().count(tx) == dict(zip(TABLES, _left(world), strict=True))
