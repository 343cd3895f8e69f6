"""Sessions, operations, queries and transactions of others."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hopshive.metastore.thrift import Fields, ThriftError, TType
from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.site import sentence
from tests.attack.web import basic
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from tests.attack.site import Site
    from tests.warehouse.hiveserver2 import HiveSession

Handle = tuple[TType, Fields]
# Of a compaction and a lock of the victim.
NUMBER = 999_999_999


def _execute(handle: Handle, sql: str) -> Fields:
    return {1: handle, 2: (TType.STRING, sql), 4: (TType.BOOL, False)}


def _operation(returned: dict[int, Any]) -> Handle:
    identifier = returned[1]
    parts: Fields = {1: (TType.STRING, identifier[1]), 2: (TType.STRING, identifier[2])}
    return TType.STRUCT, {1: (TType.STRUCT, parts), 2: (TType.I32, returned[2]), 3: (TType.BOOL, returned[3])}


def _fetch(operation: Handle, kind: int = 0) -> Fields:
    return {1: operation, 2: (TType.I32, 0), 3: (TType.I64, 100), 4: (TType.I16, kind)}


class _Pair:
    """A session of the owner and one of the outsider at the same HiveServer2."""

    def __init__(self, site: Site) -> None:
        owner, me = site.cast.owner, site.cast.outsider
        self.site = site
        self.owner = site.opened(owner.login, owner.password, site.cast.victim)
        self.outsider = site.opened(me.login, me.password, site.cast.home)
        self.owner.execute("SELECT 1")
        self.outsider.execute("SELECT 1")

    def __enter__(self) -> _Pair:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self.owner, self.outsider):
            with suppress(OSError, HiveError, ThriftError):
                one.close()

    def asked(self, method: str, request: Fields, session: HiveSession | None = None) -> str:
        """The refusal of a call with something of the owner's. Raises NotHeldError."""
        try:
            answer = (session or self.outsider).call(method, request)
        except HiveError as error:
            return sentence(error)
        self.site.heard.append(repr(answer))
        raise NotHeldError(f"{method}: {answer}")


@attempt()
def stolen_session(site: Site) -> str:
    """Statements with the handle of the owner's session, with both its parts, from an own connection."""
    with _Pair(site) as pair:
        said = pair.asked("ExecuteStatement", _execute(pair.owner.handle, "SELECT * FROM attack_rows"))
        pair.asked("GetTables", {1: pair.owner.handle, 3: (TType.STRING, "%"), 4: (TType.STRING, "%")})
        # The last one: a refusal has no value, Thrift wants one, and HiveServer2 ends the connection.
        with suppress(ConnectionError):
            pair.asked("GetInfo", {1: pair.owner.handle, 2: (TType.I32, 18)})
        if pair.owner.execute("SELECT current_user()") != [(site.cast.owner_user,)]:
            raise NotTriedError("control: the owner's session does not work any more")
    return said


@attempt()
def stolen_session_over_http(site: Site) -> str:
    """The same over HTTP, with the own login."""
    owner, me = site.cast.owner, site.cast.outsider
    theirs = site.http(basic(owner.login, owner.password), site.cast.victim)
    mine = site.http(basic(me.login, me.password), site.cast.home)
    try:
        if theirs.execute("SELECT current_user()") != [(site.cast.owner_user,)]:
            raise NotTriedError("control: the owner has no session over HTTP")
        mine.execute("SELECT 1")
        mine.call("ExecuteStatement", _execute(theirs.handle, "SELECT * FROM attack_rows"))
    except HiveError as error:
        return sentence(error)
    finally:
        mine.close()
        theirs.close()
    raise NotHeldError("the statement was run in the owner's session")


@attempt()
def guessed_session(site: Site) -> str:
    """The public part of the owner's session, which logs show, with a secret of zeros; and a made-up session."""
    with _Pair(site) as pair:
        public = pair.owner.handle[1][1][1][1]
        said = ""
        for one in ((public, (TType.STRING, b"\0" * 16)), (public, public), (public, (TType.STRING, os.urandom(16)))):
            handle: Handle = (TType.STRUCT, {1: (TType.STRUCT, {1: one[0], 2: one[1]})})
            said = pair.asked("ExecuteStatement", _execute(handle, "SELECT 1"))
    return said


