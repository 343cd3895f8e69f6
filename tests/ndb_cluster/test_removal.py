"""Removals while a data node starts, when NDB leaves out cascades."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

import pytest

from hopshive import closure
from hopshive.database import Contention, DatabaseUnavailable
from tests.journal_world import open_world
from tests.ndb import Ndb, restarting, run_ndb, unpack_ndb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.journal_world import World
    from tests.metastore_rows import Made

Done = TypeVar("Done")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home) as running:
        yield running


@pytest.fixture
def world(cluster: Ndb, hive_home: Path) -> Iterator[World]:
    with open_world(cluster.sql[0], hive_home) as opened:
        yield opened


def patiently(do: Callable[[], Done]) -> Done:
    """As the mirror, which tries again what the node's end has interrupted."""
    while True:
        try:
            return do()
        except (Contention, DatabaseUnavailable):
            time.sleep(0.2)


def orphans(world: World) -> dict[str, int]:
    """Rows whose parent is not there, by the foreign key that should have taken them along."""
    with world.database.reading() as tx:
        keys = [key for key in closure.read(tx).keys if key.cascades]
        counts = {
            key.name: tx.value(
                f"SELECT COUNT(*) FROM `{key.table}` c LEFT JOIN `{key.to}` p ON p.`{key.to_column}` = c.`{key.column}`"
                f" WHERE c.`{key.column}` IS NOT NULL AND p.`{key.to_column}` IS NULL"
            )
            for key in keys
        }
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("number", [11, 12])
def test_nothing_is_left_of_what_goes_while_a_data_node_starts(cluster: Ndb, world: World, number: int) -> None:
    with world.write() as write:
        database = write.database("sales")

    def make(name: str) -> Made:
        with world.write() as write:
            table = write.table(database, name, acid=True)
            write.partitions(table, ["p=A", "p=B"])
            return table

    turns = 0
    with restarting(cluster, number) as starting:
        while starting():
            turns += 1
            table = patiently(lambda: make(f"t{turns}"))  # noqa: B023 - called at once
            patiently(lambda: world.remove(table))  # noqa: B023
    assert turns >= 3
    assert orphans(world) == {}
