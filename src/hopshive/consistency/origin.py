"""The file system that the metastore follows. On another one, all directories would seem to be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.database.state import read_setting, write_setting
from hopshive.errors import Refused

if TYPE_CHECKING:
    from hopshive.config import Config
    from hopshive.database import Transaction
    from hopshive.hdfs.namenode import Identity


def check(tx: Transaction, config: Config, place: str, identity: Identity) -> None:
    """Raises Refused if `identity` is not the file system that was followed so far. `place`: the database, for the message."""
    for name, own in _settings(identity).items():
        recorded = read_setting(tx, name)
        if recorded is not None and recorded != own:
            raise Refused(
                f"{', '.join(config.hdfs.namenodes)} (hdfs.namenodes) is the file system {own}, but "
                f"{place} follows {recorded}. Nothing was changed: correct hdfs.namenodes or database."
            )


def record(tx: Transaction, identity: Identity) -> None:
    """Record the file system that is followed from now on."""
    for name, own in _settings(identity).items():
        write_setting(tx, name, own)


def _settings(identity: Identity) -> dict[str, str]:
    """The ids that are recorded. A cluster's id alone may be that of another NameNode of a federation, or be used again."""
    return {"cluster_id": identity.cluster_id, "block_pool": identity.block_pool_id}
