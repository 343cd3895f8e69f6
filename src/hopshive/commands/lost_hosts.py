"""`hopshive lost-hosts`: fails the application masters of hosts that are gone. For systemd."""

from __future__ import annotations

import click

from hopshive.commands.base import Place, until_stopped
from hopshive.daemon import logs
from hopshive.services.lost_hosts import LostHosts
from hopshive.services.resourcemanager import ResourceManager


@click.command(name="lost-hosts", hidden=True)
@click.option("--own", type=Place(), required=True, help="The HTTP port of this host's ResourceManager: host:port.")
@click.option("--rpc", type=Place(), required=True, help="The RPC port of this host's ResourceManager: host:port.")
@click.option("--user", required=True, help="The user for calls to the ResourceManager: the one that it runs as.")
@click.option(
    "--other",
    type=Place(),
    multiple=True,
    help="The HTTP port of another ResourceManager: host:port. May be given several times.",
)
def lost_hosts(own: str, rpc: str, user: str, other: tuple[str, ...]) -> None:
    """Fail the application masters of a host that is gone, so that YARN starts them elsewhere at once."""
    logs.configure()
    until_stopped(LostHosts(ResourceManager(own, rpc, user), [ResourceManager(one) for one in other]).run)
