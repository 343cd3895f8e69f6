"""Whether JournalNodes take edits: real ones, and a NameNode that writes to them."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from hopshive.services.edits import addresses, refusing, wait_taken
from hopshive.services.health import ATTEMPT_TIMEOUT, NoAnswer, bean
from tests.support.patience import until
from tests.support.servers import connect, free_port, hadoop_classpath, run_hdfs, run_java, wait_until, write_site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.servers import Hdfs

NUMBERS = (2, 3, 4)


@dataclass
class Journals:
    """Three JournalNodes, each at an address of its own."""

    directory: Path
    hadoop: Path
    ports: dict[int, int] = field(default_factory=dict)
    running: dict[int, ExitStack] = field(default_factory=dict)

    def place(self, number: int) -> str:
        return f"127.0.0.{number}:{self.ports.setdefault(number, free_port())}"

    def edits(self, number: int) -> Path:
        return self.directory / f"edits{number}"

    def start(self, number: int) -> None:
        conf = self.directory / f"conf{number}"
        write_site(conf / "core-site.xml", {})
        write_site(
            conf / "hdfs-site.xml",
            {
                "dfs.journalnode.edits.dir": self.edits(number),
                "dfs.journalnode.rpc-address": self.place(number),
                "dfs.journalnode.http-address": f"127.0.0.{number}:0",
            },
        )
        log = self.directory / f"journalnode{number}.log"
        self.running[number] = stack = ExitStack()
        name = "org.apache.hadoop.hdfs.qjournal.server.JournalNode"
        stack.enter_context(run_java(name, [conf, *hadoop_classpath(self.hadoop)], log))

    def wait(self, number: int) -> None:
        host, port = self.place(number).split(":")

        def listens() -> bool:
            with suppress(OSError), socket.create_connection((host, int(port)), 1):
                return True
            return False

        wait_until(listens, "the JournalNode", self.directory / f"journalnode{number}.log")

    def restart(self, number: int) -> None:
        self.running[number].close()
        self.start(number)
        self.wait(number)


@dataclass
class World:
    """With the NameNode that writes to them."""

    journals: Journals
    hdfs: Hdfs
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def edit(self) -> None:
        """One that must be written to most."""
        connection = HTTPConnection("127.0.0.1", self.hdfs.namenode_port, timeout=30)
        connection.request("PUT", f"/webhdfs/v1/d{next(self.numbers)}?op=MKDIRS&user.name=hdfs")
        assert json.load(connection.getresponse()) == {"boolean": True}
        connection.close()

    def refusing(self) -> list[str]:
        info = bean(self.hdfs.url, "Hadoop:service=NameNode,name=NameNodeInfo", ATTEMPT_TIMEOUT)
        return refusing(info["NameJournalStatus"])

    def await_refusing(self, places: list[str]) -> None:
        """Look until it is so."""
        sentence = f"Not exactly {places} refuse edits."
        until(lambda: self.refusing() == places, 10, lambda: f"{sentence} Those that do: {self.refusing()}", look=0.1)


@pytest.fixture(scope="module")
def world(hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    journals = Journals(tmp_path_factory.mktemp("journals"), hadoop_home)
    for number in NUMBERS:
        journals.start(number)
    for number in NUMBERS:
        journals.wait(number)
    shared = f"qjournal://{';'.join(journals.place(number) for number in NUMBERS)}/lab"
    try:
        with run_hdfs(tmp_path_factory.mktemp("hdfs"), hadoop_home, {"dfs.namenode.edits.dir": shared}) as hdfs:
            connect(hdfs).close()
            yield World(journals, hdfs)
    finally:
        for stack in journals.running.values():
            stack.close()


def test_journalnodes_are_restarted_one_after_the_other_and_edits_continue(world: World) -> None:
    for number in NUMBERS:
        world.journals.restart(number)
        world.edit()
        # The edit stands once two of three have it: what the third one answers is known after that.
        world.await_refusing([world.journals.place(number)])
        wait_taken([world.hdfs.url], 30)
        assert world.refusing() == []
    world.edit()
    assert world.refusing() == []


def test_a_restart_that_no_edit_has_noticed_is_seen_to_as_well(world: World) -> None:
    for number in NUMBERS:
        world.journals.restart(number)
        wait_taken(["http://127.0.0.1:1", world.hdfs.url], 30)
    world.edit()
    assert world.refusing() == []


def test_one_that_does_not_answer_is_named(world: World) -> None:
    journals = world.journals
    journals.running[4].close()
    with pytest.raises(NoAnswer, match=rf"writes no edits to {journals.place(4)}: see"):
        wait_taken([world.hdfs.url], 0)
    journals.start(4)
    wait_taken([world.hdfs.url], 30)


def test_one_without_a_journal_is_named(world: World) -> None:
    journals = world.journals
    journals.running[4].close()
    away = journals.edits(4).rename(journals.directory / "away")
    journals.start(4)
    journals.wait(4)
    with pytest.raises(
        NoAnswer, match=rf"writes no edits to {journals.place(4)}: see journalctl -u hadoop-hdfs-journal"
    ):
        wait_taken([world.hdfs.url], 5)
    wait_taken([world.hdfs.url], 5, besides=addresses("127.0.0.4"))
    # With the names of the file system it takes part again, and fetches what it lacks.
    journals.running[4].close()
    name = "lab/current/VERSION"
    (journals.edits(4) / name).parent.mkdir(parents=True)
    (journals.edits(4) / name).write_bytes((away / name).read_bytes())
    journals.start(4)
    journals.wait(4)
    wait_taken([world.hdfs.url], 30)
