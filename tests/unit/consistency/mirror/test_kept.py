"""Metadata that stay although a directory is gone: Spark's placeholders, second directories, what a job overwrites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hopshive.consistency.mirror import binding
from hopshive.consistency.mirror.context import look
from tests.support.mirror_world import MirrorWorld

if TYPE_CHECKING:
    pass


def test_a_table_that_only_spark_can_read_stays_without_the_directory_that_hive_was_told(
    world: MirrorWorld, db: int
) -> None:
    # USING csv LOCATION '/data': Spark has Hive make a directory, and deletes it.
    hive, data = f"{world.root}/external/d.db/t-__PLACEHOLDER__", f"{world.root}/external/d.db/data"
    table = world.make_table(db, "t", hive)
    world.metastore.execute(
        f"INSERT INTO SERDE_PARAMS (SERDE_ID, PARAM_KEY, PARAM_VALUE) VALUES ({table}, 'path', '{world.uri}{data}')"
    )
    world.make_partitions(table, [f"{data}/p=1", f"{data}/p=2"])
    world.files.delete(hive)
    world.settle()
    world.mirror.compare()
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1", "d.t/p=2"}
    assert world.differences() == []
    world.files.delete(f"{data}/p=1")
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=2"}


def test_the_second_directory_of_a_database_is_known_after_a_restart(world: MirrorWorld, db: int) -> None:
    world.settle()
    world.start()
    for kind in ("external", "managed"):
        assert world.objects() == {"d"}
        world.files.delete(f"{world.root}/{kind}/d.db")
        world.settle()
    assert db
    assert world.objects() == set()


def test_a_database_that_moves_while_it_is_bound_is_bound_to_the_new_place(
    world: MirrorWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.make_database("d")
    world.files.mkdir(f"{world.root}/new")

    def slow(*arguments: Any) -> Any:
        monkeypatch.undo()
        world.metastore.execute(f"UPDATE DBS SET DB_LOCATION_URI = '{world.uri}{world.root}/new' WHERE NAME = 'd'")
        return look(*arguments)

    monkeypatch.setattr(binding, "look", slow)
    world.settle()
    world.files.delete(f"{world.root}/new")
    world.settle()
    assert world.objects() == set()


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_job_overwrites_keeps_its_metadata_while_it_runs(world: MirrorWorld, db: int, whole: bool) -> None:
    # As Spark does it: INSERT OVERWRITE t PARTITION (p=0), or of the whole table, and a query that takes its time.
    table = world.make_table(db, "t", f"{world.root}/t")
    world.make_partitions(table, [f"{world.root}/t/p={n}" for n in range(3)])
    world.settle()
    everything = world.objects()
    world.files.delete(f"{world.root}/t" if whole else f"{world.root}/t/p=0")
    world.files.mkdir(f"{world.root}/t/_temporary/0")
    world.settle()
    world.wait_out()
    world.mirror.compare()
    world.settle()
    world.wait_out()
    assert world.objects() == everything
    world.files.mkdir(f"{world.root}/t/p=0")
    world.files.delete(f"{world.root}/t/_temporary")
    world.wait_out()
    assert world.objects() == (everything - {"d.t/p=1", "d.t/p=2"} if whole else everything)
    assert world.pending_checks() == []
    assert world.differences() == []


def test_a_job_that_was_killed_keeps_nothing_for_ever(world: MirrorWorld, db: int) -> None:
    table = world.make_table(db, "t", f"{world.root}/t")
    world.make_partitions(table, [f"{world.root}/t/p={n}" for n in range(3)])
    world.settle()
    world.files.mkdir(f"{world.root}/t/_temporary/0")
    world.files.delete(f"{world.root}/t/p=0")
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1", "d.t/p=2"}
    world.files.delete(f"{world.root}/t/p=1")
    world.files.mkdir(f"{world.root}/t/_temporary/1")
    world.settle()
    assert world.objects() == {"d", "d.t", "d.t/p=1", "d.t/p=2"}
    world.start(writer_grace=0)
    world.wait_out()
    assert world.objects() == {"d", "d.t", "d.t/p=2"}
