"""A MariaDB that is asked, and who else is connected to an SQL node."""

from __future__ import annotations

from typing import Any

import pymysql
import pytest

from hopshive.services.health import (
    NoAnswer,
    Target,
    wait_unused,
)
from hopshive.services.health.sql import strangers
from tests.support.servers import MariaDB


def test_who_is_connected_from_elsewhere_is_told_and_waited_for(mariadb: MariaDB) -> None:
    login: dict[str, Any] = {"host": "127.0.0.1", "port": mariadb.port, "user": "hive", "password": "secret"}
    target = Target("ndb_sql", "127.0.0.1", mariadb.port, user="hive", password="secret")
    with (
        pymysql.connect(unix_socket=mariadb.socket, user="root") as connection,
        connection.cursor() as root,
    ):
        root.execute("CREATE USER hive@'127.0.0.%' IDENTIFIED BY 'secret'")
        try:
            with pymysql.connect(**login):
                assert strangers(target, ["127.0.0.1", "127.0.0.2"], 5) == []
            with pymysql.connect(**login, bind_address="127.0.0.2"):
                # One without an SQL node of its own will not leave.
                assert strangers(target, ["127.0.0.3", "nowhere.invalid"], 5) == []
                assert strangers(target, ["127.0.0.2"], 5) == ["127.0.0.2"]
                with pytest.raises(NoAnswer, match=r"^hive at 127\.0\.0\.2 is still connected to .* after 1 s\.$"):
                    wait_unused(target, ["127.0.0.2"], 1)
            wait_unused(target, ["127.0.0.2"], 5)
        finally:
            root.execute("DROP USER hive@'127.0.0.%'")
