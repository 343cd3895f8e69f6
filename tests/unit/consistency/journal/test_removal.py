"""What a directory stood for goes whole, leaves first, whatever interrupts it, and comes back as it was."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

import pymysql
import pytest

from hopshive.consistency import journal
from hopshive.consistency.journal import Removed
from hopshive.consistency.journal.batch import ObjectKind
from hopshive.consistency.journal.content import decode
from hopshive.database import Transaction
from hopshive.hdfs.paths import path_hash
from hopshive.metastore import closure
from tests.support.journal_world import FS, Interrupted, JournalWorld, interrupt_at, open_world
from tests.support.metastore_rows import URI

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.support.metastore_rows import Made
    from tests.support.servers import MariaDB


@pytest.fixture
def world(mariadb: MariaDB, hive_home: Path) -> Iterator[JournalWorld]:
    with open_world(mariadb, hive_home) as opened:
        yield opened


def populate(world: JournalWorld, *names: str) -> dict[str, Made]:
    """Databases with everything that the metastore can hang on an object."""
    made: dict[str, Made] = {}
    with world.write() as write:
        write.transaction(50, "a")
        write.transaction(51, "c")
        for name in names or ("sales",):
            database = made[name] = write.database(name)
            write.more_of_database(database)
            table = made[f"{name}.t"] = write.table(database, "t", acid=True)
            for one in write.partitions(table, ["p=A", "p=a", "p=é\x7f%s"]):
                made[f"{name}.t/{one.path.rsplit('/', 1)[1]}"] = one
            made[f"{name}.t/p=far"] = write.partitions(table, ["p=far"], path="/far/away")[0]
            made[f"{name}.v"] = write.table(database, "v", kind="VIRTUAL_VIEW")
            made[f"{name}.e"] = write.table(database, "e", kind="EXTERNAL_TABLE", path=f"/external/{name}")
            view = made[f"{name}.m"] = write.table(database, "m", kind="MATERIALIZED_VIEW")
            write.materialized(view, table, made[f"{name}.e"])
            write.constraint(table, made[f"{name}.e"], f"fk_{name}")
            for one in (table, view):
                write.skew(one.sd_id)
            write.wrote(table, 50, 1, "p=A", done=False)
            write.wrote(table, 51, 2, "p=a")
            write.next_write(table, 3)
            for partition in (None, "p=A", "p=a"):
                write.compaction(table, "r", partition)
    return made


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("sales.t/p=A", 1),
        ("sales.t", 1),
        ("sales.t", 2),
        ("sales.t", 7),
        ("sales.e", 7),
        ("sales.m", 7),
        ("sales", 1),
        ("sales", 2),
        ("sales", 7),
    ],
)
def test_an_object_goes_whole_and_comes_back_as_it_was(world: JournalWorld, what: str, limit: int) -> None:
    made = populate(world, "sales", "other")
    before = world.dump()
    removed = world.remove(made[what], limit=limit)
    assert removed[-1] == Removed(_kind(what), f"hive.{what}", made[what].path)
    for one in removed:
        assert one.name == f"hive.{what}" or one.name.startswith((f"hive.{what}.", f"hive.{what}/"))
    between = world.dump()
    assert between["DBS"] == [row for row in before["DBS"] if what != "sales" or row[3] == "other"]
    progress = world.restore(limit=limit)
    assert (progress.conflicts, len(progress.restored)) == ([], len(removed))
    assert world.dump() == before
    assert world.entries() == []


@pytest.mark.parametrize("what", ["sales.t/p=A", "sales.t", "sales.m", "sales"])
def test_what_the_server_does_not_take_along_is_deleted_too(
    world: JournalWorld, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    made = populate(world, "sales", "other")
    before = world.dump()
    world.remove(made[what])
    wanted = world.dump()
    world.restore()
    read = closure.read
    monkeypatch.setattr(closure, "_graphs", OrderedDict())
    monkeypatch.setattr(closure, "read", lambda tx: replace(read(tx), forgetful=True))
    with world.database.transaction() as tx:
        # As NDB for some rows: the deletion succeeds, and no foreign key is followed.
        tx.execute("SET SESSION foreign_key_checks = 0")
    world.remove(made[what])
    assert world.dump() == wanted
    world.restore()
    assert world.dump() == before


def _kind(what: str) -> ObjectKind:
    return "partition" if "/" in what else "table" if "." in what else "database"


def test_nothing_of_a_database_is_left_but_what_the_cleaner_collects(world: JournalWorld) -> None:
    empty = world.dump()
    made = populate(world, "sales", "other")
    world.remove(made["sales"], made["other"], limit=3)
    left = world.dump()
    shared = {"CDS", "COLUMNS_V2", "SERDES", "SERDE_PARAMS", "SKEWED_STRING_LIST", "SKEWED_STRING_LIST_VALUES"}
    # The aborted transaction has no components any more: Hive's housekeeping takes it.
    assert {name for name, rows in left.items() if rows != empty.get(name)} == shared | {"TXNS"}
    candidates = world.metastore.execute("SELECT kind, id FROM {state}.candidate ORDER BY 1, 2")
    wanted = [(table, row[0]) for table in ("CDS", "SERDES", "SKEWED_STRING_LIST") for row in left[table]]
    assert candidates == sorted(wanted)


def test_an_entry_says_where_the_object_lay_and_what_it_was(world: JournalWorld) -> None:
    made = populate(world)
    with world.write() as write:
        inode = write.inodes[made["sales.t"].path]
    removal = world.begin("/warehouse/sales.db/t")
    world.remove(made["sales.t"], removal=removal)
    with world.database.reading() as tx:
        entries = journal.objects(tx, removal)
        (record,) = journal.history(tx)
        hashes = tx.rows("SELECT path, path_hash FROM {state}.journal")
    assert [one.kind for one in entries] == ["partition"] * 4 + ["table"]
    assert entries[-1].name == "hive.sales.t"
    assert entries[-1].path == "/warehouse/sales.db/t"
    assert entries[-1].inode == inode
    assert (record.objects, record.left, record.ended, record.txid) == (5, 5, None, 7)
    assert all(path_hash(path.decode()) == number for path, number in hashes)
    (data,) = next(iter(world.metastore.execute("SELECT content FROM {state}.journal WHERE kind = 'table'")))
    content = decode(data)
    assert (content.schema, content.names) == ("4.0.0", ("hive", "sales", "t"))
    assert "CDS" not in content.rows


def test_default_is_never_removed(world: JournalWorld) -> None:
    with world.write() as write:
        database = write.database("default")
        table = write.table(database, "t")
    assert world.remove(database) == []
    assert [one.name for one in world.remove(database, table)] == ["hive.default.t"]
    assert world.metastore.execute("SELECT NAME FROM DBS") == [("default",)]


def test_objects_of_another_catalog_have_its_name_and_leave_transactions_alone(world: JournalWorld) -> None:
    with world.write() as write:
        write.insert("CTLGS", CTLG_ID=2, NAME="lake", LOCATION_URI=URI)
        mine, other = write.database("d"), write.database("d", catalog="lake", path="/lake/d")
        table = write.table(mine, "t", acid=True)
        write.table(other, "t", acid=True)
        write.wrote(table, 60, 1)
        write.next_write(table, 2)
    before = world.dump()
    assert [one.name for one in world.remove(other)] == ["lake.d.t", "lake.d"]
    assert world.dump()["NEXT_WRITE_ID"] == before["NEXT_WRITE_ID"]
    assert world.restore().conflicts == []
    assert world.dump() == before


def test_what_went_meanwhile_is_no_error(world: JournalWorld) -> None:
    made = populate(world)
    removal = world.begin()
    with world.database.transaction() as tx:
        first = journal.remove_next(tx, removal, [made["sales"].sd_id], FS, 2)
    assert (len(first.removed), first.done) == (2, False)
    world.metastore.execute(
        f"DELETE FROM MV_TABLES_USED WHERE TBL_ID = {made['sales.e'].id}",
        f"DELETE FROM SDS WHERE SD_ID IN ({made['sales.e'].sd_id}, {made['sales.t/p=far'].sd_id})",
    )
    rest = world.remove(made["sales"], removal=removal)
    assert "hive.sales.e" not in [one.name for one in rest]
    assert rest[-1].name == "hive.sales"
    assert world.remove(made["sales"]) == []


def test_a_kill_at_any_statement_loses_nothing_and_does_nothing_twice(world: JournalWorld) -> None:
    # Batches of partitions, of partitions and tables, of tables, and of the database.
    limit = 3
    made = populate(world)
    before = world.dump()
    removal = world.begin()
    names: list[str] = []
    done = False
    while not done:
        statement = 0
        killed = True
        # Each transaction is killed before every other of its statements, and at last goes through.
        while killed:
            statement += 2
            entries = world.metastore.execute("SELECT COUNT(*) FROM {state}.journal")
            with pytest.MonkeyPatch.context() as patch:
                interrupt_at(patch, statement)
                try:
                    with world.database.transaction() as tx:
                        progress = journal.remove_next(tx, removal, [made["sales"].sd_id], FS, limit)
                    killed = False
                except Interrupted:
                    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.journal") == entries
        assert statement > 10 or progress.done
        names += [one.name for one in progress.removed]
        done = progress.done
    assert len(names) == len(set(names)) == 9
    assert world.metastore.execute("SELECT objects FROM {state}.removal") == [(9,)]
    ids = [one.id for one in world.entries()]
    statement, killed = 0, True
    while killed:
        statement += 2
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(patch, statement)
            try:
                with world.database.transaction() as tx:
                    journal.restore_next(tx, ids, limit)
                killed = False
            except Interrupted:
                assert world.metastore.execute("SELECT 1 FROM DBS WHERE NAME = 'sales'") == []
    assert world.restore(limit=limit).conflicts == []
    assert world.dump() == before


# --- others that write at the same time ---------------------------------------------------------------------------------


def _add_partition(table: Made, connection: pymysql.Connection[pymysql.cursors.Cursor]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO SDS (SD_ID, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, LOCATION, NUM_BUCKETS)"
            " VALUES (900000, 0, 0, %s, -1)",
            (f"{URI}{table.path}/p=new",),
        )
        cursor.execute(
            "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, SD_ID, TBL_ID)"
            " VALUES (900000, 0, 0, 'p=new', 900000, %s)",
            (table.id,),
        )


def _connect(world: JournalWorld) -> pymysql.Connection[pymysql.cursors.Cursor]:
    return pymysql.connect(unix_socket=world.metastore.mariadb.socket, user="root", database="ms_journal")


@pytest.mark.parametrize(("limit", "fails"), [(100, True), (2, False)])
def test_a_partition_added_while_its_table_goes_is_refused_or_goes_too(
    world: JournalWorld, limit: int, fails: bool
) -> None:
    table = populate(world)["sales.t"]
    problems: list[Exception] = []

    def add() -> None:
        with _connect(world) as connection:
            try:
                _add_partition(table, connection)
                connection.commit()
            except pymysql.MySQLError as error:
                problems.append(error)

    removal = world.begin()
    thread = threading.Thread(target=add)
    with world.database.transaction() as tx:
        journal.remove_next(tx, removal, [table.sd_id], FS, limit)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive(), "it waits for the row of the table"
    thread.join(10)
    assert [error.args[0] for error in problems] == [1452] * fails
    names = [one.name for one in world.remove(table, removal=removal, limit=limit)]
    assert ("hive.sales.t/p=new" in names) == (not fails)
    assert world.metastore.execute(f"SELECT 1 FROM PARTITIONS WHERE TBL_ID = {table.id}") == []


def test_a_partition_that_was_being_added_before_is_waited_for(world: JournalWorld) -> None:
    table = populate(world)["sales.t"]
    removed: list[Removed] = []
    with _connect(world) as connection:
        _add_partition(table, connection)
        thread = threading.Thread(target=lambda: removed.extend(world.remove(table)))
        thread.start()
        time.sleep(0.2)
        assert not removed
        connection.commit()
        thread.join(10)
    assert "hive.sales.t/p=new" in [one.name for one in removed]
    assert world.metastore.execute(f"SELECT 1 FROM TBLS WHERE TBL_ID = {table.id}") == []


# --- what is shared, and what is not as it should be ---------------------------------------------------------------------


def test_shared_columns_and_serdes_stay_with_who_else_uses_them(world: JournalWorld) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t")
        serde = write.serde()
        first, second = write.partitions(table, ["p=1", "p=2"], serde=serde)
        strings = write.skew(first.sd_id)
        write.skew(second.sd_id, strings)
    before = world.dump()
    world.remove(first)
    between = world.dump()
    for kept in ("CDS", "COLUMNS_V2", "SERDES", "SERDE_PARAMS", "SKEWED_STRING_LIST", "SKEWED_STRING_LIST_VALUES"):
        assert between[kept] == before[kept]
    candidates = world.metastore.execute("SELECT kind, id FROM {state}.candidate ORDER BY kind")
    assert candidates == [("CDS", table.cd_id), ("SERDES", serde), ("SKEWED_STRING_LIST", strings)]
    world.remove(table)
    # As the cleaner would.
    world.metastore.execute(
        "DELETE FROM COLUMNS_V2",
        "DELETE FROM CDS",
        "DELETE FROM SERDE_PARAMS",
        "DELETE FROM SERDES",
        "DELETE FROM SKEWED_STRING_LIST_VALUES",
        "DELETE FROM SKEWED_STRING_LIST",
    )
    assert world.restore(limit=1).conflicts == []
    assert world.dump() == before


@pytest.mark.parametrize("together", [False, True])
def test_a_descriptor_of_two_tables_is_not_taken_from_the_other(world: JournalWorld, together: bool) -> None:
    with world.write() as write:
        database = write.database("d")
        first, second = write.table(database, "t"), write.table(database, "u")
    world.metastore.execute(f"UPDATE TBLS SET SD_ID = {first.sd_id} WHERE TBL_ID = {second.id}")
    before = world.dump()
    # Through the database, or one after the other.
    for one in [database] if together else [first]:
        world.remove(one, limit=100 if together else 1)
    if together:
        assert ("SDS", first.sd_id) in world.metastore.execute("SELECT kind, id FROM {state}.candidate")
        world.metastore.execute(f"DELETE FROM SDS WHERE SD_ID = {first.sd_id}")
    else:
        assert "TBLS" not in world.dump(), "both tables own it: both lie in the directory"
    assert world.restore().conflicts == []
    assert world.dump() == before


def test_unexpected_rows_do_not_stop_a_removal(world: JournalWorld) -> None:
    made = populate(world)
    world.metastore.execute(
        f"UPDATE PARTITIONS SET SD_ID = NULL WHERE PART_ID = {made['sales.t/p=A'].id}",
        f"UPDATE TBLS SET SD_ID = NULL WHERE TBL_ID = {made['sales.v'].id}",
        "SET FOREIGN_KEY_CHECKS = 0",
        f"DELETE FROM SDS WHERE SD_ID = {made['sales.t/p=a'].sd_id}",
        "SET FOREIGN_KEY_CHECKS = 1",
    )
    before = world.dump()
    removed = world.remove(made["sales"])
    assert len(removed) == 9
    left = world.dump()
    assert not {"DBS", "TBLS", "PARTITIONS"} & left.keys()
    # Without an owner, for the collector.
    assert len(left["SDS"]) == 2
    progress = world.restore()
    (conflict,) = progress.conflicts
    assert "p=a" in conflict
    assert "SDS does not have what PARTITIONS refers to" in conflict
    world.metastore.execute(f"DELETE FROM PARTITIONS WHERE PART_ID = {made['sales.t/p=a'].id}")
    after = world.dump()
    assert after["TBLS"] == before["TBLS"]
    assert len(after["PARTITIONS"]) == len(before["PARTITIONS"]) - 1


def test_a_descriptor_that_nothing_owns_is_left_to_the_cleaner(world: JournalWorld) -> None:
    with world.write() as write:
        alone = write.descriptor("/warehouse/x", write.columns("a"), None)
    with world.database.transaction() as tx:
        progress = journal.remove_next(tx, journal.begin_removal(tx, journal.Cause("check", "/")), [alone], FS, 10)
    assert progress == journal.Progress([], True)
    assert world.metastore.execute("SELECT kind, id FROM {state}.candidate") == [("SDS", alone)]


def test_a_name_longer_than_its_column_is_cut_there_only(world: JournalWorld) -> None:
    name = "/".join(f"{key}={'ü' * 250}" for key in "pqr")
    with world.write() as write:
        table = write.table(write.database("d" * 128, bound=False), "t" * 256, bound=False)
        (one,) = write.partitions(table, [name], bound=False)
    before = world.dump()
    (removed,) = world.remove(one)
    assert removed.name.endswith(f"/{name}")
    assert len(world.entries()[0].name.encode("utf-8", "surrogateescape")) == 1100
    assert world.restore().conflicts == []
    assert world.dump() == before


def test_a_transaction_has_as_many_statements_for_many_objects_as_for_one(
    world: JournalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.write() as write:
        partitions = write.partitions(write.table(write.database("d"), "t", acid=True), [f"p={n}" for n in range(60)])
    world.remove(partitions[0])
    execute, statements = Transaction.execute, list[str]()

    def counted(tx: Transaction, sql: str, arguments: Sequence[object] = ()) -> int:
        statements.append(sql)
        return execute(tx, sql, arguments)

    monkeypatch.setattr(Transaction, "execute", counted)
    counts = []
    for chosen in (partitions[1:2], partitions[2:42]):
        removal = world.begin()
        statements.clear()
        assert len(world.remove(*chosen, removal=removal)) == len(chosen)
        removing = len(statements)
        entries = world.entries(removal=removal)
        statements.clear()
        assert len(world.restore(entries).restored) == len(chosen)
        counts.append((removing, len(statements)))
    assert counts[0] == counts[1]
    assert max(counts[0]) < 60


# What tells the rows of the other database in each table that a removal locks.
HELD = {
    "DBS": "DB_ID",
    "TBLS": "TBL_ID",
    "TABLE_PARAMS": "TBL_ID",
    "PARTITIONS": "PART_ID",
    "PARTITION_PARAMS": "PART_ID",
    "PARTITION_KEY_VALS": "PART_ID",
    "PART_COL_STATS": "PART_ID",
    "SDS": "SD_ID",
    "SD_PARAMS": "SD_ID",
    "TXNS": "TXN_ID",
}


def test_a_session_that_holds_other_rows_is_not_waited_for(world: JournalWorld) -> None:
    """A metastore that renames a large table holds all of its rows for minutes."""
    names = [f"p={number}" for number in range(40)]
    with world.write() as write:
        write.transaction(60, "o")
        write.transaction(61, "o")
        database, other = write.database("d"), write.database("other")
        table, held = write.table(database, "t", acid=True), write.table(other, "t", acid=True)
        write.partitions(table, names)
        partitions = write.partitions(held, names)
        write.wrote(table, 60, 1, "p=1", done=False)
    with world.database.transaction() as tx:
        tx.execute("SET SESSION innodb_lock_wait_timeout = 1")
    ids = {
        "DB_ID": [other.id],
        "TBL_ID": [held.id],
        "PART_ID": [one.id for one in partitions],
        "SD_ID": [one.sd_id for one in (other, held, *partitions)],
        "TXN_ID": [61],
    }
    with world.metastore.cursor() as holder:
        holder.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        holder.execute("BEGIN")
        for name, key in HELD.items():
            # One by one: many at once would be looked for in the whole table, and others' rows be locked on the way.
            assert sum(
                holder.execute(f"SELECT 1 FROM {name} WHERE {key} = %s FOR UPDATE", (id_,)) for id_ in ids[key]
            ), name
        assert len(world.remove(database)) == 42
        assert world.restore().conflicts == []
        holder.execute("ROLLBACK")


@pytest.mark.parametrize("own", [False, True], ids=["columns of the table", "columns of their own"])
def test_objects_with_many_rows_go_a_few_at_a_time(
    world: JournalWorld, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t")
        partitions = write.partitions(table, [f"p={number}" for number in range(9)])
        columns = {one.sd_id: write.columns(*(f"c{at}" for at in range(30))) for one in partitions if own}
        write.tx.many("UPDATE SDS SET CD_ID = %s WHERE SD_ID = %s", [(cd, sd) for sd, cd in columns.items()])
    before = world.dump()
    first = partitions[0]
    rows = sum(
        world.metastore.execute(f"SELECT COUNT(*) FROM {name} WHERE PART_ID = {first.id}")[0][0]
        for name in ("PARTITION_PARAMS", "PARTITION_KEY_VALS", "PART_COL_STATS", "PART_PRIVS", "PART_COL_PRIVS")
    ) + sum(
        world.metastore.execute(f"SELECT COUNT(*) FROM {name} JOIN SDS USING ({key}) WHERE SD_ID = {first.sd_id}")[0][0]
        for name, key in (("COLUMNS_V2", "CD_ID"), ("SERDE_PARAMS", "SERDE_ID"))
    )
    for most, steps in ((4 * rows, [4, 4, 2]), (1, [1] * 8 + [2])):
        monkeypatch.setattr("hopshive.consistency.journal.batch.MOST_ROWS", most)
        number, done = world.begin(), []
        progress = journal.Progress([], False)
        while not progress.done:
            with world.database.transaction() as tx:
                progress = journal.remove_next(tx, number, [table.sd_id], FS, 100)
            done.append(len(progress.removed))
        assert [one for one in done if one] == steps
        assert world.restore().conflicts == []
        assert world.dump() == before
