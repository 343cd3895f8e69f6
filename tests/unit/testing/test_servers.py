"""The servers that tests start: several of them run on one machine at the same time."""

from pathlib import Path

import pytest

from tests.support.servers import run_mariadb


def test_mariadb_keeps_its_temporary_tables_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a server that starts removes those of another: the installation of the other then fails."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    with run_mariadb(tmp_path / "mariadb") as server:
        rows = server.execute(
            "CREATE DATABASE d", "CREATE TEMPORARY TABLE d.t (i INT)", "INSERT INTO d.t VALUES (1)", "SELECT i FROM d.t"
        )
    assert rows == [(1,)]
