"""What nothing refers to goes, what is referred to stays, and a session that writes meanwhile is not disturbed."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pymysql
import pytest
from pymysql.constants import ER

from hopshive.consistency.garbage import GUARD, ReferencesError, counts
from hopshive.consistency.garbage import collector as cleaning
from hopshive.consistency.garbage.binlog import Source, sources
from hopshive.consistency.garbage.references import kinds
from hopshive.database import LostLease
from hopshive.database.foreign_keys import ForeignKey
from tests.support.garbage_world import CONFIG, LATER, GarbageWorld, Rows, Watched
from tests.support.metastore_rows import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.database import Transaction
    from tests.support.metastore_db import Metastore


@pytest.fixture
def world(metastore: Metastore) -> Iterator[GarbageWorld]:
    """An empty metastore."""
    rows = Rows(metastore)
    rows.clear()
    database = metastore.database()
    yield GarbageWorld(rows, database)
    database.close()
    rows.close()


# --- what protects, decided without a database ------------------------------------------------------------------------


def test_an_unknown_foreign_key_protects() -> None:
    keys = [
        ForeignKey(table, "key", (column,), "CDS", ("CD_ID",))
        for table, column in (("SDS", "CD_ID"), ("SITE", "CD"), ("COLUMNS_V2", "CD_ID"))
    ]
    indexes = {("COLUMNS_V2", "CD_ID"): "PRIMARY"}
    (found,) = kinds("metastore", keys, ["CDS"], indexes)
    assert [key.table for key in found.references] == ["SDS", "SITE"]
    assert [key.table for key in found.parts] == ["COLUMNS_V2"]


def test_a_database_without_foreign_keys_is_refused() -> None:
    with pytest.raises(ReferencesError, match="No foreign key leads to SDS of the database metastore"):
        kinds("metastore", [], ["SDS", "CDS"], {})


def test_a_deleted_row_names_what_it_referred_to() -> None:
    keys = [
        ForeignKey(table, "key", (column,), to, (to_column,))
        for table, column, to, to_column in (
            ("TBLS", "SD_ID", "SDS", "SD_ID"),
            ("SDS", "CD_ID", "CDS", "CD_ID"),
            ("COLUMNS_V2", "CD_ID", "CDS", "CD_ID"),
            ("SD_PARAMS", "SD_ID", "SDS", "SD_ID"),
            ("SKEWED_VALUES", "SD_ID_OID", "SDS", "SD_ID"),
            ("SKEWED_VALUES", "STRING_LIST_ID_EID", "SKEWED_STRING_LIST", "STRING_LIST_ID"),
        )
    ]
    indexes = {(key.table, key.column): "PRIMARY" for key in keys}
    tables = ["SDS", "CDS", "SKEWED_STRING_LIST", "MV_CREATION_METADATA"]
    assert sources(kinds("metastore", keys, tables, indexes)) == {
        "TBLS": Source({"SD_ID": "SDS"}, named=True),
        "SDS": Source({"CD_ID": "CDS"}),
        "SKEWED_VALUES": Source({"STRING_LIST_ID_EID": "SKEWED_STRING_LIST"}),
        "KEY_CONSTRAINTS": Source({"PARENT_CD_ID": "CDS", "CHILD_CD_ID": "CDS"}),
    }


# --- each kind --------------------------------------------------------------------------------------------------------


def test_a_sweep_collects_each_kind_with_its_parts(world: GarbageWorld) -> None:
    rows = world.rows
    rows.columns(11)
    rows.serializer(12)
    rows.run("INSERT INTO SKEWED_STRING_LIST VALUES (13)", "INSERT INTO SKEWED_STRING_LIST_VALUES VALUES (13, 'x', 0)")
    rows.descriptor(14)
    rows.database()
    rows.table(1, None)
    rows.run(
        "INSERT INTO MV_CREATION_METADATA VALUES (15, 'hive', 'd', 'gone', '', 0)",
        "INSERT INTO MV_TABLES_USED (MV_CREATION_METADATA_ID, TBL_ID) VALUES (15, 1)",
    )
    world.sweep(world.collector())
    for table in (
        "CDS",
        "COLUMNS_V2",
        "SERDES",
        "SERDE_PARAMS",
        "SKEWED_STRING_LIST",
        "SKEWED_STRING_LIST_VALUES",
        "SDS",
        "SD_PARAMS",
        "MV_CREATION_METADATA",
        "MV_TABLES_USED",
    ):
        assert rows.count(table) == 0, table
    assert rows.count("TBLS") == 1


def test_a_descriptor_sets_free_what_it_referred_to(world: GarbageWorld) -> None:
    rows = world.rows
    rows.columns(1)
    rows.serializer(2)
    rows.descriptor(3, cd=1, serde=2)
    rows.run(
        "INSERT INTO SKEWED_STRING_LIST VALUES (4), (5)",
        "INSERT INTO SKEWED_VALUES VALUES (3, 4, 0)",
        "INSERT INTO SKEWED_COL_VALUE_LOC_MAP VALUES (3, 5, 'hdfs://lab/w/x')",
    )
    rows.candidates(SDS=3)
    world.settle(world.collector(rate=1_000_000))
    assert [rows.count(table) for table in ("SDS", "CDS", "SERDES", "SKEWED_STRING_LIST", "{state}.candidate")] == [
        0
    ] * 5


@pytest.mark.parametrize(
    ("table", "reference"),
    [
        ("CDS", "sd"),
        (
            "CDS",
            "INSERT INTO SCHEMA_VERSION (SCHEMA_VERSION_ID, VERSION, CREATED_AT, CD_ID, STATE) VALUES (1, 1, 1, 7, 1)",
        ),
        ("CDS", "parent"),
        ("CDS", "child"),
        ("SERDES", "sd"),
        (
            "SERDES",
            "INSERT INTO SCHEMA_VERSION (SCHEMA_VERSION_ID, VERSION, CREATED_AT, SERDE_ID, STATE) VALUES (1, 1, 1, 8, 1)",
        ),
        ("SKEWED_STRING_LIST", "INSERT INTO SKEWED_VALUES VALUES (1, 9, 0)"),
        ("SKEWED_STRING_LIST", "INSERT INTO SKEWED_COL_VALUE_LOC_MAP VALUES (1, 9, '')"),
    ],
)
@pytest.mark.parametrize("how", ["candidate", "sweep"])
def test_each_reference_protects(world: GarbageWorld, table: str, reference: str, how: str) -> None:
    rows = world.rows
    rows.columns(7)
    rows.serializer(8)
    rows.run("INSERT INTO SKEWED_STRING_LIST VALUES (9)")
    rows.database()
    rows.descriptor(1, *((7, 8) if reference == "sd" else ()))
    rows.table(1, 1)
    if reference in ("parent", "child"):
        rows.run(
            "INSERT INTO KEY_CONSTRAINTS (CHILD_CD_ID, PARENT_CD_ID, PARENT_INTEGER_IDX, PARENT_TBL_ID, `POSITION`,"
            " CONSTRAINT_NAME, CONSTRAINT_TYPE, ENABLE_VALIDATE_RELY) VALUES"
            f" ({7 if reference == 'child' else 'NULL'}, {7 if reference == 'parent' else 'NULL'}, 0, 1, 1, 'c', 0, 0)"
        )
    elif reference != "sd":
        rows.run(reference)
    if how == "candidate":
        rows.candidates(CDS=7, SERDES=8, SKEWED_STRING_LIST=9)
        world.settle(world.collector())
    else:
        world.sweep(world.collector())
    assert rows.count(table) == 1
    assert rows.count("{state}.candidate") == 0


@pytest.mark.parametrize("owner", ["table", "partition", "database"])
def test_a_descriptor_stays_with_its_owner(world: GarbageWorld, owner: str) -> None:
    rows = world.rows
    rows.database()
    rows.descriptor(-1 if owner == "database" else 1)
    if owner == "table":
        rows.table(1, 1)
    elif owner == "partition":
        rows.table(1, None)
        rows.partition(1, 1, 1)
    else:
        rows.run("UPDATE DBS SET SD_ID = -1")
    rows.candidates(SDS=-1 if owner == "database" else 1)
    collector = world.collector()
    world.settle(collector)
    world.sweep(collector)
    assert rows.count("SDS") == 1
    assert rows.count("DBS") == 1


def test_the_descriptor_of_a_dropped_database_goes_without_a_sweep(world: GarbageWorld) -> None:
    """Also if its directory stays, so that no event reports it."""
    rows = world.rows
    collector = world.collector()
    for db in (5, 6):
        rows.database(db, f"d{db}")
        rows.descriptor(-db)
        rows.run(
            f"UPDATE DBS SET SD_ID = {-db} WHERE DB_ID = {db}",
            f"INSERT INTO {{inodes}} VALUES (16385, 16385, 'd{db}.db', {db})",
            f"UPDATE SDS SET PARTITION_ID = 16385, PARENT_ID = 16385, NAME = 'd{db}.db' WHERE SD_ID = {-db}",
        )
    world.settle(collector)
    assert rows.ids("SDS") == [-6, -5]
    rows.run("DELETE FROM DBS WHERE DB_ID = 5")
    for _ in range(2):
        world.clock.now += cleaning.SHORT_LOOK
        world.settle(collector)
    assert rows.ids("SDS") == [-6]
    assert rows.run("SELECT id FROM {inodes}") == [(6,)]
    with world.database.reading() as tx:
        assert not any(counts(tx).values())


def test_metadata_of_a_materialized_view_stays_with_it(world: GarbageWorld) -> None:
    rows = world.rows
    rows.database()
    rows.table(1, None, "v", kind="MATERIALIZED_VIEW")
    rows.run("INSERT INTO MV_CREATION_METADATA VALUES (1, 'hive', 'd', 'v', '', 0), (2, 'other', 'd', 'v', '', 0)")
    rows.candidates(MV_CREATION_METADATA=1)
    world.sweep(world.collector())
    assert rows.ids("MV_CREATION_METADATA") == [1]


def test_what_a_dropped_table_leaves_is_gone_after_a_sweep(world: GarbageWorld) -> None:
    """A database that goes takes tables along, and leaves their descriptors and those of their partitions."""
    rows = world.rows
    rows.database()
    rows.columns(1)
    for at in range(1, 8):
        rows.serializer(at)
        rows.descriptor(at, 1, at)
    rows.table(1, 1)
    for part in range(2, 8):
        rows.partition(part, 1, part)
    rows.run("DELETE FROM DBS")
    assert rows.count("SDS") == 7
    world.sweep(world.collector())
    assert [rows.count(table) for table in ("SDS", "CDS", "SERDES", "COLUMNS_V2", "SERDE_PARAMS", "SD_PARAMS")] == [
        0
    ] * 6


# --- inodes -----------------------------------------------------------------------------------------------------------


def _inodes(world: GarbageWorld, *rows: tuple[int, str, int]) -> None:
    for parent, name, inode in rows:
        world.rows.run(f"INSERT INTO {{inodes}} VALUES ({parent}, {parent}, '{name}', {inode})")


def _bind(world: GarbageWorld, sd: int, parent: int, name: str) -> None:
    world.rows.run(f"UPDATE SDS SET PARTITION_ID = {parent}, PARENT_ID = {parent}, NAME = '{name}' WHERE SD_ID = {sd}")


def _inode_ids(world: GarbageWorld) -> list[int]:
    return sorted(row[0] for row in world.rows.run("SELECT id FROM {inodes}"))


def test_directories_without_descriptors_go_with_those_above_them(world: GarbageWorld) -> None:
    world.rows.database()
    world.rows.descriptor(1)
    world.rows.table(1, 1)
    _inodes(
        world, (16385, "w", 2), (2, "d.db", 3), (3, "t", 4), (3, "gone", 5), (2, "e.db", 6), (6, "x", 7), (7, "y", 8)
    )
    _bind(world, 1, 3, "t")
    world.sweep(world.collector())
    assert _inode_ids(world) == [2, 3, 4]
    assert world.rows.count("TBLS") == 1


def test_what_a_dropped_table_does_not_need_any_more_goes_without_a_sweep(
    world: GarbageWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An external table's directory stays when it is dropped."""
    monkeypatch.setattr(cleaning, "SHORT_PAGE", 2)
    rows = world.rows
    rows.database()
    _inodes(world, (16385, "w", 2), *((2, f"t{number}", number) for number in range(3, 8)))
    for number in range(3, 8):
        rows.descriptor(number)
        rows.table(number, number)
        _bind(world, number, 2, f"t{number}")
    collector = world.collector()
    world.settle(collector)
    rows.run("DELETE FROM TBLS WHERE TBL_ID IN (4, 7)", "DELETE FROM SDS WHERE SD_ID IN (4, 7)")
    looks = 0
    while _inode_ids(world) != [2, 3, 5, 6]:
        looks += 1
        assert looks <= 4
        world.clock.now += cleaning.SHORT_LOOK
        world.settle(collector)
    assert rows.count("TBLS") == rows.count("SDS") == 3


