"""What belongs to a table by name goes with it as on a DROP, and comes back so that Hive reads what it read before."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency import journal
from hopshive.database import Contention
from hopshive.metastore import transactional
from hopshive.metastore.closure import graph
from hopshive.metastore.transactional import ABORTED_BECAUSE, Scope, ceiling
from tests.support.journal_world import FS, JournalWorld, open_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.support.metastore_rows import Made
    from tests.support.servers import MariaDB

NAMED = (
    "TXN_COMPONENTS",
    "COMPLETED_TXN_COMPONENTS",
    "COMPACTION_QUEUE",
    "COMPLETED_COMPACTIONS",
    "COMPACTION_METRICS_CACHE",
    "TXN_TO_WRITE_ID",
    "NEXT_WRITE_ID",
)


@pytest.fixture
def world(mariadb: MariaDB, hive_home: Path) -> Iterator[JournalWorld]:
    with open_world(mariadb, hive_home) as opened:
        yield opened


def two_tables(world: JournalWorld) -> tuple[Made, Made, Made, list[Made]]:
    """Two transactional tables, the first with partitions that differ by case only."""
    with world.write() as write:
        database = write.database("d")
        first, second = write.table(database, "t", acid=True), write.table(database, "u", acid=True)
        partitions = write.partitions(first, ["p=A", "p=a"])
        write.transaction(40, "a")
        for table in (first, second):
            write.wrote(table, 50, 1)
            write.next_write(table, 5)
            write.compaction(table)
        for name in ("p=A", "p=a"):
            write.compaction(first, "r", name)
        write.wrote(first, 40, 2, "p=A", done=False)
        write.wrote(first, 51, 3, "p=A")
        write.wrote(first, 52, 4, "p=a")
    return database, first, second, partitions


def names(world: JournalWorld, table: str, prefix: str) -> list[tuple[Any, ...]]:
    """Table and partition of the rows of a table."""
    partition = "NULL" if prefix in ("T2W", "NWI") else f"{prefix}_PARTITION"
    return world.metastore.execute(f"SELECT {prefix}_TABLE, {partition} FROM {table} ORDER BY 1, 2")


def test_a_partition_takes_its_own_and_leaves_write_ids_to_the_table(world: JournalWorld) -> None:
    _database, _first, _second, partitions = two_tables(world)
    before = world.dump()
    world.remove(partitions[0])
    after = world.dump()
    assert "TXN_COMPONENTS" not in after
    assert names(world, "COMPLETED_TXN_COMPONENTS", "CTC") == [("t", None), ("t", "p=a"), ("u", None)]
    assert names(world, "COMPACTION_QUEUE", "CQ") == [("t", None), ("t", "p=a"), ("u", None)]
    assert names(world, "COMPACTION_METRICS_CACHE", "CMC") == [("t", None), ("t", "p=a"), ("u", None)]
    for kept in ("TXN_TO_WRITE_ID", "NEXT_WRITE_ID", "TXNS"):
        assert after[kept] == before[kept]
    world.restore()
    assert world.dump() == before


def test_a_table_takes_all_under_its_name_and_nothing_else(world: JournalWorld) -> None:
    _database, first, _second, _partitions = two_tables(world)
    before = world.dump()
    world.remove(first)
    for table, prefix in zip(NAMED, ("TC", "CTC", "CQ", "CC", "CMC", "T2W", "NWI"), strict=True):
        assert {row[0] for row in names(world, table, prefix)} == ({"u"} if table != "TXN_COMPONENTS" else set())
    world.restore()
    assert world.dump() == before


def test_names_are_of_one_case_but_for_partitions(world: JournalWorld) -> None:
    two_tables(world)
    with world.database.transaction() as tx:
        assert transactional.take(tx, graph(tx), []) == {}
        assert transactional.take(tx, graph(tx), [Scope(3, "D", "T", "P=A")]) == {3: {}}
        taken = transactional.take(tx, graph(tx), [Scope(3, "D", "T", "p=A"), Scope(4, "D", "U", "p=A")])
    assert taken[4] == {}
    assert set(taken[3]) == {"TXNS", *NAMED} - {"NEXT_WRITE_ID"}


def test_a_database_takes_what_tables_before_have_left(world: JournalWorld) -> None:
    database, _first, _second, _partitions = two_tables(world)
    with world.write() as write:
        write.insert("NEXT_WRITE_ID", NWI_DATABASE="d", NWI_TABLE="long gone", NWI_NEXT=9)
        write.insert("NEXT_WRITE_ID", NWI_DATABASE="dd", NWI_TABLE="t", NWI_NEXT=9)
    before = world.dump()
    world.remove(database, limit=1)
    assert not (set(NAMED) - {"NEXT_WRITE_ID"}) & world.dump().keys()
    assert world.metastore.execute("SELECT NWI_DATABASE FROM NEXT_WRITE_ID") == [("dd",)]
    world.restore(limit=1)
    assert world.dump() == before


def test_a_table_that_is_not_transactional_leaves_them_alone(world: JournalWorld) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t")
        write.compaction(table)
    before = world.dump()
    world.remove(table)
    assert world.dump()["COMPACTION_QUEUE"] == before["COMPACTION_QUEUE"]


# --- open transactions ------------------------------------------------------------------------------------------------


def open_writers(world: JournalWorld, table: Made) -> None:
    """60 writes to p=A, 61 to any partition, 62 has a write id only, 63 reads, 64 writes elsewhere."""
    with world.write() as write:
        for txn in range(60, 65):
            write.transaction(txn, "o")
            write.insert("MIN_HISTORY_LEVEL", MHL_TXNID=txn, MHL_MIN_OPEN_TXNID=60)
            row = {"MH_TXNID": txn, "MH_DATABASE": "d", "MH_TABLE": "t", "MH_WRITEID": 1}
            write.insert("MIN_HISTORY_WRITE_ID", [row])
            lock = {"HL_LOCK_EXT_ID": txn, "HL_LOCK_INT_ID": 1, "HL_TXNID": txn, "HL_DB": "d", "HL_TABLE": "t"}
            lock |= {"HL_LOCK_STATE": "a", "HL_LOCK_TYPE": "r", "HL_LAST_HEARTBEAT": 0, "HL_USER": "u", "HL_HOST": "h"}
            write.insert("HIVE_LOCKS", [lock])
        write.wrote(table, 60, 5, "p=A", done=False)
        write.wrote(table, 61, 6, None, done=False)
        write.insert("TXN_TO_WRITE_ID", T2W_TXNID=62, T2W_DATABASE="d", T2W_TABLE="t", T2W_WRITEID=7)
        row = {"TC_TXNID": 64, "TC_DATABASE": "d", "TC_TABLE": "u", "TC_OPERATION_TYPE": "i", "TC_WRITEID": 1}
        write.insert("TXN_COMPONENTS", [row])


def states(world: JournalWorld) -> dict[int, str]:
    """Of the transactions above."""
    return dict(world.metastore.execute("SELECT TXN_ID, TXN_STATE FROM TXNS WHERE TXN_ID >= 60"))


def test_writers_of_a_table_are_aborted_with_it(world: JournalWorld) -> None:
    _database, first, _second, _partitions = two_tables(world)
    open_writers(world, first)
    world.remove(first)
    assert states(world) == {60: "a", 61: "a", 62: "a", 63: "o", 64: "o"}
    for table, column in (
        ("HIVE_LOCKS", "HL_TXNID"),
        ("MIN_HISTORY_LEVEL", "MHL_TXNID"),
        ("MIN_HISTORY_WRITE_ID", "MH_TXNID"),
    ):
        assert world.metastore.execute(f"SELECT {column} FROM {table} ORDER BY 1") == [(63,), (64,)]
    assert world.metastore.execute("SELECT TXN_META_INFO FROM TXNS WHERE TXN_ID = 60") == [(ABORTED_BECAUSE,)]
    # Nothing of them is left that a table made again under the name would meet.
    assert names(world, "TXN_COMPONENTS", "TC") == [("u", None)]
    assert {row[0] for row in names(world, "TXN_TO_WRITE_ID", "T2W")} == {"u"}


def test_writers_that_name_a_partition_are_aborted_with_it_and_stay_known(world: JournalWorld) -> None:
    _database, first, _second, partitions = two_tables(world)
    open_writers(world, first)
    world.remove(partitions[0])
    assert states(world) == {60: "a", 61: "o", 62: "o", 63: "o", 64: "o"}
    # For Hive's cleaner, should the writer make the directory again; what was aborted long ago needs none.
    rows = world.metastore.execute("SELECT TC_TXNID, TC_PARTITION FROM TXN_COMPONENTS ORDER BY 1")
    assert rows == [(60, "p=A"), (61, None), (64, None)]
    assert len(names(world, "TXN_TO_WRITE_ID", "T2W")) == 8


def test_what_was_open_comes_back_aborted(world: JournalWorld) -> None:
    _database, first, _second, _partitions = two_tables(world)
    open_writers(world, first)
    before = world.dump()
    world.remove(first)
    # Hive's housekeeping forgets aborted transactions without components.
    world.metastore.execute("DELETE FROM TXNS WHERE TXN_ID IN (40, 60, 61, 62)")
    assert world.restore().conflicts == []
    after = world.dump()
    assert states(world) == {60: "a", 61: "a", 63: "o", 64: "o"}
    for table in NAMED:
        assert after[table] == before[table]


def test_a_writer_that_commits_in_this_moment_is_not_aborted(world: JournalWorld) -> None:
    _database, first, _second, _partitions = two_tables(world)
    with world.write() as write:
        write.transaction(60, "o")
        write.wrote(first, 60, 5, None, done=False)
    committing = world.metastore.database()
    thread = threading.Thread(target=world.remove, args=(first,))
    with committing.transaction() as tx:
        tx.execute("SELECT TXN_ID FROM TXNS WHERE TXN_ID = 60 FOR UPDATE")
        thread.start()
        thread.join(0.3)
        tx.execute(
            "INSERT INTO COMPLETED_TXN_COMPONENTS (CTC_TXNID, CTC_DATABASE, CTC_TABLE, CTC_UPDATE_DELETE)"
            " VALUES (60, 'd', 't', 'N')"
        )
        tx.execute("DELETE FROM TXN_COMPONENTS WHERE TC_TXNID = 60")
        tx.execute("UPDATE TXNS SET TXN_STATE = 'c' WHERE TXN_ID = 60")
    committing.close()
    thread.join(10)
    assert states(world) == {60: "c"}
    assert ("t", None) not in names(world, "COMPLETED_TXN_COMPONENTS", "CTC")
    world.restore()
    assert names(world, "COMPLETED_TXN_COMPONENTS", "CTC").count(("t", None)) == 2


def test_a_row_that_comes_between_reading_and_deleting_is_not_lost(
    world: JournalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    _database, first, _second, _partitions = two_tables(world)
    before = world.dump()
    add = transactional._add

    def and_somebody_else(*arguments: Any) -> None:
        add(*arguments)
        if arguments[1] != "COMPLETED_TXN_COMPONENTS":
            return
        monkeypatch.undo()
        with world.metastore.database().transaction() as tx:
            tx.execute(
                "INSERT INTO COMPLETED_TXN_COMPONENTS (CTC_TXNID, CTC_DATABASE, CTC_TABLE, CTC_PARTITION,"
                " CTC_UPDATE_DELETE) VALUES (90, 'd', 't', 'p=A', 'N')"
            )

    monkeypatch.setattr(transactional, "_add", and_somebody_else)
    removal = world.begin()
    with pytest.raises(Contention, match="COMPLETED_TXN_COMPONENTS"), world.database.transaction() as tx:
        journal.remove_next(tx, removal, [first.sd_id], FS, 1000)
    monkeypatch.undo()
    assert len(world.dump()["COMPLETED_TXN_COMPONENTS"]) == len(before["COMPLETED_TXN_COMPONENTS"]) + 1
    world.remove(first, removal=removal)
    assert {row[0] for row in names(world, "COMPLETED_TXN_COMPONENTS", "CTC")} == {"u"}


# --- coming back --------------------------------------------------------------------------------------------------------


def test_what_a_table_of_the_same_name_left_does_not_clash(world: JournalWorld) -> None:
    database, first, _second, _partitions = two_tables(world)
    before = world.dump()
    world.remove(first)
    # Made again, written to, and dropped with its data kept, which keeps its write ids.
    with world.write() as write:
        again = write.table(database, "t", acid=True)
        for txn, number in ((90, 1), (50, 2), (91, 30)):
            write.wrote(again, txn, number)
        write.next_write(again, 31)
    world.metastore.execute(
        f"DELETE FROM SDS WHERE SD_ID = {again.sd_id}",
        "DELETE FROM COMPLETED_TXN_COMPONENTS WHERE CTC_TABLE = 't'",
    )
    assert world.restore().conflicts == []
    after = world.dump()
    for table in NAMED:
        assert after[table] == before[table]


def test_a_compaction_that_was_running_waits_again(world: JournalWorld) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t", acid=True)
        number = write.compaction(table, "w")
        write.compaction(table, "r")
    before = world.dump()
    world.remove(table)
    world.restore()
    after = world.dump()
    columns = "CQ_STATE, CQ_WORKER_ID, CQ_START"
    query = f"SELECT {columns} FROM COMPACTION_QUEUE WHERE CQ_ID = {number}"
    assert world.metastore.execute(query) == [("i", None, None)]
    world.metastore.execute("UPDATE COMPACTION_QUEUE SET CQ_STATE = 'w', CQ_WORKER_ID = 'w' WHERE CQ_STATE = 'i'")
    assert world.dump() == before
    assert before != after


def test_rows_without_a_key_come_back_as_often_as_they_were(world: JournalWorld) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t", acid=True)
        (one,) = write.partitions(table, ["p=1"])
        row = {"CTC_TXNID": 5, "CTC_DATABASE": "d", "CTC_TABLE": "t", "CTC_PARTITION": "p=1", "CTC_UPDATE_DELETE": "N"}
        write.insert("COMPLETED_TXN_COMPONENTS", [row | {"CTC_TIMESTAMP": "2024-01-01 00:00:00"}] * 3)
    before = world.dump()
    for _ in range(2):
        world.remove(one)
        world.restore()
        assert world.dump() == before


def test_aborted_writes_of_a_partition_stay_aborted_when_hive_has_forgotten_them(world: JournalWorld) -> None:
    _database, _first, _second, partitions = two_tables(world)
    with world.write() as write:
        write.transaction(70, "c")
        write.transaction(75, "o")
    world.remove(partitions[0])
    # Housekeeping: no transaction below 75 is open or aborted.
    world.metastore.execute("DELETE FROM TXNS WHERE TXN_ID IN (40, 70)", "DELETE FROM TXN_TO_WRITE_ID")
    assert world.restore().conflicts == []
    assert world.metastore.execute("SELECT TXN_STATE FROM TXNS WHERE TXN_ID = 40") == [("a",)]
    # The aborted write, and one that has ended for the newest, which is NEXT_WRITE_ID - 1.
    rows = world.metastore.execute("SELECT T2W_TXNID, T2W_WRITEID FROM TXN_TO_WRITE_ID ORDER BY 1")
    assert rows == [(40, 2), (74, 4)]
    assert names(world, "TXN_COMPONENTS", "TC") == [("t", "p=A")]


def test_a_partition_whose_aborted_writes_cannot_be_told_apart_waits(world: JournalWorld) -> None:
    _database, _first, _second, partitions = two_tables(world)
    with world.write() as write:
        write.transaction(41, "o")
    world.remove(*partitions)
    world.metastore.execute("DELETE FROM TXNS WHERE TXN_ID = 40", "DELETE FROM TXN_TO_WRITE_ID")
    progress = world.restore()
    assert [one.name for one in progress.restored] == ["hive.d.t/p=a"]
    assert progress.conflicts == [
        "partition hive.d.t/p=A: Hive has forgotten which of its table's writes were aborted, and no transaction has ended"
        " since that could stand for the newest one. Restore it again after the next query."
    ]
    assert world.metastore.execute("SELECT 1 FROM TXN_TO_WRITE_ID") == []
    world.metastore.execute("UPDATE TXNS SET TXN_STATE = 'c' WHERE TXN_ID = 41")
    assert world.restore().conflicts == []


@pytest.mark.parametrize(
    ("known", "newest", "low", "oldest", "wanted"),
    [
        ({}, None, 10, 3, []),
        ({3: 5}, 5, 10, 3, []),
        ({3: 5, 20: 9}, 9, 10, 3, []),
        ({3: 5}, 9, 10, 3, [(9, 9)]),
        ({3: 5, 9: 6, 8: 7}, 9, 10, 3, [(7, 9)]),
        ({3: 5, 4: 6}, 9, 5, 3, None),
        ({3: 5}, 9, 4, 3, None),
    ],
)
def test_the_newest_write_id_gets_a_transaction_that_has_ended(
    known: dict[int, int], newest: int | None, low: int, oldest: int, wanted: list[tuple[int, int]] | None
) -> None:
    assert ceiling(known, newest, low, oldest) == wanted
