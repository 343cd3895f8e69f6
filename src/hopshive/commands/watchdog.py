"""`hopshive watchdog`: ends a replica that hangs. For systemd."""

from __future__ import annotations

import click

from hopshive.commands.base import until_stopped
from hopshive.daemon import logs
from hopshive.services.watchdog import KNOCKS, Unit, Watchdog


@click.command(hidden=True)
@click.option("--unit", required=True, help="The systemd unit that is watched, without .service.")
@click.option("--kind", required=True, type=click.Choice(sorted(KNOCKS)), help="What it speaks.")
@click.option("--place", required=True, help="Where it listens: host:port, or the path of a socket.")
@click.option("--misses", default=3, show_default=True, type=click.IntRange(min=1), help="Knocks that it may miss.")
def watchdog(unit: str, kind: str, place: str, misses: int) -> None:
    """Kill a service that neither answers nor uses the processor, so that its clients go to another one."""
    logs.configure()
    until_stopped(Watchdog(unit, place, KNOCKS[kind], Unit(unit), misses).run)
