"""Which file system the metastore follows. On another one all looks as if it had been deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.database.state import read_setting, write_setting
from hopshive.errors import Refused

if TYPE_CHECKING:
    from hopshive.config import Config
    from hopshive.database import Transaction
    from hopshive.hdfs.namenode import Identity


def check(tx: Transaction, config: Config, place: str, identity: Identity) -> None:
    """Raises Refused if it is not the one that was followed so far; `place` is the database, for the message."""
    for name, own in _settings(identity).items():
        recorded = read_setting(tx, name)
        if recorded is not None and recorded != own:
            raise Refused(
                f"{', '.join(config.hdfs.namenodes)} (hdfs.namenodes) is the file system {own}, but "
                f"{place} follows {recorded}. Nothing was changed: correct hdfs.namenodes or database."
            )


def record(tx: Transaction, identity: Identity) -> None:
    """From now on no other is followed."""
    for name, own in _settings(identity).items():
        write_setting(tx, name, own)


def _settings(identity: Identity) -> dict[str, str]:
    """Not the cluster's id alone: all NameNodes of a federation have the same, and it may be given to a new file system."""
    return {"cluster_id": identity.cluster_id, "block_pool": identity.block_pool_id}
