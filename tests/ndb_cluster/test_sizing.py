"""What the role ndb_management gives the cluster room for, beside what a live cluster counts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from hopshive.consistency import schema
from tests.support.metastore_db import Metastore, own_names, stock_metastore
from tests.support.ndb import BINLOG, DATA_NODES, Ndb, run_ndb, unpack_ndb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLE = Path(__file__).parents[2] / "roles/ndb_management"
COUNTED = yaml.safe_load((ROLE / "vars/main.yml").read_text())["__ndb_management_counted"]
HEADROOM = yaml.safe_load((ROLE / "defaults/main.yml").read_text())["ndb_management_headroom"]
# As the role's settings.
ROOM = {
    "MaxNoOfTables": COUNTED["tables"] * HEADROOM,
    "MaxNoOfAttributes": COUNTED["attributes"] * HEADROOM,
    "MaxNoOfOrderedIndexes": COUNTED["ordered"] * HEADROOM,
    "MaxNoOfUniqueHashIndexes": COUNTED["unique"] * HEADROOM,
    "MaxNoOfTriggers": (COUNTED["triggers"] + 6 * COUNTED["tables"]) * HEADROOM,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    """One with the room that the role gives, and a binary log."""
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home, data=DATA_NODES | ROOM, settings=BINLOG) as running:
        yield running


def counted(cluster: Ndb) -> dict[str, int]:
    """What there is of each kind, as the cluster says: of tables and triggers, attributes of tables and of indexes."""
    kinds: dict[str, int] = {
        str(kind): int(count)
        for kind, count in cluster.sql[0].execute(
            "SELECT t.type_name, COUNT(*) FROM ndbinfo.dict_obj_info o JOIN ndbinfo.dict_obj_types t ON t.type_id = o.type"
            " GROUP BY t.type_name"
        )
    }
    ((of_tables,),) = cluster.sql[0].execute("SELECT SUM(attributes) FROM ndbinfo.dictionary_tables")
    # Each index has one attribute more than columns: the node of the tree, or the key of the row.
    ((of_indexes,),) = cluster.sql[0].execute(
        "SELECT SUM(LENGTH(columns) - LENGTH(REPLACE(columns, ',', '')) + 2) FROM ndbinfo.index_columns"
    )
    return {
        "tables": kinds["User table"],
        "attributes": int(of_tables) + int(of_indexes),
        "ordered": kinds["Ordered index"],
        "unique": kinds["Unique hash index"],
        "triggers": sum(count for kind, count in kinds.items() if kind.lower().endswith("trigger")),
    }


@pytest.fixture(scope="module")
def stock(cluster: Ndb, hive_home: Path) -> Metastore:
    node = cluster.sql[0]
    return Metastore(node, stock_metastore(node, hive_home, "metastore"), own_names("metastore"))


def test_the_role_counts_what_the_cluster_counts(cluster: Ndb, stock: Metastore) -> None:
    """Another schema, of Hive or of ours, has to be counted again: roles/ndb_management/vars/main.yml."""
    # Hive's own has more tables, since each TEXT column has one of its own.
    before = counted(cluster)
    schema.apply(stock.server, stock.names)
    after = counted(cluster)
    assert {kind: max(before[kind], after[kind]) for kind in before} == COUNTED


def test_there_is_room_to_change_the_schema_and_back(stock: Metastore) -> None:
    """Each table that is copied is there twice, and the place of the old one is free after the next checkpoint only."""
    for _ in range(2):
        schema.remove(stock.server, stock.names, purge=True)
        schema.apply(stock.server, stock.names)
    assert schema.apply(stock.server, stock.names, dry_run=True) == []


def test_there_is_room_for_a_backup(cluster: Ndb) -> None:
    environment = {**os.environ, **cluster.environment}
    client = [str(cluster.home / "bin/ndb_mgm"), f"--ndb-connectstring={cluster.connect}"]
    done = subprocess.run(
        [*client, "-e", "START BACKUP WAIT COMPLETED"], env=environment, capture_output=True, text=True, check=False
    )
    assert "completed" in done.stdout, done.stdout