def test_a_moved_directory_keeps_both_of_its_names_until_nothing_lies_below(world: GarbageWorld) -> None:
    world.rows.database()
    world.rows.descriptor(1)
    world.rows.table(1, 1)
    _inodes(world, (16385, "old", 2), (16385, "new", 2), (2, "t", 3), (2, ".snapshot", -4), (-4, "s", -5))
    _bind(world, 1, 2, "t")
    world.sweep(world.collector())
    assert _inode_ids(world) == [2, 2, 3]
    world.rows.run("UPDATE SDS SET PARTITION_ID = NULL, PARENT_ID = NULL, NAME = NULL")
    world.sweep(world.collector())
    assert _inode_ids(world) == []


def test_the_file_systems_own_inodes_are_not_ours(world: GarbageWorld) -> None:
    _inodes(world, (1, "w", 2))
    world.sweep(world.collector(replace(CONFIG, source="hopsfs")))
    assert _inode_ids(world) == [2]


# --- the second look --------------------------------------------------------------------------------------------------


def test_a_sweep_deletes_only_what_it_saw_twice(world: GarbageWorld) -> None:
    world.rows.columns(1)
    collector = world.collector()
    collector.begin_sweep()
    world.settle(collector)
    world.clock.now += GUARD - 1
    world.settle(collector)
    assert world.rows.count("CDS") == 1
    world.clock.now += 2
    world.settle(collector)
    assert world.rows.count("CDS") == 0


