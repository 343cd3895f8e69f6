"""The daemon: it waits for the lease, leads for a term, and waits again. It ends on a signal, or if a human must act.

The main thread asks for the lease, starts and ends the workers of a term, and reports the state to systemd. A term ends
when the lease is lost, when the daemon is told to end, or when no NameNode has answered for a while: another daemon may
reach one. A term never begins before all threads of the last term have ended.
"""

from __future__ import annotations

import logging
import os
import select
from contextlib import suppress
from typing import TYPE_CHECKING

from pymysql.constants import ER

from hopshive.daemon.health import LATELY, Contact, Health
from hopshive.daemon.lease import Lease, Renewal, monotonic
from hopshive.daemon.probe import NameNodeProbe
from hopshive.daemon.worker import PASSING, Backoff, Worker
from hopshive.database import Contention, DatabaseError, DatabaseUnavailable
from hopshive.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hopshive.config import Config
    from hopshive.daemon.lease import Term
    from hopshive.daemon.metrics import Metrics
    from hopshive.daemon.notify import Notifier
    from hopshive.daemon.worker import Duty
    from hopshive.database import Server

log = logging.getLogger(__name__)

# Seconds between two signs of life to systemd, and at most between two reads of another daemon's lease.
TICK = 1.0
# A worker without a sign of life for so many seconds hangs: systemd then gets no sign of life either.
HUNG = 600.0
# Seconds for a worker to end its step until its statement is cut off, and until the worker counts as hung.
END_STEP = 20.0
END_HUNG = 120.0
# Seconds without a NameNode until the daemon gives the lease back, and leases for which it then does not ask for it.
DEAF = 60.0
STAND_BACK = 2
# A wrong user, password, schema, table or grant: only a human can repair it.
HOPELESS = frozenset(
    {
        ER.DBACCESS_DENIED_ERROR,
        ER.ACCESS_DENIED_ERROR,
        ER.BAD_DB_ERROR,
        ER.HOST_NOT_PRIVILEGED,
        ER.TABLEACCESS_DENIED_ERROR,
        ER.COLUMNACCESS_DENIED_ERROR,
        ER.NO_SUCH_TABLE,
        ER.BAD_FIELD_ERROR,
        1698,  # a user with another authentication plugin
    }
)


