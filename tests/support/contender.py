"""A daemon reduced to its lease, as a process that tests can freeze: `contender SOCKET NAME SECONDS PAUSE`.

Whenever it leads, it writes its epoch into `proof`, and into `counter` whether an older epoch came after a newer one.
With PAUSE `writing` or `committing` it stays there for a while in its first transaction, and says so.
"""

from __future__ import annotations

import sys
import threading
import time

from hopshive.daemon import lease as lease_module
from hopshive.daemon.lease import Fenced, Lease, Renewal, Term
from hopshive.database import Database, DatabaseError, LostLease, Names, Server, Transaction


def say(word: str, epoch: int = 0) -> None:
    """In one call, so that a kill leaves no part of a line, even where PYTHONUNBUFFERED is set."""
    sys.stdout.write(f"{word} {epoch}\n")
    sys.stdout.flush()


class Paused:
    """A fence that stays between its look at the lease and the COMMIT."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def check(self, tx: Transaction) -> None:
        self.term.check(tx)
        say("committing", self.term.epoch)
        time.sleep(1)


def write(database: Database, epoch: int, pause: bool = False) -> None:
    with database.transaction() as tx:
        tx.execute("INSERT INTO proof (epoch) VALUES (%s)", (epoch,))
        if pause:
            say("writing", epoch)
            time.sleep(1)
        tx.execute("UPDATE counter SET wrong = wrong + (epoch > %s), epoch = %s", (epoch, epoch))


def lead(term: Term, pause: str) -> None:
    database: Fenced = term.database()
    lost = threading.Event()
    renewal = Renewal(term, lambda _: lost.set())
    renewal.start()
    say("leading", term.epoch)
    if pause == "committing":
        database.fence = Paused(term)
    while not lost.is_set():
        try:
            write(database, term.epoch, pause == "writing")
            say("wrote", term.epoch)
        except LostLease:
            break
        except DatabaseError as error:
            say(f"error:{type(error).__name__}", term.epoch)
        pause, database.fence = "", term
        time.sleep(0.01)
    renewal.stop()
    database.close()
    say("lost", term.epoch)


def main(socket: str, name: str, seconds: str, pause: str) -> None:
    # The take-over alone ends connections of a frozen leader; the server would do the same after two leases.
    lease_module.IDLE_LEASES = 100
    lease = Lease(
        Server("lease_test", user="root", unix_socket=socket), Names(state="lease_test"), name, float(seconds)
    )
    lease.standing()
    say("ready")
    while True:
        try:
            term = lease.try_acquire()
        except DatabaseError:
            term = None
        if term is not None:
            lead(term, pause)
            pause = ""
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:5])
