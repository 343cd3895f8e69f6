"""Directories whose names are in other scripts, or special in paths and patterns: bound, removed, in the journal, back again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from hopshive.cli import main
from hopshive.consistency import journal
from hopshive.database import Transaction

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.mirror_world import MirrorWorld

# As Hive and users call directories: HDFS has no slash and no colon in a name, and Hive writes both as %2F and %3A.
NAMES = [
    "日本", "東京", "Zürich", "Санкт-Петербург", "Αθήνα", "القاهرة", "ירושלים", "กรุงเทพ", "서울", "दिल्ली",
    "🐘", "a b", " lead", "trail ", "it's", 'say "x"', "a%2Fb", "a=b", "100%", "%", "%E6%97%A5", "_", "e\u0301", "\u00e9",
    "back\\slash", "[red]", "語" * 85,
]  # fmt: skip


def write(world: MirrorWorld, sql: str, *arguments: object) -> None:
    with world.database.transaction() as tx:
        tx.execute(sql, arguments)


def fill(world: MirrorWorld, db: int) -> list[int]:
    """A table with a partition in a directory of each name; the partitions' descriptors."""
    table = world.make_table(db, "t", f"{world.root}/t")
    found = []
    for number, name in enumerate(NAMES):
        path = f"{world.root}/t/{name}"
        world.files.mkdir(path)
        ((sd_id,),) = [world.make_partitions(table, [f"/p{number}"], directories=False)]
        write(world, "UPDATE SDS SET LOCATION = %s WHERE SD_ID = %s", world.uri + path, sd_id)
        write(world, "UPDATE PARTITIONS SET PART_NAME = %s WHERE SD_ID = %s", f"p={name}", sd_id)
        found.append(sd_id)
    return found


def partitions(world: MirrorWorld) -> list[str]:
    return [row[0] for row in world.metastore.execute("SELECT PART_NAME FROM PARTITIONS ORDER BY PART_ID")]


@pytest.fixture
def filled(world: MirrorWorld, db: int) -> MirrorWorld:
    fill(world, db)
    world.settle()
    return world


def test_each_is_bound_to_the_inode_of_its_name(filled: MirrorWorld) -> None:
    rows = filled.metastore.execute("SELECT NAME FROM SDS JOIN PARTITIONS USING (SD_ID) ORDER BY PART_ID")
    assert [bytes(row[0]).decode() for row in rows] == NAMES
    assert filled.differences() == []


@pytest.mark.parametrize("at", range(0, len(NAMES), 5))
def test_one_that_goes_takes_its_partition_alone(filled: MirrorWorld, at: int) -> None:
    filled.files.delete(f"{filled.root}/t/{NAMES[at]}")
    filled.settle()
    assert partitions(filled) == [f"p={name}" for name in NAMES if name != NAMES[at]]


def test_all_come_back_from_the_trash_as_they_were(filled: MirrorWorld) -> None:
    before = filled.metastore.execute("SELECT PART_NAME, LOCATION FROM PARTITIONS JOIN SDS USING (SD_ID) ORDER BY 1, 2")
    place = filled.files.trash(f"{filled.root}/t")
    filled.settle()
    assert partitions(filled) == []
    filled.files.move(place, f"{filled.root}/t")
    filled.settle()
    after = filled.metastore.execute("SELECT PART_NAME, LOCATION FROM PARTITIONS JOIN SDS USING (SD_ID) ORDER BY 1, 2")
    assert after == before
    assert filled.differences() == []


def test_one_is_restored_by_its_name_and_by_its_path(filled: MirrorWorld) -> None:
    for name in ("日本", "it's", "100%", "🐘"):
        path = f"{filled.root}/t/{name}"
        for wanted in ({"name": f"hive.d.t/p={name}"}, {"path": path}):
            filled.files.delete(path)
            filled.settle()
            assert f"p={name}" not in partitions(filled)
            filled.files.mkdir(path)
            with filled.database.transaction() as tx:
                assert_restored(tx, wanted)
            assert f"p={name}" in partitions(filled)
            filled.settle()


def assert_restored(tx: Transaction, wanted: dict[str, str]) -> None:
    entries = journal.restorable(tx, **wanted)  # type: ignore[arg-type]
    done = journal.restore_next(tx, [entries[0].id], 10)
    assert (len(done.restored), done.refused) == (1, []), wanted


def test_commands_show_names_as_they_were_typed(filled: MirrorWorld, tmp_path: Path) -> None:
    filled.files.delete(f"{filled.root}/t")
    filled.settle()
    metastore = filled.metastore
    config = tmp_path / "hopshive.yml"
    config.write_text(
        yaml.safe_dump(
            {
                "database": {
                    "unix_socket": metastore.mariadb.socket,
                    "user": "root",
                    "metastore": metastore.server.database,
                    "state": metastore.names.state,
                    "inodes": metastore.names.inodes,
                },
                "hdfs": {"uris": [filled.uri], "namenodes": list(filled.config.hdfs.namenodes)},
            }
        )
    )

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(main, ["journal", *arguments, "--config", str(config)], terminal_width=400)
        assert done.exit_code == 0, done.output
        return done.stdout

    number = str(json.loads(run("--json"))[0]["id"])
    entries = json.loads(run(number, "--json"))
    assert {entry["name"].partition("/p=")[2] for entry in entries if entry["kind"] == "partition"} == set(NAMES)
    assert {entry["path"].rpartition("/")[2] for entry in entries if entry["kind"] == "partition"} == set(NAMES)
    shown = "".join(run(number).split())
    for name in ("日本", "Αθήνα", "🐘", "100%", "[red]"):
        assert name in shown, name
