"""Killed, or cut off from its database, at every step of a removal, a binding and a restore: a mirror that starts again ends
where one ends that nothing interrupted.

By default there are few objects, and what is tried of each transaction are the moments before its COMMIT, or only after it
(support/crash_steps.py says why that is all). CRASH_POINTS=all tries every statement, with more objects, and a server that is
killed around every COMMIT.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from hopshive.config import MirrorConfig
from hopshive.consistency import journal, schema
from hopshive.consistency.journal.content import decode
from hopshive.consistency.mirror import Mirror
from hopshive.consistency.mirror.returns import restore
from hopshive.daemon import request as requests
from hopshive.daemon.metrics import Metrics
from hopshive.database import Contention, DatabaseUnavailable, Transaction, render
from hopshive.hdfs.namenode import ROOT_ID, NameNode
from hopshive.metastore import closure
from tests.support.crash_steps import Connection, Steps, counted
from tests.support.metastore_db import Metastore, with_schema, with_stock
from tests.support.mirror_world import TRASH, MirrorWorld, empty_world
from tests.support.patience import scaled
from tests.support.servers import Hdfs, MariaDB, run_mortal_mariadb

ALL = os.environ.get("CRASH_POINTS") == "all"
PARTITIONS = 7 if ALL else 2
# Small, so that what is removed, bound or restored takes more than one transaction.
BATCH = 2
STATE = ("recheck", "removal", "journal", "candidate", "request", "setting")
# Of the moment, or the number of an attempt.
VOLATILE = {"removed", "begun", "ended", "due", "event_at", "txid", "asked", "content"}
INODES = {"PARTITION_ID", "PARENT_ID", "partition_id", "parent_id", "id", "inode"}
# Seconds from a statement's beginning until it is killed.
MOMENT = 0.003

# A server, and what kills it -9 and starts it again.
Mortal: TypeAlias = tuple[MariaDB, Callable[[], None]]
Change: TypeAlias = Callable[..., list[str]]


def every(_: bytes) -> bool:
    """All statements are steps."""
    return True


def commit(sql: bytes) -> bool:
    """The last one is."""
    return sql == b"COMMIT"


def none(_: bytes) -> bool:
    """Only the answer to that is: no state of the database is left out."""
    return False


def die(_: Connection) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


# --- mirrors ----------------------------------------------------------------------------------------------------------


def run(world: MirrorWorld, steps: Steps | None = None) -> None:
    """A mirror of its own, as in a process of its own, until nothing is left to do; steps count once it has started."""
    database = world.metastore.database()
    with NameNode(world.config.namenodes, world.config.hdfs.user) as namenode:
        target = namenode.current_txid()
        mirror = Mirror(world.config, database, namenode, Metrics())
        mirror.start()
        with database.transaction() as tx:
            requests.take_up(tx, ["restore"])
            asked = requests.take(tx, ["restore"])
        if steps is None:
            finish(world, mirror, target, asked)
        else:
            with counted(steps.execute):
                finish(world, mirror, target, asked)
    database.close()


def finish(world: MirrorWorld, mirror: Mirror, target: int, asked: requests.Request | None) -> None:
    """As the daemon's worker does it: what passes by itself is tried again, and what was asked is begun again."""
    deadline = time.monotonic() + scaled(120)
    worked = True
    while worked or mirror.txid < target or world.pending_checks():
        assert time.monotonic() < deadline, "the mirror does not come to rest"
        try:
            worked = mirror.step()
            if asked is not None:
                with mirror.context.database.reading() as tx:
                    entries = journal.restorable(tx, **asked.argument)
                restore(mirror.context, entries)
                with mirror.context.database.transaction() as tx:
                    requests.finish(tx, asked.id, "done", "")
                worked, asked = True, None
        except (DatabaseUnavailable, Contention):
            worked = True


def dies(world: MirrorWorld, steps: Steps) -> bool:
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


