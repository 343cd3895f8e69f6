"""`hopshive watchdog`: kills a replica that hangs. For systemd."""

from __future__ import annotations

import click

from hopshive.commands.base import until_stopped
from hopshive.daemon import logs
from hopshive.services.watchdog import PROBES, Unit, Watchdog


@click.command(hidden=True)
@click.option("--unit", required=True, help="The systemd unit to watch, without .service.")
@click.option("--kind", required=True, type=click.Choice(sorted(PROBES)), help="The protocol of the probes.")
@click.option(
    "--place",
    required=True,
    help="Where the service listens: host:port, with TLS tls://host:port, or the path of a socket.",
)
@click.option(
    "--misses",
    default=3,
    show_default=True,
    type=click.IntRange(min=1),
    help="Probes in a row that may stay unanswered.",
)
def watchdog(unit: str, kind: str, place: str, misses: int) -> None:
    """Kill a service that neither answers nor uses CPU time, so that its clients move to another replica."""
    logs.configure()
    until_stopped(Watchdog(unit, place, PROBES[kind], Unit(unit), misses).run)
