"""Killed, or cut off from its database, at every step of a removal, a binding and a restore: a mirror that starts anew ends
where one ends that nothing interrupted.

A step is a statement of a transaction that has changed something, its COMMIT, or the answer to that. Whatever dies before it
has changed anything died, for the database, after the COMMIT before. By default there are few objects, and of each transaction
the moments before and after its COMMIT are tried; CRASH_POINTS=all tries every statement, with more objects, and a server that
is killed at each of them.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any, TypeAlias

import pymysql
import pytest
from pymysql.constants import COMMAND

from hopshive import closure, journal
from hopshive import request as requests
from hopshive.config import MirrorConfig
from hopshive.database import Contention, DatabaseUnavailable, Transaction, render
from hopshive.journal.content import decode
from hopshive.metrics import Metrics
from hopshive.mirror import Mirror
from hopshive.mirror.restoring import restore
from hopshive.namenode import ROOT_ID, NameNode
from tests.metastore_db import Metastore, with_schema
from tests.mirror_world import TRASH, World
from tests.servers import Hdfs, MariaDB

ALL = os.environ.get("CRASH_POINTS") == "all"
PARTITIONS = 7 if ALL else 2
# Small, so that what is removed, bound or restored takes more than one transaction.
BATCH = 2
STATE = ("recheck", "removal", "journal", "candidate", "request", "setting")
# Of the moment, or the number of an attempt.
VOLATILE = {"removed", "begun", "ended", "due", "event_at", "txid", "asked", "content"}
INODES = {"PARTITION_ID", "PARENT_ID", "partition_id", "parent_id", "id", "inode"}
WRITES = re.compile(rb"\s*(INSERT|UPDATE|DELETE|REPLACE)\b")

Connection: TypeAlias = "pymysql.connections.Connection[Any]"


@pytest.fixture(scope="module")
def metastore(mariadb: MariaDB, hive_home: Path) -> Iterator[Metastore]:
    with with_schema(mariadb, hive_home, "crash") as made:
        yield made


# --- steps ------------------------------------------------------------------------------------------------------------


class Steps:
    """Strikes at every step of one transaction, the one with a number: before each of its statements in turn (it is begun
    anew after each time), before its COMMIT, and last before the answer to that.

    What it knows is shared with the processes that it kills.
    """

    def __init__(self, transaction: int, strike: Callable[[Connection], None]) -> None:
        self._strike = strike
        # Transactions to let pass; the statement to strike at; whether the answer is next; whether all is done.
        self._left = RawArray("i", [transaction - 1, 1 if ALL else 1_000_000, 0, 0])
        # Of each connection: whether its last statement writes; its statements since something was changed.
        self._writing: dict[Connection, bool] = {}
        self._changed: Counter[Connection] = Counter()

    @property
    def over(self) -> bool:
        """Whether there was such a transaction, and each of its steps."""
        return bool(self._left[3])

    def execute(self, connection: Connection, sql: bytes, send: Callable[[], None]) -> None:
        """Send a statement, unless the strike prevents it."""
        if self._changed[connection] or (self._writing.get(connection) and connection.affected_rows()):  # type: ignore[no-untyped-call]
            self._changed[connection] += 1
        self._writing[connection] = bool(WRITES.match(sql))
        at = self._changed[connection]
        if sql not in (b"COMMIT", b"ROLLBACK"):
            if self._mine and at >= self._left[1]:
                self._left[1] += 1
                self._hit(connection)
            send()
            return
        self._changed.pop(connection, None)
        if sql == b"ROLLBACK" or not at:
            send()
        elif not self._mine:
            self._left[0] -= 1
            send()
        elif not self._left[2]:
            self._left[2] = 1
            self._hit(connection)
            send()
        else:
            send()
            connection._read_query_result()  # type: ignore[attr-defined]
            self._left[3] = 1
            self._hit(connection)

    @property
    def _mine(self) -> bool:
        return self._left[0] == 0 and not self.over

    def _hit(self, connection: Connection) -> None:
        self._changed.pop(connection, None)
        self._writing.pop(connection, None)
        self._strike(connection)


@contextmanager
def counted(steps: Steps) -> Iterator[None]:
    """Within the block statements are steps."""
    execute = pymysql.connections.Connection._execute_command  # type: ignore[attr-defined]

    def statement(self: Connection, command: int, sql: str | bytes) -> None:
        if command == COMMAND.COM_QUERY:
            text = sql.encode(errors="surrogateescape") if isinstance(sql, str) else bytes(sql)
            steps.execute(self, text, lambda: execute(self, command, sql))
        else:
            execute(self, command, sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pymysql.connections.Connection, "_execute_command", statement)
        yield


def die(_: Connection) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- mirrors ----------------------------------------------------------------------------------------------------------


def run(world: World, steps: Steps | None = None) -> None:
    """A mirror of its own, as in a process of its own, until nothing is left to do; steps count once it has started."""
    database = world.metastore.database()
    with NameNode(world.config.namenodes, world.config.hdfs.user) as namenode:
        target = namenode.current_txid()
        mirror = Mirror(world.config, database, namenode, Metrics())
        mirror.start()
        with database.transaction() as tx:
            requests.take_up(tx, ["restore"])
        if steps is None:
            finish(world, mirror, target)
        else:
            with counted(steps):
                finish(world, mirror, target)
    database.close()


def finish(world: World, mirror: Mirror, target: int) -> None:
    """As the daemon's worker does it: what passes by itself is tried again, and what was asked is begun again."""
    deadline = time.monotonic() + 120
    worked, asked = True, None
    while worked or mirror.txid < target or world.rechecks():
        assert time.monotonic() < deadline, "the mirror does not come to rest"
        try:
            worked = mirror.step()
            if asked is None:
                with mirror.context.database.transaction() as tx:
                    asked = requests.take(tx, ["restore"])
            if asked is not None:
                with mirror.context.database.reading() as tx:
                    entries = journal.restorable(tx, **asked.argument)
                restore(mirror.context, entries)
                with mirror.context.database.transaction() as tx:
                    requests.finish(tx, asked.id, "done", "")
                worked, asked = True, None
        except (DatabaseUnavailable, Contention):
            worked = True


