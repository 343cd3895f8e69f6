"""Compares metastore and file system in both directions for `hopshive check`. Changes nothing.

A change that is under way is not a difference: each finding is checked again after a pause before it is reported.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hopshive.consistency import garbage, journal, origin
from hopshive.consistency.mirror import queue_reports
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.tree import NOT_OURS, Key, Known
from hopshive.database import marks
from hopshive.hdfs.paths import decoded, prefixes
from hopshive.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hopshive.config import Config
    from hopshive.database import Database, Row, Transaction
    from hopshive.hdfs.namenode import NameNode

FindingKind = Literal["no directory", "not bound", "bound elsewhere", "no metadata", "garbage"]
ROWS_PER_PAGE = 5000
# Seconds after which a finding is checked again.
SETTLE_SECONDS = 2.0
_FIRST = -(2**63)


@dataclass(frozen=True, slots=True)
class Difference:
    """A thing that only one side has. `object`: `table catalog.db.name`, or empty. `path`: empty for garbage."""

    kind: FindingKind
    object: str
    path: str
    detail: str = ""


def differences(
    config: Config,
    database: Database,
    namenode: NameNode | None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    settle: float = SETTLE_SECONDS,
) -> Iterator[Difference]:
    """All differences. `progress` is called with the number of compared storage descriptors, and with their total.

    Memory grows by some 70 bytes a directory, and with the number of differences. With the source `hopsfs` there is no
    `namenode`: the file system itself keeps directories and metadata together, and only garbage is looked for.
    Raises NameNodeError and DatabaseError, and Refused for a file system other than the followed one.
    """
    if namenode is not None:
        with database.reading() as tx:
            origin.check(tx, config, database.server.place, namenode.identity())
        checked = _Check(config, database, namenode)
        yield from checked.metadata(progress, settle)
        yield from checked.directories(settle)
    found = _garbage(config, database)
    if found:
        time.sleep(settle)
        found = {table: count for table, count in _garbage(config, database).items() if table in found}
    for table, count in found.items():
        yield Difference("garbage", table, "", f"{counted(count, 'row')} without an owner")


def _garbage(config: Config, database: Database) -> dict[str, int]:
    """The number of garbage rows of each table that has some."""
    with database.reading() as tx:
        return {table: count for table, count in garbage.counts(tx, config.source).items() if count}


class _Check:
    def __init__(self, config: Config, database: Database, namenode: NameNode) -> None:
        self._config = config
        self._fs = config.file_system
        self._database = database
        self._namenode = namenode
        # Paths of the metastore's objects: hashes of exact paths, and paths at or above an object.
        self._at: set[int] = set()
        self._above = Known()

    # --- metadata without a directory -----------------------------------------------------------------------------

    def metadata(self, progress: Callable[[int, int], None], settle: float) -> Iterator[Difference]:
        with self._database.reading() as tx:
            total = int(tx.value("SELECT COUNT(*) FROM SDS") or 0)
        last, seen = _FIRST, 0
        suspects: list[int] = []
        while True:
            rows = self._page("s.SD_ID > %s ORDER BY s.SD_ID LIMIT %s", (last, ROWS_PER_PAGE))
            for row in rows:
                path = self._fs.path_of(row[1])
                if path:
                    self._at.add(hash(path))
                    self._above.add(path)
            suspects += [sd_id for sd_id, _, _ in self._judge(rows)]
            seen += len(rows)
            progress(seen, max(total, seen))
            if len(rows) < ROWS_PER_PAGE:
                break
            last = int(rows[-1][0])
        if suspects:
            time.sleep(settle)
        for start in range(0, len(suspects), ROWS_PER_PAGE):
            part = suspects[start : start + ROWS_PER_PAGE]
            judged = self._judge(self._page(f"s.SD_ID IN ({marks(part)})", part))
            sd_ids = [sd_id for sd_id, _, _ in judged]
            with self._database.reading() as tx:
                names, pending, gone = _names(tx, sd_ids), _pending(tx, sd_ids), _gone(tx) if judged else {}
            for sd_id, kind, path in judged:
                # A descriptor without an owner is garbage, and is counted as such.
                if sd_id in names:
                    above = [gone[one] for one in prefixes(path) if one in gone] if kind == "no directory" else []
                    yield Difference(kind, names[sd_id], path, pending.get(sd_id) or next(iter(above), ""))

    def _page(self, condition: str, arguments: Sequence[object]) -> list[Row]:
        with self._database.reading() as tx:
            return tx.rows(
                "SELECT s.SD_ID, s.LOCATION, s.PARENT_ID, s.NAME, i.id FROM SDS s LEFT JOIN {inodes} i"
                " ON i.partition_id = s.PARTITION_ID AND i.parent_id = s.PARENT_ID AND i.name = s.NAME"
                f" WHERE {condition}",
                arguments,
            )

    def _judge(self, rows: Sequence[Row]) -> list[tuple[int, FindingKind, str]]:
        paths = {int(row[0]): path for row in rows if (path := self._fs.path_of(row[1]))}
        found = look(self._namenode, paths.values())
        judged: list[tuple[int, FindingKind, str]] = []
        for sd_id, _, parent, name, inode in rows:
            path = paths.get(sd_id)
            if path in (None, "/"):
                if name is None or bytes(name) != NOT_OURS:
                    judged.append((sd_id, "not bound", ""))
            elif path not in found.ids:
                judged.append((sd_id, "no directory", path))
            elif name is None or parent is None:
                judged.append((sd_id, "not bound", path))
            elif found.key(path) != Key(int(parent), bytes(name)) or found.ids[path] != inode:
                judged.append((sd_id, "bound elsewhere", path))
        return judged

    # --- directories without metadata -----------------------------------------------------------------------------

    def directories(self, settle: float) -> Iterator[Difference]:
        strangers = [*self._strangers_of_databases(), *self._strangers_of_tables()]
        if not strangers:
            return
        time.sleep(settle)
        with self._database.reading() as tx:
            for (location,) in tx.rows("SELECT LOCATION FROM SDS WHERE PARTITION_ID IS NULL AND NAME IS NULL"):
                path = self._fs.path_of(location)
                if path:
                    self._at.add(hash(path))
                    self._above.add(path)
            dropped = _dropped(tx)
        for owner, path in dict.fromkeys(strangers):
            if path not in self._above and self._namenode.entry(path) is not None:
                detail = f"in the directory of {owner}"
                with self._database.reading() as tx:
                    went = journal.latest(tx, path, "removed")
                if path in dropped:
                    detail += (
                        f"; the table {dropped[path]} was dropped, and the cleaner is about to decide on its directory"
                    )
                elif went:
                    detail += (
                        f"; the journal has metadata of it, from removal {went.removal}: hopshive restore --path {path}"
                    )
                yield Difference("no metadata", "", path, detail)

    def _strangers_of_databases(self) -> Iterator[tuple[str, str]]:
        with self._database.reading() as tx:
            rows = tx.rows("SELECT CTLG_NAME, NAME, DB_LOCATION_URI, DB_MANAGED_LOCATION_URI FROM DBS")
            # Paths of Spark's tables whose location is a placeholder.
            for (location,) in tx.rows("SELECT PARAM_VALUE FROM SERDE_PARAMS WHERE PARAM_KEY = 'path'"):
                self._above.add(self._fs.path_of(location) or "")
        homes: dict[str, str] = {}
        roots: set[str] = set()
        for catalog, name, *locations in rows:
            for location in locations:
                path = self._fs.path_of(location)
                if path:
                    homes[path] = f"database {catalog}.{name}"
                    self._above.add(path)
            managed = self._fs.path_of(locations[1]) or ""
            if managed.endswith(f"/{name}.db"):
                roots.add(managed.rpartition("/")[0])
        for path, owner in homes.items():
            for child in self._children(path):
                if child not in self._above:
                    yield owner, child
        # The database `default` lies among directories of external tables. Other databases' rows have their managed directory.
        for path in roots - homes.keys():
            for child in self._children(path):
                if child.endswith(".db") and child not in self._above:
                    yield "managed databases", child

    def _strangers_of_tables(self) -> Iterator[tuple[str, str]]:
        last = _FIRST
        while True:
            with self._database.reading() as tx:
                rows = tx.rows(
                    "SELECT t.TBL_ID, d.CTLG_NAME, d.NAME, t.TBL_NAME, s.LOCATION,"
                    " (SELECT COUNT(*) FROM PARTITION_KEYS k WHERE k.TBL_ID = t.TBL_ID) AS depth"
                    " FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID JOIN SDS s ON s.SD_ID = t.SD_ID"
                    " WHERE t.TBL_ID > %s ORDER BY t.TBL_ID LIMIT %s",
                    (last, ROWS_PER_PAGE),
                )
            for _, catalog, database, table, location, depth in rows:
                path = self._fs.path_of(location)
                if path and depth:
                    for stranger in self._partitions(path, int(depth)):
                        yield f"table {catalog}.{database}.{table}", stranger
            if len(rows) < ROWS_PER_PAGE:
                return
            last = int(rows[-1][0])

    def _partitions(self, path: str, depth: int) -> Iterator[str]:
        """Directories below a partitioned table that have a partition's name and no partition."""
        for child in self._children(path):
            if "=" not in child.rpartition("/")[2]:
                continue
            if depth == 1:
                if hash(child) not in self._at:
                    yield child
            else:
                yield from self._partitions(child, depth - 1)

    def _children(self, path: str) -> Iterator[str]:
        """Subdirectories of a directory, without those that engines hide."""
        try:
            for entry in self._namenode.listing(path):
                if entry.is_dir and not entry.name.startswith((".", "_")):
                    yield f"{path.rstrip('/')}/{entry.name}"
        except FileNotFoundError:
            return


