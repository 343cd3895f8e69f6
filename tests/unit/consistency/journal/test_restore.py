"""What can come back comes back, and what cannot says why; each object whole or not at all."""

from __future__ import annotations

import json
import random
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency import journal
from hopshive.consistency.garbage.references import ROOTS
from hopshive.consistency.journal import obstacles
from hopshive.database import Contention
from tests.support.journal_world import FS, Interrupted, JournalWorld, interrupt_at, open_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hopshive.consistency.journal.step import Step
    from hopshive.database import Transaction
    from tests.support.metastore_rows import Made
    from tests.support.servers import MariaDB


@pytest.fixture
def world(mariadb: MariaDB, hive_home: Path) -> Iterator[JournalWorld]:
    with open_world(mariadb, hive_home) as opened:
        yield opened


def small(world: JournalWorld) -> tuple[Made, Made, list[Made]]:
    """A database, a table, two partitions."""
    with world.write() as write:
        database = write.database("d")
        table = write.table(database, "t")
        return database, table, write.partitions(table, ["p=1", "p=2"])


def edit(world: JournalWorld, kind: str, change: Callable[[Any], object]) -> None:
    """Change what entries of a kind hold."""
    rows = world.metastore.execute(f"SELECT id, content FROM {{state}}.journal WHERE kind = '{kind}'")
    for id_, data in rows:
        content = json.loads(zlib.decompress(data))
        change(content)
        data = zlib.compress(json.dumps(content).encode())
        world.metastore.execute(f"UPDATE {{state}}.journal SET content = x'{data.hex()}' WHERE id = {id_}")


# --- reasons ------------------------------------------------------------------------------------------------------------


def test_a_database_whose_name_is_taken_stays_with_all_that_it_had(world: JournalWorld) -> None:
    database, _table, _partitions = small(world)
    world.remove(database)
    with world.write() as write:
        write.database("d", path="/elsewhere")
    before = world.dump()
    progress = world.restore()
    assert progress.restored == []
    assert progress.conflicts == [
        "database hive.d: there is another database of that name. Drop or rename that one, then restore again.",
        "table hive.d.t: its database is not there. Restore that first; one that was made since is another.",
        *(
            f"partition hive.d.t/p={n}: its table is not there. Restore that first; one that was made since is another."
            for n in (2, 1)
        ),
    ]
    assert world.dump() == before
    assert [(one.id, one.message) for one in world.entries()] == list(
        zip(progress.refused, progress.conflicts, strict=True)
    )


def test_a_table_whose_name_is_taken(world: JournalWorld) -> None:
    database, table, _partitions = small(world)
    world.remove(table)
    with world.write() as write:
        write.table(database, "t", path="/elsewhere")
    before = world.dump()
    assert world.restore().conflicts[0] == (
        "table hive.d.t: there is another table of that name. Drop or rename that one, then restore again."
    )
    assert world.dump() == before


def test_a_partition_whose_name_is_taken_does_not_hinder_the_others(world: JournalWorld) -> None:
    _database, table, partitions = small(world)
    world.remove(*partitions)
    with world.write() as write:
        # Another case is another partition.
        write.partitions(table, ["p=2", "P=1"], path="/elsewhere")
    progress = world.restore()
    assert progress.conflicts == [
        "partition hive.d.t/p=2: there is another partition of that name. Drop or rename that one, then restore again."
    ]
    assert [one.name for one in progress.restored] == ["hive.d.t/p=1"]
    assert [one.name for one in world.entries()] == ["hive.d.t/p=2"]


def test_of_two_entries_of_one_name_the_newer_comes_back(world: JournalWorld) -> None:
    database, table, _partitions = small(world)
    world.remove(table)
    with world.write() as write:
        again = write.table(database, "t")
    newer = world.dump()
    world.remove(again)
    progress = world.restore()
    assert [one.kind for one in progress.restored] == ["table"]
    assert "table hive.d.t: the entry before it has its name" in progress.conflicts[0]
    assert len(progress.conflicts) == 3
    assert world.dump() == newer


def test_a_catalog_that_is_gone(world: JournalWorld) -> None:
    with world.write() as write:
        write.insert("CTLGS", CTLG_ID=2, NAME="lake", LOCATION_URI="x")
        database = write.database("d", catalog="lake")
    world.remove(database)
    world.metastore.execute("DELETE FROM CTLGS WHERE NAME = 'lake'")
    assert world.restore().conflicts == [
        "database lake.d: its catalog is not there. Restore that first; one that was made since is another."
    ]


