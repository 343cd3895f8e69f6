"""Disks that run full: a small one under a service's directory, in its own mount namespace; what the services say of it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client import generate_latest

from hopshive.daemon.metrics import Metrics
from hopshive.hdfs.namenode.report import DataNode, Replica, Report, Space
from tests.faults import told
from tests.faults.catalogue import catalogue
from tests.faults.disk import ROOM, Disk
from tests.support.patience import until
from tests.warehouse.hosts import CommandError, Host, Lab

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Namespace(Host):
    """Runs commands in a mount namespace of its own instead of a container."""

    pid: int = 0

    def argv(self, *argv: str, user: str = "root") -> list[str]:  # noqa: ARG002 - as a container's
        return ["nsenter", "--target", str(self.pid), "--mount", *argv]


@pytest.fixture
def host() -> Iterator[Namespace]:
    if os.geteuid() != 0:
        pytest.skip("mounting takes root")
    process = subprocess.Popen(["unshare", "--mount", "sleep", "300"])
    try:
        here = Path("/proc/self/ns/mnt").readlink()
        until(lambda: Path(f"/proc/{process.pid}/ns/mnt").readlink() != here, 10, "It has no namespace of its own.")
        host = Namespace("here", "127.0.0.1", process.pid)
        if host.run("sh", "-c", "mount -t tmpfs tmpfs /mnt && umount /mnt", check=False).returncode:
            pytest.skip("this machine forbids mounting, which takes the capability SYS_ADMIN")
        yield host
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """As a service keeps it: with a mode of its own, and files that change and go."""
    made = tmp_path / "data"
    (made / "current/deep").mkdir(parents=True)
    made.chmod(0o700)
    for name in ("changes", "goes", "stays", "moves"):
        (made / "current" / name).write_text(name)
    (made / "in_use.lock").write_text("1")
    os.chown(made / "current", 1234, 1234)
    return made


@pytest.mark.parametrize("linked", [False, True])
def test_what_happened_on_it_stays_and_the_rest_is_as_before(host: Namespace, directory: Path, linked: bool) -> None:
    disk = Disk(host, str(directory))
    inode = (directory / "current/stays").stat().st_ino
    disk.mount(linked)

    def run(script: str) -> str:
        return host.run("sh", "-c", f"cd {directory}/current && {script}").stdout.strip()

    free = "df --output=avail -B1 . | tail -n 1"
    assert abs(int(run(free)) - ROOM) < 1 << 20
    assert run(f"cat stays; stat -c '%a' {directory}; stat -c '%u' .; ls ..") == "stays700\n1234\ncurrent"
    disk.fill(10 << 20)
    assert abs(int(run(free)) - (10 << 20)) < 1 << 20
    disk.fill()
    assert run(free) == "0"
    with pytest.raises(CommandError, match="No space left on device"):
        run("cat stays >more")
    disk.free()
    assert abs(int(run(free)) - ROOM) < 1 << 20
    run("rm goes more; mv moves deep/moved; echo new >new; rm changes; echo changed >changes")
    disk.fill()
    disk.unmount()
    found = {str(path.relative_to(directory)): path for path in directory.rglob("*")}
    assert {name: path.read_text() for name, path in found.items() if path.is_file()} == {
        "current/changes": "changed\n",
        "current/deep/moved": "moves",
        "current/new": "new\n",
        "current/stays": "stays",
    }
    assert not any(path.is_symlink() for path in found.values())
    assert (directory.stat().st_mode & 0o777, found["current"].stat().st_uid) == (0o700, 1234)
    assert [path.name for path in directory.parent.iterdir()] == ["data"]
    # What was linked to was moved, not copied.
    assert (found["current/stays"].stat().st_ino == inode) == linked
    disk.unmount()
    assert (directory / "current/stays").exists()


def test_what_is_too_large_for_it_stays_where_it_is(host: Namespace, directory: Path) -> None:
    with (directory / "current/large").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 600 << 20)
    with pytest.raises(CommandError, match="No space left on device"):
        Disk(host, str(directory)).mount(linked=False)
    assert (directory / "current/stays").read_text() == "stays"
    assert (directory / "in_use.lock").exists()
    assert [path.name for path in directory.parent.iterdir()] == ["data"]


def test_a_disk_that_went_with_its_host_is_undone_too(host: Namespace, directory: Path) -> None:
    disk = Disk(host, str(directory))
    disk.mount(linked=False)
    host.run("umount", str(directory))
    disk.unmount()
    assert (directory / "current/stays").read_text() == "stays"
    assert [path.name for path in directory.parent.iterdir()] == ["data"]


# --- what the services must say   ------------------------------------------------------------------------------------------

ONE = Host("one", "10.0.0.1")
SENTENCE = "The NameNode one:8020 (standby) ran out of space for its edits: it cannot take over."


def said(full: bool, *problems: str) -> told.Said:
    """What `hopshive status --json` has of a NameNode and a DataNode."""
    namenode = {"address": "one:8020", "state": "standby", "full": full, "ready": not full}
    return {"hdfs": {"full": ["one:9866"] if full else [], "namenodes": [namenode]}, "problems": problems}


def shown(full: bool) -> told.Samples:
    """What the leader's endpoint has of them."""
    metrics = Metrics()
    nodes = (DataNode("one:9866", 10, 0 if full else 10),)
    metrics.show_hdfs(Report((Replica("one:8020", "standby", full=full),), Space(10, 0, 1, nodes, ())))
    return told.samples(generate_latest(metrics.registry).decode())


def test_status_and_metrics_must_name_who_is_full() -> None:
    expected = told.namenode_full(ONE)
    assert expected.in_status(said(True, SENTENCE))
    assert not expected.in_status(said(True))
    assert not expected.in_status(said(False, SENTENCE))
    assert expected.in_metrics(shown(True))
    assert not expected.in_metrics(shown(False))
    with pytest.raises(LookupError):
        told.namenode_full(Host("two", "10.0.0.2")).in_metrics(shown(True))
    expected = told.datanode_full(ONE)
    assert expected.in_status(
        said(True, "No space for another block (1 B) on the DataNode one:9866: no client can write.")
    )
    assert expected.in_metrics(shown(True))
    assert not expected.in_metrics(shown(False))


def test_status_and_metrics_must_say_that_it_is_over() -> None:
    for expected in (told.namenode_well(ONE), told.datanode_well(ONE)):
        assert expected.in_status(said(False))
        assert expected.in_metrics(shown(False))
        assert not expected.in_status(said(True, SENTENCE))
        assert not expected.in_metrics(shown(True))


def test_a_fault_is_for_labs_that_have_what_it_takes() -> None:
    hosts = {"one": ONE}
    single = Lab(Path(), "single", hosts, {"namenode": ("one",), "cleaner": ("one",), "datanode": ("one",)})
    several = replace(single, groups={**single.groups, "journalnode": ("one",)})
    named = {fault.name: fault for fault in catalogue() if fault.name.startswith("disk full")}
    assert [name for name, fault in named.items() if fault.fits(single)] == [
        "disk full on a DataNode",
        "disk full on the only NameNode's edits",
    ]
    assert [name for name, fault in named.items() if fault.fits(several)] == [
        "disk full on a DataNode",
        "disk full on a NameNode's edits",
    ]
