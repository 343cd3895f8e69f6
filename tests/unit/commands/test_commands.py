"""How commands end: exit codes, a question at a terminal, and what an undo brings back and what not."""

from __future__ import annotations

import json
import re
import shlex
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from hopshive import duties
from hopshive.cli import main
from hopshive.commands import base, wait
from hopshive.config import JournalConfig
from hopshive.consistency.mirror import loop
from hopshive.daemon.metrics import Metrics
from hopshive.daemon.notify import Notifier
from hopshive.daemon.process import Daemon
from tests.docs.terminal import Terminal
from tests.support.mirror_world import TRASH
from tests.support.patience import until
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.mirror_world import MirrorWorld


@pytest.fixture
def path(world: MirrorWorld, tmp_path: Path) -> Path:
    """A configuration of the world."""
    return write(world, tmp_path / "hopshive.yml")


def write(world: MirrorWorld, path: Path, **change: Any) -> Path:
    metastore = world.metastore
    content = {
        "lease": 1,
        "database": {
            "unix_socket": metastore.mariadb.socket,
            "user": "root",
            "metastore": metastore.server.database,
            "state": metastore.names.state,
            "inodes": metastore.names.inodes,
        },
        "hdfs": {"uris": [world.uri], "namenodes": list(world.config.hdfs.namenodes)},
        **change,
    }
    path.write_text(yaml.safe_dump(content))
    return path


def run(path: Path, *arguments: str, code: int = 0) -> str:
    """A command without a terminal; all that it says."""
    done = CliRunner().invoke(main, [*arguments, "--config", str(path)])
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


@pytest.fixture
def led(world: MirrorWorld) -> Iterator[None]:
    """Another process leads, and does nothing."""
    world.metastore.execute(
        "REPLACE INTO {state}.lease (id, holder, epoch, expires, connections)"
        " VALUES (1, 'one', 1, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, '')"
    )
    yield
    world.metastore.execute("DELETE FROM {state}.lease")


# --- errors -----------------------------------------------------------------------------------------------------------


@contextmanager
def refusing(world: MirrorWorld) -> Iterator[None]:
    """Whatever is asked of who leads fails."""
    over = threading.Event()

    def refuse() -> None:
        while not over.wait(0.05):
            world.metastore.execute(
                "UPDATE {state}.request SET state = 'failed', message = 'It was refused.' WHERE state = 'waiting'"
            )

    thread = threading.Thread(target=refuse)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(20)


@pytest.mark.usefixtures("led", "table")
@pytest.mark.parametrize(
    ("command", "code"),
    [(["sync"], 1), (["restore", "--path", "/x"], 1), (["check", "--fix"], 3)],
    ids=["sync", "restore", "check"],
)
def test_what_the_leader_refuses_is_said_as_each_error_is(
    world: MirrorWorld, path: Path, command: list[str], code: int
) -> None:
    world.metastore.execute("UPDATE SDS SET PARTITION_ID = NULL, PARENT_ID = NULL, NAME = ''")
    with refusing(world):
        done = CliRunner().invoke(main, [*command, "--config", str(path)])
    assert (done.exit_code, set(done.stderr.splitlines())) == (code, {"Error: It was refused."})


def test_a_request_that_no_leader_begins_while_the_namenode_is_away_is_withdrawn(
    world: MirrorWorld, path: Path
) -> None:
    """A leader without a NameNode begins nothing, and is a leader all the same."""
    away = write(world, path, lease=1, hdfs={"uris": [world.uri], "namenodes": ["127.0.0.1:1"]})
    world.metastore.execute(
        "REPLACE INTO {state}.lease VALUES (1, 'leader', 1, UTC_TIMESTAMP(6) + INTERVAL 60 SECOND, '')"
    )
    try:
        said = run(away, "sync", code=1)
    finally:
        world.metastore.execute("DELETE FROM {state}.lease")
    assert "The NameNode 127.0.0.1:1 cannot be reached" in said
    assert world.metastore.execute("SELECT COUNT(*) FROM {state}.request WHERE state <> 'done'") == [(0,)]