def test_columns_that_are_not_what_they_were(world: JournalWorld) -> None:
    _database, table, partitions = small(world)
    world.remove(partitions[0])
    world.metastore.execute(f"UPDATE COLUMNS_V2 SET TYPE_NAME = 'string' WHERE CD_ID = {table.cd_id}")
    (conflict,) = world.restore().conflicts
    assert f"COLUMNS_V2 {table.cd_id}/a is there already, and its TYPE_NAME is not what it was." in conflict


def test_an_id_that_is_used_again(world: JournalWorld) -> None:
    _database, table, partitions = small(world)
    world.remove(partitions[0])
    world.metastore.execute(
        "INSERT INTO PARTITIONS (PART_ID, CREATE_TIME, LAST_ACCESS_TIME, PART_NAME, TBL_ID)"
        f" VALUES ({partitions[0].id}, 0, 0, 'p=3', {table.id})"
    )
    (conflict,) = world.restore().conflicts
    assert f"PARTITIONS {partitions[0].id} is there already" in conflict


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda content: content["rows"]["TBLS"][0].__setitem__(0, "OLD_ID"), "TBLS has no column OLD_ID now."),
        (lambda content: content["rows"].update(OLD=[["A"], [[1]]]), "there is no table OLD now."),
        (
            lambda content: content["rows"].update(PARTITION_KEYS=[["TBL_ID"], [[1]]]),
            "PARTITION_KEYS now has a column INTEGER_IDX, PKEY_NAME, PKEY_TYPE that it did not know.",
        ),
    ],
)
def test_an_entry_of_another_schema(world: JournalWorld, change: Callable[[Any], object], why: str) -> None:
    _database, table, _partitions = small(world)
    world.remove(table)
    edit(world, "table", lambda content: (content.update(schema="3.1.0"), change(content)))
    conflict, *_rest = world.restore().conflicts
    start = "table hive.d.t: it was removed from a metastore of schema version 3.1.0, this one has 4.0.0, and "
    assert conflict == start + why


def test_an_entry_from_before_a_column_was_added_comes_back(world: JournalWorld) -> None:
    _database, table, _partitions = small(world)
    before = world.dump()
    world.remove(table)

    def forget_write_id(content: Any) -> None:
        columns, rows = content["rows"]["TBLS"]
        at = columns.index("WRITE_ID")
        for row in (columns, *rows):
            del row[at]

    edit(world, "table", forget_write_id)
    assert world.restore().conflicts == []
    world.metastore.execute("UPDATE TBLS SET WRITE_ID = 3")
    assert world.dump() == before


def test_a_damaged_entry(world: JournalWorld) -> None:
    _database, table, _partitions = small(world)
    world.remove(table)
    world.metastore.execute("UPDATE {state}.journal SET content = 'x' WHERE kind = 'partition'")
    progress = world.restore()
    assert [one.name for one in progress.restored] == ["hive.d.t"]
    assert len(progress.conflicts) == 2
    assert "cannot be read: it is damaged" in progress.conflicts[0]