def test_what_is_referred_to_between_the_two_looks_stays(world: GarbageWorld) -> None:
    world.rows.columns(1)
    collector = world.collector()
    collector.begin_sweep()
    world.settle(collector)
    world.rows.database()
    world.rows.descriptor(1, cd=1)
    world.rows.table(1, 1)
    world.clock.now += 2 * GUARD
    world.settle(collector)
    assert world.rows.count("CDS") == 1


@pytest.mark.parametrize(("interval", "first"), [(3600.0, cleaning.FIRST), (5.0, 5.0)])
def test_who_takes_over_catches_up_before_it_sweeps(world: GarbageWorld, interval: float, first: float) -> None:
    world.rows.columns(1)
    collector = world.collector(replace(CONFIG, garbage=replace(CONFIG.garbage, sweep_interval=interval)))
    world.settle(collector)
    world.clock.now += first - 1
    world.settle(collector)
    assert not collector.sweeping
    world.clock.now += 1
    world.settle(collector)
    assert collector.sweeping


def test_the_sweep_begins_again_after_its_interval(world: GarbageWorld) -> None:
    collector = world.collector()
    world.sweep(collector)
    world.rows.columns(1)
    world.settle(collector)
    assert not collector.sweeping
    world.clock.now += 3600
    world.settle(collector)
    assert collector.sweeping