class Bell:
    """Wakes one thread from others, and from signal handlers."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def ring(self) -> None:
        """Wake the thread, or keep it from its next sleep."""
        with suppress(BlockingIOError):
            os.write(self._write, b"!")

    def wait(self, seconds: float) -> None:
        """Return at a ring, at once if there was one since the last wait, or after `seconds`."""
        select.select([self._read], [], [], max(0.0, seconds))
        with suppress(BlockingIOError):
            while os.read(self._read, 64):
                pass


class Daemon:
    """One of any number of processes. `check` is called once, as soon as the database answers, and raises Refused."""

    def __init__(
        self,
        config: Config,
        server: Server,
        metrics: Metrics,
        notifier: Notifier,
        duties: Sequence[Duty],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._metrics = metrics
        self._notifier = notifier
        self._duties = duties
        self._check = check
        self._checked = False
        self._place = server.place
        self._lease = Lease(server, config.names, config.name or os.uname().nodename, config.lease)
        # A leader reaches the database at least once in each lease, or it no longer leads.
        database = Contact(server.place, max(LATELY, config.lease))
        # For other threads to read.
        self.health = Health(self._lease.holder, database, config.hdfs.namenodes)
        contact = self.health.namenode
        self._probe = NameNodeProbe(config.namenode(), contact) if contact else None
        self._bell = Bell()
        self._stopping = False
        self._ready = False
        self._backoff = Backoff(*PASSING)
        self._stand_back_until = 0.0
        self._said: tuple[str, str] = ("", "")

    def stop(self) -> None:
        """Let `run` end: workers end their steps, and the lease is given back. For signal handlers and other threads."""
        self._stopping = True
        self._bell.ring()

    def run(self) -> None:
        """Run until `stop` is called. Raises Refused."""
        if self._probe:
            self._probe.start()
        try:
            while not self._stopping:
                term = self._ask()
                if term is not None:
                    self._lead(term)
        finally:
            self._notifier.stopping()
            if self._probe:
                self._probe.stop()
            self._lease.close()

    # --- standby ------------------------------------------------------------------------------------------------------

    def _ask(self) -> Term | None:
        """Ask for the lease once; without it, wait until the next question makes sense."""
        wait = self._stand_back_until - monotonic()
        term = None
        try:
            if not self._checked:
                self._check()
                self._checked = True
            if wait <= 0:
                term = self._lease.try_acquire()
            standing = None if term else self._lease.standing()
        except (DatabaseUnavailable, Contention) as error:
            self._metrics.errors.labels(what="database").inc()
            wait = self._wait_for_database(error)
        except DatabaseError as error:
            if error.number in HOPELESS:
                raise Refused(str(error)) from error
            wait = self._wait_for_database(error)
        else:
            self._backoff.reset()
            self.health.database.reached()
            if term is None:
                self.health.waits(standing)
                led = standing is not None and standing.led
                leader = standing.holder if standing and led else "no daemon"
                self._say("standby", f"standby, {leader} leads", f"Standby: {leader} leads.")
                # Ask again exactly when the lease may expire.
                wait = min(TICK, max(wait, standing.left + 0.002 if standing and led else 0.05))
        if not self._ready:
            self._ready = True
            self._notifier.ready()
        if term is None:
            self._sleep(wait)
        return term

    def _wait_for_database(self, error: DatabaseError) -> float:
        """Report that the database does not answer; returns the seconds to wait."""
        self.health.database.failed(str(error))
        self._say("waiting", f"waiting for {self._place}", str(error))
        return self._backoff.next()

    def _sleep(self, seconds: float) -> None:
        end = monotonic() + seconds
        while True:
            self._alive()
            left = end - monotonic()
            if self._stopping or left <= 0:
                return
            self._bell.wait(min(left, TICK))

    # --- leading ------------------------------------------------------------------------------------------------------

    def _lead(self, term: Term) -> None:
        self._say("leading", f"leading, epoch {term.epoch}", f"This daemon leads, epoch {term.epoch}.")
        self._metrics.leader.set(1)
        self._metrics.epoch.set(term.epoch)
        self.health.leads(term)
        lost: list[str] = []
        refused: list[Refused] = []

        def on_lost(error: Exception | None) -> None:
            lost.append(str(error or ""))
            self._bell.ring()

        def on_end(error: Refused | None) -> None:
            if error is None:
                on_lost(None)
            else:
                refused.append(error)
                self._bell.ring()

        renewal = Renewal(term, on_lost)
        workers = [Worker(duty, term, self._metrics, on_end) for duty in self._duties]
        renewal.start()
        for worker in workers:
            worker.start()
        deaf = False
        while not (self._stopping or lost or refused or deaf) and term.held:
            if all(worker.silent < HUNG for worker in workers):
                self._alive()
            self._bell.wait(TICK)
            self.health.database.reached(term.renewed)
            deaf = any(worker.deaf_since and monotonic() - worker.deaf_since > DEAF for worker in workers)
        given_up = bool(lost) or not term.held
        if given_up:
            term.end(next(filter(None, lost), "") or "it could not be renewed")
            log.warning("This daemon no longer leads, epoch %d: the lease was lost.", term.epoch)
        self._end(workers, patience=0.0 if given_up else END_STEP)
        renewal.stop()
        self._metrics.clear_state()
        if not given_up:
            self._release(term)
        if refused:
            raise refused[0]
        if deaf:
            log.warning(
                "No NameNode has answered for %.0f s. The lease was given back, so that another daemon can try.",
                DEAF,
            )
            self._stand_back_until = monotonic() + STAND_BACK * term.seconds

    def _end(self, workers: Sequence[Worker], patience: float) -> None:
        """Return when all threads of the term have ended. After `patience` seconds their statements are cut off."""
        for worker in workers:
            worker.stop()
        began = monotonic()
        while any(worker.alive for worker in workers):
            waited = monotonic() - began
            if waited < END_HUNG:
                self._alive()
            for worker in workers:
                if worker.alive and waited >= patience:
                    worker.cut()
                worker.join(0.2)

    def _release(self, term: Term) -> None:
        try:
            term.release()
            log.info("The lease was given back, epoch %d.", term.epoch)
        except DatabaseError as error:
            log.warning("The lease could not be given back. It expires by itself: %s", error)

    def _alive(self) -> None:
        self._notifier.alive()
        self.health.alive()

    def _say(self, state: str, status: str, sentence: str) -> None:
        """Report the state to systemd, and a change of it to the log."""
        self._notifier.status(status)
        if (state, sentence) != self._said:
            self._said = (state, sentence)
            (log.warning if state == "waiting" else log.info)("%s", sentence)
