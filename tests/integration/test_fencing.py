"""Two daemons, of which the leader is frozen in the middle of a transaction: the other one does its work, and when it continues
it writes nothing.

By default it is frozen before its last look at the lease, or between that and the COMMIT, in each transaction of a removal and
of a restore; with CRASH_POINTS=all before every statement.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.live_site import Site, run_site
from tests.support.mirror_world import TRASH

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs

ALL = os.environ.get("CRASH_POINTS") == "all"
LEASE = 1.0
NAMES = ("one", "two")
TABLE = "/fenced/external/d.db/t"
# See tests.support.freezing.
LOOK, COMMIT = r"0 \.lease .*LOCK IN SHARE MODE", "0 ^COMMIT"
NEVER = f"1000000 {COMMIT}"
EVERY = [f"{passed} ." for passed in range(200)]
PATIENCE = 60.0


class Daemons:
    """A leader, another one, and what they work on."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.processes: dict[str, subprocess.Popen[str]] = {}
        for name in NAMES:
            self.processes[name] = site.start(
                name,
                ("tests.support.freezing", str(self._order(name))),
                lease=LEASE,
                mirror={"grace": 0, "batch": 2 if ALL else 500},
                # Collects what is garbage at its own time.
                garbage={"rate": 0},
            )

    @property
    def leader(self) -> str:
        """The process that leads now."""
        self.site.until(lambda: any(map(self.site.leads, NAMES)))
        return next(name for name in NAMES if self.site.leads(name))

    def order(self, name: str, what: str) -> None:
        """Let one freeze."""
        self._order(name).write_text(what)
        self.processes[name].send_signal(signal.SIGUSR1)
        self.site.until(lambda: not self._order(name).exists())

    def frozen(self, name: str) -> bool:
        stat = Path(f"/proc/{self.processes[name].pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def log(self, name: str) -> str:
        """What one has said."""
        return (self.site.directory / f"{name}.log").read_text()

    def _order(self, name: str) -> Path:
        return self.site.directory / f"{name}.order"


@pytest.fixture
def daemons(metastore: Metastore, hdfs: Hdfs, tmp_path: Path) -> Iterator[Daemons]:
    """They follow a table with two partitions."""
    with run_site(metastore, hdfs, tmp_path, "/fenced") as site:
        table = site.world.make_table(site.world.make_database("d"), "t", TABLE)
        site.world.make_partitions(table, [f"{TABLE}/p={n}" for n in (1, 2)])
        found = Daemons(site)
        site.until(lambda: site.bound() == 4)
        yield found


def everything(site: Site) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables but the lease."""
    metastore = site.world.metastore
    state = [f"{{state}}.{name}" for name in ("recheck", "removal", "journal", "candidate", "request", "setting")]
    tables = [name for (name,) in metastore.execute("SHOW TABLES")]
    return {
        table: sorted(metastore.execute(f"SELECT * FROM {table}"), key=repr) for table in [*tables, "{inodes}", *state]
    }


def position(site: Site) -> int:
    return int(site.world.metastore.execute("SELECT txid FROM {state}.position")[0][0])


def fenced(daemons: Daemons, change: Callable[[], object], done: Callable[[], bool], number: int, moment: str) -> str:
    """Freeze the leader while it deals with a change, and thaw it when the other has done that.

    The statement that it was frozen before; empty if it never came to that.
    """
    site, old = daemons.site, daemons.leader
    (new,) = set(NAMES) - {old}
    daemons.order(old, f"{number} {moment}")
    change()
    site.until(lambda: daemons.frozen(old) or done(), PATIENCE)
    # What no client waits for comes last: inodes that nothing needs any more.
    time.sleep(0 if daemons.frozen(old) else 0.5)
    if not daemons.frozen(old):
        daemons.order(old, NEVER)
        return ""
    site.until(lambda: site.leads(new), PATIENCE)
    site.until(done, PATIENCE)
    before, reached = everything(site), position(site)
    said = daemons.log(old)
    daemons.processes[old].send_signal(signal.SIGCONT)
    # All threads of its term have ended by then. On a busy machine it may be the one that leads next.
    begun = re.compile(rf" {new} leads\.| This daemon leads,")
    site.until(lambda: begun.search(daemons.log(old), len(said)), PATIENCE)
    statement = said.rpartition("Frozen before ")[2]
    assert everything(site) == before, f"who leads no longer has written; it was frozen before {statement}"
    assert position(site) >= reached
    return statement


def test_a_leader_that_was_frozen_in_its_work_writes_nothing_afterwards(daemons: Daemons) -> None:
    site, files = daemons.site, daemons.site.world.files
    whole = site.world.objects()

    def gone() -> bool:
        return site.world.objects() == {"d"} and not site.world.pending_checks()

    def back() -> bool:
        return site.world.objects() == whole and site.bound() == 4 and not site.world.pending_checks()

    rounds: list[list[str]] = []
    for number in itertools.count(1):
        for moment in EVERY if ALL else [LOOK if number % 2 else COMMIT]:
            at = [fenced(daemons, lambda: files.trash(TABLE), gone, number, moment)]
            at.append(fenced(daemons, lambda: files.move(TRASH + TABLE, TABLE), back, number, moment))
            rounds.append(at)
            if all("COMMIT" in one or not one for one in at):
                break
        if number > 3 and not any(at):
            break
    assert sum(bool(statement) for at in rounds for statement in at) >= 6
    journal = "SELECT COUNT(*), COUNT(DISTINCT removal), SUM(state = 'restored') FROM {state}.journal"
    assert site.world.metastore.execute(journal) == [(3 * len(rounds), len(rounds), 3 * len(rounds))]