# --- who writes meanwhile ---------------------------------------------------------------------------------------------

NEW_SD = (
    "INSERT INTO SDS (SD_ID, CD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS) VALUES (50, {cd}, 0, 0, -1)"
)
NEW_TABLE = (
    "INSERT INTO TBLS (TBL_ID, CREATE_TIME, DB_ID, LAST_ACCESS_TIME, RETENTION, SD_ID, TBL_NAME, TBL_TYPE)"
    " VALUES (50, 0, 1, 0, 0, 50, 'new', 'MANAGED_TABLE')"
)


def test_an_object_that_is_being_made_is_not_seen(world: GarbageWorld) -> None:
    """CREATE TABLE: columns first, the descriptor later, the table last, one transaction."""
    world.rows.database()
    collector = world.collector()
    with world.session() as session:
        for statement in ("INSERT INTO CDS VALUES (50)", NEW_SD.format(cd=50), NEW_TABLE):
            session.execute(statement)
            world.sweep(collector)
        session.connection.commit()
    world.sweep(collector)
    assert [world.rows.count(table) for table in ("CDS", "SDS", "TBLS")] == [1, 1, 1]


def test_candidates_that_a_removal_is_writing_hold_up_no_others(world: GarbageWorld) -> None:
    world.rows.run(
        f"INSERT INTO CDS SELECT seq FROM {numbers(1, 400)}",
        "INSERT INTO {state}.candidate SELECT 'CDS', CD_ID FROM CDS",
    )
    collector = world.collector()
    with world.session() as session:
        session.execute(f"INSERT INTO {world.rows.metastore.names.state}.candidate VALUES ('CDS', 2000), ('CDS', 0)")
        assert collector.step()
        assert world.rows.count("CDS") == 0
        session.connection.rollback()