@attempt()
def stolen_operation(site: Site) -> str:
    """The results and the log of the owner's query, with its handle; and its end."""
    with _Pair(site) as pair:
        request = _execute(pair.owner.handle, "SELECT * FROM attack_rows")
        operation = _operation(pair.owner.call("ExecuteStatement", request)[2])
        said = pair.asked("FetchResults", _fetch(operation))
        pair.asked("FetchResults", _fetch(operation, 1))
        pair.asked("GetResultSetMetadata", {1: operation})
        pair.asked("CancelOperation", {1: operation})
        pair.asked("CloseOperation", {1: operation})
        answer = pair.owner.call("FetchResults", _fetch(operation))
        if site.marker not in repr(answer):
            raise NotTriedError(f"control: the owner does not get the row: {answer}")
    return said


@attempt()
def session_without_a_login(site: Site) -> str:
    """OpenSession under the owner's name, by a connection of the outsider."""
    me = site.cast.outsider
    with site.session() as session:
        session.allowed("SELECT 1")
        request = {
            1: (TType.I32, 9),
            2: (TType.STRING, site.cast.owner.login),
            4: (TType.MAP, {"use:database": site.cast.victim}),
        }
        try:
            answer = session.session.call("OpenSession", request)
        except HiveError as error:
            return sentence(error)
    raise NotHeldError(f"{me.login} has a session: {answer}")


@attempt()
def delegation_token(site: Site) -> str:
    """A delegation token for the owner (GetDelegationToken), which would be a login."""
    with site.session() as session:
        session.allowed("SELECT 1")
        for who in (site.cast.owner_user, "hive", site.cast.outsider_user):
            request = {1: session.session.handle, 2: (TType.STRING, who), 3: (TType.STRING, who)}
            try:
                answer = session.session.call("GetDelegationToken", request)
            except HiveError as error:
                said = sentence(error)
            else:
                raise NotHeldError(f"a token for {who}: {answer}")
    return said


@attempt()
def tables_by_calls_of_thrift(site: Site) -> str:
    """The victim's tables and columns by calls of JDBC's metadata (GetTables, GetColumns, GetSchemas)."""
    with site.session() as session:
        session.allowed("SELECT 1")
        handle, found = session.session.handle, ""
        for method, request in (
            ("GetTables", {3: (TType.STRING, site.cast.victim), 4: (TType.STRING, "attack%")}),
            ("GetColumns", {3: (TType.STRING, site.cast.victim), 4: (TType.STRING, "attack%"), 5: (TType.STRING, "%")}),
            ("GetFunctions", {3: (TType.STRING, site.cast.victim), 4: (TType.STRING, "attack%")}),
        ):
            try:
                answer = session.session.call(method, {1: handle, **request})
                found += repr(session.session.call("FetchResults", _fetch(_operation(answer[2]))))
            except HiveError as error:
                found += sentence(error)
        if "attack_rows" in found:
            raise NotHeldError(f"the names of the victim's tables: {found[:200]}")
    return found


@attempt()
def download_of_a_table(site: Site) -> str:
    """Rows of the victim by Thrift's own call for that (DownloadData)."""
    with site.session() as session:
        session.allowed("SELECT 1")
        handle, table = session.session.handle, f"{site.cast.victim}.attack_rows"
        for request in ({2: (TType.STRING, table)}, {3: (TType.STRING, f"SELECT * FROM {table}")}):
            try:
                answer = session.session.call("DownloadData", {1: handle, **request})
                said = repr(answer)
                if 2 in answer:
                    said = repr(session.session.call("FetchResults", _fetch(_operation(answer[2]))))
            except (HiveError, ThriftError, OSError) as error:
                said = sentence(error)
            session.heard(said)
    return said