def test_what_status_cannot_ask_is_said_as_each_error_is(world: MirrorWorld, tmp_path: Path) -> None:
    away = write(world, tmp_path / "away.yml", database={"unix_socket": "/not/there"})
    done = CliRunner().invoke(main, ["status", "--config", str(away)])
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert re.match(
        r"Error: The database metastore at /not/there: .*\. Is the server up, and can this host reach it\?$", line
    )
    assert "/not/there" not in done.stdout
    assert "NameNodes" in done.stdout


# --- wait -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(world: MirrorWorld, db: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The directory of a table that is bound; all that happened is followed, and the position says so."""
    monkeypatch.setattr(loop, "SAVE_INTERVAL", 0.0)
    world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    return f"{world.root}/t"


@pytest.mark.usefixtures("table")
def test_wait_ends_with_0_when_all_is_followed(world: MirrorWorld, path: Path) -> None:
    txid = world.namenode.current_txid()
    assert f"The metastore follows HDFS up to transaction {txid}, after" in run(path, "wait")
    told = json.loads(run(path, "wait", "--json"))
    assert (told["txid"], told["held"]) == (txid, 0)


@pytest.mark.usefixtures("led")
def test_wait_ends_with_1_while_a_check_is_pending(world: MirrorWorld, path: Path, table: str) -> None:
    world.start(grace=3600)
    world.files.delete(table)
    world.settle()
    said = run(path, "wait", "--timeout", "0", code=1)
    assert f"The metastore did not follow within 0 s: 1 check pending, the first is of {table}, due in 35" in said


@pytest.mark.usefixtures("led")
def test_wait_for_a_path_waits_for_no_check_of_another(world: MirrorWorld, path: Path, db: int, table: str) -> None:
    partitioned = world.make_table(db, "p", f"{world.root}/p")
    world.make_partitions(partitioned, [f"{world.root}/p/x=1"])
    world.settle()
    world.start(grace=3600)
    world.files.delete(f"{world.root}/p/x=1")
    world.settle()
    assert "The metastore follows" in run(path, "wait", "--timeout", "0", "--path", table)
    for concerned in (f"{world.root}/p/x=1/", f"{world.uri}{world.root}/p", f"{world.root}/p/x=1/y"):
        said = run(path, "wait", "--timeout", "0", "--path", table, "--path", concerned, code=1)
        assert f"1 check pending, the first is of {world.root}/p/x=1, due in 35" in said
    assert "is neither a path on HDFS" in run(path, "wait", "--path", "p", code=2)


@pytest.mark.usefixtures("led", "table")
def test_wait_ends_with_1_while_the_leader_is_behind(world: MirrorWorld, path: Path) -> None:
    world.metastore.execute("UPDATE {state}.position SET txid = 1")
    assert "The metastore did not follow within 0 s: the leader is at transaction 1 of" in run(
        path, "wait", "--timeout", "0", code=1
    )
    world.metastore.execute("UPDATE {state}.position SET compared_at = NULL")
    assert "The metastore did not follow within 0 s: a full comparison is running." in run(
        path, "wait", "--timeout", "0", code=1
    )


@pytest.fixture
def moved(world: MirrorWorld, table: str) -> str:
    """Where the table's directory was moved to, while its metadata is waited for."""
    world.start(rename_grace=3600)
    world.files.move(table, f"{world.root}/[elsewhere]")
    world.settle()
    return f"{table} was moved to {world.root}/[elsewhere]: its metadata goes in 35"


