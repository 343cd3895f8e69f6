"""`hopshive login`: the service that lets people in, its keys, and revocations."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hopshive.commands.base import OK, REFUSED
from hopshive.daemon import logs
from hopshive.daemon.notify import Notifier
from hopshive.database import Database
from hopshive.errors import Refused
from hopshive.tenancy.names import BadName, check_account

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopshive.tenancy.login.settings import LoginSettings

log = logging.getLogger(__name__)

DEFAULT_PATH = Path("/etc/hopshive-login/login.yml")


def config_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --config."""
    return click.option(
        "--config",
        "path",
        type=click.Path(path_type=Path, dir_okay=False, readable=False),
        default=DEFAULT_PATH,
        show_default=True,
        help="The configuration of the login service.",
    )(command)


@click.group()
def login() -> None:
    """The login service: it lets people in, and issues tokens."""


@login.command()
@config_option
def serve(path: Path) -> None:
    """Run until SIGTERM. Any number of replicas on any hosts.

    Exit code 0: it was told to end; 78: something is wrong that does not pass by itself, the last line says what.
    """
    logs.configure()
    # One line a connection, at a level that a library chose.
    for name in ("httpx", "httpcore", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        settings = _settings(path)
        from hopshive.tenancy.login.server import Replica

        replica = Replica(settings, Notifier())
        asyncio.run(replica.run())
    except Refused as error:
        log.critical("%s", error)
        sys.exit(REFUSED)
    log.info("The login service was told to end.")
    sys.exit(OK)


@login.command("rotate-keys")
@config_option
@click.option("--forget", is_flag=True, help="Delete the former keys: all tokens are refused at once.")
def rotate_keys(path: Path, forget: bool) -> None:
    """Make a new key that signs tokens. Former keys verify until the last of their tokens has expired."""
    settings = _settings(path)
    from hopshive.tenancy.login import keys

    sealer = keys.Sealer(settings.sealing_secret(), settings.tokens.sealing_key_file)
    database = Database(settings.server(), settings.names)
    with database.transaction() as tx:
        if forget:
            keys.forget(tx)
        else:
            # A key that this host cannot unseal would be followed by one that the others cannot.
            keys.read(tx, sealer)
        lead = settings.tokens.lead if keys.read(tx, None).keys else 0.0
        kid = keys.rotate(tx, sealer, settings.tokens.lifetime, lead)
    database.close()
    click.echo(f"The key {kid} signs {f'in {lead:g} s' if lead else 'from now on'}.")


@login.command()
@config_option
@click.argument("account")
def revoke(path: Path, account: str) -> None:
    """Refuse all tokens that ACCOUNT has so far."""
    settings = _settings(path)
    from hopshive.tenancy.login import revocations

    try:
        check_account(account)
    except BadName as error:
        raise click.UsageError(str(error)) from None
    database = Database(settings.server(), settings.names)
    with database.transaction() as tx:
        revocations.revoke(tx, account)
    database.close()
    click.echo(f"All tokens of {account} that were issued until now are refused.")


@login.command("hash-password")
def hash_password() -> None:
    """Print the hash of a password for the people file. The password is typed, or the first line of standard input."""
    from hopshive.tenancy.login.backends.people import HASHER

    if sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise click.UsageError("The password is empty.")
    click.echo(HASHER.hash(password))


def _settings(path: Path) -> LoginSettings:
    """Raises Refused."""
    try:
        import hopshive.tenancy.login.server  # noqa: F401
        from hopshive.tenancy.login import settings
    except ModuleNotFoundError as error:
        raise Refused(
            f"{error.name} is not installed here: the login service needs the extra hopshive[login]."
        ) from None
    return settings.read(path)