def test_an_uncommitted_reference_keeps_a_candidate_for_later(world: GarbageWorld) -> None:
    world.rows.database()
    world.rows.columns(1)
    world.rows.columns(2)
    world.rows.candidates(CDS=1)
    world.rows.run("INSERT INTO {state}.candidate VALUES ('CDS', 2)")
    collector = world.collector()
    with world.session() as session:
        session.execute(NEW_SD.format(cd=1))
        world.settle(collector)
        # The other one did not have to wait for it.
        assert world.rows.ids("CDS") == [1]
        assert world.rows.count("{state}.candidate") == 1
        session.execute(NEW_TABLE)
        session.connection.commit()
    world.clock.now += LATER
    world.settle(collector)
    assert world.rows.ids("CDS") == [1]
    assert world.rows.count("{state}.candidate") == 0


def test_an_uncommitted_reference_that_is_rolled_back_does_not_save_it(world: GarbageWorld) -> None:
    world.rows.columns(1)
    world.rows.candidates(CDS=1)
    collector = world.collector()
    with world.session() as session:
        session.execute(NEW_SD.format(cd=1))
        world.settle(collector)
        session.connection.rollback()
    world.clock.now += LATER
    world.settle(collector)
    assert world.rows.count("CDS") == 0


def test_a_drop_that_is_not_committed_keeps_what_it_would_leave(world: GarbageWorld) -> None:
    world.rows.database()
    world.rows.columns(1)
    world.rows.descriptor(1, cd=1)
    world.rows.table(1, 1)
    collector = world.collector()
    with world.session() as session:
        session.execute("DELETE FROM TBLS")
        session.execute("DELETE FROM SDS")
        world.sweep(collector)
        session.connection.rollback()
    assert [world.rows.count(table) for table in ("CDS", "SDS", "TBLS")] == [1, 1, 1]


def test_a_table_that_takes_an_orphaned_descriptor_is_not_deleted_with_it(world: GarbageWorld) -> None:
    """TBLS cascades from SDS: deleting the descriptor under a new table would delete the table, without any error."""
    world.rows.database()
    world.rows.descriptor(50)
    collector = world.collector()
    world.settle(collector)
    world.clock.now += 2 * GUARD
    with world.session() as session:
        session.execute(NEW_TABLE)
        world.settle(collector)
        session.connection.commit()
    world.clock.now += LATER
    world.settle(collector)
    assert [world.rows.count(table) for table in ("SDS", "TBLS")] == [1, 1]


