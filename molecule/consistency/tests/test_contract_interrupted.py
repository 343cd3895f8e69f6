"""The metastore dies between a directory and its metadata: the directory without metadata is told by `hopshive check`."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from tests.warehouse import HiveError, HiveSession
from tests.warehouse.database import MetastoreDatabase

if TYPE_CHECKING:
    from tests.contract import OwnDatabase


def test_a_directory_without_metadata_is_reported_and_left_alone(db: OwnDatabase) -> None:
    warehouse = db.warehouse
    path = f"{db.external}/t"
    session = HiveSession(warehouse.lab.one("server2").address)
    answers: list[str] = []

    def create() -> None:
        try:
            session.execute(f"CREATE EXTERNAL TABLE {db.name}.t (a INT) STORED AS ORC")
            answers.append("created")
        except HiveError as error:
            answers.append(str(error))

    # The metastore makes the directory, then wants to write into a table that another session holds.
    holder = MetastoreDatabase(warehouse.lab)
    holder.execute("LOCK TABLES SERDES WRITE")
    statement = threading.Thread(target=create)
    statement.start()
    try:
        deadline = time.monotonic() + 60
        while not warehouse.hdfs.exists(path) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert warehouse.hdfs.exists(path), answers
        warehouse.metastore.kill()
        warehouse.metastore.stop()
    finally:
        holder.execute("UNLOCK TABLES")
        holder.close()
    # Without a metastore HiveServer2 gives up, instead of asking the next one for the same.
    statement.join(120)
    warehouse.metastore.start()
    assert not statement.is_alive()
    session.close()
    warehouse.session.wait()
    # No process could end its transaction: without this it holds its locks for five minutes more.
    for (txn,) in warehouse.metastore_sql("SELECT DISTINCT HL_TXNID FROM HIVE_LOCKS WHERE HL_DB = %s", (db.name,)):
        db.hive(f"ABORT TRANSACTIONS {txn}")
    assert answers != ["created"]
    warehouse.wait_quiet()
    assert db.tables() == []
    assert warehouse.hdfs.exists(path)
    assert db.told() == [("no metadata", path)]
    # With --fix neither: hopshive deletes no data.
    warehouse.cleaners[0].command("check", "--fix", check=False)
    assert warehouse.hdfs.exists(path)
    db.hive("CREATE EXTERNAL TABLE {db}.t (a INT) STORED AS ORC", "INSERT INTO {db}.t VALUES (1)")
    warehouse.wait_quiet()
    assert db.told() == []
    assert db.is_bound("t")
