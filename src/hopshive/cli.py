"""The command `hopshive`."""

from __future__ import annotations

import click

from hopshive.commands.abandoned import abandoned
from hopshive.commands.artifacts import artifacts
from hopshive.commands.ask import restore, sync
from hopshive.commands.base import Commands
from hopshive.commands.check import check
from hopshive.commands.cleaner import cleaner
from hopshive.commands.held import approve, held
from hopshive.commands.journal import journal
from hopshive.commands.login import login
from hopshive.commands.lost_hosts import lost_hosts
from hopshive.commands.status import status
from hopshive.commands.undo import undo
from hopshive.commands.wait import wait
from hopshive.commands.watchdog import watchdog


@click.group(cls=Commands)
@click.version_option(package_name="hopshive")
def main() -> None:
    """A Hive 4 warehouse whose metadata follow HDFS."""


for command in (
    status,
    wait,
    check,
    sync,
    journal,
    undo,
    restore,
    held,
    approve,
    cleaner,
    watchdog,
    lost_hosts,
    abandoned,
    artifacts,
    login,
):
    main.add_command(command)


if __name__ == "__main__":
    main()