def _names(tx: Transaction, sd_ids: Sequence[int]) -> dict[int, str]:
    """What owns some storage descriptors, for messages."""
    if not sd_ids:
        return {}
    some = marks(sd_ids)
    names = {
        int(sd_id): f"partition {catalog}.{database}.{table}/{part}"
        for sd_id, catalog, database, table, part in tx.rows(
            "SELECT p.SD_ID, d.CTLG_NAME, d.NAME, t.TBL_NAME, p.PART_NAME FROM PARTITIONS p JOIN TBLS t ON t.TBL_ID = p.TBL_ID"
            f" JOIN DBS d ON d.DB_ID = t.DB_ID WHERE p.SD_ID IN ({some})",
            sd_ids,
        )
    }
    names |= {
        int(sd_id): f"table {catalog}.{database}.{table}"
        for sd_id, catalog, database, table in tx.rows(
            "SELECT t.SD_ID, d.CTLG_NAME, d.NAME, t.TBL_NAME FROM TBLS t JOIN DBS d ON d.DB_ID = t.DB_ID"
            f" WHERE t.SD_ID IN ({some})",
            sd_ids,
        )
    }
    names |= {
        int(sd_id): f"database {catalog}.{database}"
        for sd_id, catalog, database in tx.rows(
            f"SELECT SD_ID, CTLG_NAME, NAME FROM DBS WHERE SD_ID IN ({some})", sd_ids
        )
    }
    return names