def test_a_session_that_takes_the_name_in_this_moment_makes_another_attempt_necessary(
    world: JournalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, table, _partitions = small(world)
    world.remove(table)

    def nothing_is_taken(*_arguments: object) -> set[object]:
        return set()

    monkeypatch.setattr("hopshive.consistency.journal.obstacles.among", nothing_is_taken)
    with world.write() as write:
        write.table(database, "t", path="/elsewhere")
    before = world.dump()
    with pytest.raises(Contention, match="Try again"):
        world.restore()
    assert world.dump() == before
    monkeypatch.undo()
    assert "another table of that name" in world.restore().conflicts[0]


# Of a table whose rows several objects share: the key, the table of its parts, and what refers to it.
COLLECTED = {
    "SDS": ("SD_ID", "SD_PARAMS", ("TBLS", "PARTITIONS", "DBS")),
    "SERDES": ("SERDE_ID", "SERDE_PARAMS", ("SDS",)),
    "CDS": ("CD_ID", "COLUMNS_V2", ("SDS",)),
}


def collect(world: JournalWorld) -> None:
    """Delete what nothing refers to, as the collector does, which leaves locked rows. NDB gives them up after a while."""
    database = world.metastore.database()
    for table, (key, part, users) in COLLECTED.items():
        with suppress(Contention), database.transaction() as tx:
            for (id_,) in tx.rows(f"SELECT {key} FROM {table} FOR UPDATE SKIP LOCKED"):
                if not any(tx.value(f"SELECT COUNT(*) FROM {user} WHERE {key} = %s", (id_,)) for user in users):
                    tx.execute(f"DELETE FROM {part} WHERE {key} = %s", (id_,))
                    tx.execute(f"DELETE FROM {table} WHERE {key} = %s", (id_,))
    database.close()


@pytest.mark.parametrize("descriptor", [False, True])
def test_shared_rows_that_the_collector_wants_in_this_moment_stay(
    world: JournalWorld, monkeypatch: pytest.MonkeyPatch, descriptor: bool
) -> None:
    database, table, _partitions = small(world)
    if descriptor:
        with world.write() as write:
            other = write.table(database, "u")
        world.metastore.execute(f"UPDATE TBLS SET SD_ID = {table.sd_id} WHERE TBL_ID = {other.id}")
        collect(world)
    before = world.dump()
    world.remove(database)
    find_clashes = obstacles.find_clashes

    def collect_first(tx: Transaction, step: Step) -> None:
        if step.kind == "table":
            collect(world)
        find_clashes(tx, step)

    monkeypatch.setattr("hopshive.consistency.journal.restore.find_clashes", collect_first)
    assert world.restore().conflicts == []
    assert world.dump() == before


def test_a_restore_holds_all_that_the_collector_finds_by_references() -> None:
    assert set(obstacles._HELD) == {root.table for root in ROOTS if root.owner is None}


# --- in whatever order --------------------------------------------------------------------------------------------------


def test_a_constraint_between_two_tables_comes_back_with_the_second(world: JournalWorld) -> None:
    with world.write() as write:
        database = write.database("d")
        parent, child = write.table(database, "parent"), write.table(database, "child")
        view = write.table(database, "view", kind="MATERIALIZED_VIEW")
        write.constraint(parent, child, "fk")
        write.materialized(view, parent, child)
    before = world.dump()
    for first in (parent, child, view):
        for second in (parent, child, view):
            if first == second:
                continue
            (last,) = {parent.id: parent, child.id: child, view.id: view}.keys() - {first.id, second.id}
            names = {parent.id: "hive.d.parent", child.id: "hive.d.child", view.id: "hive.d.view"}
            world.remove(first)
            world.remove(second)
            world.remove(next(one for one in (parent, child, view) if one.id == last))
            for id_ in (second.id, last, first.id):
                assert world.restore(world.entries(name=names[id_])).conflicts == []
            assert world.dump() == before, names[first.id] + names[second.id]
            assert world.metastore.execute("SELECT * FROM {state}.journal WHERE state = 'waiting'") == []


def test_a_constraint_waits_until_it_is_too_old(world: JournalWorld) -> None:
    with world.write() as write:
        database = write.database("d")
        parent, child = write.table(database, "parent"), write.table(database, "child")
        write.constraint(parent, child, "fk")
    world.remove(child)
    world.remove(parent)
    assert world.restore(world.entries(name="hive.d.child")).conflicts == []
    query = "SELECT kind, name, message FROM {state}.journal WHERE state = 'waiting'"
    assert world.metastore.execute(query) == [
        ("reference", b"hive.d.child", "1 rows wait for another object to come back")
    ]
    assert [one.name for one in world.entries()] == ["hive.d.parent"]
    # Removed again while it waits, it comes back once.
    world.remove(child)
    assert world.restore().conflicts == []
    assert len(world.metastore.execute("SELECT * FROM KEY_CONSTRAINTS WHERE CONSTRAINT_NAME = 'fk'")) == 1
    assert world.metastore.execute(query) == []


def test_a_partition_comes_back_to_a_table_that_was_renamed(world: JournalWorld) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t", acid=True)
        (one,) = write.partitions(table, ["p=1"])
        write.wrote(table, 60, 1, "p=1")
        write.next_write(table, 2)
        write.compaction(table, "i", "p=1")
    names = (
        "UPDATE TBLS SET TBL_NAME = 'u'",
        "UPDATE TAB_COL_STATS SET TABLE_NAME = 'u'",
        "UPDATE NEXT_WRITE_ID SET NWI_TABLE = 'u'",
        "UPDATE TXN_TO_WRITE_ID SET T2W_TABLE = 'u'",
    )
    parts = (
        "UPDATE PART_COL_STATS SET TABLE_NAME = 'u'",
        "UPDATE COMPLETED_TXN_COMPONENTS SET CTC_TABLE = 'u'",
        "UPDATE COMPACTION_QUEUE SET CQ_TABLE = 'u'",
        "UPDATE COMPLETED_COMPACTIONS SET CC_TABLE = 'u'",
        "UPDATE COMPACTION_METRICS_CACHE SET CMC_TABLE = 'u'",
    )
    world.remove(one)
    world.metastore.execute(*names)
    assert world.restore().conflicts == []
    after = world.dump()
    world.metastore.execute(*parts)
    assert world.dump() == after


def test_restoring_twice_or_after_it_came_back_is_nothing(world: JournalWorld) -> None:
    database, _table, _partitions = small(world)
    before = world.dump()
    world.remove(database)
    entries = world.entries()
    assert len(world.restore(entries).restored) == 4
    assert world.restore(entries) == journal.RestoreProgress([], [], [], True)
    # As if an operator had put it back by hand.
    world.metastore.execute("UPDATE {state}.journal SET state = 'removed'")
    assert len(world.restore(entries).restored) == 4
    assert world.dump() == before


# --- any tree, any removal, any kill ------------------------------------------------------------------------------------


def grow(world: JournalWorld, seed: random.Random) -> list[Made]:
    """Objects that hang together in some way."""
    made: list[Made] = []
    with world.write() as write:
        write.transaction(40, "a")
        tables: list[Made] = []
        for number in range(seed.randint(1, 2)):
            database = write.database(f"d{number}")
            made.append(database)
            if seed.random() < 0.3:
                write.more_of_database(database)
            for at in range(seed.randint(0, 3)):
                kind = seed.choice(["MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW"])
                path = f"/external/{number}/{at}" if kind == "EXTERNAL_TABLE" else ""
                acid = seed.random() < 0.4
                table = write.table(database, f"t{at}", kind=kind, path=path, acid=acid, full=seed.random() < 0.5)
                if kind == "MATERIALIZED_VIEW":
                    write.materialized(table, *seed.sample(tables, min(len(tables), 2)))
                if tables and seed.random() < 0.5:
                    write.constraint(seed.choice(tables), table, f"fk_{table.id}")
                tables.append(table)
                made.append(table)
                names = [f"p={n}" for n in range(seed.randint(0, 4))] if kind != "VIRTUAL_VIEW" else []
                elsewhere = "/elsewhere" + table.path if seed.random() < 0.3 else ""
                shared = write.serde() if seed.random() < 0.3 else 0
                partitions = write.partitions(table, names, path=elsewhere, serde=shared, full=seed.random() < 0.3)
                made += partitions
                if acid:
                    write.next_write(table, 9)
                    write.wrote(table, 40, 3, names[0] if names else None, done=False)
                    write.wrote(table, 50 + at, 5, names[-1] if names else None)
                    write.compaction(table, "r", names[0] if names else None)
    return made


@pytest.mark.parametrize("number", range(10))
def test_whatever_was_removed_in_whatever_steps_comes_back(world: JournalWorld, number: int) -> None:
    seed = random.Random(number)  # noqa: S311 - it must be the same each time
    made = grow(world, seed)
    before = world.dump()
    for _ in range(seed.randint(1, 3)):
        chosen = [one.sd_id for one in seed.sample(made, seed.randint(1, min(4, len(made))))]

        def take(tx: Any, limit: int, removal: int, chosen: list[int] = chosen) -> bool:
            return journal.remove_next(tx, removal, chosen, FS, limit).done

        _to_the_end(world, seed, take)
    ids = [one.id for one in world.entries()]
    conflicts: list[str] = []

    def bring(tx: Any, limit: int, _removal: int) -> bool:
        step = journal.restore_next(tx, ids, limit)
        conflicts.extend(step.conflicts)
        return step.done

    _to_the_end(world, seed, bring)
    assert conflicts == []
    assert world.dump() == before


def _to_the_end(world: JournalWorld, seed: random.Random, step: Callable[[Any, int, int], bool]) -> None:
    """Transactions of any size, killed now and then."""
    removal = world.begin()
    done = False
    while not done:
        with pytest.MonkeyPatch.context() as patch:
            if seed.random() < 0.4:
                interrupt_at(patch, seed.randint(1, 60))
            try:
                with world.database.transaction() as tx:
                    done = step(tx, seed.randint(1, 8), removal)
            except Interrupted:
                done = False
                world.database.close()


def test_large_entries_come_back_a_few_at_a_time(world: JournalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.write() as write:
        table = write.table(write.database("d"), "t")
        partitions = write.partitions(table, [f"p={number}" for number in range(5)])
    before = world.dump()
    world.remove(*partitions)
    ids = [one.id for one in world.entries()]
    size = max(row[0] for row in world.metastore.execute("SELECT LENGTH(content) FROM {state}.journal"))
    for most, steps in ((2 * size, [2, 2, 1]), (1, [1] * 5)):
        monkeypatch.setattr("hopshive.consistency.journal.restore.MOST_BYTES", most)
        done, progress = [], journal.RestoreProgress([], [], [], False)
        while not progress.done:
            with world.database.transaction() as tx:
                progress = journal.restore_next(tx, ids, 100)
            done.append(len(progress.restored))
        assert done == steps
        assert world.dump() == before
        world.remove(*partitions)
        ids = [one.id for one in world.entries()]
