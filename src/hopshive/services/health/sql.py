"""The metastore's database: MariaDB, or an SQL node of NDB Cluster."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

from hopshive.services.health.answer import ATTEMPT_TIMEOUT, POLL, Facts, NoAnswer, Target, WrongAnswer, reason
from hopshive.tls import context

if TYPE_CHECKING:
    from collections.abc import Sequence


# MariaDB's errors for a wrong password, database or host: waiting does not help.
_ACCESS_ERRORS = {1044, 1045, 1049, 1130, 1698}


def ask_mariadb(target: Target, timeout: float) -> Facts:
    """`SELECT 1`, over the socket if the target has one."""
    _, version = _query(target, timeout, "SELECT 1, VERSION()")
    return {"version": version}


def ask_ndb_sql(target: Target, timeout: float) -> Facts:
    """The SQL node answers and is connected to data nodes: without these it answers, but has none of the cluster's tables."""
    version, nodes = _query(
        target,
        timeout,
        "SELECT VERSION(), (SELECT VARIABLE_VALUE FROM performance_schema.global_status"
        " WHERE VARIABLE_NAME = 'Ndb_number_of_ready_data_nodes')",
    )
    if not int(nodes or 0):
        raise NoAnswer("it has no connection to a data node (ndb_mgm -e show lists the started ones)")
    return {"version": version, "data_nodes": int(nodes)}


def strangers(target: Target, hosts: Sequence[str], timeout: float) -> list[str]:
    """Those of some hosts from which the target's user is connected to an SQL node; a user sees only its own connections."""
    asked = {address for host in hosts for address in _addresses(host)} - {"127.0.0.1", "::1", *_addresses(target.host)}
    names = {str(row[2]).rpartition(":")[0] or str(row[2]) for row in _rows(target, timeout, "SHOW PROCESSLIST")}
    return sorted(name for name in names if asked & {name, *_addresses(name)})


def wait_unused(target: Target, hosts: Sequence[str], timeout: float) -> None:
    """Wait until no connection of the target's user comes from these other hosts. Raises NoAnswer, WrongAnswer."""
    deadline = time.monotonic() + timeout
    while found := strangers(target, hosts, ATTEMPT_TIMEOUT):
        if time.monotonic() > deadline:
            raise NoAnswer(
                f"{target.user} at {', '.join(found)} is still connected to {target.place} after {timeout:.0f} s."
            )
        time.sleep(POLL)


def _addresses(host: str) -> set[str]:
    """The IP addresses of a host's name or address; empty if it is unknown."""
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return set()


def _query(target: Target, timeout: float, sql: str) -> tuple[Any, ...]:
    """The first row of a query."""
    return next(iter(_rows(target, timeout, sql)), ())


def _rows(target: Target, timeout: float, sql: str) -> Sequence[tuple[Any, ...]]:
    """The rows of a query."""
    import pymysql

    seconds = max(1, int(timeout))
    where: dict[str, Any] = (
        {"unix_socket": target.unix_socket} if target.unix_socket else {"host": target.host, "port": target.port}
    )
    try:
        if target.authority and not target.unix_socket:
            where["ssl"] = context(target.authority)
    except OSError as error:
        raise WrongAnswer(f"{target.authority} is no file of certificates: {reason(error)}") from None
    try:
        with (
            pymysql.connect(
                user=target.user or None,
                password=target.password,
                connect_timeout=seconds,
                read_timeout=seconds,
                **where,
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
            return list(cursor.fetchall())
    except pymysql.MySQLError as error:
        code, text = (*error.args, "")[:2] if error.args else (0, str(error))
        if code in _ACCESS_ERRORS:
            raise WrongAnswer(f"{text} (login_user, login_password or login_unix_socket)") from None
        raise NoAnswer(str(text or code)) from None