def rolled_back(world: MirrorWorld) -> None:
    """Return when the server has noticed that a session is gone."""
    deadline = time.monotonic() + scaled(120)
    # information_schema.INNODB_TRX shows the same to a client that asks ten times a second. Above the list, the status reports
    # transactions of the past: the last deadlock, the last refusal of a foreign key.
    while ", ACTIVE" in (
        now := str(world.metastore.execute("SHOW ENGINE INNODB STATUS")).partition("LIST OF TRANSACTIONS")[2]
    ):
        assert time.monotonic() < deadline, f"a transaction stays: {now}"
        time.sleep(0.01)


# --- warehouses -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """Things that happen one after the other, the last of which leads back to where the first began."""

    name: str
    happen: tuple[Callable[[MirrorWorld], None], ...]
    # What they take at least.
    transactions: int
    # What is before and after them, and is not disturbed.
    before: Callable[[MirrorWorld], None] | None = None
    after: Callable[[MirrorWorld], None] | None = None


TABLE = 2


def place(world: MirrorWorld) -> str:
    return f"{world.root}/managed/d.db/t"


def partitions(world: MirrorWorld) -> list[str]:
    return [f"{place(world)}/p={number}" for number in range(PARTITIONS)]


def forgotten(world: MirrorWorld) -> None:
    """As if no leader had looked at the metadata yet."""
    world.metastore.execute(
        "UPDATE SDS SET PARTITION_ID = NULL, PARENT_ID = NULL, NAME = NULL",
        "DELETE FROM {inodes}",
        "UPDATE DBS SET SD_ID = NULL",
        "DELETE FROM SDS WHERE SD_ID < 0",
    )


def never_there(world: MirrorWorld) -> None:
    """Partitions are added whose directories are not there."""
    world.ids = itertools.count(100)
    world.make_partitions(TABLE, [f"{place(world)}/n={n}" for n in range(PARTITIONS)], directories=False)


def partitions_gone(world: MirrorWorld) -> None:
    for path in partitions(world):
        world.files.trash(path)


def partitions_back(world: MirrorWorld) -> None:
    for path in partitions(world):
        world.files.move(TRASH + path, path)


def table_gone(world: MirrorWorld) -> None:
    world.files.trash(place(world))


def table_gone_unheard(world: MirrorWorld) -> None:
    """The NameNode does not have the events any more that come next."""
    table_gone(world)
    world.metastore.execute("UPDATE {state}.position SET txid = txid + 1000000")


def table_back(world: MirrorWorld) -> None:
    world.files.move(TRASH + place(world), place(world))


def table_deleted(world: MirrorWorld) -> None:
    world.files.delete(place(world))


def table_asked_for(world: MirrorWorld) -> None:
    """Its directories are made again, as from a snapshot, and an operator asks for a restore."""
    for path in partitions(world):
        world.files.mkdir(path)
    database = world.metastore.database()
    with database.transaction() as tx:
        requests.ask(tx, "restore", {"path": place(world)}, "ada")
    database.close()


def database_gone(world: MirrorWorld) -> None:
    for kind in ("external", "managed"):
        world.files.trash(f"{world.root}/{kind}/d.db")


def database_back(world: MirrorWorld) -> None:
    for kind in ("external", "managed"):
        world.files.move(f"{TRASH}{world.root}/{kind}/d.db", f"{world.root}/{kind}/d.db")


TABLE_SCENE = Scene("table", (table_gone, table_back), 6)
SCENES = [
    Scene("bind", (forgotten,), 3),
    Scene("never-there", (never_there,), 3),
    Scene("partitions", (partitions_gone, partitions_back), 6),
    TABLE_SCENE,
    Scene("unheard", (table_gone_unheard,), 3, after=table_back),
    Scene("asked-for", (table_asked_for,), 3, before=table_deleted),
    Scene("database", (database_gone, database_back), 6),
]
NAME = attrgetter("name")


@pytest.fixture(autouse=True)
def quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    # What reads the whole schema at each start is no subject here.
    monkeypatch.setattr("hopshive.consistency.mirror.loop.schema.check", lambda *_: None)
    monkeypatch.setattr("hopshive.metastore.closure.read", memory(closure.read))


@pytest.fixture
def world(metastore: Metastore, hdfs: Hdfs, request: pytest.FixtureRequest) -> Iterator[MirrorWorld]:
    root = "/" + request.node.name.replace("[", "-").rstrip("]")
    with warehouse(metastore, hdfs, root) as made:
        yield made