def _dropped(tx: Transaction) -> dict[str, str]:
    """Directories of dropped tables, with the tables' names: hopshive.consistency.drops.finish decides on them."""
    rows = tx.rows(
        "SELECT o.path, o.name FROM {state}.owned o LEFT JOIN TBLS t ON t.TBL_ID = o.tbl_id WHERE t.TBL_ID IS NULL"
    )
    return {decoded(bytes(path)): decoded(bytes(name)) for path, name in rows}


def _gone(tx: Transaction) -> dict[str, str]:
    """Directories whose deletion or move was seen, each with the time when the mirror decides."""
    found = {}
    for path, kind, target, state, due in queue_reports.departed(tx, ROWS_PER_PAGE):
        moved = f"moved to {decoded(target)}, " if kind == "rename" and bytes(target) not in (b"", b"/") else ""
        human = state in ("held", "reported")
        found[decoded(path)] = moved + (
            f"{state}: hopshive held" if human else f"{state}, due {due:%Y-%m-%d %H:%M:%S} UTC"
        )
    return found


def _pending(tx: Transaction, sd_ids: Sequence[int]) -> dict[int, str]:
    """The pending checks of storage descriptors whose directory never existed, as text."""
    return {
        int(sd_id): f"{state}, due {due:%Y-%m-%d %H:%M:%S} UTC"
        for sd_id, state, due in queue_reports.pending_of(tx, sd_ids)
    }
