"""What is kept of a fault of which a bound broke."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.calls import Record
from tests.faults.evidence import Evidence
from tests.warehouse.hosts import Host, Lab


@dataclass(frozen=True)
class Here(Host):
    """The controller in place of a container; it notes what is asked of it, and has the journal of no unit."""

    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, *argv: str, **_options: object) -> subprocess.CompletedProcess[str]:
        self.asked.append(argv)
        return subprocess.CompletedProcess(argv, 0, "", "")

    def argv(self, *argv: str, user: str = "root") -> list[str]:  # noqa: ARG002
        return ["false"] if argv[0] == "journalctl" else list(argv)


def watched(bound: float) -> tuple[Evidence, Here, Record]:
    host, record = Here("here", "127.0.0.1"), Record()
    lab = Lab(Path("hosts.yml"), "x", {"here": host}, {})
    return Evidence(lab, record, [("hive", bound)]), host, record


def test_threads_are_asked_for_while_a_call_waits_and_once_in_a_while_only() -> None:
    evidence, host, _ = watched(bound=0.5)
    evidence.start()
    time.sleep(2)
    evidence.end()
    assert [argv[:2] for argv in host.asked] == [("pkill", "-QUIT")]


def test_nothing_is_asked_for_while_calls_succeed() -> None:
    evidence, host, record = watched(bound=2)
    evidence.start()
    for _ in range(15):
        with record.call("hive"):
            time.sleep(0.1)
    evidence.end()
    assert host.asked == []


def test_calls_are_kept_and_a_log_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    evidence, _, record = watched(bound=30)
    with record.call("hive"):
        pass
    evidence.save(tmp_path)
    assert " hive 0.0 s" in (tmp_path / "calls.txt").read_text()
    assert "non-zero exit status 1" in (tmp_path / "here.error").read_text()
    assert (tmp_path / "here-containers.tar.gz").exists()
