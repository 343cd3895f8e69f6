"""The consistency schema: what hopshive adds to a stock metastore's database, and takes off again.

Storage descriptors refer to the inode of their directory, and the foreign keys that lead from there to the rest cascade: an
inode row that goes takes its metadata along. See `cascades` for what follows, `triggers` for what is unbound, `plan` for how
it is decided.

Three columns of SDS tell the mirror what to do: all NULL, not yet looked at; NAME = '' and the others NULL, looked at and not
on this file system; all set, bound.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hopshive.consistency.schema import catalogue, plan
from hopshive.consistency.schema.errors import SchemaError
from hopshive.consistency.schema.existing import Existing, bind
from hopshive.consistency.schema.session import connect
from hopshive.consistency.schema.wanted import Source, Statement, Wanted
from hopshive.daemon.lease import read_standing
from hopshive.database import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hopshive.consistency.schema.session import Session
    from hopshive.database import Database, Server

__all__ = ["Existing", "SchemaError", "Source", "Statement", "apply", "bind", "check", "remove"]

# Seconds between two looks at the lease.
POLL_SECONDS = 0.2


def apply(
    server: Server,
    names: Names | None = None,
    *,
    source: Source = "hdfs",
    uris: Sequence[str] = (),
    delete_orphans: bool = False,
    dry_run: bool = False,
    on_statement: Callable[[str], None] | None = None,
) -> list[str]:
    """Add to the metastore's database what it lacks; returns the statements, which with `dry_run` are not run.

    Safe while the metastore works, and after an interruption: another run continues. Raises SchemaError.
    """
    names = names or Names()
    wanted = Wanted(source, tuple(uris), delete_orphans)
    return _run(server, names, lambda found: plan.present(found, names, wanted), dry_run, on_statement)


def remove(
    server: Server,
    names: Names | None = None,
    *,
    purge: bool = False,
    only_triggers: bool = False,
    dry_run: bool = False,
    on_statement: Callable[[str], None] | None = None,
) -> list[str]:
    """Give back the stock schema; returns the statements. `purge` drops hopshive's own tables too.

    `only_triggers` does the first part of it. Each SQL node of NDB Cluster has triggers of its own: do that on all of them first,
    or an UPDATE through another node fails at a trigger that names a column which is gone.
    Raises SchemaError, also if a daemon leads; it waits for the end of a lease that no process renews.
    """
    names = names or Names()

    def decide(found: catalogue.Catalogue) -> list[Statement]:
        return plan.triggerless(found, names) if only_triggers else plan.absent(found, names, purge=purge)

    return _run(server, names, decide, dry_run, on_statement, alone=True)


def check(database: Database, source: Source = "hdfs", uris: Sequence[str] = ()) -> None:
    """Raises SchemaError unless the schema is there and fits; DatabaseUnavailable if no server answers."""
    with database.reading() as tx:
        found = catalogue.read(tx, database.server.database)
    todo = plan.present(found, database.names, Wanted(source, tuple(uris)))
    if todo:
        raise SchemaError(
            f"The consistency schema of {found.database} is not complete: {len(todo)} statements are missing, the first is "
            f"'{' '.join(todo[0].sql.split())[:120]}'. Run the playbook site.yml."
        )


def _run(
    server: Server,
    names: Names,
    decide: Callable[[catalogue.Catalogue], list[Statement]],
    dry_run: bool,
    on_statement: Callable[[str], None] | None,
    *,
    alone: bool = False,
) -> list[str]:
    with connect(server, names) as session:
        with session.look() as tx:
            found = catalogue.read(tx, server.database, back=alone)
        todo = decide(found)
        if not dry_run:
            if alone and todo and "lease" in found.state_tables:
                _require_nobody(session, found.database)
            for statement in todo:
                if on_statement:
                    on_statement(statement.sql)
                session.run(statement)
    return [statement.sql for statement in todo]


def _require_nobody(session: Session, database: str) -> None:
    """Wait until the last leader's lease has run out; raises SchemaError if it is renewed."""
    before = None
    while True:
        with session.look() as tx:
            now = read_standing(tx)
        if now is None or not now.led:
            return
        if before is not None and now.left > before.left:
            raise SchemaError(
                f"A cleaner on {now.holder} leads, and follows directories by the schema of {database}. Nothing was changed. "
                "Stop the unit hopshive-cleaner on each host first."
            )
        before = now
        time.sleep(min(now.left, POLL_SECONDS))
