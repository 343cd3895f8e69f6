"""The commands of docs/consistency.md that dump the warehouse's metadata on MariaDB and load them."""

from __future__ import annotations

import re
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

from hopshive.consistency import schema
from hopshive.database import Names, Server
from tests.support.metastore_db import Metastore, stock_metastore
from tests.support.servers import ROOT, MariaDB, run_mariadb

if TYPE_CHECKING:
    from pathlib import Path

NAMES = Names()
DATABASE = "metastore"


def _command(begin: str, server: MariaDB, directory: Path) -> None:
    """Run the one that begins so, as root on the server's host."""
    page = (ROOT / "docs/consistency.md").read_text()
    (line,) = re.findall(rf"(?m)^{re.escape(begin)}(?:.*\\\n)*.*$", page)
    line = re.sub(r"(mariadb(-dump)?)(?= |$)", rf"\1 --no-defaults --socket={server.socket} --user=root", line)
    line = line.replace("/srv/", f"{directory}/")
    subprocess.run(["bash", "-o", "pipefail", "-ec", line], check=True)


def test_a_dump_brings_all_of_it_to_a_new_server_and_back_to_one_that_has_it(tmp_path: Path, hive_home: Path) -> None:
    with ExitStack() as stack:
        for name in ("old", "new"):
            (tmp_path / name).mkdir()
        old, new = (stack.enter_context(run_mariadb(tmp_path / name)) for name in ("old", "new"))
        there = Metastore(old, stock_metastore(old, hive_home, DATABASE), NAMES)
        schema.apply(there.server, NAMES)
        there.execute(
            "INSERT INTO {state}.position (id, txid, compared_at) VALUES (1, 5, UTC_TIMESTAMP(3))",
            "INSERT INTO {inodes} (partition_id, parent_id, name, id) VALUES (1, 1, 'd', 7)",
            "INSERT INTO SDS (SD_ID, INPUT_FORMAT, IS_COMPRESSED, IS_STOREDASSUBDIRECTORIES, NUM_BUCKETS, PARTITION_ID,"
            " PARENT_ID, NAME) VALUES (1, 'x', 0, 0, -1, 1, 1, 'd')",
        )
        _command("mariadb-dump", old, tmp_path)
        here = Metastore(new, Server(DATABASE, unix_socket=new.socket, user="root"), NAMES)
        for _ in range(2):
            _command("zcat", new, tmp_path)
            _command("mariadb -e", new, tmp_path)
            assert here.picture() == there.picture()
            assert schema.apply(here.server, NAMES, dry_run=True) == []
            assert here.execute("SELECT txid, compared_at FROM {state}.position") == [(5, None)]
            # What it refers to lies in another schema.
            assert here.execute("DELETE FROM {inodes}", "SELECT COUNT(*) FROM SDS") == [(0,)]
