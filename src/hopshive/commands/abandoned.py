"""`hopshive abandoned`: ends what a HiveServer2 has left open that was killed, or lost its host. For systemd."""

from __future__ import annotations

import logging
import socket

import click

from hopshive.commands.base import Place
from hopshive.daemon import logs
from hopshive.services.health import NoAnswer
from hopshive.services.locks import Process, abandon

log = logging.getLogger(__name__)
# Seconds in which a metastore may answer: without one the HiveServer2 that waits for this could do nothing.
PATIENCE = 15.0


@click.command(hidden=True)
@click.option("--user", required=True, help="As whom the HiveServer2 runs.")
@click.option(
    "--metastore",
    "metastores",
    type=Place(),
    required=True,
    multiple=True,
    help="A metastore: host:port. May be given several times.",
)
def abandoned(user: str, metastores: tuple[str, ...]) -> None:
    """Abort the transactions that are open in the name of this host, before its HiveServer2 starts.

    Their locks would keep others from a table until hive.txn.timeout is over.
    """
    logs.configure()
    try:
        numbers = abandon(Process(user, socket.gethostname()), metastores, PATIENCE)
    except NoAnswer as error:
        log.warning("What the last HiveServer2 of this host has left open stays so until hive.txn.timeout. %s", error)
        return
    if numbers:
        listed = ", ".join(map(str, numbers))
        log.warning("The last HiveServer2 of this host has left transactions open, which were aborted: %s.", listed)
