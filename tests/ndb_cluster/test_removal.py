"""Removals while a data node starts, when NDB leaves out cascades."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import pytest

from hopshive.consistency.garbage import GUARD, Collector
from hopshive.consistency.garbage.orphans import read_orphans
from hopshive.database import Contention, DatabaseUnavailable
from tests.support.garbage_world import CONFIG, Clock
from tests.support.journal_world import open_world
from tests.support.ndb import Ndb, restarting, run_ndb, unpack_ndb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.journal_world import JournalWorld
    from tests.support.metastore_rows import Made

Done = TypeVar("Done")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home) as running:
        yield running


@pytest.fixture
def world(cluster: Ndb, hive_home: Path) -> Iterator[JournalWorld]:
    with open_world(cluster.sql[0], hive_home) as opened:
        yield opened


def patiently(do: Callable[[], Done]) -> Done:
    """As the mirror, which tries again what the node's end has interrupted."""
    while True:
        try:
            return do()
        except (Contention, DatabaseUnavailable):
            time.sleep(0.2)


def orphans(world: JournalWorld) -> dict[str, int]:
    """Rows whose owner is not there, by table."""
    with world.database.reading() as tx:
        return {table: rows for table, rows in read_orphans(tx, "hdfs").count(tx).items() if rows}


def tables(world: JournalWorld) -> Callable[[str], Made]:
    """Makes tables with two partitions each."""
    with world.write() as write:
        database = write.database("sales")

    def make(name: str) -> Made:
        with world.write() as write:
            table = write.table(database, name, acid=True)
            write.partitions(table, ["p=A", "p=B"])
            return table

    return make


@pytest.mark.parametrize("number", [11, 12])
def test_nothing_is_left_of_what_goes_while_a_data_node_starts(cluster: Ndb, world: JournalWorld, number: int) -> None:
    make = tables(world)
    turns = 0
    with restarting(cluster, number) as starting:
        while starting():
            turns += 1
            table = patiently(lambda: make(f"t{turns}"))  # noqa: B023 - called at once
            patiently(lambda: world.remove(table))  # noqa: B023
    assert turns >= 3
    assert orphans(world) == {}


def test_what_another_deletes_meanwhile_is_told_and_collected(cluster: Ndb, world: JournalWorld) -> None:
    make = tables(world)
    kept = make("kept")
    made = [make(f"t{number}") for number in range(200)]
    waiting = list(made)

    def delete(table: Made) -> None:
        with world.database.transaction() as tx:
            tx.execute("DELETE FROM SDS WHERE SD_ID = %s", (table.sd_id,))

    with restarting(cluster, 11) as starting:
        while starting() and waiting:
            table = waiting.pop()
            patiently(lambda: delete(table))  # noqa: B023 - called at once
            time.sleep(0.1)
    # Else NDB leaves nothing out any more, and all of this can go.
    assert orphans(world).get("TBLS")
    collector = Collector(CONFIG, world.database, None, clock=(clock := Clock()))
    collector.begin_sweep()
    for _ in range(3):
        while collector.step():
            pass
        clock.now += 2 * GUARD
    assert orphans(world) == {}
    with world.database.reading() as tx:
        there = {int(row[0]) for row in tx.rows("SELECT SD_ID FROM TBLS")}
    assert there == {table.sd_id for table in (kept, *waiting)}
