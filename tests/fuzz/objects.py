"""What the metastore holds, as far as the model follows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# `plain` is what CREATE TABLE makes in Hive 4 (external, purged when dropped); `shared` lies in another table's directory.
Form = Literal["plain", "external", "acid", "spark", "view", "mv"]
Values = tuple[str, ...]
# Where databases have their directories if they were given no place.
EXTERNAL = "/warehouse/hopshive/external"
MANAGED = "/warehouse/hopshive/managed"


@dataclass
class Partition:
    """`name` is PART_NAME; `node` the directory that it was seen with at the last quiet point, None before the first."""

    values: Values
    name: str
    path: str
    born: int
    node: int | None = None


@dataclass
class Table:
    """A table or a view. `born` tells it from others of the same name; `path` is empty for a view."""

    name: str
    form: Form
    path: str
    born: int
    keys: tuple[str, ...] = ()
    partitions: dict[Values, Partition] = field(default_factory=dict)
    node: int | None = None
    # Columns were added: Spark, which writes by position, leaves it alone.
    widened: bool = False

    @property
    def is_view(self) -> bool:
        """Whether it has no directory."""
        return self.form == "view"

    def paths(self) -> list[str]:
        """All its directories."""
        return [path for path in (self.path, *(one.path for one in self.partitions.values())) if path]


@dataclass
class Database:
    """`locations`: that of external tables, then that of managed ones."""

    name: str
    locations: tuple[str, ...]
    born: int
    tables: dict[str, Table] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    nodes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Constraint:
    """A key between tables, by their `born`; of a primary key both are the same."""

    name: str
    child: int
    parent: int


@dataclass
class Entry:
    """What the journal holds: an object, and whose it was. `nodes`: the directories that it had, by path."""

    removal: int
    kind: Literal["database", "table", "partition"]
    database: int
    table: int
    content: Database | Table | Partition
    nodes: dict[str, int]