def dies(world: World, steps: Steps) -> bool:
    """Run a mirror in a child of this process; whether it was killed, and did not come to its end."""
    child = os.fork()
    if child == 0:
        try:
            run(world, steps)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        rolled_back(world)
        return True
    assert os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return False


def rolled_back(world: World) -> None:
    """Return when the server has noticed that somebody is gone."""
    deadline = time.monotonic() + 120
    while left := world.metastore.execute("SELECT * FROM information_schema.INNODB_TRX"):
        assert time.monotonic() < deadline, f"a transaction stays: {left}"


# --- warehouses -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """Things that happen one after the other, the last of which leads back to where the first began."""

    name: str
    happen: tuple[Callable[[World], None], ...]


TABLE = 2


def place(world: World) -> str:
    return f"{world.root}/managed/d.db/t"


def partitions(world: World) -> list[str]:
    return [f"{place(world)}/p={number}" for number in range(PARTITIONS)]


def forgotten(world: World) -> None:
    """As if nobody had looked at the metadata yet."""
    world.metastore.execute(
        "UPDATE SDS SET PARTITION_ID = NULL, PARENT_ID = NULL, NAME = NULL",
        "DELETE FROM {inodes}",
        "UPDATE DBS SET SD_ID = NULL",
        "DELETE FROM SDS WHERE SD_ID < 0",
    )


def never_there(world: World) -> None:
    """Partitions are added whose directories are not there."""
    world.ids = itertools.count(100)
    world.make_partitions(TABLE, [f"{place(world)}/n={n}" for n in range(PARTITIONS)], directories=False)


def partitions_gone(world: World) -> None:
    for path in partitions(world):
        world.files.trash(path)


def partitions_back(world: World) -> None:
    for path in partitions(world):
        world.files.move(TRASH + path, path)


def table_gone(world: World) -> None:
    world.files.trash(place(world))


