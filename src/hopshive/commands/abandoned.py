"""`hopshive abandoned`: aborts the transactions of a HiveServer2 that was killed or lost its host. For systemd."""

from __future__ import annotations

import logging
import socket

import click

from hopshive.commands.base import TlsPlace
from hopshive.daemon import logs
from hopshive.services.health import NoAnswer
from hopshive.services.locks import Process, abandon

log = logging.getLogger(__name__)
# Seconds to wait for a metastore. The HiveServer2 that starts next could do nothing without one.
PATIENCE = 15.0


@click.command(hidden=True)
@click.option(
    "--user", default="", help="The user of all sessions. Without it, sessions act as the people who opened them."
)
@click.option(
    "--metastore",
    "metastores",
    type=TlsPlace(),
    required=True,
    multiple=True,
    help="A metastore: host:port, or tls://host:port/<file of certificates>. May be given several times.",
)
def abandoned(user: str, metastores: tuple[str, ...]) -> None:
    """Abort open transactions of this host before its HiveServer2 starts.

    Their locks would keep other sessions from a table until hive.txn.timeout has passed.
    """
    logs.configure()
    try:
        numbers = abandon(Process(user, socket.gethostname()), metastores, PATIENCE)
    except NoAnswer as error:
        log.warning(
            "Transactions that the last HiveServer2 of this host left open stay open until hive.txn.timeout. %s", error
        )
        return
    if numbers:
        listed = ", ".join(map(str, numbers))
        log.warning("Aborted transactions that the last HiveServer2 of this host left open: %s.", listed)