def _removed(world: GarbageWorld) -> None:
    """A descriptor whose table is gone, with all that it refers to."""
    world.rows.clear()
    world.rows.columns(1)
    world.rows.serializer(2)
    world.rows.descriptor(3, 1, 2)
    world.rows.candidates(SDS=3)


class Interrupted(Exception):
    """For tests."""


def test_an_interruption_at_any_statement_loses_nothing(world: GarbageWorld) -> None:
    _removed(world)
    database = Watched(world.rows.metastore)
    world.collect(world.collector(database=database))
    database.close()
    total = database.statements
    assert total > 10
    for at in range(total):

        def interrupt(number: int, at: int = at) -> None:
            if number == at:
                raise Interrupted

        _removed(world)
        database = Watched(world.rows.metastore, interrupt)
        with pytest.raises(Interrupted):
            world.collect(world.collector(database=database))
        database.close()
        world.collect(world.collector())
        left = [world.rows.count(table) for table in ("SDS", "CDS", "SERDES", "SD_PARAMS", "COLUMNS_V2")]
        assert left == [0] * 5, at


def test_a_table_and_its_descriptor_stand_or_fall_together_whenever_the_writer_comes(world: GarbageWorld) -> None:
    """A table is made on a descriptor that is being collected: before each statement of the collector in turn."""
    outcomes = set()
    for at in range(100):
        threads: list[threading.Thread] = []

        def write() -> None:
            with world.session() as session, suppress(pymysql.err.IntegrityError):
                while True:
                    try:
                        session.execute(NEW_TABLE)
                        session.connection.commit()
                        return
                    except pymysql.err.OperationalError as error:
                        # NDB tells who waits for each other no better than by letting them wait; the metastore tries again.
                        if error.args[0] != ER.LOCK_WAIT_TIMEOUT:
                            raise

        def begin(number: int, at: int = at, threads: list[threading.Thread] = threads) -> None:
            if number == at:
                threads.append(threading.Thread(target=write))
                threads[0].start()
                # Long enough to be done, unless it has to wait for the collector.
                threads[0].join(0.1)

        world.rows.clear()
        world.rows.database()
        world.rows.descriptor(50)
        world.rows.candidates(SDS=50)
        database = Watched(world.rows.metastore, begin)
        world.collect(world.collector(database=database))
        database.close()
        if not threads:
            break
        threads[0].join()
        world.clock.now += LATER
        world.collect(world.collector())
        assert world.rows.count("TBLS") == world.rows.count("SDS"), at
        outcomes.add(world.rows.count("TBLS"))
    assert outcomes == {0, 1}


def test_a_writer_waits_for_a_batch_only_as_long_as_it_lasts(world: GarbageWorld) -> None:
    """Many candidates, and a table that refers to columns which are in use: its statement never waits."""
    world.rows.database()
    world.rows.columns(1)
    world.rows.descriptor(1, 1)
    world.rows.table(1, 1)
    world.rows.run(
        f"INSERT INTO CDS SELECT seq FROM {numbers(100, 5100)}",
        "INSERT INTO {state}.candidate SELECT 'CDS', CD_ID FROM CDS",
    )
    collector = world.collector()
    with world.session(lock_wait=1) as session:
        session.execute(NEW_SD.format(cd=1))
        session.execute(NEW_TABLE)
        world.settle(collector)
        # Nor does the collector wait for the row that it has locked.
        assert world.rows.ids("CDS") == [1]
        session.connection.commit()
    world.clock.now += LATER
    world.settle(collector)
    assert world.rows.ids("CDS") == [1]


def test_a_fence_that_falls_rolls_the_batch_back(world: GarbageWorld) -> None:
    class Fallen:
        def check(self, tx: Transaction) -> None:  # noqa: ARG002 - of a protocol
            raise LostLease

    world.rows.columns(1)
    world.rows.candidates(CDS=1)
    database = world.rows.metastore.database(Fallen())
    with pytest.raises(LostLease):
        world.settle(world.collector(database=database))
    database.close()
    assert world.rows.count("CDS") == 1
    assert world.rows.count("{state}.candidate") == 1


