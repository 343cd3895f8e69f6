"""People of an LDAP directory: found by a search of a service account or by a template, and known by a bind as themselves."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

import ldap3
from ldap3.core import results
from ldap3.core.exceptions import LDAPException
from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn

from hopshive.tenancy.login.backends.base import Person, account_of
from hopshive.tenancy.login.errors import Denied, Unavailable
from hopshive.tenancy.login.settings import PLACE
from hopshive.tenancy.login.web import context
from hopshive.tenancy.members import MEMBER
from hopshive.tenancy.names import BadName, project_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hopshive.tenancy.login.backends.base import Credentials
    from hopshive.tenancy.login.settings import Ldap

log = logging.getLogger(__name__)

Result = TypeVar("Result")
THREADS = 16
# Results of a bind that speak of the person; the last three are of accounts that are locked or have no password.
_REFUSALS = {
    results.RESULT_INVALID_CREDENTIALS: "wrong password",
    results.RESULT_NO_SUCH_OBJECT: "unknown name",
    results.RESULT_INVALID_DN_SYNTAX: "unknown name",
    results.RESULT_INAPPROPRIATE_AUTHENTICATION: "an account without a password",
    results.RESULT_UNWILLING_TO_PERFORM: "refused by the directory",
    results.RESULT_CONSTRAINT_VIOLATION: "an account that is locked",
}
# One entry is a person, and two are none.
_ENOUGH = 2


class _Silent(Exception):
    """A server of the directory does not answer as one."""


class Directory:
    """The directory: its servers are asked in turn, and none of them twice for one password."""

    title = "The directory"

    def __init__(self, settings: Ldap, password: str) -> None:
        self._settings = settings
        self._password = password
        self._tls = _tls(settings)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ldap")

    async def authenticate(self, typed: Credentials) -> Person:
        """The person who typed this. Raises Denied and Unavailable."""
        password = typed.password
        # An empty password is an anonymous bind, which succeeds.
        if not password:
            raise Denied("empty password")
        if typed.code:
            if self._settings.code == "refuse":
                raise Denied("a one-time code, which the directory does not know")
            password += typed.code
        return await self._in_thread(lambda: self._in_turn(lambda server: self._know(server, typed, password)))

    async def probe(self) -> None:
        """Raises Unavailable unless a server lets the service account in, or answers at all without one."""
        await self._in_thread(lambda: self._in_turn(self._greet))

    async def projects(self, account: str) -> None:
        """The directory says that at a login alone."""

    async def close(self) -> None:
        """Take no more people."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _in_turn(self, work: Callable[[str], Result]) -> Result:
        """What the first server says that answers. Raises Unavailable, and what `work` raises."""
        said = ""
        for server in self._settings.servers:
            try:
                return work(server)
            except (LDAPException, OSError, _Silent) as error:
                said = f"{server}: {_sentence(error)}"
                log.warning("The directory cannot be asked: %s.", said)
        raise Unavailable(self.title, said)

    def _know(self, server: str, typed: Credentials, password: str) -> Person:
        if self._settings.bind_template:
            name = self._settings.bind_template.replace(PLACE, escape_rdn(typed.name))
            with self._connected(server) as connection:
                self._bind(connection, name, password)
                return self._person(self._entry(connection, name, "(objectClass=*)", ldap3.BASE))
        with self._connected(server) as connection:
            self._greeted(connection)
            condition = self._settings.filter.replace(PLACE, escape_filter_chars(typed.name))
            entry = self._entry(connection, self._settings.base, condition, ldap3.SUBTREE)
        with self._connected(server) as connection:
            # For an unknown name as well, so that it takes as many answers as a wrong password.
            self._bind(connection, str(entry.get("dn") or f"cn=none,{self._settings.base}"), password)
        if not entry:
            raise Denied("unknown name")
        return self._person(entry)

    def _greet(self, server: str) -> None:
        with self._connected(server) as connection:
            if self._settings.bind_dn:
                self._greeted(connection)

    def _greeted(self, connection: ldap3.Connection) -> None:
        """Bind as the service account, if there is one. Raises _Silent."""
        if self._settings.bind_dn and not connection.rebind(
            self._settings.bind_dn, self._password, authentication=ldap3.SIMPLE, read_server_info=False
        ):
            raise _Silent(f"{self._settings.bind_dn} (ldap.bind_dn): {connection.result['description']}")

    def _bind(self, connection: ldap3.Connection, name: str, password: str) -> None:
        """Raises Denied and _Silent."""
        if connection.rebind(name, password, authentication=ldap3.SIMPLE, read_server_info=False):
            return
        number = connection.result["result"]
        if number in _REFUSALS:
            raise Denied(_REFUSALS[number])
        raise _Silent(f"bind: {connection.result['description']}")

    def _entry(
        self, connection: ldap3.Connection, base: str, condition: str, scope: Literal["BASE", "SUBTREE"]
    ) -> Mapping[str, object]:
        """The one entry; empty if there is none or more. Raises _Silent."""
        wanted = [self._settings.account_attribute]
        if self._settings.group_prefix:
            wanted.append(self._settings.group_attribute)
        connection.search(base, condition, scope, attributes=wanted, size_limit=_ENOUGH)
        number = connection.result["result"]
        if number not in (results.RESULT_SUCCESS, results.RESULT_SIZE_LIMIT_EXCEEDED, results.RESULT_NO_SUCH_OBJECT):
            raise _Silent(f"search below {base}: {connection.result['description']}")
        found = [one for one in connection.response or [] if one["type"] == "searchResEntry"]
        return found[0] if len(found) == 1 else {}

    def _person(self, entry: Mapping[str, object]) -> Person:
        found_attributes = entry.get("attributes")
        # ldap3 has a mapping of its own, without regard to case.
        attributes = dict(found_attributes) if isinstance(found_attributes, Mapping) else {}
        values = attributes.get(self._settings.account_attribute, "")
        found = values[0] if isinstance(values, list) and len(values) == 1 else values
        account = account_of(self.title, found)
        groups = attributes.get(self._settings.group_attribute, [])
        return Person(account, self._projects(groups if isinstance(groups, list) else [groups], account))

    def _projects(self, groups: list[object], account: str) -> dict[str, str]:
        prefix, suffix = self._settings.group_prefix.lower(), self._settings.group_suffix.lower()
        found = {}
        for group in groups if prefix else []:
            name = str(group).lower()
            if name.startswith(prefix) and name.endswith(suffix):
                try:
                    project_user(name[len(prefix) : len(name) - len(suffix)], account)
                except BadName:
                    continue
                found[name[len(prefix) : len(name) - len(suffix)]] = MEMBER
        return found

    @contextmanager
    def _connected(self, url: str) -> Iterator[ldap3.Connection]:
        parts = urlsplit(url)
        secure = parts.scheme == "ldaps"
        port = parts.port or (636 if secure else 389)
        seconds = self._settings.timeout
        server = ldap3.Server(
            str(parts.hostname), port, use_ssl=secure, tls=self._tls, get_info=ldap3.NONE, connect_timeout=seconds
        )
        connection = ldap3.Connection(
            server,
            authentication=ldap3.ANONYMOUS,
            receive_timeout=max(1, round(seconds)),
            auto_referrals=False,
            raise_exceptions=False,
            auto_bind=ldap3.AUTO_BIND_NONE,
        )
        try:
            connection.open(read_server_info=False)
            if self._settings.start_tls and not secure and not connection.start_tls(read_server_info=False):
                raise _Silent(f"StartTLS: {connection.result['description']}")
            yield connection
        finally:
            connection.unbind()


def _tls(settings: Ldap) -> ldap3.Tls:
    """Verifies certificate and host name."""
    context(settings.authority, "ldap.authority")
    return ldap3.Tls(
        validate=ssl.CERT_REQUIRED,
        version=ssl.PROTOCOL_TLS_CLIENT,
        ca_certs_file=settings.authority or None,
    )


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
