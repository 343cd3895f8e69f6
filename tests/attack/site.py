"""The lab that is attacked: people's sessions, what they heard, and what nobody but the victim may have changed."""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hopshive.metastore.thrift import Fields, ThriftError, TType, call
from tests.attack import victim
from tests.attack.attempt import NotHeldError, NotTriedError
from tests.attack.inventory import Inventory, Person, cast
from tests.attack.metastore import metastore
from tests.attack.web import LOGIN, SERVER2_HTTP, HttpSession, Web
from tests.warehouse.database import MetastoreDatabase
from tests.warehouse.hdfs import Hdfs
from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.warehouse.hosts import Host, Lab

# A directory of each host for what attempts may read or leave there: whoever reaches the host's files reaches it.
HOST_DIRECTORY = "/tmp/hopshive-attack"  # noqa: S108 - on hosts of a lab
HOST_SECRET = f"{HOST_DIRECTORY}/secret"
HOST_TRACE = f"{HOST_DIRECTORY}/ran"
SERVER2_PORT = 10000
# SASL's status of a login that is accepted.
COMPLETE = 5
# Characters of a secret that is not found in a text by chance.
SHORTEST_SECRET = 16
# Seconds for what follows a new table.
SETTLING = 20
# Seconds for one call. A session's first query on Tez starts an application.
PATIENCE = 120.0


class Watched:
    """A session of somebody who attacks, all of whose answers are heard."""

    def __init__(self, session: HiveSession, heard: list[str]) -> None:
        self.session = session
        self._heard = heard

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a statement. Raises HiveError."""
        try:
            found = self.session.execute(sql)
        except HiveError as error:
            self._heard.append(str(error))
            raise
        self._heard.append(repr(found))
        return found

    def tried(self, sql: str) -> str:
        """What a statement is answered; whether it may is for the effect to say."""
        try:
            found = self.rows(sql)
        except HiveError as error:
            return sentence(error)
        return f"OK, {len(found)} rows" + (f": {found[0]}" if found else "")

    def refused(self, sql: str) -> str:
        """The refusal of a statement. Raises NotHeldError if it is none."""
        try:
            found = self.rows(sql)
        except HiveError as error:
            if error.lost:
                raise NotTriedError(f"HiveServer2 was lost at: {sql}: {error}") from error
            return sentence(error)
        raise NotHeldError(f"{sql}: OK, {found[:3]}")

    def allowed(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of the control. Raises NotTriedError if it is refused."""
        try:
            return self.rows(sql)
        except HiveError as error:
            raise NotTriedError(f"control: {sql}: {sentence(error)}") from error

    def heard(self, text: str) -> None:
        """What a call beside statements was answered."""
        self._heard.append(text)

    @property
    def user(self) -> str:
        """Whom HiveServer2 takes the session for."""
        return str(self.allowed("SELECT current_user()")[0][0])