# --- how fast ---------------------------------------------------------------------------------------------------------


def test_the_rate_holds_on_average(world: GarbageWorld) -> None:
    world.rows.run(
        f"INSERT INTO CDS SELECT seq FROM {numbers(1, 3000)}",
        "INSERT INTO {state}.candidate SELECT 'CDS', CD_ID FROM CDS",
    )
    collector = world.collector(rate=100)
    for seconds in range(12):
        world.settle(collector)
        assert 3000 - world.rows.count("CDS") <= 100 * seconds + cleaning.BATCH
        world.clock.now += 1
    assert 3000 - world.rows.count("CDS") >= 1000


def test_a_rate_of_nothing_stops_it(world: GarbageWorld) -> None:
    world.rows.columns(1)
    world.rows.candidates(CDS=1)
    collector = world.collector(rate=0)
    collector.begin_sweep()
    assert not collector.step()
    assert world.rows.count("CDS") == 1


def test_a_large_table_is_swept_in_bounded_transactions(world: GarbageWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 partitions: no statement returns more than a page, no transaction deletes more than a batch."""
    monkeypatch.setattr(cleaning, "ROWS_PER_PAGE", 1000)
    monkeypatch.setattr(cleaning, "BATCH", 200)
    rows = world.rows
    rows.database()
    rows.columns(1)
    rows.descriptor(1, 1)
    rows.table(1, 1)
    # A part at a time: NDB has a transaction's rows in memory twice.
    for first in range(2, 20_002, 2000):
        some = numbers(first, first + 1999)
        rows.run(
            f"INSERT INTO SERDES (SERDE_ID) SELECT seq FROM {some}",
            "INSERT INTO SDS (SD_ID, CD_ID, SERDE_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS)"
            f" SELECT seq, 1, seq, 0, 0, -1 FROM {some}",
            "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID)"
            f" SELECT seq, 0, 0, CONCAT('p=', seq), seq, 1 FROM {some}",
        )
    rows.run("DELETE FROM PARTITIONS WHERE PART_ID % 10 = 0")
    most = {"read": 0, "deleted": 0}

    def after(sql: str, number: int) -> None:
        what = "deleted" if sql.startswith("DELETE") else "read"
        most[what] = max(most[what], number)

    database = Watched(rows.metastore, after=after)
    world.sweep(world.collector(database=database))
    database.close()
    assert rows.count("SDS") == rows.count("SERDES") + 1 == 18001
    assert most["read"] <= 1000
    assert most["deleted"] <= 200


# --- what is told -----------------------------------------------------------------------------------------------------


def test_garbage_is_counted_by_table(world: GarbageWorld) -> None:
    world.rows.columns(1)
    world.rows.columns(2)
    world.rows.serializer(1)
    _inodes(world, (16385, "w", 2), (2, "x", 3))
    with world.database.reading() as tx:
        found = counts(tx)
    assert {table: number for table, number in found.items() if number} == {"CDS": 2, "SERDES": 1, "hdfs_inodes": 1}
    assert "SDS" in found


def test_metrics_tell_what_was_found_and_collected(world: GarbageWorld) -> None:
    world.rows.columns(1)
    collector = world.collector()
    collector.begin_sweep()
    world.settle(collector)
    registry = world.metrics.registry
    assert registry.get_sample_value("hopshive_garbage", {"table": "CDS"}) == 1
    world.clock.now += 2 * GUARD
    world.settle(collector)
    assert registry.get_sample_value("hopshive_garbage", {"table": "CDS"}) == 0
    assert registry.get_sample_value("hopshive_garbage_collected_total", {"table": "COLUMNS_V2"}) == 2


def test_unknown_candidates_are_forgotten(world: GarbageWorld) -> None:
    world.rows.candidates(NOTHING=1, CDS=5)
    world.settle(world.collector())
    assert world.rows.count("{state}.candidate") == 0
