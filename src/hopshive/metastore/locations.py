"""Whether the metastore refers to a directory that is to be deleted as unused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.hdfs.paths import is_below

if TYPE_CHECKING:
    from hopshive.database import Database
    from hopshive.hdfs.paths import FileSystem


def is_referred_to(database: Database, file_system: FileSystem, path: str, inode: int) -> bool:
    """Whether the mirror follows the inode, or any location is at the path or below it. Reads all locations."""
    # Locations may be written with slashes twice, so the pattern only has to let all of them through.
    like = "%" + "%".join(_escaped(part) for part in path.split("/") if part) + "%"
    with database.reading() as tx:
        if tx.row("SELECT 1 FROM {inodes} WHERE id = %s LIMIT 1", (inode,)):
            return True
        rows = tx.rows(
            "SELECT LOCATION FROM SDS WHERE LOCATION LIKE %s UNION ALL"
            " SELECT DB_LOCATION_URI FROM DBS WHERE DB_LOCATION_URI LIKE %s UNION ALL"
            " SELECT DB_MANAGED_LOCATION_URI FROM DBS WHERE DB_MANAGED_LOCATION_URI LIKE %s UNION ALL"
            # Of Spark's tables that have a placeholder for a location.
            " SELECT PARAM_VALUE FROM SERDE_PARAMS WHERE PARAM_KEY = 'path' AND PARAM_VALUE LIKE %s",
            (like, like, like, like),
        )
    paths = [file_system.path_of(location) for (location,) in rows]
    return any(is_below(location, path) for location in paths if location is not None)


def _escaped(part: str) -> str:
    """For LIKE. What the column's character set cannot hold matches anything: one character more than needed is harmless."""
    return "".join("_" if not letter.isascii() else f"\\{letter}" if letter in "\\%_" else letter for letter in part)
