"""The database of a project in Hive's metastore, over Thrift. Field numbers are those of Hive 4.0.1's hive_metastore.thrift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hopshive.metastore.thrift import Fields, SocketStream, ThriftError, TType, call
from hopshive.services.health.answer import NoAnswer, connect
from hopshive.tls import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

CATALOG = b"hive"
_NAME, _LOCATION, _OWNER, _OWNER_KIND, _CATALOG, _MANAGED_LOCATION = 1, 3, 6, 7, 8, 10
# PrincipalType.GROUP
_GROUP: Final = 3
# NoSuchObjectException of get_database.
_NO_SUCH = 1


class HiveDatabaseError(Exception):
    """The metastore refused or did not answer; the message is a sentence for the operator."""


@dataclass(frozen=True)
class HiveDatabase:
    """A wanted database. Locations are URIs; `group` owns the database."""

    name: str
    location: str
    managed_location: str
    group: str


@dataclass(frozen=True)
class Metastores:
    """`places` (hopshive.tls) are those of the replicas, asked in turn; the metastore acts as `user`."""

    places: Sequence[str]
    user: str
    timeout: float = 30

    def has(self, name: str) -> bool:
        """Whether there is a database of that name. Raises HiveDatabaseError."""
        return self._find(name) is not None

    def ensure(self, wanted: HiveDatabase, *, dry: bool = False) -> list[str]:
        """Make the database, or give it its owner; what changed, or would with `dry`.

        Raises:
            HiveDatabaseError: no replica answers, the metastore refuses, or the database lies elsewhere.
        """
        there = self._find(wanted.name)
        if there is None:
            if not dry:
                self._do("create_database", {1: (TType.STRUCT, _fields(wanted))})
            return [f"database {wanted.name} made"]
        for number, location in ((_LOCATION, wanted.location), (_MANAGED_LOCATION, wanted.managed_location)):
            found = there.get(number, b"").decode()
            if found and found.rstrip("/") != location.rstrip("/"):
                raise HiveDatabaseError(
                    f"The database {wanted.name} lies at {found}, and the project's directory is {location}. "
                    "Move the database, or give the project another name."
                )
        same = (there.get(_OWNER, b"").decode(), there.get(_OWNER_KIND)) == (wanted.group, _GROUP)
        if same and there.get(_MANAGED_LOCATION):
            return []
        if not dry:
            name = f"@{CATALOG.decode()}#{wanted.name}"
            changed = {**_kept(there), **_fields(wanted)}
            self._do("alter_database", {1: (TType.STRING, name), 2: (TType.STRUCT, changed)})
        return [f"owner of the database {wanted.name}: group {wanted.group}"]

    def _find(self, name: str) -> dict[int, Any] | None:
        result = self._ask("get_database", {1: (TType.STRING, f"@{CATALOG.decode()}#{name}")})
        if _NO_SUCH in result:
            return None
        self._refuse("get_database", result)
        found: dict[int, Any] = result[0]
        return found

    def _do(self, method: str, arguments: Fields) -> None:
        self._refuse(method, self._ask(method, arguments))

    def _ask(self, method: str, arguments: Fields) -> dict[int, Any]:
        silent = []
        for place in self.places:
            at = parse(place)
            try:
                with connect(at.host, at.port, self.timeout, at.authority, tls=at.tls) as stream:
                    return self._as_user(stream, method, arguments)
            except (NoAnswer, ThriftError, OSError) as error:
                silent.append(f"{place}: {error}")
        raise HiveDatabaseError(f"No metastore answers. {'; '.join(silent)}")

    def _as_user(self, stream: SocketStream, method: str, arguments: Fields) -> dict[int, Any]:
        call(stream, "set_ugi", {1: (TType.STRING, self.user), 2: (TType.LIST, (TType.STRING, []))})
        return call(stream, method, arguments, sequence=2)

    @staticmethod
    def _refuse(method: str, result: dict[int, Any]) -> None:
        for number, exception in result.items():
            if number:
                message = exception.get(1, b"no message") if isinstance(exception, dict) else b"no message"
                raise HiveDatabaseError(f"The metastore refused {method}: {message.decode(errors='replace')}")


def _fields(wanted: HiveDatabase) -> dict[int, tuple[TType, Any]]:
    return {
        _NAME: (TType.STRING, wanted.name),
        _LOCATION: (TType.STRING, wanted.location),
        _OWNER: (TType.STRING, wanted.group),
        _OWNER_KIND: (TType.I32, _GROUP),
        _CATALOG: (TType.STRING, CATALOG),
        _MANAGED_LOCATION: (TType.STRING, wanted.managed_location),
    }


def _kept(there: dict[int, Any]) -> dict[int, tuple[TType, Any]]:
    """Description and properties of a database as it is."""
    kept: dict[int, tuple[TType, Any]] = {}
    if there.get(2):
        kept[2] = (TType.STRING, there[2])
    if there.get(4):
        kept[4] = (TType.MAP, {key.decode(): value.decode() for key, value in there[4].items()})
    return kept
