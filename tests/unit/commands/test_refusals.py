"""What is wrong with a configuration, a database or a file system is said in one line, and nothing is changed."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from hopshive.cli import main
from tests.support.live_site import Site, environment, run_site
from tests.support.metastore_rows import dump

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.metastore_db import Metastore
    from tests.support.servers import Hdfs

TABLES = ("setting", "position", "recheck", "removal", "journal", "candidate", "request")


@pytest.fixture(scope="module")
def site(metastore: Metastore, hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With a table and its directory, and what a leader has written down."""
    with run_site(metastore, hdfs, tmp_path_factory.mktemp("wrong"), "/wrong") as found:
        found.world.make_table(found.world.make_database("d"), "t", "/wrong/external/d.db/t")
        found.world.settle()
        yield found


def picture(site: Site) -> tuple[Any, ...]:
    """All that a daemon or a command could change."""
    metastore = site.world.metastore
    state = [metastore.execute(f"SELECT * FROM {{state}}.{table}") for table in TABLES]
    return dump(metastore), metastore.execute("SELECT * FROM {inodes}"), state


@contextmanager
def wrong_database(site: Site, wrong: str, right: str) -> Iterator[None]:
    """Something that an operator has done to the database, for a while."""
    site.world.metastore.execute(wrong)
    try:
        yield
    finally:
        site.world.metastore.execute(right)


WRONG: dict[str, tuple[Any, str]] = {
    "no file": ("", r"wrong\.yml cannot be read: No such file or directory\."),
    "no yaml": ("hdfs: [", r"wrong\.yml is not YAML in line 1"),
    "setting": ({"lease": 0}, r"wrong\.yml: lease must be a second or more; it is 0"),
    "password": ({"database": {"user": "guest", "password_file": "PASSWORD"}}, "Access denied for user 'guest'"),
    "source": ({"source": "hopsfs"}, "made for the inode source hdfs, and now it is to be hopsfs. Nothing was changed"),
    "scratch": ({"garbage": {"scratch": ["/"]}}, r"wrong\.yml: garbage\.scratch: / holds more than scratch"),
    "namenode": (
        (
            "UPDATE {state}.setting SET value = REVERSE(value) WHERE name = 'block_pool'",
            "UPDATE {state}.setting SET value = REVERSE(value) WHERE name = 'block_pool'",
        ),
        r"\(hdfs\.namenodes\) is the file system BP-.*, but .* follows .*-PB\. Nothing was changed",
    ),
    "schema": (
        ("UPDATE VERSION SET SCHEMA_VERSION = '3.1.0'", "UPDATE VERSION SET SCHEMA_VERSION = '4.0.0'"),
        r"The schema of the metastore in \w+ is 3\.1\.0, and ours fits 4\.0\.0\. Nothing was changed",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_changed(site: Site, what: str) -> None:
    wrong, sentence = WRONG[what]
    path = site.directory / "wrong.yml"
    path.unlink(missing_ok=True)
    with ExitStack() as stack:
        if isinstance(wrong, tuple):
            stack.enter_context(wrong_database(site, *wrong))
            site.write("wrong")
        elif isinstance(wrong, dict):
            if what == "password":
                site.world.metastore.execute("CREATE USER IF NOT EXISTS guest@localhost IDENTIFIED BY 'right'")
                password = site.directory / "password"
                password.write_text("wrong\n")
                database = {"unix_socket": site.world.metastore.mariadb.socket, "password_file": str(password)}
                wrong = {"database": {**wrong["database"], **database}}
            site.write("wrong", **wrong)
        elif wrong:
            path.write_text(wrong)
        before = picture(site)
        daemon = subprocess.run(
            [sys.executable, "-m", "hopshive.cli", "cleaner", "run", "--config", str(path)],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            timeout=30,
            check=False,
        )
        critical = [line for line in daemon.stderr.splitlines() if "CRITICAL" in line]
        assert daemon.returncode == 78, daemon.stderr
        assert [line for line in critical if re.search(sentence, line)] == daemon.stderr.splitlines()[-1:]
        assert "Traceback" not in daemon.stderr
        command = CliRunner().invoke(main, ["check", "--config", str(path)])
        assert command.exit_code == 1
        (line,) = command.stderr.splitlines()
        assert re.search(sentence, line)
        assert picture(site) == before


def test_what_belonged_to_a_database_that_was_dropped_does_not_come_back(site: Site) -> None:
    world = site.world
    path = "/wrong/external/gone.db/t"
    world.make_table(world.make_database("gone"), "t", path)
    world.settle()
    world.files.delete(path)
    world.settle()
    world.metastore.execute("DELETE FROM DBS WHERE NAME = 'gone'")
    world.files.mkdir(path)
    site.start("one")
    site.until(lambda: site.leads("one"))
    before = world.objects()
    said = site.run("restore", "--name", "hive.gone.t", code=1).splitlines()
    assert len(said) == 1
    assert said[0].endswith(
        "table hive.gone.t: its database is not there. Restore that first; one that was made since is another."
    )
    assert world.objects() == before
    assert [removal["left"] for removal in site.json("journal")] == [1]
