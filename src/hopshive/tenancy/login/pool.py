"""Transactions from an event loop: each thread of a pool has a connection of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from hopshive.database import Contention, Database, DatabaseError, DatabaseUnavailable
from hopshive.tenancy.login.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.daemon.health import Contact
    from hopshive.database import Names, Server, Transaction

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# Seconds for which a server may be silent before its connection is given up.
SILENCE = 10.0
# A deadlock is broken by letting one of the two begin again.
TRIES = 3


class Pool:
    """Runs functions of a transaction. `contact` is told whether the database answers."""

    def __init__(self, server: Server, names: Names, connections: int, contact: Contact) -> None:
        self._server = server
        self._names = names
        self._contact = contact
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="sql")

    async def run(self, work: Callable[[Transaction], Result]) -> Result:
        """What `work` returns; it may run again after a deadlock. Raises Unavailable, and what `work` raises."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, work)
        except DatabaseError as error:
            self._contact.failed(str(error))
            log.warning("%s", error)
            raise Unavailable("The database of the login service", "database") from error

    def close(self) -> None:
        """Take no more work. A statement that hangs is left to its thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, work: Callable[[Transaction], Result]) -> Result:
        database: Database | None = getattr(self._own, "database", None)
        if database is None:
            database = self._own.database = Database(self._server, self._names, silence=SILENCE)
        stale = True
        for left in reversed(range(TRIES)):
            try:
                with database.transaction() as tx:
                    found = work(tx)
            except (Contention, DatabaseUnavailable) as error:
                # After a restart of the server, the connection of before fails once.
                if not left or (isinstance(error, DatabaseUnavailable) and not stale):
                    raise
                stale = False
            else:
                self._contact.reached()
                return found
        raise AssertionError("a loop without an end")