@pytest.mark.usefixtures("led")
def test_status_names_what_was_moved_and_is_waited_for(path: Path, table: str, moved: str) -> None:
    # The exit code is that of HDFS, which may have no DataNode.
    assert moved in CliRunner().invoke(main, ["status", "--config", str(path)]).output
    (told,) = json.loads(CliRunner().invoke(main, ["status", "--json", "--config", str(path)]).stdout)["moved"]
    assert told["path"] == table
    assert told["target"].endswith("/[elsewhere]")
    assert 3500 < told["left"] <= 3600


def test_sync_says_what_it_leaves_until_the_grace_has_passed(world: MirrorWorld, path: Path, moved: str) -> None:
    write(world, path, lease=20)
    with leading(world, automatic=True):
        assert f"Not followed yet: {moved}" in run(path, "sync")


def test_undo_of_what_was_moved_says_where_it_lies(path: Path, table: str, moved: str) -> None:
    said = refused(path, "--path", f"{table}/")
    assert moved in said
    assert "None of its metadata was removed. Move the directory back" in said


@pytest.mark.usefixtures("table")
def test_wait_ends_with_4_when_no_process_leads(
    world: MirrorWorld, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait, "PATIENCE_LEASES", 0)
    world.metastore.execute("DELETE FROM {state}.lease", "UPDATE {state}.position SET txid = 1")
    assert "No daemon has led for 0 s. Is the unit hopshive-cleaner running?" in run(path, "wait", code=4)


def test_wait_that_ends_before_its_patience_says_that_no_process_leads(
    world: MirrorWorld, path: Path, table: str
) -> None:
    world.metastore.execute("DELETE FROM {state}.lease", "UPDATE {state}.position SET txid = 1")
    assert "No daemon has led for 0 s." in run(path, "wait", "--timeout", "0", code=4)
    assert world.namenode.entry(table) is not None


def test_wait_ends_with_0_while_a_human_decides_and_says_so(world: MirrorWorld, path: Path, table: str) -> None:
    world.start(max_removals=0)
    world.files.delete(table)
    world.settle()
    said = run(path, "wait")
    assert "1 removal waiting for an approval. Look: hopshive held" in said
    assert '"held": 1' in run(path, "wait", "--json")
    # As DROP TABLE: nothing of it is left that a human could decide on.
    world.metastore.execute("DELETE FROM SDS WHERE SD_ID > 0")
    assert "a human decides" not in run(path, "wait")


@pytest.mark.usefixtures("table")
def test_wait_ends_with_1_where_it_cannot_ask(world: MirrorWorld, tmp_path: Path) -> None:
    away = write(world, tmp_path / "away.yml", hdfs={"uris": [world.uri], "namenodes": ["127.0.0.1:1"]})
    assert "127.0.0.1:1" in run(away, "wait", code=1)
    hopsfs = write(world, tmp_path / "hopsfs.yml", source="hopsfs")
    assert "there is nothing to wait for" in run(hopsfs, "wait", code=1)
    assert "--timeout" in run(away, "wait", "--timeout", "-1", code=2)


# --- journal ----------------------------------------------------------------------------------------------------------