def memory(read: Callable[[Transaction], closure.Graph]) -> Callable[[Transaction], closure.Graph]:
    """Read once."""
    found: list[closure.Graph] = []
    return lambda tx: (found or found.append(read(tx)) or found)[0]  # type: ignore[func-returns-value]


@contextmanager
def warehouse(metastore: Metastore, hdfs: Hdfs, root: str) -> Iterator[MirrorWorld]:
    """A database with two directories, and in it a view and a table with partitions, all bound."""
    config = MirrorConfig(grace=0, unbound_grace=0, rename_grace=0, poll=0, batch=BATCH)
    with empty_world(metastore, hdfs, root, config) as world:
        db = world.make_database("d", managed=True)
        assert world.make_table(db, "t", place(world)) == TABLE
        world.make_partitions(TABLE, partitions(world))
        world.make_table(db, "v", "", view=True)
        run(world)
        yield world


# --- what is there ----------------------------------------------------------------------------------------------------


def whole(world: MirrorWorld) -> Counter[str]:
    """Where each object is: in the metastore, or in the journal."""
    removed = world.metastore.execute("SELECT name FROM {state}.journal WHERE state = 'removed'")
    return Counter(world.objects()) + Counter(bytes(name).decode().removeprefix("hive.") for (name,) in removed)


def tables(world: MirrorWorld) -> list[str]:
    return [
        *(table for (table,) in world.metastore.execute("SHOW TABLES")),
        "{inodes}",
        *(f"{{state}}.{name}" for name in STATE),
    ]


def checksums(world: MirrorWorld) -> list[tuple[Any, ...]]:
    """Of all tables: whether anything was changed."""
    return world.metastore.execute(f"CHECKSUM TABLE {', '.join(tables(world))}")


def state(world: MirrorWorld) -> dict[str, Counter[str]]:
    """All rows of all tables, without what is of the moment; inodes by their path."""
    names = dict(directories(world))
    found: dict[str, Counter[str]] = {}
    filled = [table for table, (_, checksum) in zip(tables(world), checksums(world), strict=True) if checksum]
    with world.metastore.cursor() as cursor:
        for table in filled:
            cursor.execute(render(f"SELECT * FROM {table}", world.metastore.names))
            columns = [column[0] for column in cursor.description or ()]
            rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
            if table == "{state}.removal":
                # An event may be read twice. Then directories are looked at in other groups, of which each is a removal.
                found["removed"] = Counter()
                for row in rows:
                    found["removed"][row["kind"]] += row["objects"]
                rows = [row for row in rows if row["ended"] is None]
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


def directories(world: MirrorWorld) -> Iterator[tuple[int, str]]:
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


def ends(world: MirrorWorld, scene: Scene, through: Callable[[MirrorWorld], None]) -> list[dict[str, Counter[str]]]:
    """The state after each thing that happens in a scene, when `through` and another mirror have dealt with it."""
    found = []
    world.metastore.execute(*(f"DELETE FROM {{state}}.{table}" for table in ("journal", "removal", "request")))
    if scene.before:
        scene.before(world)
        run(world)
    for happens in scene.happen:
        happens(world)
        through(world)
        run(world)
        found.append(state(world))
    if scene.after:
        scene.after(world)
        run(world)
    return found


# --- a mirror ---------------------------------------------------------------------------------------------------------


def at_each_step(
    world: MirrorWorld, scene: Scene, through: Callable[[MirrorWorld, int], int], only: Iterable[int] | None = None
) -> int:
    """Whether a scene ends as it does undisturbed, whichever transaction `through` disturbs; how many it disturbed."""
    wanted = ends(world, scene, lambda _: None)
    found = 0
    for number in only or itertools.count(1):
        reached: list[int] = []

        def disturb(world: MirrorWorld, number: int = number, reached: list[int] = reached) -> None:
            reached.append(through(world, number))

        assert ends(world, scene, disturb) == wanted, f"disturbed in transaction {number}"
        if not any(reached):
            break
        found += sum(reached)
    return found


