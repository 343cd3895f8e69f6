"""hopshive's schema beside the metastore's: settings by name, and conditions on paths.

Paths are VARBINARY: HDFS compares bytes, and a collation that pads or folds would mix up two directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.database.connection import marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database.connection import Transaction

SETTING = """
CREATE TABLE IF NOT EXISTS {state}.setting (
  name VARCHAR(64) NOT NULL COMMENT 'state_version, source, cluster_id, block_pool, fuse, ...',
  value VARBINARY(4000) NOT NULL,
  PRIMARY KEY (name)
) ENGINE={engine}
"""

# Bytes of a path that the column `head` has.
HEAD = 255
# A condition: rows below a path, in a table with `path` and `head`.
BELOW = "(head BETWEEN %s AND %s AND path >= %s AND path < %s)"


def below(path: bytes) -> list[bytes]:
    """The arguments of BELOW; `0` is the character after `/`."""
    first, end = path.rstrip(b"/") + b"/", path.rstrip(b"/") + b"0"
    return [first[:HEAD], end[:HEAD], first, end]


def at_or_below(paths: Sequence[bytes], more: Sequence[bytes] = ()) -> tuple[str, list[bytes]]:
    """The condition, with its arguments, for rows at or below `paths`, or exactly at `more`."""
    exact = [*paths, *more]
    places = " OR ".join([f"path IN ({marks(exact)})", *(BELOW for _ in paths)])
    return f"({places})", [*exact, *(value for path in paths for value in below(path))]


def read_setting(tx: Transaction, name: str) -> str | None:
    """A value of {state}.setting, or None."""
    value = tx.value("SELECT value FROM {state}.setting WHERE name = %s", (name,))
    return None if value is None else bytes(value).decode()


def write_setting(tx: Transaction, name: str, value: str | None) -> None:
    """Write a value of {state}.setting; None removes it."""
    if value is None:
        tx.execute("DELETE FROM {state}.setting WHERE name = %s", (name,))
    else:
        tx.execute("REPLACE INTO {state}.setting (name, value) VALUES (%s, %s)", (name, value.encode()))
