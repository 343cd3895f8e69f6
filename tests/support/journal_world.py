"""A metastore's database for tests of the journal: made once for a session, emptied for each test."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.consistency import journal, schema
from hopshive.consistency.journal import Cause
from hopshive.database import Transaction
from hopshive.hdfs.paths import FileSystem
from tests.support.metastore_db import Metastore, own_names, stock_metastore
from tests.support.metastore_rows import URI, Writer, dump, wipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pytest

    from hopshive.consistency.journal import Entry, Removed, RestoreProgress
    from hopshive.database import Database
    from tests.support.metastore_rows import Dump, Made
    from tests.support.servers import MariaDB

FS = FileSystem((URI,))
_NAME = "ms_journal"
# By the server's socket. Nothing is dropped at the end of a test: the server itself is thrown away.
_made: dict[str, Metastore] = {}


class Interrupted(Exception):
    """The process was killed."""


@dataclass
class JournalWorld:
    """The database, with what the mirror does to it."""

    metastore: Metastore
    database: Database
    _writer: Writer | None = field(default=None)

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """Write rows, in one transaction."""
        with self.database.transaction() as tx:
            if self._writer is None:
                self._writer = Writer(tx)
            self._writer.tx = tx
            yield self._writer

    def dump(self) -> Dump:
        """Everything in the metastore's database."""
        return dump(self.metastore)

    def begin(self, path: str = "/warehouse") -> int:
        """A removal."""
        with self.database.transaction() as tx:
            return journal.begin_removal(tx, Cause("unlink", path, txid=7))

    def remove(self, *objects: Made, limit: int = 100, removal: int = 0) -> list[Removed]:
        """Remove what owns the descriptors of some objects."""
        removal = removal or self.begin()
        removed: list[Removed] = []
        while True:
            with self.database.transaction() as tx:
                progress = journal.remove_next(tx, removal, [one.sd_id for one in objects], FS, limit)
            removed += progress.removed
            assert len(progress.removed) <= limit
            if progress.done:
                return removed

    def entries(self, path: str | None = None, name: str | None = None, removal: int | None = None) -> list[Entry]:
        """What can come back."""
        with self.database.reading() as tx:
            return journal.restorable(tx, path=path, name=name, removal=removal)

    def restore(self, entries: Sequence[Entry] | None = None, limit: int = 100) -> RestoreProgress:
        """Restore all, or some; what all transactions together did."""
        ids = [one.id for one in (self.entries() if entries is None else entries)]
        whole = journal.RestoreProgress([], [], [], True)
        while True:
            with self.database.transaction() as tx:
                step = journal.restore_next(tx, ids, limit)
            whole.restored.extend(step.restored)
            whole.refused.extend(step.refused)
            whole.conflicts.extend(step.conflicts)
            ids = [id_ for id_ in ids if id_ not in step.refused]
            if step.done:
                return whole


@contextmanager
def open_world(mariadb: MariaDB, hive_home: Path) -> Iterator[JournalWorld]:
    """An empty one."""
    if mariadb.socket not in _made:
        made = Metastore(mariadb, stock_metastore(mariadb, hive_home, _NAME), own_names(_NAME))
        schema.apply(made.server, made.names)
        _made[mariadb.socket] = made
    metastore = _made[mariadb.socket]
    wipe(metastore)
    database = metastore.database()
    try:
        yield JournalWorld(metastore, database)
    finally:
        database.close()


def interrupt_at(monkeypatch: pytest.MonkeyPatch, statement: int) -> None:
    """Kill the process before that statement of a transaction, counted from 1."""
    done = 0

    def count(_tx: Transaction) -> None:
        nonlocal done
        done += 1
        if done == statement:
            raise Interrupted

    execute, many = Transaction.execute, Transaction.many

    def counted_execute(tx: Transaction, sql: str, arguments: Sequence[object] = ()) -> int:
        count(tx)
        return execute(tx, sql, arguments)

    def counted_many(tx: Transaction, sql: str, rows: Sequence[Sequence[object]]) -> int:
        count(tx)
        return many(tx, sql, rows)

    monkeypatch.setattr(Transaction, "execute", counted_execute)
    monkeypatch.setattr(Transaction, "many", counted_many)
