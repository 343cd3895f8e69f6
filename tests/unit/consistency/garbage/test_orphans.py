"""Rows whose owner is gone. MariaDB leaves none, so the tests switch its foreign keys off while they delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency.garbage import orphans
from hopshive.consistency.garbage.orphans import read_orphans
from tests.support.garbage_world import GarbageWorld, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.metastore_db import Metastore


@pytest.fixture
def world(metastore: Metastore) -> Iterator[GarbageWorld]:
    """The partitions 1 to 5 of the tables 1 and 2, each with a parameter, in the database 1."""
    rows = Rows(metastore)
    rows.clear()
    rows.database()
    for table in (1, 2):
        rows.descriptor(table)
        rows.table(table, table)
    for part in range(1, 6):
        rows.descriptor(10 + part)
        rows.partition(part, 1 + part % 2, 10 + part)
        rows.run(f"INSERT INTO PARTITION_PARAMS VALUES ({part}, 'numRows', '7')")
    database = metastore.database()
    yield GarbageWorld(rows, database)
    database.close()
    rows.close()


def lose(world: GarbageWorld, *statements: str) -> None:
    """Delete rows, and nothing that belongs to them."""
    world.rows.run("SET foreign_key_checks = 0", *statements, "SET foreign_key_checks = 1")


def found(world: GarbageWorld, source: str = "hdfs", size: int = 2) -> list[Any]:
    """Page by page."""
    with world.database.reading() as tx:
        kind = read_orphans(tx, source)
        page = kind.page(tx, None, size)
        keys = list(page.garbage)
        while page.after is not None:
            page = kind.page(tx, page.after, size)
            keys += page.garbage
    return keys


def collected(world: GarbageWorld, keys: list[Any], source: str = "hdfs") -> tuple[dict[str, int], list[Any]]:
    with world.database.transaction() as tx:
        done = read_orphans(tx, source).collect(tx, keys)
    return done.rows, done.left


def counted(world: GarbageWorld, source: str = "hdfs") -> Mapping[str, int]:
    with world.database.reading() as tx:
        return {table: rows for table, rows in read_orphans(tx, source).count(tx).items() if rows}


@pytest.mark.parametrize("size", [1, 2, 5000])
def test_what_lost_its_owner_goes_and_the_rest_stays(world: GarbageWorld, size: int) -> None:
    assert (found(world, size=size), counted(world)) == ([], {})
    lose(world, "DELETE FROM SDS WHERE SD_ID IN (2, 13)", "DELETE FROM PARTITIONS WHERE PART_ID IN (1, 4)")
    assert counted(world) == {"TBLS": 1, "PARTITIONS": 1, "PARTITION_PARAMS": 2, "SD_PARAMS": 2}
    # The partitions 3 and 5 were of the table 2 and take their own rows along.
    gone = {"TBLS": 1, "PARTITIONS": 1, "PARTITION_PARAMS": 2, "SD_PARAMS": 2}
    assert collected(world, found(world, size=size)) == (gone, [])
    assert (found(world), counted(world)) == ([], {})
    assert [world.rows.ids(table) for table in ("TBLS", "PARTITIONS", "PARTITION_PARAMS")] == [[1], [2], [2]]


def test_a_row_that_lacks_two_owners_counts_once(world: GarbageWorld) -> None:
    lose(world, "DELETE FROM SDS WHERE SD_ID = 2", "DELETE FROM DBS")
    assert counted(world) == {"TBLS": 2, "SD_PARAMS": 1}


def test_what_has_an_owner_again_stays(world: GarbageWorld) -> None:
    lose(world, "DELETE FROM SDS WHERE SD_ID = 2")
    keys = found(world)
    assert len(keys) == 2
    lose(world, "DELETE FROM SD_PARAMS WHERE SD_ID = 2")
    world.rows.descriptor(2)
    assert collected(world, keys) == ({}, [])
    assert world.rows.ids("TBLS") == [1, 2]


def test_one_transaction_deletes_so_many_rows(world: GarbageWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "MAX_ROWS", 2)
    lose(world, "DELETE FROM TBLS WHERE TBL_ID = 2")
    keys = found(world)
    assert len(keys) == 1
    assert collected(world, keys) == ({"PARTITIONS": 2}, keys)
    assert collected(world, keys) == ({"PARTITIONS": 1}, [])
    assert world.rows.ids("PARTITION_PARAMS") == [2, 4]


def test_a_descriptor_without_an_inode_is_the_file_systems_only_where_that_keeps_the_inodes(
    world: GarbageWorld,
) -> None:
    world.rows.run(
        "INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (1, 1, 'a', 7), (1, 1, 'b', 8)",
        "UPDATE SDS SET PARTITION_ID = 1, PARENT_ID = 1, NAME = IF(SD_ID = 1, 'a', 'b') WHERE SD_ID IN (1, 2)",
    )
    lose(world, "DELETE FROM {inodes} WHERE name = 'b'")
    assert found(world, "hdfs") == []
    keys = found(world, "hopsfs")
    assert len(keys) == 1
    assert counted(world, "hopsfs") == {"SDS": 1}
    assert collected(world, keys, "hopsfs") == ({"SDS": 1}, [])
    assert world.rows.ids("TBLS") == [1]