@attempt()
def kill_of_a_query(site: Site) -> str:
    """KILL QUERY of a query of the owner."""
    with _Pair(site) as pair:
        request = _execute(pair.owner.handle, "SELECT * FROM attack_rows")
        operation = _operation(pair.owner.call("ExecuteStatement", request)[2])
        answer = pair.owner.call("GetQueryId", {1: operation})
        query = answer.get(1, b"") if isinstance(answer.get(1), bytes) else b""
        said = site.standing().refused(f"KILL QUERY '{query.decode() or 'hive_x'}'")
        if site.marker not in repr(pair.owner.call("FetchResults", _fetch(operation))):
            raise NotHeldError("the owner's query gives no row any more")
    return said


@attempt()
def end_of_a_transaction(site: Site) -> str:
    """ABORT TRANSACTIONS of one that the owner has open."""
    owner = site.cast.owner
    session = site.opened(owner.login, owner.password, site.cast.victim)
    try:
        session.execute("SELECT 1")
        # A transaction that is open while it waits for a lock: LOCK TABLE holds one for as long as the session.
        transaction = site.open_transaction()
        standing = site.standing()
        said = standing.tried(f"ABORT TRANSACTIONS {transaction}")
        ((state,),) = site.database.execute("SELECT TXN_STATE FROM TXNS WHERE TXN_ID = %s", (transaction,))
        if state != "o":
            raise NotHeldError(f"the transaction {transaction} is in the state {state}: {said}")
        return said
    finally:
        site.end_transactions()
        session.close()


@attempt()
def transactions_and_compactions_of_others(site: Site) -> str:
    """Names of the victim's tables in SHOW COMPACTIONS and SHOW LOCKS."""
    victim = site.cast.victim
    site.database.execute(
        f"INSERT INTO COMPLETED_COMPACTIONS (CC_ID, CC_DATABASE, CC_TABLE, CC_STATE, CC_TYPE) VALUES"
        f" ({NUMBER}, %s, 'attack_acid', 's', 'a')",
        (victim,),
    )
    site.database.execute(
        f"INSERT INTO HIVE_LOCKS (HL_LOCK_EXT_ID, HL_LOCK_INT_ID, HL_TXNID, HL_DB, HL_TABLE, HL_LOCK_STATE, HL_LOCK_TYPE,"
        f" HL_LAST_HEARTBEAT, HL_USER, HL_HOST) VALUES ({NUMBER}, 1, 0, %s, 'attack_acid', 'a', 'r', %s, 'x', 'x')",
        (victim, round(time.time() * 1000)),
    )
    session = site.standing()
    try:
        for statement in (
            "SHOW COMPACTIONS",
            f"SHOW COMPACTIONS COMPACTIONID={NUMBER}",
            "SHOW COMPACTIONS TYPE 'MAJOR'",
            f"SHOW COMPACTIONS DATABASE {victim}",
            f"SHOW COMPACTIONS {victim}.attack_acid",
            "SHOW LOCKS",
            "SHOW LOCKS EXTENDED",
            f"SHOW LOCKS DATABASE {victim}",
            f"SHOW LOCKS {victim}.attack_acid",
        ):
            try:
                rows = session.rows(statement)
            except HiveError as error:
                said = sentence(error)
                continue
            if shown := next((row for row in rows if victim in row), None):
                raise NotHeldError(f"{statement} shows {shown}")
            said = f"{len(rows)} rows, none of {victim}"
        return said
    finally:
        site.database.execute(f"DELETE FROM COMPLETED_COMPACTIONS WHERE CC_ID = {NUMBER}")
        site.database.execute(f"DELETE FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = {NUMBER}")


@attempt()
def many_sessions(site: Site) -> str:
    """A hundred connections that never log in: the owner still gets in."""
    open_ones = []
    try:
        for _ in range(100):
            open_ones.append(socket.create_connection((site.server2.address, 10000), timeout=5))
        began = time.monotonic()
        if site.as_owner("SELECT current_user()") != [(site.cast.owner_user,)]:
            raise NotHeldError("the owner does not get in")
        return f"the owner is in after {time.monotonic() - began:.1f} s"
    except HiveError as error:
        raise NotHeldError(f"the owner does not get in: {error}") from error
    finally:
        for one in open_ones:
            one.close()
