"""Sessions that have counted a transactional table: HiveServer2 keeps nothing of a partition that went or came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.objects import ACID
from tests.warehouse import HiveSession

if TYPE_CHECKING:
    from tests.contract import OwnDatabase

# Answered by a fetch, by statistics, and by a task.
QUERIES = (
    "SELECT a, p FROM {db}.t WHERE p >= 2",
    "SELECT count(*) FROM {db}.t WHERE p >= 2",
    "SELECT count(*), sum(a) FROM {db}.t",
)


def answers(db: OwnDatabase) -> list[list[tuple[object, ...]]]:
    """What the session that has read it before and a new one both say of the table."""
    new = HiveSession(db.warehouse.lab.one("server2").address)
    queries = [query.replace("{db}", db.name) for query in QUERIES]
    try:
        old, fresh = ([sorted(session.execute(query)) for query in queries] for session in (db.warehouse.session, new))
    finally:
        new.close()
    assert old == fresh
    return old


def test_a_partition_that_went_and_came_back_is_in_the_counts_of_all_sessions(db: OwnDatabase) -> None:
    db.hive(
        f"CREATE TABLE {{db}}.t (a INT) PARTITIONED BY (p INT) {ACID}",
        "INSERT INTO {db}.t VALUES (1, 1), (2, 2), (3, 3)",
    )
    db.warehouse.wait_quiet()
    # From now on HiveServer2 could keep its partitions and their statistics.
    assert answers(db) == [[(2, 2), (3, 3)], [(2,)], [(3, 6)]]
    path = db.path("t", "p=2")
    db.warehouse.hdfs.delete(path, skip_trash=False)
    db.warehouse.wait_quiet()
    assert answers(db) == [[(3, 3)], [(1,)], [(2, 4)]]
    # Now they could be kept for the table's new write ids.
    db.hive("INSERT INTO {db}.t VALUES (30, 3)")
    assert answers(db) == [[(3, 3), (30, 3)], [(2,)], [(3, 34)]]
    db.warehouse.hdfs.restore_from_trash(path)
    db.warehouse.wait_quiet()
    assert answers(db) == [[(2, 2), (3, 3), (30, 3)], [(3,)], [(4, 36)]]