def table_gone_unheard(world: World) -> None:
    """The NameNode does not have the events any more that come next."""
    table_gone(world)
    world.metastore.execute("UPDATE {state}.position SET txid = txid + 1000000")


def table_back(world: World) -> None:
    world.files.move(TRASH + place(world), place(world))


def table_deleted(world: World) -> None:
    world.files.delete(place(world))


def table_asked_for(world: World) -> None:
    """Its directories are made anew, as from a snapshot, and somebody asks for a restore."""
    for path in partitions(world):
        world.files.mkdir(path)
    database = world.metastore.database()
    with database.transaction() as tx:
        requests.ask(tx, "restore", {"path": place(world)}, "ada")
    database.close()


def database_gone(world: World) -> None:
    for kind in ("external", "managed"):
        world.files.trash(f"{world.root}/{kind}/d.db")


def database_back(world: World) -> None:
    for kind in ("external", "managed"):
        world.files.move(f"{TRASH}{world.root}/{kind}/d.db", f"{world.root}/{kind}/d.db")


SCENES = [
    Scene("bind", (forgotten,)),
    Scene("never-there", (never_there,)),
    Scene("partitions", (partitions_gone, partitions_back)),
    Scene("table", (table_gone, table_back)),
    Scene("unheard", (table_gone_unheard, table_back)),
    Scene("asked-for", (table_deleted, table_asked_for)),
    Scene("database", (database_gone, database_back)),
]


@pytest.fixture(params=SCENES, ids=lambda scene: scene.name)
def scene(request: pytest.FixtureRequest) -> Scene:
    found: Scene = request.param
    return found