# By default a table is left to the server that is killed: a database is removed in the same way.
@pytest.mark.parametrize("scene", [scene for scene in SCENES if ALL or scene is not TABLE_SCENE], ids=NAME)
def test_a_mirror_killed_at_any_step_is_finished_by_the_next(scene: Scene, world: MirrorWorld) -> None:
    def kill(world: MirrorWorld, number: int) -> bool:
        steps = Steps(number, die, every if ALL else none)
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

    assert at_each_step(world, scene, kill) >= scene.transactions


@pytest.mark.parametrize("scene", SCENES, ids=NAME)
def test_a_mirror_that_is_cut_off_at_any_step_continues(scene: Scene, world: MirrorWorld) -> None:
    def cut(world: MirrorWorld, number: int) -> int:
        def off(connection: Connection) -> None:
            connection._sock.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
            rolled_back(world)

        steps = Steps(number, off, every if ALL else commit, more=not ALL)
        run(world, steps)
        return steps.done

    assert at_each_step(world, scene, cut, None if ALL else [1, 2]) >= scene.transactions


# --- a server ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mortal]:
    with run_mortal_mariadb(tmp_path_factory.mktemp("mortal")) as made:
        yield made


@pytest.fixture(scope="module")
def mortal_metastore(mortal: Mortal, hive_home: Path) -> Iterator[Metastore]:
    with with_schema(mortal[0], hive_home, "metastore") as made:
        yield made


@pytest.mark.parametrize("scene", SCENES if ALL else [TABLE_SCENE], ids=NAME)
def test_a_server_killed_at_any_commit_keeps_what_is_right(
    scene: Scene, mortal: Mortal, mortal_metastore: Metastore, hdfs: Hdfs
) -> None:
    _, strike = mortal

    def kill(world: MirrorWorld, number: int) -> int:
        def at(_: Connection) -> None:
            strike()
            rolled_back(world)

        steps = Steps(number, at, commit)
        run(world, steps)
        return steps.done

    with warehouse(mortal_metastore, hdfs, f"/mortal-{scene.name}") as world:
        # The third transaction is the one that removes, or restores, most.
        assert at_each_step(world, scene, kill, None if ALL else [3]) > 1


# --- the schema -------------------------------------------------------------------------------------------------------


def killed_process(metastore: Metastore, change: Change, statement: int) -> bool:
    """Change the schema in a child of this process, which a signal ends while a statement runs; whether it came to that."""
    child = os.fork()
    if child == 0:
        try:
            change(metastore.server, metastore.names, on_statement=Countdown(statement, end_soon))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return os.WIFSIGNALED(status)


def end_soon() -> None:
    """As kill does, in the middle of a wait for an answer."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, MOMENT)


class Countdown:
    """Acts before a statement with a number."""

    def __init__(self, statement: int, act: Callable[[], object]) -> None:
        self._left = statement
        self._act = act

    def __call__(self, _: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()


def changes(metastore: Metastore, killed: Callable[[Change, int], bool], stride: int) -> None:
    """Apply the schema and take it off, killed again and again: nothing is missing, and nothing stays."""
    before = metastore.picture()
    kills = 0
    for change in (schema.apply, schema.remove):
        while killed(change, stride):
            kills += 1
        assert change(metastore.server, metastore.names, dry_run=True) == []
    assert metastore.picture() == before
    assert kills >= 2


def test_a_schema_change_killed_at_any_statement_continues(mariadb: MariaDB, hive_home: Path) -> None:
    with with_stock(mariadb, hive_home, "killed") as metastore:
        changes(metastore, lambda change, statement: killed_process(metastore, change, statement), 1 if ALL else 12)


def test_a_server_killed_at_any_statement_of_a_schema_change_is_no_harm(mortal: Mortal, hive_home: Path) -> None:
    mariadb, strike = mortal

    def killed(change: Change, statement: int) -> bool:
        struck: list[threading.Timer] = []

        def strike_soon() -> None:
            struck.append(threading.Timer(MOMENT, strike))
            struck[0].start()

        with suppress(schema.SchemaError):
            change(metastore.server, metastore.names, on_statement=Countdown(statement, strike_soon))
        for one in struck:
            one.join()
        return bool(struck)

    with with_stock(mariadb, hive_home, "killed") as metastore:
        changes(metastore, killed, 2 if ALL else 20)