class Site:
    """Begin with `prepare`, end with `close`."""

    def __init__(self, lab: Lab, inventory: Inventory) -> None:
        self.lab = lab
        self.inventory = inventory
        self.cast = cast(inventory)
        self.marker = f"marker{secrets.token_hex(12)}"
        self.heard: list[str] = []
        self.database = MetastoreDatabase(lab)
        self.state = MetastoreDatabase(lab, "hopshive")
        addresses = {one.name: one.address for one in lab.hosts.values()}
        self.hdfs = Hdfs(lab.group("namenode"), addresses=addresses, authority=inventory.authority)
        self.tls = ssl.create_default_context(cafile=inventory.authority)
        self.web = Web(self)
        self._standing: Watched | None = None
        self._before: victim.State = {}

    # --- sessions -----------------------------------------------------------------------------------------------------

    @property
    def server2(self) -> Host:
        """The first HiveServer2."""
        return self.lab.one("server2")

    def opened(
        self,
        name: str,
        password: str,
        database: str = "",
        settings: Mapping[str, str] | None = None,
        host: Host | None = None,
    ) -> HiveSession:
        """A session that nothing was asked of yet; close it. `settings`: of OpenSession, as they stand there."""
        configuration = ({"use:database": database} if database else {}) | dict(settings or {})
        return HiveSession(
            (host or self.server2).address,
            user=name,
            password=password,
            configuration=configuration,
            authority=self.inventory.authority,
            timeout=PATIENCE,
        )

    @contextmanager
    def session(
        self,
        person: Person | None = None,
        database: str | None = None,
        settings: Mapping[str, str] | None = None,
        password: str = "",
        name: str = "",
    ) -> Iterator[Watched]:
        """One of the outsider at home, unless it says otherwise."""
        who = person or self.cast.outsider
        session = self.opened(
            name or who.login, password or who.password, self.cast.home if database is None else database, settings
        )
        try:
            yield Watched(session, self.heard)
        finally:
            session.close()

    def standing(self) -> Watched:
        """The session of the outsider at home that attempts share."""
        if self._standing is None:
            who = self.cast.outsider
            self._standing = Watched(self.opened(who.login, who.password, self.cast.home), self.heard)
        return self._standing

    def as_owner(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements of the victim's owner; the rows of the last. Raises HiveError."""
        who = self.cast.owner
        session = self.opened(who.login, who.password, self.cast.victim)
        try:
            rows: list[tuple[object, ...]] = []
            for statement in statements:
                rows = session.execute(statement)
            return rows
        finally:
            session.close()

    def http(self, headers: Mapping[str, str], database: str = "", path: str = "/cliservice") -> HttpSession:
        """A session over HTTP with headers of one's own; close it."""
        return HttpSession(self.web, self.server2, SERVER2_HTTP, path, headers, None, database)

    def plain_refused(self, message: bytes) -> str:
        """The refusal of a message of SASL PLAIN, as it stands. Raises NotHeldError if it is a login."""
        data = b"".join(
            struct.pack(">bi", status, len(payload)) + payload for status, payload in ((1, b"PLAIN"), (2, message))
        )
        found = self.web.raw(self.server2, SERVER2_PORT, data)
        status = found[0] if found else 0
        if status == COMPLETE:
            raise NotHeldError("the login is accepted")
        return found[5:].decode(errors="replace") or "the connection was closed"

    def login_refused(
        self, name: str, password: str, database: str = "", settings: Mapping[str, str] | None = None
    ) -> str:
        """The refusal of a session at HiveServer2. Raises NotHeldError with the user that was let in."""
        session = self.opened(name, password, database, settings)
        try:
            found = session.execute("SELECT current_user(), current_database()")
        except HiveError as error:
            self.heard.append(str(error))
            return sentence(error)
        finally:
            session.close()
        raise NotHeldError(f"let in as {found[0]}")

    # --- what an attempt did ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """An attempt begins."""
        self.heard.clear()
        self.forget_limits()

    def harm(self) -> str:
        """What it has done: the victim's marker was seen, something of the victim is not as before, a command ran on a host."""
        if any(self.marker in one for one in self.heard):
            self.heard.clear()
            return f"the marker of {self.cast.victim} was read"
        if done := victim.difference(self._before, victim.state(self)):
            victim.restore(self)
            self._before = victim.state(self)
            return f"{self.cast.victim} was changed: {done}"
        return self.left_on_hosts()

    def changed(self) -> str:
        """What of the victim is not as before, in words; it is left so."""
        return victim.difference(self._before, victim.state(self))

    def left_on_hosts(self) -> str:
        """What an attempt has written on a host, in words; it is removed."""
        hosts = list(self.lab.hosts.values())
        with ThreadPoolExecutor(len(hosts)) as pool:
            found = list(pool.map(_left_on, hosts))
        return "; ".join(f"on {host.name} there is {left}" for host, left in zip(hosts, found, strict=True) if left)

    def secrets(self) -> dict[str, str]:
        """Secrets of the warehouse, by name."""
        directory = self.inventory.authority.parent.parent / "secrets"
        found = {one.name: one.read_text().strip() for one in directory.iterdir() if one.is_file()}
        return {name: value for name, value in found.items() if len(value) >= SHORTEST_SECRET}

    def own_address(self) -> str:
        """The address of the controller, as hosts of the lab see it."""
        with socket.create_connection((self.lab.one("login").address, LOGIN), timeout=10) as connection:
            return str(connection.getsockname()[0])

    def open_transaction(self) -> int:
        """A transaction of the owner that is open, by number. The metastore knows it as it knows those of its clients."""
        with metastore(self, self.cast.owner_user) as stream:
            request: Fields = {
                1: (TType.I32, 1),
                2: (TType.STRING, self.cast.owner_user),
                3: (TType.STRING, "attack"),
            }
            return int(call(stream, "open_txns", {1: (TType.STRUCT, request)})[0][1][0])

    def end_transactions(self) -> None:
        """Abort what `open_transaction` has opened."""
        for (number,) in self.database.execute("SELECT TXN_ID FROM TXNS WHERE TXN_HOST = 'attack' AND TXN_STATE = 'o'"):
            with metastore(self, "hive") as stream:
                call(stream, "abort_txn", {1: (TType.STRUCT, {1: (TType.I64, number)})})

    def forget_limits(self) -> None:
        """Begin to count wrong passwords and tokens from nought: attempts must not be held by those before."""
        self.state.execute("DELETE FROM login_limit")

    # --- the life of it -----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make what attempts go for. Raises HiveError."""
        for host in self.lab.hosts.values():
            host.run("install", "-d", "-m", "1777", HOST_DIRECTORY)
            host.run("rm", "-rf", HOST_TRACE)
            host.run("tee", HOST_SECRET, stdin=self.marker + "\n")
            host.run("chmod", "644", HOST_SECRET)
        self.forget_limits()
        victim.make(self)
        # What services do after a table is made, such as the mirror of its directory, is not an attempt's.
        for _ in range(SETTLING):
            self._before = victim.state(self)
            time.sleep(1)
            if not self.changed():
                break

    def close(self) -> None:
        """Remove what was made."""
        with suppress(HiveError, OSError, ThriftError):
            victim.remove(self)
        for host in self.lab.hosts.values():
            host.run("rm", "-rf", HOST_DIRECTORY, check=False)
        if self._standing:
            self._standing.session.close()
        for one in (self.database, self.state, self.hdfs):
            one.close()


def _left_on(host: Host) -> str:
    listed = f"find {HOST_DIRECTORY} -mindepth 1 -not -path {HOST_SECRET}"
    left = host.run("sh", "-c", listed).stdout.split()
    if left:
        host.run("rm", "-rf", "--", *left)
    return " ".join(left)


def sentence(error: Exception) -> str:
    """An error of HiveServer2 without what stands before its sentence."""
    text = str(error)
    for prefix in ("Error while compiling statement: ", "FAILED: "):
        text = text.removeprefix(prefix)
    return text
