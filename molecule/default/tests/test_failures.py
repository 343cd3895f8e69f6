"""What beeline shows while a statement runs, and when one fails. See docs/troubleshooting.md."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.warehouse.hiveserver2 import HiveError, HiveSession

pytestmark = pytest.mark.group("client")
# Fails in a task, four times.
WRONG = "SELECT sum(size(split(s, concat('[', s)))) FROM (SELECT stack(2, 'x', 'y') AS s) t"


def beeline(host: Any, statement: str) -> tuple[int, list[str]]:
    """Its code, and what a person sees beside rows, without the bars that it draws again and again."""
    done = host.run(f"beeline -n spark -p '' -e {shlex.quote(statement)}")
    return done.rc, done.stderr.splitlines()


def test_a_failed_statement_says_why_in_its_last_line(host: Any) -> None:
    code, lines = beeline(host, WRONG)
    assert code != 0
    (at,) = [number for number, line in enumerate(lines) if line.startswith("Error: ")]
    assert "PatternSyntaxException: Unclosed character class near index 1" in lines[at]
    assert "yarn logs -applicationId application_" in lines[at]
    assert [line for line in lines[at + 1 :] if not line.startswith("Closing: ")] == []
    # Nor do the diagnostics of the attempts stand above it.
    assert [line for line in lines if line.startswith("\tat ")] == []


def test_a_session_can_have_the_whole_message(host: Any) -> None:
    _, lines = beeline(host, f"SET hopshive.failure.line=false; {WRONG}")
    assert any("TaskAttempt 3 failed" in line for line in lines)


def test_the_journal_keeps_the_stack(host: Any) -> None:
    _, lines = beeline(host, WRONG)
    (error,) = [line for line in lines if line.startswith("Error: ")]
    query = error.partition(" at ")[2].partition(")")[0]
    journal = host.check_output("journalctl -u hive-server2 -o cat --since -10min")
    assert "GenericUDFSplit" in journal[journal.index(f"at {query})") :]


def test_a_failed_insert_leaves_no_transaction_open(host: Any) -> None:
    """DROP waits for the locks of transactions, and the session that failed is still open."""
    session = HiveSession(host.run("hostname -i").stdout.split()[0])
    try:
        session.execute("CREATE DATABASE IF NOT EXISTS failing")
        session.execute("CREATE TABLE failing.t (n INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
        with pytest.raises(HiveError, match="PatternSyntaxException"):
            session.execute(f"INSERT INTO failing.t {WRONG}")
        assert beeline(host, "SET hive.lock.numretries=2; DROP DATABASE failing CASCADE")[0] == 0
    finally:
        session.close()


def test_a_running_statement_shows_its_progress(host: Any) -> None:
    code, lines = beeline(host, "SELECT count(DISTINCT s) FROM (SELECT stack(2, 'x', 'y') AS s) t")
    assert code == 0
    assert any("VERTICES: " in line for line in lines)