def test_the_journal_fits_a_terminal_of_80_columns(
    world: MirrorWorld, path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.files.trash(table)
    world.settle()
    wide = run(path, "journal")
    assert f"│ {table} " in wide
    monkeypatch.setattr(base, "WIDE", 80)
    narrow = run(path, "journal")
    assert max(len(line) for line in narrow.splitlines()) <= 80
    for said in (table, "moved to the trash, transaction", "; 1 object, 1 restorable", "lies now:", f"{TRASH}/"):
        assert said in narrow


# --- approve ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def held(world: MirrorWorld, table: str) -> str:
    """The table's directory is gone, and the fuse holds the table."""
    world.start(max_removals=0)
    world.files.delete(table)
    world.settle()
    return table


def at_terminal(path: Path, typed: str) -> tuple[int, str]:
    """`hopshive approve` at a terminal, where a person types when asked; its exit code, and all that was shown."""
    command = shlex.join([sys.executable, "-m", "hopshive.cli", "approve", "--config", str(path)])
    with Terminal(command, ROOT) as terminal:
        terminal.expect(r"Continue\?", 30)
        for _ in range(5):
            terminal.write(typed)
            # Python's input() loses an interrupt that comes in the instant before it waits; a person presses the keys again.
            if typed != "\x03" or terminal.ends_within(5):
                break
        return terminal.end(30), terminal.printed


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04", "\x03"], ids=["no", "nothing", "end of file", "interrupt"])
def test_approve_at_a_terminal_shows_what_goes_and_takes_no_for_an_answer(
    world: MirrorWorld, path: Path, typed: str
) -> None:
    code, shown = at_terminal(path, typed)
    assert "1 directory" in shown
    assert "Nothing was approved." in shown
    assert code == 1
    nothing_was_approved(world)


def test_approve_without_a_terminal_does_not_ask_and_takes_nothing(world: MirrorWorld, path: Path, held: str) -> None:
    said = run(path, "approve", code=2)
    assert "There is no terminal to ask at. Name each PATH, or give --yes to approve all." in said
    assert held in run(path, "approve", "--dry-run")
    nothing_was_approved(world)


@pytest.mark.usefixtures("led")
def test_status_names_what_is_held_now_and_not_what_blew_the_fuse(
    world: MirrorWorld, path: Path, db: int, held: str
) -> None:
    world.make_table(db, "later", f"{world.root}/later")
    world.settle()
    said = " ".join(run(path, "status", code=3).split())
    assert f"The fuse is blown, so nothing is removed: {held} is gone" in said
    world.files.delete(f"{world.root}/later")
    world.settle()
    # What blew it is back.
    world.files.mkdir(held)
    world.look_again()
    world.settle()
    said = " ".join(run(path, "status", code=3).split())
    assert f"{world.root}/later is gone" in said
    assert f"{held} is gone" not in said


def nothing_was_approved(world: MirrorWorld) -> None:
    assert world.pending_checks() == [("unlink", "held")]
    assert world.metastore.execute("SELECT * FROM {state}.request") == []
    world.look_again()
    world.settle()
    assert world.objects() == {"d", "d.t"}


# --- undo -------------------------------------------------------------------------------------------------------------


@contextmanager
def leading(world: MirrorWorld, automatic: bool) -> Iterator[None]:
    """A daemon follows, in a thread of its own."""
    names = world.metastore.names
    config = replace(
        world.config,
        name="one",
        lease=20.0,
        database=replace(world.config.database, state=names.state, inodes=names.inodes),
        journal=JournalConfig(automatic=automatic),
    )
    metrics = Metrics()
    mirror = [one for one in duties.duties(config, metrics) if one.name == "mirror"]
    daemon = Daemon(config, config.server(), metrics, Notifier({}), mirror)
    thread = threading.Thread(target=daemon.run)
    thread.start()
    try:
        led = "SELECT 1 FROM {state}.lease WHERE expires > UTC_TIMESTAMP(6)"
        until(lambda: world.metastore.execute(led), 20, "The daemon does not lead.")
        yield
    finally:
        daemon.stop()
        thread.join(20)
    assert not thread.is_alive()


def undo(world: MirrorWorld, path: Path, *arguments: str, automatic: bool, code: int = 0) -> str:
    """`hopshive undo` of the newest removal, while another process leads."""
    write(world, path, lease=20, journal={"automatic": automatic})
    ((number,),) = world.metastore.execute("SELECT MAX(id) FROM {state}.removal")
    with leading(world, automatic):
        return run(path, "undo", str(number), *arguments, code=code)


@pytest.mark.parametrize("automatic", [True, False])
def test_undo_brings_back_what_it_can_and_says_what_was_deleted_for_good(
    world: MirrorWorld, path: Path, db: int, automatic: bool
) -> None:
    table = world.make_table(db, "t", f"{world.root}/t")
    world.settle()
    # Neither partition was bound when the directories went.
    world.make_partitions(table, [f"{world.root}/t/p={number}" for number in (0, 1)])
    world.files.delete(f"{world.root}/t/p=1")
    world.files.trash(f"{world.root}/t")
    world.settle()
    assert world.objects() == {"d"}
    assert world.metastore.execute("SELECT name FROM {state}.journal WHERE inode = 0") == [(b"hive.d.t/p=1",)]
    said = undo(world, path, automatic=automatic)
    assert f"moved {TRASH}{world.root}/t to {world.root}/t" in said
    assert "2 objects came back. 1 object cannot come back: deleted past the trash." in said
    assert world.objects() == {"d", "d.t", "d.t/p=0"}


def test_undo_asks_for_the_metadata_where_it_does_not_come_back_by_itself(
    world: MirrorWorld, path: Path, table: str
) -> None:
    world.files.trash(table)
    world.settle()
    assert world.objects() == {"d"}
    assert "1 object would come back." in undo(world, path, "--dry-run", automatic=False)
    assert world.objects() == {"d"}
    assert "1 object came back." in undo(world, path, automatic=False)
    assert world.objects() == {"d", "d.t"}


AGAIN = "If it was deleted just now, run hopshive wait, and undo again."


def refused(path: Path, *arguments: str) -> str:
    """The line with which an undo ends with 1."""
    return run(path, "undo", *arguments, code=1)


def test_undo_of_a_path_that_never_was_says_that_the_journal_does_not_know_it(world: MirrorWorld, path: Path) -> None:
    said = refused(path, "--path", f"{world.root}/never")
    assert said == (
        f"Error: The journal has no removal of {world.root}/never, or of anything below it. {AGAIN} Look: hopshive journal\n"
    )
    assert refused(path, "999999") == "Error: The journal has no removal 999999. Look: hopshive journal\n"


def test_undo_of_a_path_in_the_trash_asks_for_the_place_that_it_had(world: MirrorWorld, path: Path, table: str) -> None:
    world.files.trash(table)
    world.settle()
    assert refused(path, "--path", f"{TRASH}{table}") == (
        f"Error: {TRASH}{table} lies in the trash. Name the path from which it was deleted. Look: hopshive journal\n"
    )


def test_undo_of_a_path_that_was_not_removed_says_that_it_stands(path: Path, table: str) -> None:
    assert refused(path, "--path", table) == (
        f"Error: {table} is on HDFS, and the journal has no removal of it, or of anything below it: there is nothing to"
        " undo. Look: hopshive journal\n"
    )


def test_undo_of_what_is_back_already_names_the_removal(world: MirrorWorld, path: Path, table: str) -> None:
    world.files.trash(table)
    world.settle()
    assert world.objects() == {"d"}
    world.files.move(f"{TRASH}{table}", table)
    world.settle()
    assert world.objects() == {"d", "d.t"}
    ((number,),) = world.metastore.execute("SELECT MAX(id) FROM {state}.removal")
    look = f"Look: hopshive journal {number}\n"
    back = f"can come back: all that the journal has of it is back already. Its last removal was {number}."
    assert refused(path, "--path", table) == f"Error: Nothing of {table} {back} {look}"
    assert refused(path, "--path", world.root) == f"Error: Nothing of {world.root} {back} {look}"
    assert refused(path, str(number)) == (
        f"Error: Nothing of the removal {number} can come back: all of it is back already. {look}"
    )
    # No daemon has followed that yet.
    world.files.trash(table)
    assert refused(path, "--path", table) == f"Error: Nothing of {table} {back} {AGAIN} {look}"


def test_undo_of_a_removal_whose_objects_are_forgotten_or_that_continues_says_so(
    world: MirrorWorld, path: Path, table: str
) -> None:
    world.files.trash(table)
    world.settle()
    ((number,),) = world.metastore.execute("SELECT MAX(id) FROM {state}.removal")
    world.metastore.execute("DELETE FROM {state}.journal")
    assert (
        "its objects are older than cleaner_journal_expiry, and the journal no longer has them. Look: hopshive journal"
        in refused(path, str(number))
    )
    world.metastore.execute("UPDATE {state}.removal SET ended = NULL")
    assert f"The removal {number} is still running." in refused(path, str(number))


def test_undo_fails_with_the_reason_where_the_metadata_cannot_come_back(
    world: MirrorWorld, path: Path, db: int, table: str
) -> None:
    world.files.trash(table)
    world.settle()
    world.make_table(db, "t", f"{world.root}/another")
    world.settle()
    assert "there is another table of that name" in undo(world, path, automatic=False, code=1)
    assert world.namenode.entry(table) is not None


def test_undo_after_the_reason_is_gone_does_not_wait_for_the_daemon(
    world: MirrorWorld, path: Path, db: int, table: str
) -> None:
    """Which tries again by itself after minutes only."""
    world.files.trash(table)
    world.settle()
    other = world.make_table(db, "t", f"{world.root}/another")
    world.settle()
    assert "there is another table of that name" in undo(world, path, "--timeout", "1", automatic=True, code=1)
    world.metastore.execute(f"DELETE FROM SDS WHERE SD_ID = {other}")
    assert "1 object came back." in undo(world, path, automatic=True)
    assert world.objects() == {"d", "d.t"}


def test_restore_of_a_removal_that_never_was_says_so(path: Path) -> None:
    for arguments in ([], ["--dry-run"]):
        said = run(path, "restore", "999999", *arguments, code=1)
        assert said == "Error: The journal has no removal 999999. Look: hopshive journal\n"


def test_a_location_may_be_given_for_a_path(world: MirrorWorld, path: Path, table: str) -> None:
    """DESCRIBE FORMATTED prints locations."""
    world.files.trash(table)
    world.settle()
    assert f"would move {TRASH}{table} to {table}" in run(path, "undo", "--path", f"{world.uri}{table}", "--dry-run")
    assert "hive.d.t" in run(path, "restore", "--path", f"{world.uri}{table}", "--dry-run")
    for arguments in (("undo", "--path", "s3a://x/y"), ("restore", "--path", "x"), ("approve", "x")):
        said = run(path, *arguments, code=2)
        assert f"is neither a path on HDFS, which begins with /, nor a location on {world.uri}." in said


@pytest.mark.parametrize(
    ("settings", "target", "said"),
    [
        ({"rename_grace": 3600}, "{root}/away", r"moved to {root}/away, waiting, due \d{{4}}-.* UTC"),
        ({"grace": 3600}, "", r"waiting, due \d{{4}}-.* UTC"),
        ({"max_removals": 0}, "", "held: hopshive held"),
    ],
    ids=["moved", "deleted", "held"],
)
def test_check_says_what_a_directory_that_is_gone_waits_for(
    world: MirrorWorld, table: str, settings: dict[str, Any], target: str, said: str
) -> None:
    world.start(**settings)
    if target:
        world.files.move(table, target.format(root=world.root))
    else:
        world.files.delete(table)
    world.settle()
    (found,) = [one for one in world.differences() if one.kind == "no directory"]
    assert re.fullmatch(said.format(root=world.root), found.detail)


def test_check_says_that_the_journal_knows_a_directory(world: MirrorWorld, db: int) -> None:
    table = f"{world.root}/external/d.db/t"
    world.make_table(db, "t", table)
    world.settle()
    world.files.trash(table)
    world.settle()
    world.files.mkdir(table)
    world.settle()
    ((number,),) = world.metastore.execute("SELECT MAX(id) FROM {state}.removal")
    (found,) = world.differences()
    assert f"the journal has metadata of it, from removal {number}: hopshive restore --path {table}" in found.detail
