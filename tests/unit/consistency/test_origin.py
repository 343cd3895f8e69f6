"""Another file system answers while a daemon leads: it ends as it would have at its start."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hopshive.consistency.mirror.work import MirrorWork
from hopshive.daemon.metrics import Metrics
from hopshive.daemon.notify import Notifier
from hopshive.daemon.process import Daemon
from hopshive.daemon.worker import Duty
from hopshive.database.state import write_setting
from hopshive.errors import Refused
from tests.support.mirror_world import MirrorWorld, empty_world
from tests.support.patience import scaled, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.database import Database
    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs


@pytest.fixture
def world(metastore: Metastore, hdfs: Hdfs) -> Iterator[MirrorWorld]:
    """A warehouse of one table, bound."""
    with empty_world(metastore, hdfs, "/another") as made:
        made.make_table(made.make_database("d"), "t", f"{made.root}/external/d.db/t")
        made.settle()
        yield made


class Leading:
    """A daemon that leads in a thread, and follows a warehouse."""

    def __init__(self, world: MirrorWorld) -> None:
        self.works: list[MirrorWork] = []
        self.turning, self.turned = threading.Event(), threading.Event()
        self.steps = 0
        self.ended: list[Refused] = []
        names = world.metastore.names
        database = replace(world.config.database, state=names.state, inodes=names.inodes)
        self._config = replace(world.config, database=database)
        duty = Duty("mirror", 0.01, self._make)
        self._daemon = Daemon(self._config, world.metastore.server, Metrics(), Notifier({}), [duty])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _make(self, database: Database) -> MirrorWork:
        leading = self

        class Work(MirrorWork):
            def step(self) -> bool:
                if leading.turning.is_set() and not leading.turned.is_set():
                    # What the daemon began with was another one than what answers from now on.
                    before = self._namenode.identity()
                    self._namenode._identity = replace(before, cluster_id="CID-before")
                    self._namenode.close()
                    leading.turned.set()
                worked = super().step()
                leading.steps += 1
                return worked

        self.works.append(Work(self._config, database, Metrics()))
        return self.works[-1]

    def _run(self) -> None:
        try:
            self._daemon.run()
        except Refused as error:
            self.ended.append(error)

    def turn(self) -> None:
        """From now on another file system answers than the one that it began with."""
        self.turning.set()
        assert self.turned.wait(scaled(10))

    def stop(self) -> None:
        self._daemon.stop()
        self._thread.join(scaled(10))
        assert not self._thread.is_alive()


@pytest.fixture
def leading(world: MirrorWorld) -> Iterator[Leading]:
    """It follows what it is to follow."""
    one = Leading(world)
    until(lambda: one.steps)
    yield one
    one.stop()


def test_it_ends_and_has_changed_nothing(world: MirrorWorld, leading: Leading) -> None:
    with world.database.transaction() as tx:
        write_setting(tx, "cluster_id", "CID-before")
    leading.turn()
    until(lambda: leading.ended)
    assert "follows CID-before. Nothing was changed: correct hdfs.namenodes" in str(leading.ended[0])
    assert world.objects() == {"d", "d.t"}
    assert world.pending_checks() == []


def test_it_continues_if_the_right_one_answers_again(world: MirrorWorld, leading: Leading) -> None:
    leading.turn()
    until(lambda: len(leading.works) == 2)
    world.files.delete(f"{world.root}/external/d.db/t")
    until(lambda: world.objects() == {"d"})
    assert not leading.ended
