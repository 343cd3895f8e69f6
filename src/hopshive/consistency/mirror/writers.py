"""Jobs that write: what one of them deletes it makes again, when it is over.

Spark deletes the directory of a static partition that it overwrites (INSERT OVERWRITE .. PARTITION), and those of all
partitions of a table that it overwrites whole, before the query runs; its commit makes them again, and does not tell the
metastore. So long there is a directory of Hadoop's FileOutputCommitter (PENDING_DIR_NAME) in that of the table, made after the
deletion and taken away at the end, whatever that is.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hopshive.hdfs.paths import prefixes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import PendingCheck

TEMPORARY = "_temporary"
# Seconds between two looks whether a job is over.
WRITER_AGAIN = 5.0


def waiting(context: Context, some: Sequence[PendingCheck]) -> list[PendingCheck]:
    """Those whose directory a job may be about to make again: one that began after the deletion. Raises NameNodeError."""
    asked = [
        one for one in some if one.kind in ("unlink", "missing") and one.state == "waiting" and one.removal is None
    ]
    begun = _begun(context, {one.path for one in asked})
    return [
        one for one in asked if (at := begun.get(one.path)) is not None and (one.event_at is None or at >= one.event_at)
    ]


def _begun(context: Context, paths: Collection[str]) -> dict[str, datetime]:
    """When the youngest job at or above a path began, UTC, by the NameNode's clock.

    One that was killed leaves its directory there: it counts no more after `writer_grace`.
    """
    wanted = sorted({f"{prefix}/{TEMPORARY}" for path in paths for prefix in prefixes(path)})
    oldest = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=context.config.mirror.writer_grace)
    at = {}
    for place, entry in zip(wanted, context.namenode.entries(wanted), strict=True):
        begun = datetime.fromtimestamp(entry.modified / 1000, UTC).replace(tzinfo=None) if entry else oldest
        if begun > oldest:
            at[place] = begun
    found = {
        path: [at[place] for prefix in prefixes(path) if (place := f"{prefix}/{TEMPORARY}") in at] for path in paths
    }
    return {path: max(some) for path, some in found.items() if some}