@pytest.fixture
def world(
    metastore: Metastore, hdfs: Hdfs, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    # What reads the whole schema at each start is no subject here.
    monkeypatch.setattr("hopshive.mirror.loop.schema.check", lambda *_: None)
    monkeypatch.setattr("hopshive.closure.read", memory(closure.read))
    root = "/" + request.node.name.replace("[", "-").rstrip("]")
    made = fill(metastore, hdfs, root)
    yield made
    made.close()


def memory(read: Callable[[Transaction], closure.Graph]) -> Callable[[Transaction], closure.Graph]:
    """Read once."""
    found: list[closure.Graph] = []
    return lambda tx: (found or found.append(read(tx)) or found)[0]  # type: ignore[func-returns-value]


def fill(metastore: Metastore, hdfs: Hdfs, root: str) -> World:
    """A database with two directories, and in it a view and a table with partitions, all bound."""
    metastore.execute(
        "DELETE FROM {inodes}",
        "DELETE FROM SDS",
        *(f"DELETE FROM {table}" for table in ("PARTITIONS", "TABLE_PARAMS", "TBLS", "DBS", "SERDES", "CDS")),
        *(f"DELETE FROM {{state}}.{table}" for table in (*STATE[:-1], "position")),
        "DELETE FROM {state}.setting WHERE name IN ('fuse', 'cluster_id')",
    )
    config = MirrorConfig(grace=0, unbound_grace=0, rename_grace=0, poll=0, batch=BATCH)
    world = World(metastore, hdfs, root, config)
    db = world.make_database("d", managed=True)
    assert world.make_table(db, "t", place(world)) == TABLE
    world.make_partitions(TABLE, partitions(world))
    world.make_table(db, "v", "", view=True)
    run(world)
    return world


# --- what is there ----------------------------------------------------------------------------------------------------


def whole(world: World) -> Counter[str]:
    """Where each object is: in the metastore, or in the journal."""
    removed = world.metastore.execute("SELECT name FROM {state}.journal WHERE state = 'removed'")
    return Counter(world.objects()) + Counter(bytes(name).decode().removeprefix("hive.") for (name,) in removed)


def tables(world: World) -> list[str]:
    return [
        *(table for (table,) in world.metastore.execute("SHOW TABLES")),
        "{inodes}",
        *(f"{{state}}.{name}" for name in STATE),
    ]


def checksums(world: World) -> list[tuple[Any, ...]]:
    """Of all tables: whether anything was changed."""
    return world.metastore.execute(f"CHECKSUM TABLE {', '.join(tables(world))}")


def state(world: World) -> dict[str, Counter[str]]:
    """All rows of all tables, without what is of the moment; inodes by their path."""
    names = dict(directories(world))
    found: dict[str, Counter[str]] = {}
    wanted = tables(world)
    with world.metastore.cursor() as cursor:
        for table in wanted:
            if cursor.execute(render(f"SELECT * FROM {table}", world.metastore.names)):
                columns = [column[0] for column in cursor.description or ()]
                rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
                found[table] = Counter(told(table, row, names) for row in rows)
    return found


def told(table: str, row: dict[str, Any], names: dict[int, str]) -> str:
    """A row as text."""
    kept = {name: value for name, value in row.items() if name not in VOLATILE}
    if table in ("{state}.recheck", "{state}.removal", "{state}.journal", "{state}.request"):
        # A number that was given to what was rolled back is not given again.
        kept = {name: value for name, value in kept.items() if name not in ("id", "removal")}
    if "ended" in row:
        kept["over"] = row["ended"] is not None
    if "content" in row:
        kept["content"] = decode(row["content"])
    for name in INODES & set(kept):
        if isinstance(kept[name], int) and (name != "id" or table == "{inodes}"):
            kept[name] = names.get(kept[name], "gone")
    return repr(kept)


def directories(world: World) -> Iterator[tuple[int, str]]:
    """The path of each inode; in the trash it is the path that it had."""

    def below(path: str, shown: str) -> Iterator[tuple[int, str]]:
        try:
            for entry in world.namenode.listing(path):
                yield entry.file_id, f"{shown}/{entry.name}"
                yield from below(f"{path}/{entry.name}", f"{shown}/{entry.name}")
        except FileNotFoundError:
            return

    yield ROOT_ID, "/"
    entry = world.namenode.entry(world.root)
    if entry is not None:
        yield entry.file_id, world.root
    yield from below(TRASH + world.root, world.root)
    yield from below(world.root, world.root)


def ends(world: World, scene: Scene, through: Callable[[World], None]) -> list[dict[str, Counter[str]]]:
    """The state after each thing that happens in a scene, when `through` and another mirror have dealt with it."""
    found = []
    world.metastore.execute(*(f"DELETE FROM {{state}}.{table}" for table in ("journal", "removal", "request")))
    for happens in scene.happen:
        happens(world)
        through(world)
        run(world)
        found.append(state(world))
    return found


# --- the tests --------------------------------------------------------------------------------------------------------


def at_each_step(world: World, scene: Scene, through: Callable[[World, int], bool]) -> int:
    """Whether a scene ends as it does undisturbed, whichever transaction `through` disturbs; how many there are."""
    wanted = ends(world, scene, lambda _: None)
    for number in itertools.count(1):
        reached = 0

        def disturb(world: World, number: int = number) -> None:
            nonlocal reached
            reached += through(world, number)

        assert ends(world, scene, disturb) == wanted, f"disturbed in transaction {number}"
        if not reached:
            return number - 1
    raise AssertionError


def test_a_mirror_killed_at_any_step_is_finished_by_the_next(scene: Scene, world: World) -> None:
    def kill(world: World, number: int) -> bool:
        steps = Steps(number, die)
        objects = whole(world)
        left = None
        while not steps.over:
            if not dies(world, steps):
                return False
            assert whole(world) == objects, f"something is lost or doubled, killed in transaction {number}"
            if left is not None and not steps.over:
                assert checksums(world) == left, f"half of transaction {number} stays"
            left = checksums(world)
        return True

    assert at_each_step(world, scene, kill) > 1


def test_a_mirror_that_loses_its_database_at_any_step_goes_on(scene: Scene, world: World) -> None:
    def cut(world: World, number: int) -> bool:
        def off(connection: Connection) -> None:
            connection._sock.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
            rolled_back(world)

        steps = Steps(number, off)
        run(world, steps)
        return steps.over

    assert at_each_step(world, scene, cut) > 1
