"""The tests' Spark session says what became of it, whatever the host answers, and starts again with the next request."""

import json
import re
from dataclasses import dataclass

import pytest

from tests.warehouse.hosts import Host
from tests.warehouse.spark import SparkError, SparkSession

STOPPED = "OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown"


@dataclass(frozen=True)
class Answering(Host):
    """A host that runs a shell's commands instead of what it is asked to."""

    commands: str = "exit 1"

    def argv(self, *argv: str, user: str = "root") -> list[str]:  # noqa: ARG002 - a host's
        return ["sh", "-c", self.commands]


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        (f"echo '{STOPPED}'; exit 126", f"Spark did not start: {STOPPED}"),
        ("echo 'no such container' >&2; exit 1", "Spark has ended: no such container"),
        ("exec sleep 60", "Spark did not answer within 1 s"),
    ],
    ids=["docker refuses on stdout", "docker refuses on stderr", "silence"],
)
def test_a_session_that_does_not_start_is_an_error_of_spark(commands: str, said: str) -> None:
    session = SparkSession(Answering("edge", "127.0.0.1", commands), timeout=1)
    for _ in range(2):
        with pytest.raises(SparkError, match=re.escape(said)):
            session.sql("SELECT 1")


def test_a_session_that_starts_answers() -> None:
    answers = "\n".join(json.dumps(answer) for answer in ({"ready": "3.5"}, {"rows": [[1]]}))
    session = SparkSession(Answering("edge", "127.0.0.1", f"echo '{answers}'; cat"))
    assert session.sql("SELECT 1") == [(1,)]
    session.close()
