"""`hopshive cleaner run`: the daemon. For systemd."""

from __future__ import annotations

import logging
import signal
import sys

import click

from hopshive.commands.base import OK, REFUSED, Site, site_options
from hopshive.daemon import logs
from hopshive.daemon.endpoint import EndpointError, endpoint
from hopshive.daemon.metrics import Metrics
from hopshive.daemon.notify import Notifier
from hopshive.daemon.process import Daemon
from hopshive.duties import check, duties
from hopshive.errors import Refused

log = logging.getLogger(__name__)


@click.group()
def cleaner() -> None:
    """The daemon that keeps the metastore in step with HDFS."""


@cleaner.command()
@site_options
def run(site: Site) -> None:
    """Run until SIGTERM. Any number of daemons may run, on any hosts: one leads, the others wait.

    Exit code 0: SIGTERM or SIGINT ended the daemon; 78: an error that a human must fix, named in the last line.
    """
    logs.configure()
    try:
        config, server = site.config, site.server
        metrics = Metrics()
        daemon = Daemon(config, server, metrics, Notifier(), duties(config, metrics), check(config, server))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: daemon.stop())
        port = config.metrics
        tls = (port.certificate, port.key) if port.certificate else None
        with endpoint(port.host, port.port, metrics.registry, daemon.health, tls):
            daemon.run()
    except (Refused, EndpointError) as error:
        log.critical("%s", error)
        sys.exit(REFUSED)
    log.info("The daemon ends: a signal told it to.")
    sys.exit(OK)
